//! What a publisher is made with, and which of it goes together.

use std::{path::PathBuf, time::Duration};

use outbox_publisher::InvalidParameter;

use crate::{Credentials, InvalidUrl, SubjectTemplate, url};

/// What a [`NatsPublisher`](crate::NatsPublisher) is made with. Every field is a part or a parameter of the URL as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsConfig {
    /// The servers of one cluster as `host` or `host:port`, tried in this order. The port is 4222 if it is left out.
    pub servers: Vec<String>,
    /// Whether the connection must be encrypted: the scheme `tls://`.
    pub tls: bool,
    /// A file in PEM with the authorities that may sign the server's certificate, instead of those that the system trusts: `ca`.
    pub ca: Option<PathBuf>,
    /// Who the publisher is: the user in the URL, or `creds` or `nkey`.
    pub credentials: Credentials,
    /// Where a message goes: `subject`. By default its topic.
    pub subject: SubjectTemplate,
    /// The stream that must take the messages: `stream`. By default whichever stream has the subject.
    pub stream: Option<String>,
    /// Whether a stream that is missing is made: `create_stream`. It needs `stream`, and a subject whose first token is fixed.
    pub create_stream: bool,
    /// Whether a message of a relay that lost its lease is refused by the stream: `fence`. It needs `stream`, and a subject
    /// with the topic and the key.
    pub fence: bool,
    /// How long one attempt to connect may take, all servers together: `connect_timeout`, in seconds. By default 5 s; it should
    /// be below the relay's publish timeout.
    pub connect_timeout: Duration,
}

impl Default for NatsConfig {
    fn default() -> Self {
        Self {
            servers: vec!["localhost".to_owned()],
            tls: false,
            ca: None,
            credentials: Credentials::None,
            subject: SubjectTemplate::default(),
            stream: None,
            create_stream: false,
            fence: false,
            connect_timeout: Duration::from_secs(5),
        }
    }
}

impl NatsConfig {
    /// Reads a URL such as `nats://user:password@host:4222,other:4222?subject=events.{topic}&stream=EVENTS`.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] names the part or the parameter that is wrong, and never shows credentials.
    pub fn from_url(url: &str) -> Result<Self, InvalidUrl> {
        let config = url::read(url)?;
        config.check()?;
        Ok(config)
    }

    /// Whether the parts go together.
    pub(crate) fn check(&self) -> Result<(), InvalidUrl> {
        if self.servers.is_empty() {
            return Err(InvalidUrl::Server { number: 1 });
        }
        for (at, server) in self.servers.iter().enumerate() {
            url::host_and_port(server).ok_or(InvalidUrl::Server { number: at + 1 })?;
        }
        Ok(self.check_fields()?)
    }

    fn check_fields(&self) -> Result<(), InvalidParameter> {
        if self.ca.is_some() && !self.tls {
            return Err(InvalidParameter::needs("ca", "tls://"));
        }
        if let Some(stream) = &self.stream
            && (stream.is_empty() || stream.contains(is_not_of_a_name))
        {
            let problem = r"write a name; there is no space in one and none of . * > / \";
            return Err(InvalidParameter::value("stream", stream, problem));
        }
        if self.create_stream {
            if self.stream.is_none() {
                return Err(InvalidParameter::needs(
                    "create_stream",
                    "stream=NAME as well",
                ));
            }
            if self.subject.stream_subject().is_none() {
                let what = "a subject whose first part is fixed, such as events.{topic}";
                return Err(InvalidParameter::needs("create_stream", what));
            }
        }
        if self.fence {
            if self.stream.is_none() {
                return Err(InvalidParameter::needs("fence", "stream=NAME as well"));
            }
            if !self.subject.is_of_one_ordering_key() {
                let what = "a subject with {topic} and {key} and without {id}";
                return Err(InvalidParameter::needs("fence", what));
            }
        }
        if self.connect_timeout.is_zero() {
            let problem = "write at least 1 second";
            return Err(InvalidParameter::value("connect_timeout", "0", problem));
        }
        Ok(())
    }

    /// The servers, as people read them: without credentials.
    pub(crate) fn address(&self) -> String {
        let servers: Vec<String> = self
            .servers
            .iter()
            .map(|server| with_port(server))
            .collect();
        let scheme = if self.tls { "tls" } else { "nats" };
        format!("{scheme}://{}", servers.join(","))
    }
}

/// The server with its port.
pub(crate) fn with_port(server: &str) -> String {
    match url::host_and_port(server) {
        Some((host, port)) => format!("{host}:{port}"),
        None => server.to_owned(),
    }
}

fn is_not_of_a_name(c: char) -> bool {
    c.is_whitespace() || c.is_control() || ".*>/\\".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(change: impl FnOnce(&mut NatsConfig)) -> String {
        let mut config = NatsConfig::default();
        change(&mut config);
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn what_does_not_go_together_is_refused_and_named() {
        assert_eq!(NatsConfig::default().check(), Ok(()));
        let subject = |text: &str| text.parse::<SubjectTemplate>().unwrap();
        for (said, expected) in [
            (problem(|c| c.servers.clear()), "server 1"),
            (
                problem(|c| c.servers = vec!["a".into(), "b:x".into()]),
                "server 2",
            ),
            (problem(|c| c.ca = Some("/ca.pem".into())), "needs tls://"),
            (problem(|c| c.stream = Some("a.b".into())), "stream"),
            (
                problem(|c| c.create_stream = true),
                "needs stream=NAME as well",
            ),
            (
                problem(|c| {
                    c.create_stream = true;
                    c.stream = Some("S".into());
                }),
                "first part is fixed",
            ),
            (
                problem(|c| {
                    c.fence = true;
                    c.subject = subject("{topic}.{key}");
                }),
                "needs stream=NAME as well",
            ),
            (
                problem(|c| {
                    c.fence = true;
                    c.stream = Some("S".into());
                    c.subject = subject("e.{key}");
                }),
                "{topic} and {key}",
            ),
            (
                problem(|c| c.connect_timeout = Duration::ZERO),
                "at least 1 second",
            ),
        ] {
            assert!(said.contains(expected), "{said:?} {expected:?}");
        }
    }

    #[test]
    fn the_address_has_ports_and_no_credentials() {
        let config = NatsConfig {
            servers: vec!["a".into(), "[::1]:4333".into()],
            tls: true,
            credentials: Credentials::Token("hunter2".into()),
            ..NatsConfig::default()
        };
        assert_eq!(config.address(), "tls://a:4222,[::1]:4333");
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
