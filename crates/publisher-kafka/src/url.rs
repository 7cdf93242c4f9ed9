//! Reading a URL into a configuration. Leaves out what goes together, which the configuration checks.

use std::time::Duration;

use outbox_publisher::{InvalidParameter, Parameters, percent_decode};

use crate::{Compression, Credentials, InvalidUrl, KafkaConfig, Mechanism};

const DEFAULT_PORT: u16 = 9092;

/// All parameters, in the order in which people read of them.
const KNOWN: [&str; 8] = [
    "create_topics",
    "compression",
    "batch_bytes",
    "linger_ms",
    "message_timeout",
    "connect_timeout",
    "sasl",
    "ca",
];

const MECHANISMS: [(&str, Mechanism); 3] = [
    ("plain", Mechanism::Plain),
    ("scram-sha-256", Mechanism::ScramSha256),
    ("scram-sha-512", Mechanism::ScramSha512),
];

const COMPRESSIONS: [(&str, Compression); 3] = [
    ("none", Compression::None),
    ("lz4", Compression::Lz4),
    ("snappy", Compression::Snappy),
];

/// Reads `kafka://[user:password@]host[:port][,host[:port]…][/topic][?name=value&…]`.
pub(crate) fn read(url: &str) -> Result<KafkaConfig, InvalidUrl> {
    let (scheme, rest) = url.split_once("://").ok_or(InvalidUrl::Scheme)?;
    let mut config = KafkaConfig {
        tls: match scheme {
            "kafka" => false,
            "kafkas" => true,
            _ => return Err(InvalidUrl::Scheme),
        },
        ..KafkaConfig::default()
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = place.split_once('/').unwrap_or((place, ""));
    let servers = match authority.rsplit_once('@') {
        Some((user, servers)) => {
            config.credentials = Some(credentials(user)?);
            servers
        }
        None => authority,
    };
    if servers.contains('#') || path.contains('#') {
        return Err(InvalidUrl::Fragment);
    }
    config.servers = servers.split(',').map(str::to_owned).collect();
    for (at, server) in config.servers.iter().enumerate() {
        host_and_port(server).ok_or(InvalidUrl::Server { number: at + 1 })?;
    }
    if !path.is_empty() {
        // What is no text makes no name either, and is shown as it stands.
        let text = percent_decode(path).unwrap_or_else(|| path.to_owned());
        config.topic = text.parse().map_err(InvalidUrl::Template)?;
    }
    let mut parameters = Parameters::read(query, &KNOWN)?;
    config.create_topics = parameters.flag("create_topics")?;
    if let Some(compression) = parameters.choice("compression", &COMPRESSIONS)? {
        config.compression = compression;
    }
    if let Some(bytes) = parameters.number("batch_bytes", "bytes")? {
        config.batch_bytes = bytes;
    }
    if let Some(milliseconds) = parameters.number::<u32>("linger_ms", "milliseconds")? {
        config.linger = Duration::from_millis(milliseconds.into());
    }
    if let Some(timeout) = parameters.seconds("message_timeout")? {
        config.message_timeout = timeout;
    }
    if let Some(timeout) = parameters.seconds("connect_timeout")? {
        config.connect_timeout = timeout;
    }
    config.ca = parameters.path("ca")?;
    if let Some(mechanism) = parameters.choice("sasl", &MECHANISMS)? {
        let credentials = config.credentials.as_mut();
        let what = "a user and a password in the URL";
        let credentials = credentials.ok_or(InvalidParameter::needs("sasl", what))?;
        credentials.mechanism = mechanism;
    }
    Ok(config)
}

fn credentials(user: &str) -> Result<Credentials, InvalidUrl> {
    let decode = |part| percent_decode(part).ok_or(InvalidUrl::Credentials);
    let (user, password) = user.split_once(':').ok_or(InvalidUrl::Credentials)?;
    if user.contains('@') || password.contains('@') {
        return Err(InvalidUrl::Credentials);
    }
    Ok(Credentials {
        user: decode(user)?,
        password: decode(password)?,
        mechanism: Mechanism::default(),
    })
}

/// The two parts of a server, as [`outbox_publisher::host_and_port`] reads them.
pub(crate) fn host_and_port(server: &str) -> Option<(&str, u16)> {
    outbox_publisher::host_and_port(server, DEFAULT_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        KafkaConfig::from_url(url).unwrap_err().to_string()
    }

    #[test]
    fn every_part_of_a_url_is_read() {
        let url = "kafka://sh%40p:p%3Ass%2F@a,b:9093/shop.{topic}?create_topics=true&compression=lz4&batch_bytes=5000&linger_ms=3\
                   &message_timeout=7&connect_timeout=2&sasl=plain";
        let expected = KafkaConfig {
            servers: vec!["a".into(), "b:9093".into()],
            tls: false,
            ca: None,
            credentials: Some(Credentials {
                user: "sh@p".into(),
                password: "p:ss/".into(),
                mechanism: Mechanism::Plain,
            }),
            topic: "shop.{topic}".parse().unwrap(),
            create_topics: true,
            compression: Compression::Lz4,
            batch_bytes: 5_000,
            linger: Duration::from_millis(3),
            message_timeout: Duration::from_secs(7),
            connect_timeout: Duration::from_secs(2),
        };
        assert_eq!(KafkaConfig::from_url(url), Ok(expected));
        for url in [
            "kafka://h",
            "kafka://h/",
            "kafka://h/{topic}?",
            "kafka://h/%7Btopic%7D",
        ] {
            let servers = vec!["h".to_owned()];
            let expected = KafkaConfig {
                servers,
                ..KafkaConfig::default()
            };
            assert_eq!(KafkaConfig::from_url(url), Ok(expected), "{url}");
        }
    }

    #[test]
    fn tls_and_scram_are_read_whatever_this_build_can_do() {
        let config = read("kafkas://u:p@h?ca=/etc/ca%20file.pem&sasl=scram-sha-512").unwrap();
        assert!(config.tls);
        assert_eq!(config.ca, Some("/etc/ca file.pem".into()));
        let mechanism = config.credentials.map(|credentials| credentials.mechanism);
        assert_eq!(mechanism, Some(Mechanism::ScramSha512));
    }

    #[test]
    fn what_is_wrong_is_named_and_secrets_are_not() {
        for (url, expected) in [
            ("h:9092", "kafka:// or kafkas://"),
            ("amqp://h", "kafka:// or kafkas://"),
            ("kafka://", "broker 1"),
            ("kafka://a,,b", "broker 2"),
            ("kafka://a:0", "broker 1"),
            ("kafka://[::1", "broker 1"),
            ("kafka://u:hunter2/@h", "broker 1"),
            ("kafka://u:hunter2@a,u:hunter2@b", "credentials"),
            ("kafka://hunter2@a", "credentials"),
            ("kafka://u:%ff@h", "credentials"),
            ("kafka://:@h", "credentials"),
            ("kafka://:hunter2@h", "credentials"),
            ("kafka://127.0.0.1:1#x=y", "write parameters behind ?"),
            ("kafka://h/t#x=hunter2", "write parameters behind ?"),
            ("kafka://u:1#hunter2/@h", "%23"),
            ("kafka://u:1?hunter2@h", "%3F"),
            ("kafka://h/a/b", "topic \"a/b\""),
            ("kafka://h/%ff", "topic \"%ff\""),
            ("kafka://h/{topic}.{key}", "only {topic}"),
            ("kafka://h/{job}", "there is no {job}"),
            (
                "kafka://h?topic=x",
                "unknown parameter topic; known are create_topics,",
            ),
            ("kafka://h?ca=/a&ca=/b", "ca stands there twice"),
            ("kafka://h?compression=gzip", "write none or lz4 or snappy"),
            ("kafka://h?linger_ms=5s", "whole number of milliseconds"),
            ("kafka://h?message_timeout=301", "at most 300"),
            ("kafka://h?sasl=plain", "sasl needs a user and a password"),
        ] {
            let said = refused(url);
            assert!(said.contains(expected), "{url} {said}");
            assert!(!said.contains("hunter2"), "{url} {said}");
        }
    }
}
