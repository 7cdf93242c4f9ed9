//! What a publisher is made with, and which of it goes together.

use std::{path::PathBuf, time::Duration};

use outbox_publisher::{InvalidParameter, Template};

use crate::{Credentials, InvalidUrl, Mechanism, topic, url};

/// What a [`KafkaPublisher`](crate::KafkaPublisher) is made with. Every field is a part or a parameter of the URL as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaConfig {
    /// Brokers of one cluster as `host` or `host:port`, of which one is enough: it names the others. The port is 9092 if it is left out.
    pub servers: Vec<String>,
    /// Whether connections are encrypted: the scheme `kafkas://`. It needs the cargo feature `tls`.
    pub tls: bool,
    /// A file in PEM with the authorities that may sign the brokers' certificates, instead of those that the system trusts: `ca`.
    pub ca: Option<PathBuf>,
    /// Who the publisher is: the user and the password in the URL, and `sasl`.
    pub credentials: Option<Credentials>,
    /// The topic of Kafka that a message goes to: the path of the URL. Of the placeholders only `{topic}` can stand in it.
    /// By default the message's own topic.
    pub topic: Template,
    /// Whether brokers that make topics by themselves may make one that is missing: `create_topics`. By default they may not.
    pub create_topics: bool,
    /// How batches of records are compressed: `compression`. By default they are not.
    pub compression: Compression,
    /// The most bytes in one batch of records, unless a record is larger: `batch_bytes`. By default 1,000,000.
    pub batch_bytes: u32,
    /// How long a record waits for others to make a batch with: `linger_ms`, in milliseconds. By default 0.
    pub linger: Duration,
    /// How long a broker may take to confirm a record: `message_timeout`, in seconds, at most 300. By default 4 s; it must be below
    /// half the relay's publish timeout, as a call may take twice as long.
    pub message_timeout: Duration,
    /// How long one attempt to connect to a broker may take: `connect_timeout`, in seconds, at most 300. By default 3 s; it should
    /// be below the message timeout.
    pub connect_timeout: Duration,
}

/// How batches of records are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// By LZ4.
    Lz4,
    /// By Snappy.
    Snappy,
}

impl Default for KafkaConfig {
    fn default() -> Self {
        Self {
            servers: vec!["localhost".to_owned()],
            tls: false,
            ca: None,
            credentials: None,
            topic: Template::topic(),
            create_topics: false,
            compression: Compression::None,
            batch_bytes: 1_000_000,
            linger: Duration::ZERO,
            message_timeout: Duration::from_secs(4),
            connect_timeout: Duration::from_secs(3),
        }
    }
}

impl KafkaConfig {
    /// Reads a URL such as `kafka://user:password@host:9092,other:9092/events.{topic}?compression=lz4`.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] names the part or the parameter that is wrong, and never shows credentials.
    pub fn from_url(url: &str) -> Result<Self, InvalidUrl> {
        let config = url::read(url)?;
        config.check()?;
        Ok(config)
    }

    /// Whether the parts go together, and this build can do them.
    pub(crate) fn check(&self) -> Result<(), InvalidUrl> {
        if self.servers.is_empty() {
            return Err(InvalidUrl::Server { number: 1 });
        }
        for (at, server) in self.servers.iter().enumerate() {
            url::host_and_port(server).ok_or(InvalidUrl::Server { number: at + 1 })?;
        }
        if let Some(problem) = topic::problem(&self.topic) {
            let text = self.topic.to_string();
            return Err(InvalidUrl::Topic { text, problem });
        }
        let user = self.credentials.as_ref().map(|by| &*by.user);
        if user == Some("") {
            return Err(InvalidUrl::Credentials);
        }
        self.check_fields()?;
        match self.needs_tls_of_the_build() {
            Some(what) if !cfg!(feature = "tls") => Err(InvalidUrl::Feature { what }),
            _ => Ok(()),
        }
    }

    fn check_fields(&self) -> Result<(), InvalidParameter> {
        if self.ca.is_some() && !self.tls {
            return Err(InvalidParameter::needs("ca", "kafkas://"));
        }
        if self.batch_bytes == 0 || self.batch_bytes > MAX_BATCH_BYTES {
            let problem = "write a number from 1 to 100000000";
            let value = self.batch_bytes.to_string();
            return Err(InvalidParameter::value("batch_bytes", value, problem));
        }
        for (name, value) in [
            ("message_timeout", self.message_timeout),
            ("connect_timeout", self.connect_timeout),
        ] {
            if !(SECOND..=MAX_TIMEOUT).contains(&value) {
                let problem = "write at least 1 second, and at most 300";
                let value = value.as_secs().to_string();
                return Err(InvalidParameter::value(name, value, problem));
            }
        }
        if self.linger >= self.message_timeout {
            let value = self.linger.as_millis().to_string();
            let problem = "write less than the message_timeout";
            return Err(InvalidParameter::value("linger_ms", value, problem));
        }
        Ok(())
    }

    /// What of it only a build with TLS can do.
    fn needs_tls_of_the_build(&self) -> Option<&'static str> {
        let mechanism = self.credentials.as_ref().map(|by| by.mechanism);
        match mechanism {
            _ if self.tls => Some("kafkas://"),
            Some(Mechanism::ScramSha256) => Some("sasl=scram-sha-256"),
            Some(Mechanism::ScramSha512) => Some("sasl=scram-sha-512"),
            _ => None,
        }
    }

    /// The brokers, as people read them: without credentials.
    pub(crate) fn address(&self) -> String {
        let scheme = if self.tls { "kafkas" } else { "kafka" };
        format!("{scheme}://{}", self.with_ports())
    }

    /// The brokers with their ports, as the client library reads them.
    pub(crate) fn with_ports(&self) -> String {
        let with_port = |server: &String| match url::host_and_port(server) {
            Some((host, port)) => format!("{host}:{port}"),
            None => server.clone(),
        };
        let servers: Vec<String> = self.servers.iter().map(with_port).collect();
        servers.join(",")
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// The library waits no longer than this for what a connection carries.
const MAX_TIMEOUT: Duration = Duration::from_mins(5);

/// A broker takes requests of some 100 MB at most, unless it is told otherwise.
const MAX_BATCH_BYTES: u32 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(change: impl FnOnce(&mut KafkaConfig)) -> String {
        let mut config = KafkaConfig::default();
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    fn shop(mechanism: Mechanism) -> Credentials {
        Credentials {
            user: "shop".into(),
            password: "hunter2".into(),
            mechanism,
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused_and_named() {
        assert_eq!(KafkaConfig::default().check(), Ok(()));
        for (said, expected) in [
            (problem(|c| c.servers.clear()), "broker 1"),
            (
                problem(|c| c.servers = vec!["a".into(), "b:x".into()]),
                "broker 2",
            ),
            (
                problem(|c| c.ca = Some("/ca.pem".into())),
                "needs kafkas://",
            ),
            (
                problem(|c| c.topic = "{key}".parse().unwrap()),
                "topic \"{key}\"",
            ),
            (problem(|c| c.batch_bytes = 0), "batch_bytes"),
            (problem(|c| c.batch_bytes = 100_000_001), "batch_bytes"),
            (
                problem(|c| c.message_timeout = Duration::ZERO),
                "message_timeout is \"0\"",
            ),
            (
                problem(|c| c.message_timeout = Duration::from_secs(301)),
                "message_timeout is \"301\": write at least 1 second, and at most 300",
            ),
            (
                problem(|c| c.connect_timeout = Duration::from_secs(301)),
                "connect_timeout is \"301\"",
            ),
            (
                problem(|c| {
                    c.credentials = Some(Credentials {
                        user: String::new(),
                        ..shop(Mechanism::Plain)
                    });
                }),
                "credentials",
            ),
            (
                problem(|c| c.linger = Duration::from_secs(4)),
                "linger_ms is \"4000\": write less than the message_timeout",
            ),
        ] {
            assert!(said.contains(expected), "{said:?} {expected:?}");
        }
    }

    #[test]
    fn what_this_build_cannot_do_says_which_feature_is_missing() {
        let tls = |c: &mut KafkaConfig| c.tls = true;
        let scram = |c: &mut KafkaConfig| c.credentials = Some(shop(Mechanism::ScramSha512));
        for (what, change) in [
            ("kafkas://", &tls as &dyn Fn(&mut KafkaConfig)),
            ("sasl=scram-sha-512", &scram),
        ] {
            let mut config = KafkaConfig::default();
            change(&mut config);
            let expected = if cfg!(feature = "tls") {
                Ok(())
            } else {
                Err(InvalidUrl::Feature { what })
            };
            assert_eq!(config.check(), expected);
        }
        let plain = KafkaConfig {
            credentials: Some(shop(Mechanism::Plain)),
            ..KafkaConfig::default()
        };
        assert_eq!(plain.check(), Ok(()));
    }

    #[test]
    fn the_address_has_ports_and_no_credentials() {
        let config = KafkaConfig {
            servers: vec!["a".into(), "[::1]:9093".into()],
            tls: true,
            credentials: Some(shop(Mechanism::Plain)),
            ..KafkaConfig::default()
        };
        assert_eq!(config.address(), "kafkas://a:9092,[::1]:9093");
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
