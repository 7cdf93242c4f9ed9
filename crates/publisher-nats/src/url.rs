//! Reading a URL into a configuration. Leaves out what goes together, which the configuration checks.

use std::{collections::HashSet, path::PathBuf, time::Duration};

use percent_encoding::percent_decode_str;

use crate::{Credentials, InvalidUrl, NatsConfig};

const DEFAULT_PORT: u16 = 4222;

const KNOWN: &str = "subject, stream, create_stream, fence, ca, creds, nkey, connect_timeout";

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
    let mut seen = HashSet::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !seen.insert(name) {
            return Err(InvalidUrl::RepeatedParameter { name: name.into() });
        }
        set(&mut config, name, value)?;
    }
    Ok(config)
}

fn set(config: &mut NatsConfig, name: &str, value: &str) -> Result<(), InvalidUrl> {
    match name {
        "subject" => {
            let parsed = text("subject", value)?.parse();
            config.subject =
                parsed.map_err(|why| InvalidUrl::value("subject", format!("is invalid: {why}")))?;
        }
        "stream" => config.stream = Some(text("stream", value)?),
        "create_stream" => config.create_stream = flag("create_stream", value)?,
        "fence" => config.fence = flag("fence", value)?,
        "ca" => config.ca = Some(file("ca", value)?),
        "creds" => identify(config, "creds", Credentials::File(file("creds", value)?))?,
        "nkey" => identify(config, "nkey", Credentials::Nkey(file("nkey", value)?))?,
        "connect_timeout" => {
            let seconds = value.parse();
            config.connect_timeout = seconds.map(Duration::from_secs).map_err(|_| {
                InvalidUrl::value("connect_timeout", "is no whole number of seconds")
            })?;
        }
        unknown => {
            return Err(InvalidUrl::UnknownParameter {
                name: unknown.to_owned(),
                known: KNOWN.to_owned(),
            });
        }
    }
    Ok(())
}

/// There is one way to say who one is.
fn identify(
    config: &mut NatsConfig,
    name: &'static str,
    by: Credentials,
) -> Result<(), InvalidUrl> {
    if config.credentials != Credentials::None {
        return Err(InvalidUrl::value(
            name,
            "stands beside other credentials; give one of them",
        ));
    }
    config.credentials = by;
    Ok(())
}

fn credentials(user: &str) -> Result<Credentials, InvalidUrl> {
    let decode = |part| decoded(part).ok_or(InvalidUrl::Credentials);
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

fn decoded(text: &str) -> Option<String> {
    let text = percent_decode_str(text).decode_utf8();
    text.ok().map(std::borrow::Cow::into_owned)
}

fn text(name: &'static str, value: &str) -> Result<String, InvalidUrl> {
    match decoded(value) {
        Some(text) if !text.is_empty() => Ok(text),
        Some(_) => Err(InvalidUrl::value(name, "is empty")),
        None => Err(InvalidUrl::value(name, "is no percent-encoded text")),
    }
}

fn file(name: &'static str, value: &str) -> Result<PathBuf, InvalidUrl> {
    text(name, value).map(PathBuf::from)
}

fn flag(name: &'static str, value: &str) -> Result<bool, InvalidUrl> {
    value
        .parse()
        .map_err(|_| InvalidUrl::value(name, "is neither true nor false"))
}

/// The two parts of `host`, `host:port`, `[address]` or `[address]:port`, the brackets with the host.
pub(crate) fn host_and_port(server: &str) -> Option<(&str, u16)> {
    let after_host = match server.strip_prefix('[') {
        Some(address) => address.find(']')? + 2,
        None => server.find(':').unwrap_or(server.len()),
    };
    let (host, port) = server.split_at(after_host);
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port != 0)?,
        None if port.is_empty() => DEFAULT_PORT,
        None => return None,
    };
    let is_written = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let fits = match host.strip_prefix('[') {
        Some(address) => address
            .trim_end_matches(']')
            .parse::<std::net::Ipv6Addr>()
            .is_ok(),
        None => !host.is_empty() && host.chars().all(is_written),
    };
    fits.then_some((host, port))
}

#[cfg(test)]
mod tests {
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
        assert!(
            refused("nats://t0k@h?creds=/a.creds").contains("creds of NATS stands beside other")
        );
        assert!(refused("nats://h?nkey=/a&creds=/b").contains("creds of NATS stands beside other"));
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
            ("nats://h/vhost", "no path"),
            ("nats://h?topic=x", "\"topic\""),
            ("nats://h?stream=A&stream=B", "stream stands twice"),
            ("nats://h?stream=", "stream of NATS is empty"),
            (
                "nats://h?fence=yes",
                "fence of NATS is neither true nor false",
            ),
            ("nats://h?connect_timeout=5s", "whole number of seconds"),
            ("nats://h?subject=a..b", "subject of NATS is invalid"),
        ] {
            let said = refused(url);
            assert!(said.contains(expected), "{url} {said}");
            assert!(!said.contains("hunter2"), "{url} {said}");
        }
        assert!(refused("nats://h?topic=x").contains(KNOWN));
    }

    #[test]
    fn a_server_is_a_host_with_or_without_a_port() {
        assert_eq!(host_and_port("h"), Some(("h", 4222)));
        assert_eq!(
            host_and_port("nats-1.example.org:1"),
            Some(("nats-1.example.org", 1))
        );
        assert_eq!(host_and_port("[::1]"), Some(("[::1]", 4222)));
        assert_eq!(host_and_port("[::1]:4333"), Some(("[::1]", 4333)));
        for server in ["", ":4222", "[]", "[::1]x", "[x]", "a b", "a:b:1", "a:"] {
            assert_eq!(host_and_port(server), None, "{server}");
        }
    }
}
