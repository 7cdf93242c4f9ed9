//! Reading a URL into a configuration. Leaves out what goes together, which the configuration checks.

use outbox_publisher::{InvalidParameter, Parameters, percent_decode};

use crate::{Credentials, InvalidUrl, NatsConfig};

const DEFAULT_PORT: u16 = 4222;

/// All parameters, in the order in which people read of them.
const KNOWN: [&str; 8] = [
    "subject",
    "stream",
    "create_stream",
    "fence",
    "ca",
    "creds",
    "nkey",
    "connect_timeout",
];

/// Reads `nats://[user[:password]@]host[:port][,host[:port]…][/][?name=value&…]`; a user without a password is a token.
pub(crate) fn read(url: &str) -> Result<NatsConfig, InvalidUrl> {
    let (scheme, rest) = url.split_once("://").ok_or(InvalidUrl::Scheme)?;
    let mut config = NatsConfig {
        tls: match scheme {
            "nats" => false,
            "tls" => true,
            _ => return Err(InvalidUrl::Scheme),
        },
        ..NatsConfig::default()
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    let servers = match authority.rsplit_once('@') {
        Some((user, servers)) => {
            config.credentials = credentials(user)?;
            servers
        }
        None => authority,
    };
    config.servers = servers.split(',').map(str::to_owned).collect();
    for (at, server) in config.servers.iter().enumerate() {
        host_and_port(server).ok_or(InvalidUrl::Server { number: at + 1 })?;
    }
    if !path.is_empty() {
        return Err(InvalidUrl::Path);
    }
    let mut parameters = Parameters::read(query, &KNOWN)?;
    config.subject = parameters.parse("subject")?.unwrap_or(config.subject);
    config.stream = parameters.take("stream");
    config.create_stream = parameters.flag("create_stream")?;
    config.fence = parameters.flag("fence")?;
    config.ca = parameters.path("ca")?;
    let connect_timeout = parameters.seconds("connect_timeout")?;
    config.connect_timeout = connect_timeout.unwrap_or(config.connect_timeout);
    let creds = parameters.path("creds")?.map(Credentials::File);
    let nkey = parameters.path("nkey")?.map(Credentials::Nkey);
    for (name, by) in [("creds", creds), ("nkey", nkey)] {
        let Some(by) = by else { continue };
        if config.credentials != Credentials::None {
            return Err(InvalidParameter::needs(name, "a URL without other credentials").into());
        }
        config.credentials = by;
    }
    Ok(config)
}

fn credentials(user: &str) -> Result<Credentials, InvalidUrl> {
    let decode = |part| percent_decode(part).ok_or(InvalidUrl::Credentials);
    if user.contains('@') {
        return Err(InvalidUrl::Credentials);
    }
    Ok(match user.split_once(':') {
        Some((user, password)) => Credentials::Password {
            user: decode(user)?,
            password: decode(password)?,
        },
        None => Credentials::Token(decode(user)?),
    })
}

/// The two parts of a server, as [`outbox_publisher::host_and_port`] reads them.
pub(crate) fn host_and_port(server: &str) -> Option<(&str, u16)> {
    outbox_publisher::host_and_port(server, DEFAULT_PORT)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn refused(url: &str) -> String {
        NatsConfig::from_url(url).unwrap_err().to_string()
    }

    #[test]
    fn every_part_of_a_url_is_read() {
        let url = "tls://sh%40p:p%3Ass%2F@a,b:4333/?subject=events.{topic}.{key}&stream=EVENTS&create_stream=true\
                   &fence=true&ca=/etc/ca%20file.pem&connect_timeout=2";
        let expected = NatsConfig {
            servers: vec!["a".into(), "b:4333".into()],
            tls: true,
            ca: Some("/etc/ca file.pem".into()),
            credentials: Credentials::Password {
                user: "sh@p".into(),
                password: "p:ss/".into(),
            },
            subject: "events.{topic}.{key}".parse().unwrap(),
            stream: Some("EVENTS".into()),
            create_stream: true,
            fence: true,
            connect_timeout: Duration::from_secs(2),
        };
        assert_eq!(NatsConfig::from_url(url), Ok(expected));
        let bare = NatsConfig::from_url("nats://h").unwrap();
        let servers = vec!["h".to_owned()];
        assert_eq!(
            bare,
            NatsConfig {
                servers,
                ..NatsConfig::default()
            }
        );
    }

    #[test]
    fn there_is_one_way_to_say_who_one_is() {
        let credentials = |url| NatsConfig::from_url(url).unwrap().credentials;
        assert_eq!(
            credentials("nats://t0k@h"),
            Credentials::Token("t0k".into())
        );
        assert_eq!(
            credentials("nats://h?creds=/a.creds"),
            Credentials::File("/a.creds".into())
        );
        assert_eq!(
            credentials("nats://h?nkey=/a.nk"),
            Credentials::Nkey("/a.nk".into())
        );
        let needs = "needs a URL without other credentials";
        for (url, name) in [
            ("nats://t0k@h?creds=/a.creds", "creds"),
            ("nats://h?nkey=/a&creds=/b", "nkey"),
        ] {
            assert_eq!(refused(url), format!("the parameter {name} {needs}"));
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_secrets_are_not() {
        for (url, expected) in [
            ("h:4222", "nats:// or tls://"),
            ("amqp://h", "nats:// or tls://"),
            ("nats://", "server 1"),
            ("nats://a,,b", "server 2"),
            ("nats://a:0", "server 1"),
            ("nats://a:65536", "server 1"),
            ("nats://[::1", "server 1"),
            ("nats://u:hunter2/@h", "server 1"),
            ("nats://u:hunter2@a,u:hunter2@b", "credentials"),
            ("nats://u:%ff@h", "credentials"),
            ("nats://u:1?hunter2@h", "%3F"),
            ("nats://h/vhost", "no path"),
            (
                "nats://h?topic=x",
                "unknown parameter topic; known are subject,",
            ),
            ("nats://h?stream=A&stream=B", "stream stands there twice"),
            ("nats://h?stream=", "stream is \"\""),
            (
                "nats://h?fence=yes",
                "fence is \"yes\": write true or false",
            ),
            ("nats://h?connect_timeout=5s", "whole number of seconds"),
            (
                "nats://h?subject=a..b",
                "subject is \"a..b\": a subject has no spaces",
            ),
        ] {
            let said = refused(url);
            assert!(said.contains(expected), "{url} {said}");
            assert!(!said.contains("hunter2"), "{url} {said}");
        }
    }
}
