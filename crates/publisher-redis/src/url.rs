//! A configuration as a URL. Every parameter is known, has one value and belongs to the layout, or the URL is refused.

use std::num::NonZeroU64;

use ::url::{Host, Url};
use outbox_publisher::{InvalidParameter, Parameters, percent_decode};
use thiserror::Error;

use crate::{Frame, Identity, Jobs, Layout, RedisConfig, Tls};

/// All parameters, in the order in which people read of them.
const KNOWN: [&str; 13] = [
    "layout",
    "queue",
    "frame",
    "prefix",
    "jobs",
    "stream",
    "max_len",
    "wait_replicas",
    "max_bytes",
    "connect_timeout",
    "ca",
    "cert",
    "key",
];

/// Why a URL is not understood. Neither the URL nor what could be a password is in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// It is no URL at all.
    #[error(
        "the URL of Redis cannot be read: {0}; write redis://user:password@host:port/database, and in a user name or a password @ : / ? # % as %40 %3A %2F %3F %23 %25"
    )]
    Syntax(String),
    /// It is the URL of something else.
    #[error("{0}: is no scheme of Redis; write redis:// or, with TLS, rediss://")]
    Scheme(String),
    /// There is no host in it.
    #[error("the URL of Redis has no host")]
    NoHost,
    /// The path is no number of a database.
    #[error("the path of the URL of Redis is no number of a database: {0}")]
    Database(String),
    /// A parameter, or the field of the same name, does not do.
    #[error(transparent)]
    Parameter(#[from] InvalidParameter),
    /// A file of certificates cannot be used.
    #[error("{0}")]
    Tls(String),
}

pub(crate) fn read(text: &str) -> Result<RedisConfig, InvalidUrl> {
    let url = Url::parse(text).map_err(|error| InvalidUrl::Syntax(error.to_string()))?;
    let has_tls = match url.scheme() {
        "redis" => false,
        "rediss" => true,
        other => return Err(InvalidUrl::Scheme(other.to_owned())),
    };
    if url.fragment().is_some() {
        return Err(InvalidUrl::Syntax("a # in it is written as %23".to_owned()));
    }
    let mut parameters = Parameters::read(url.query().unwrap_or_default(), &KNOWN)?;
    let host = match url.host().ok_or(InvalidUrl::NoHost)? {
        Host::Domain("") => return Err(InvalidUrl::NoHost),
        Host::Domain(name) => decoded(name)?,
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    let default = RedisConfig::new(host);
    Ok(RedisConfig {
        port: url.port().unwrap_or(default.port),
        database: database(url.path())?,
        username: given(url.username())?,
        password: url.password().map_or(Ok(None), given)?,
        tls: tls(has_tls, &mut parameters)?,
        layout: layout(&mut parameters)?,
        wait_replicas: parameters
            .number("wait_replicas", "replicas")?
            .unwrap_or(default.wait_replicas),
        max_bytes: parameters.number("max_bytes", "bytes")?,
        connect_timeout: parameters
            .seconds("connect_timeout")?
            .unwrap_or(default.connect_timeout),
        ..default
    })
}

fn tls(has_tls: bool, parameters: &mut Parameters) -> Result<Option<Tls>, InvalidParameter> {
    if !has_tls {
        parameters.refuse(&["ca", "cert", "key"], "rediss://")?;
        return Ok(None);
    }
    let identity = match (parameters.path("cert")?, parameters.path("key")?) {
        (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
        (None, None) => None,
        (Some(_), None) => return Err(InvalidParameter::needs("cert", "key as well")),
        (None, Some(_)) => return Err(InvalidParameter::needs("key", "cert as well")),
    };
    let ca = parameters.path("ca")?;
    Ok(Some(Tls { ca, identity }))
}

fn layout(parameters: &mut Parameters) -> Result<Layout, InvalidParameter> {
    let layouts = [
        ("list", Layout::list()),
        ("laravel", Layout::laravel()),
        ("stream", Layout::stream()),
    ];
    let layout = parameters.choice("layout", &layouts)?;
    let layout = match layout.unwrap_or_else(Layout::list) {
        Layout::List { queue, frame } => {
            let frames = [
                ("headers", Frame::Headers),
                ("always", Frame::Always),
                ("never", Frame::Never),
            ];
            Layout::List {
                queue: parameters.parse("queue")?.unwrap_or(queue),
                frame: parameters.choice("frame", &frames)?.unwrap_or(frame),
            }
        }
        Layout::Laravel {
            queue,
            prefix,
            jobs,
        } => {
            let words = [("checked", Jobs::Checked), ("unchecked", Jobs::Unchecked)];
            Layout::Laravel {
                queue: parameters.parse("queue")?.unwrap_or(queue),
                prefix: parameters.take("prefix").unwrap_or(prefix),
                jobs: parameters.choice("jobs", &words)?.unwrap_or(jobs),
            }
        }
        Layout::Stream { stream, max_len } => Layout::Stream {
            stream: parameters.parse("stream")?.unwrap_or(stream),
            max_len: match parameters.number("max_len", "entries, or 0 to keep all")? {
                Some(entries) => NonZeroU64::new(entries),
                None => max_len,
            },
        },
    };
    // What the layout did not take is of another one.
    parameters.refuse(&["queue"], "layout=list or layout=laravel")?;
    parameters.refuse(&["frame"], "layout=list")?;
    parameters.refuse(&["prefix", "jobs"], "layout=laravel")?;
    parameters.refuse(&["stream", "max_len"], "layout=stream")?;
    Ok(layout)
}

fn database(path: &str) -> Result<u32, InvalidUrl> {
    match path.strip_prefix('/').unwrap_or(path) {
        "" => Ok(0),
        number => number
            .parse()
            .map_err(|_| InvalidUrl::Database(number.to_owned())),
    }
}

/// What stands in percent escapes, if anything does.
fn given(text: &str) -> Result<Option<String>, InvalidUrl> {
    if text.is_empty() {
        return Ok(None);
    }
    decoded(text).map(Some)
}

fn decoded(text: &str) -> Result<String, InvalidUrl> {
    let problem = || InvalidUrl::Syntax("write % as %25, and what is escaped in UTF-8".to_owned());
    percent_decode(text).ok_or_else(problem)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Template;

    fn read(url: &str) -> Result<RedisConfig, InvalidUrl> {
        RedisConfig::from_url(url)
    }

    fn refused(url: &str) -> String {
        read(url).unwrap_err().to_string()
    }

    #[test]
    fn a_url_says_everything() {
        let config = read(
            "rediss://outbox:p%40ss%2Fword@cache.internal:7000/3?queue=jobs:{topic}&frame=always&wait_replicas=2\
             &max_bytes=1000&connect_timeout=3&ca=/etc/ca.pem&cert=/etc/c.pem&key=/etc/k.pem",
        )
        .unwrap();
        assert_eq!(config.host, "cache.internal");
        assert_eq!((config.port, config.database), (7000, 3));
        assert_eq!(config.username.as_deref(), Some("outbox"));
        assert_eq!(config.password.as_deref(), Some("p@ss/word"));
        assert_eq!((config.wait_replicas, config.max_bytes), (2, Some(1000)));
        assert_eq!(config.connect_timeout, Duration::from_secs(3));
        let identity = Identity {
            certificate: "/etc/c.pem".into(),
            key: "/etc/k.pem".into(),
        };
        let tls = Tls {
            ca: Some("/etc/ca.pem".into()),
            identity: Some(identity),
        };
        assert_eq!(config.tls, Some(tls));
        let layout = Layout::List {
            queue: "jobs:{topic}".parse().unwrap(),
            frame: Frame::Always,
        };
        assert_eq!(config.layout, layout);
    }

    #[test]
    fn what_a_url_does_not_say_is_the_default() {
        let config = read("redis://127.0.0.1").unwrap();
        assert_eq!((config.port, config.database), (6379, 0));
        assert_eq!((config.username, config.password), (None, None));
        assert_eq!((config.tls, config.layout), (None, Layout::list()));
        let of = |url| read(url).unwrap().layout;
        assert_eq!(of("redis://h?layout=laravel"), Layout::laravel());
        let unchecked = Layout::Laravel {
            queue: Template::topic(),
            prefix: "shop_database_".to_owned(),
            jobs: Jobs::Unchecked,
        };
        let url = "redis://h?layout=laravel&prefix=shop_database_&jobs=unchecked";
        assert_eq!(of(url), unchecked);
        assert_eq!(of("redis://h/?layout=stream"), Layout::stream());
        let keeps_all = Layout::Stream {
            stream: "{orders}:{key}"
                .replace("{orders}", "{{orders}}")
                .parse()
                .unwrap(),
            max_len: None,
        };
        let url = "redis://h/0?layout=stream&max_len=0&stream={{orders}}:{key}";
        assert_eq!(of(url), keeps_all);
        assert_eq!(read("redis://[::1]:7/").unwrap().host, "::1");
        let plus = read("redis://h/?queue=a+b%20%7Btopic%7D").unwrap().layout;
        assert_eq!(plus.template().to_string(), "a+b {topic}");
        assert_eq!(read("redis://:p@h").unwrap().password.as_deref(), Some("p"));
    }

    #[test]
    fn an_unknown_a_repeated_and_a_misplaced_parameter_are_named() {
        let text = refused("redis://h/?layuot=list");
        assert!(
            text.contains("unknown parameter layuot; known are layout, queue"),
            "{text}"
        );
        let text = refused("redis://h/?queue=a&queue=b");
        assert!(
            text.contains("parameter queue stands there twice"),
            "{text}"
        );
        for (url, name, purpose) in [
            ("redis://h/?max_len=5", "max_len", "layout=stream"),
            ("redis://h/?layout=stream&queue=a", "queue", "layout=list"),
            (
                "redis://h/?layout=laravel&frame=never",
                "frame",
                "layout=list",
            ),
            ("redis://h/?prefix=a", "prefix", "layout=laravel"),
            (
                "redis://h/?layout=stream&jobs=checked",
                "jobs",
                "layout=laravel",
            ),
            ("redis://h/?ca=/a", "ca", "rediss://"),
            ("rediss://h/?cert=/a", "cert", "key as well"),
        ] {
            let text = refused(url);
            assert!(text.contains(&format!("parameter {name} needs ")), "{text}");
            assert!(text.contains(purpose), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_not_understood_is_shown_with_the_way_out() {
        for (url, shown) in [
            (
                "redis://h/?layout=zset",
                "layout is \"zset\": write list or laravel or stream",
            ),
            (
                "redis://h/?queue={id}",
                "queue is \"{id}\": only {topic} and {key} can be in it",
            ),
            ("redis://h/?queue=", "queue is \"\": write a name"),
            (
                "redis://h/?layout=stream&max_len=-1",
                "max_len is \"-1\": write a whole number of entries",
            ),
            ("redis://h/?connect_timeout=0", "write at least 1 second"),
            ("redis://h/?queue=a#b", "# in it is written as %23"),
            ("redis://h/?frame=yes", "write headers or always or never"),
            (
                "redis://h/?layout=laravel&jobs=all",
                "write checked or unchecked",
            ),
            ("redis://h/x", "no number of a database: x"),
            ("redis:///0", "has no host"),
            ("rabbit://h", "rabbit: is no scheme of Redis"),
            ("h:p:0", "h: is no scheme of Redis"),
            ("cache", "cannot be read"),
            (
                "redis://u:s#p@h",
                "in a user name or a password @ : / ? # % as %40",
            ),
        ] {
            let text = refused(url);
            assert!(text.contains(shown), "{text}");
        }
    }

    #[test]
    fn no_error_and_no_debug_shows_the_password() {
        for url in [
            "redis://u:s3cret@h:99999/",
            "redis://u:s3cret@h/x",
            "redis://u:s3cret@h/?a=b",
            "redis://u:1?s3cret@h/",
            "redis://u:1#s3cret@h/",
            "redis://u:s3cret@h/?layout=x",
            "amqp://u:s3cret@h/",
            "redis://u:s3cret@/",
        ] {
            let error = read(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
        let config = read("redis://u:s3cret@h/").unwrap();
        assert!(!format!("{config:?}").contains("s3cret"));
    }
}
