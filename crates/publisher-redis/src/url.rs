//! A configuration as a URL. Every parameter is known, has one value and belongs to the layout, or the URL is refused.

use std::{fmt, num::NonZeroU64, path::PathBuf, str::FromStr, time::Duration};

use ::url::{Host, Url};
use percent_encoding::percent_decode_str;
use thiserror::Error;

use crate::{Frame, Identity, Layout, RedisConfig, Template, Tls};

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

/// All parameters, in the order in which people read of them.
const KNOWN: [&str; 11] = [
    "layout",
    "queue",
    "frame",
    "stream",
    "max_len",
    "wait_replicas",
    "max_bytes",
    "connect_timeout_ms",
    "ca",
    "cert",
    "key",
];

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
    if let Some(millis) = parameters.parse("connect_timeout_ms", "write milliseconds")? {
        config.connect_timeout = Duration::from_millis(millis);
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

/// The parameters that nobody took yet.
struct Parameters(Vec<(&'static str, String)>);

impl Parameters {
    fn read(url: &Url) -> Result<Self, InvalidUrl> {
        let mut found: Vec<(&'static str, String)> = Vec::new();
        for (name, value) in url.query_pairs() {
            let Some(known) = KNOWN.iter().find(|known| **known == name) else {
                return Err(InvalidUrl::Unknown {
                    name: name.into_owned(),
                    known: KNOWN.join(", "),
                });
            };
            if found.iter().any(|(earlier, _)| earlier == known) {
                return Err(InvalidUrl::Repeated(name.into_owned()));
            }
            found.push((*known, value.into_owned()));
        }
        Ok(Self(found))
    }

    fn take(&mut self, name: &str) -> Option<(&'static str, String)> {
        let at = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.remove(at))
    }

    fn parse<T: FromStr>(&mut self, name: &str, reason: &str) -> Result<Option<T>, InvalidUrl> {
        self.take(name)
            .map(|(name, value)| match value.parse() {
                Ok(value) => Ok(value),
                Err(_) => Err(not_understood(name, value, reason)),
            })
            .transpose()
    }

    fn template(&mut self, name: &str) -> Result<Template, InvalidUrl> {
        match self.take(name) {
            None => Ok(Template::topic()),
            Some((name, value)) => match value.parse() {
                Ok(template) => Ok(template),
                Err(error) => Err(not_understood(name, value, error)),
            },
        }
    }

    fn path(&mut self, name: &str) -> Result<Option<PathBuf>, InvalidUrl> {
        match self.take(name) {
            Some((name, value)) if value.is_empty() => {
                Err(not_understood(name, value, "write the path of a PEM file"))
            }
            path => Ok(path.map(|(_, path)| PathBuf::from(path))),
        }
    }

    fn refuse(&self, names: &[&str], purpose: &'static str) -> Result<(), InvalidUrl> {
        let misplaced = self.0.iter().find(|(name, _)| names.contains(name));
        match misplaced {
            Some((name, _)) => Err(InvalidUrl::Misplaced { name, purpose }),
            None => Ok(()),
        }
    }

    fn tls(&mut self, has_tls: bool) -> Result<Option<Tls>, InvalidUrl> {
        if !has_tls {
            self.refuse(&["ca", "cert", "key"], "rediss://")?;
            return Ok(None);
        }
        let ca = self.path("ca")?;
        let identity = match (self.path("cert")?, self.path("key")?) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (None, None) => None,
            (certificate, _) => {
                let (name, purpose) = match certificate {
                    Some(_) => ("cert", "a URL with key as well"),
                    None => ("key", "a URL with cert as well"),
                };
                return Err(InvalidUrl::Misplaced { name, purpose });
            }
        };
        Ok(Some(Tls { ca, identity }))
    }

    fn layout(&mut self) -> Result<Layout, InvalidUrl> {
        let (name, layout) = self.take("layout").unwrap_or(("layout", "list".to_owned()));
        match &*layout {
            "list" => {
                self.refuse(&["stream", "max_len"], "layout=stream")?;
                Ok(Layout::List {
                    frame: self.frame()?,
                    queue: self.template("queue")?,
                })
            }
            "laravel" => {
                self.refuse(&["stream", "max_len"], "layout=stream")?;
                self.refuse(&["frame"], "layout=list")?;
                Ok(Layout::Laravel {
                    queue: self.template("queue")?,
                })
            }
            "stream" => {
                self.refuse(&["queue"], "layout=list and layout=laravel")?;
                self.refuse(&["frame"], "layout=list")?;
                let stream = self.template("stream")?;
                let reason = "write a number of entries, or 0 to keep all";
                let max_len = self.parse("max_len", reason)?;
                Ok(Layout::Stream {
                    stream,
                    max_len: NonZeroU64::new(max_len.unwrap_or(Layout::MAX_LEN)),
                })
            }
            _ => Err(not_understood(
                name,
                layout,
                "write list, laravel or stream",
            )),
        }
    }

    fn frame(&mut self) -> Result<Frame, InvalidUrl> {
        match self.take("frame") {
            None => Ok(Frame::default()),
            Some((name, value)) => match &*value {
                "headers" => Ok(Frame::Headers),
                "always" => Ok(Frame::Always),
                "never" => Ok(Frame::Never),
                _ => Err(not_understood(
                    name,
                    value,
                    "write headers, always or never",
                )),
            },
        }
    }
}

fn not_understood(name: &'static str, value: String, reason: impl fmt::Display) -> InvalidUrl {
    InvalidUrl::Value {
        name,
        value,
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        read(url).unwrap_err().to_string()
    }

    #[test]
    fn a_url_says_everything() {
        let config = read(
            "rediss://outbox:p%40ss%2Fword@cache.internal:7000/3?queue=jobs:{topic}&frame=always&wait_replicas=2\
             &max_bytes=1000&connect_timeout_ms=1500&ca=/etc/ca.pem&cert=/etc/c.pem&key=/etc/k.pem",
        )
        .unwrap();
        assert_eq!(config.host, "cache.internal");
        assert_eq!((config.port, config.database), (7000, 3));
        assert_eq!(config.username.as_deref(), Some("outbox"));
        assert_eq!(config.password.as_deref(), Some("p@ss/word"));
        assert_eq!((config.wait_replicas, config.max_bytes), (2, Some(1000)));
        assert_eq!(config.connect_timeout, Duration::from_millis(1500));
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
