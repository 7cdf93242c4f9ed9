//! Reading a configuration from a URL.

use outbox_publisher::{InvalidParameter, Parameters, Template, percent_decode};

use crate::{InvalidUrl, MissingQueue, RabbitMqConfig, Target, Tls};

/// All parameters, in the order in which people read of them.
const KNOWN: [&str; 7] = [
    "queue",
    "declare",
    "exchange",
    "routing_key",
    "ca",
    "connect_timeout",
    "heartbeat",
];

pub(crate) fn read(text: &str) -> Result<RabbitMqConfig, InvalidUrl> {
    let (tls, rest) = match (text.strip_prefix("amqps://"), text.strip_prefix("amqp://")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err(InvalidUrl::Scheme),
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    if place.contains('#') {
        return Err(part("user, password or virtual host", "free of #"));
    }
    let (authority, vhost) = place.split_once('/').unwrap_or((place, ""));
    let (user_info, host_port) = match authority.rsplit_once('@') {
        Some((user_info, host_port)) => (Some(user_info), host_port),
        None => (None, authority),
    };
    let (user, password) = match user_info {
        None => ("guest", "guest"),
        Some(user_info) => user_info.split_once(':').unwrap_or((user_info, "guest")),
    };
    let (host, port) = host_and_port(host_port)?;
    let mut parameters = Parameters::read(query, &KNOWN)?;
    if !tls {
        parameters.refuse(&["ca"], "amqps://")?;
    }
    let ca = parameters.path("ca")?;
    Ok(RabbitMqConfig {
        host: decode("host", host)?,
        port: port.unwrap_or(if tls { 5671 } else { 5672 }),
        tls: tls.then_some(Tls { ca }),
        user: decode("user", user)?,
        password: decode("password", password)?,
        vhost: match vhost {
            "" => "/".to_owned(),
            vhost => decode("virtual host", vhost)?,
        },
        target: target(&mut parameters)?,
        connect_timeout: parameters
            .seconds("connect_timeout")?
            .unwrap_or(RabbitMqConfig::CONNECT_TIMEOUT),
        heartbeat: parameters
            .seconds("heartbeat")?
            .unwrap_or(RabbitMqConfig::HEARTBEAT),
    })
}

fn host_and_port(text: &str) -> Result<(&str, Option<u16>), InvalidUrl> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(address) => address
            .split_once(']')
            .ok_or(part("host", "an address with a closing bracket"))?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    if host.is_empty() {
        return Err(part("host", "there"));
    }
    let wanted = part("port", "a number from 1 to 65535");
    let port = match rest.strip_prefix(':') {
        Some(port) => Some(port.parse().ok().filter(|port| *port != 0).ok_or(wanted)?),
        None if rest.is_empty() => None,
        None => return Err(wanted),
    };
    Ok((host, port))
}

fn target(parameters: &mut Parameters) -> Result<Target, InvalidParameter> {
    let Some(exchange) = parameters.parse("exchange")? else {
        parameters.refuse(&["routing_key"], "exchange")?;
        let missing = [
            ("true", MissingQueue::Declare),
            ("false", MissingQueue::Wait),
        ];
        return Ok(Target::Queue {
            queue: parameters.parse("queue")?.unwrap_or_else(Template::topic),
            missing: parameters.choice("declare", &missing)?.unwrap_or_default(),
        });
    };
    parameters.refuse(&["queue", "declare"], "a URL without exchange")?;
    let routing_key = parameters.parse("routing_key")?;
    Ok(Target::Exchange {
        exchange,
        routing_key: routing_key.unwrap_or_else(Template::topic),
    })
}

fn decode(name: &'static str, text: &str) -> Result<String, InvalidUrl> {
    percent_decode(text).ok_or(part(name, "percent-encoded UTF-8"))
}

fn part(part: &'static str, wanted: &'static str) -> InvalidUrl {
    InvalidUrl::Part { part, wanted }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(text: &str) -> Result<RabbitMqConfig, String> {
        RabbitMqConfig::from_url(text).map_err(|error| error.to_string())
    }

    fn refusal(text: &str) -> String {
        read(text).unwrap_err()
    }

    #[test]
    fn a_bare_url_publishes_to_the_queue_of_the_topic_as_guest() {
        for text in ["amqp://rabbit", "amqp://rabbit/", "amqp://rabbit:5672/%2F?"] {
            let config = read(text).unwrap();
            assert_eq!((&*config.host, config.port), ("rabbit", 5672));
            assert_eq!((&*config.user, &*config.password), ("guest", "guest"));
            assert_eq!(config.vhost, "/");
            assert_eq!(config.server(), "amqp://rabbit:5672/");
            let queue = Template::topic();
            let missing = MissingQueue::Wait;
            assert_eq!(config.target, Target::Queue { queue, missing });
        }
        assert_eq!(read("amqps://rabbit").unwrap().port, 5671);
    }

    #[test]
    fn everything_can_stand_in_the_url() {
        let config = read(
            "amqps://us%40er:p%3A%2F%3F@[::1]:7/sh%2Fop?exchange=ev-{topic}&routing_key=a+b.{key}%26&connect_timeout=3&heartbeat=20",
        )
        .unwrap();
        assert_eq!((&*config.host, config.port), ("::1", 7));
        assert_eq!((&*config.user, &*config.password), ("us@er", "p:/?"));
        assert_eq!(config.vhost, "sh/op");
        assert_eq!(config.server(), "amqps://[::1]:7/sh/op");
        assert_eq!(config.connect_timeout, Duration::from_secs(3));
        assert_eq!(config.heartbeat, Duration::from_secs(20));
        let Target::Exchange {
            exchange,
            routing_key,
        } = config.target
        else {
            panic!("no exchange");
        };
        assert_eq!(exchange.to_string(), "ev-{topic}");
        assert_eq!(routing_key.to_string(), "a+b.{key}&");
    }

    #[test]
    fn a_queue_is_declared_only_when_told_to() {
        let declared = |text| match read(text).unwrap().target {
            Target::Queue { missing, .. } => missing,
            Target::Exchange { .. } => panic!("no queue"),
        };
        assert_eq!(
            declared("amqp://h?queue=q-{topic}&declare=true"),
            MissingQueue::Declare
        );
        assert_eq!(declared("amqp://h?declare=false"), MissingQueue::Wait);
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (text, name) in [
            ("http://h", "amqp://"),
            ("amqp://", "host"),
            ("amqp://u:p@:5", "host"),
            ("amqp://h:x", "port"),
            ("amqp://h:0", "port"),
            ("amqp://[::1", "host"),
            ("amqp://[::1]5", "port"),
            ("amqp://h/a#b", "#"),
            ("amqp://h/%ff", "virtual host"),
            (
                "amqp://h/%zz",
                "virtual host in the URL is not percent-encoded",
            ),
            (
                "amqp://h/a%2",
                "virtual host in the URL is not percent-encoded",
            ),
            (
                "amqp://u:5%@h",
                "password in the URL is not percent-encoded",
            ),
            (
                "amqp://h?quue=a",
                "unknown parameter quue; known are queue,",
            ),
            ("amqp://h?queue=a&queue=b", "queue stands there twice"),
            ("amqp://h?queue={topics}", "there is no {topics}"),
            ("amqp://h?queue={key}", "only {topic}"),
            ("amqp://h?queue=", "queue"),
            ("amqp://h?exchange=", "exchange"),
            ("amqp://h?exchange=e{id}", "exchange"),
            (
                "amqp://h?exchange=e&queue=q",
                "queue needs a URL without exchange",
            ),
            ("amqp://h?exchange=e&declare=true", "declare"),
            ("amqp://h?routing_key=r", "routing_key needs exchange"),
            (
                "amqp://h?declare=yes",
                "declare is \"yes\": write true or false",
            ),
            ("amqp://h?ca=/a.pem", "ca needs amqps://"),
            ("amqps://h?ca=", "ca"),
            ("amqps://h?ca=/nowhere/a.pem", "/nowhere/a.pem"),
            ("amqp://h?heartbeat=0", "heartbeat"),
            ("amqp://h?heartbeat=65536", "heartbeat"),
            ("amqp://h?connect_timeout=5s", "connect_timeout"),
            ("amqp://h?connect_timeout=0", "connect_timeout"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(name), "{text}: {refusal}");
        }
    }

    #[test]
    fn no_password_is_shown() {
        let config = read("amqp://user:hunter2@h").unwrap();
        assert!(!format!("{config:?} {}", config.server()).contains("hunter2"));
        for text in [
            "amqp://user:hunter2@h:x",
            "amqp://user:hunter2@h/#",
            "amqp://user:hunter2/@h",
            "amqp://user:1?hunter2@h",
        ] {
            assert!(!refusal(text).contains("hunter2"), "{text}");
        }
    }
}
