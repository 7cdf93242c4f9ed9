//! A configuration as a URL. Every parameter is known, has one value and belongs to the layout, or the URL is refused.

mod parameters;

use std::time::Duration;

use ::url::{Host, Url};
use percent_encoding::percent_decode_str;
use thiserror::Error;

use crate::RedisConfig;

use parameters::Parameters;

/// Why a URL is not understood. Neither the URL nor what could be a password is in it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// It is no URL at all.
    #[error("the URL of Redis cannot be read: {0}; write redis://user:password@host:port/database")]
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
    /// There is no such parameter.
    #[error("the URL of Redis has an unknown parameter {name}; known are {known}")]
    Unknown {
        /// Its name.
        name: String,
        /// The names of those that are known, with commas between.
        known: String,
    },
    /// A parameter stands there more than once.
    #[error("the URL of Redis has the parameter {0} more than once")]
    Repeated(String),
    /// A parameter does nothing beside the others.
    #[error("the URL of Redis has the parameter {name}, which is only for {purpose}")]
    Misplaced {
        /// Its name.
        name: &'static str,
        /// With what it does something.
        purpose: &'static str,
    },
    /// A file of certificates cannot be used.
    #[error("{0}")]
    Tls(String),
    /// A parameter's value is not understood.
    #[error("the URL of Redis has {name}={value}, which is not understood: {reason}")]
    Value {
        /// The name of the parameter.
        name: &'static str,
        /// What stands there.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
}

pub(crate) fn read(text: &str) -> Result<RedisConfig, InvalidUrl> {
    let url = Url::parse(text).map_err(|error| InvalidUrl::Syntax(error.to_string()))?;
    let has_tls = match url.scheme() {
        "redis" => false,
        "rediss" => true,
        other => return Err(InvalidUrl::Scheme(other.to_owned())),
    };
    let mut parameters = Parameters::read(&url)?;
    let tls = parameters.tls(has_tls)?;
    let layout = parameters.layout()?;
    let host = match url.host().ok_or(InvalidUrl::NoHost)? {
        Host::Domain("") => return Err(InvalidUrl::NoHost),
        Host::Domain(name) => decoded(name)?,
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    let mut config = RedisConfig {
        port: url.port().unwrap_or(RedisConfig::PORT),
        database: database(url.path())?,
        username: given(url.username())?,
        password: url.password().map_or(Ok(None), given)?,
        tls,
        layout,
        max_bytes: parameters.parse("max_bytes", "write a number of bytes")?,
        ..RedisConfig::new(host)
    };
    if let Some(replicas) = parameters.parse("wait_replicas", "write a number of replicas")? {
        config.wait_replicas = replicas;
    }
    if let Some(seconds) = parameters.parse("connect_timeout", "write seconds")? {
        config.connect_timeout = Duration::from_secs(seconds);
    }
    Ok(config)
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
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(InvalidUrl::Syntax(
            "its percent escapes are no UTF-8".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Identity, Jobs, Layout, Template, Tls};

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
        assert!(text.contains("parameter queue more than once"), "{text}");
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
            assert!(text.contains(&format!("parameter {name}, ")), "{text}");
            assert!(text.contains(purpose), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_not_understood_is_shown_with_the_way_out() {
        for (url, shown) in [
            (
                "redis://h/?layout=zset",
                "layout=zset, which is not understood: write list, laravel or stream",
            ),
            (
                "redis://h/?queue={id}",
                "queue={id}, which is not understood: there is no {id}, only {topic} and {key}",
            ),
            (
                "redis://h/?queue=",
                "queue=, which is not understood: it is empty",
            ),
            (
                "redis://h/?layout=stream&max_len=-1",
                "max_len=-1, which is not understood: write a number of entries",
            ),
            ("redis://h/?frame=yes", "write headers, always or never"),
            (
                "redis://h/?layout=laravel&jobs=all",
                "write checked or unchecked",
            ),
            ("redis://h/x", "no number of a database: x"),
            ("redis:///0", "has no host"),
            ("rabbit://h", "rabbit: is no scheme of Redis"),
            ("h:p:0", "h: is no scheme of Redis"),
            ("cache", "cannot be read"),
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
