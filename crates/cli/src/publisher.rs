//! A destination that messages can be published to, as its URL names it.

use std::{fmt, sync::Arc};

#[cfg(feature = "kafka")]
use outbox::kafka::{InvalidUrl, KafkaConfig, KafkaPublisher};
use outbox::{
    file::FilePublisher, http::HttpPublisher, nats::NatsPublisher, publisher::Publisher,
    rabbitmq::RabbitMqPublisher, redis::RedisPublisher,
};

use crate::{exit::Exit, failure::Failure};

/// A parsed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    Stdout,
    File(String),
    Broker(Broker),
}

/// A broker, which is connected to when the first message goes there.
#[derive(Clone)]
pub(crate) struct Broker {
    url: String,
    publisher: Arc<dyn Publisher>,
}

const SUPPORTED: &str = "supported are amqp://HOST, amqps://HOST (RabbitMQ), nats://HOST, tls://HOST (NATS JetStream), \
                         redis://HOST, rediss://HOST (Redis), kafka://HOST, kafkas://HOST (Kafka), \
                         http://HOST, https://HOST, file:PATH and stdout:";

#[cfg(not(feature = "kafka"))]
const BUILD: &str = "take a released program, or build it with --features kafka (kafka-tls for kafkas:// and SCRAM)";

#[cfg(feature = "kafka")]
const BUILD_TLS: &str = "build it with --features kafka-tls";

impl Destination {
    /// Reads a URL; the failure does not repeat it, since it may hold a password.
    pub(crate) fn parse(url: &str) -> Result<Self, Failure> {
        let refused = |what: String| Failure::new(Exit::Input, what).hint(SUPPORTED);
        match url.split_once(':') {
            Some(("stdout", "")) => Ok(Self::Stdout),
            Some(("stdout", _)) => Err(refused("the destination stdout: takes no path".to_owned())),
            Some(("file", path)) => match path.strip_prefix("//").unwrap_or(path) {
                "" => Err(refused("the destination file: has no path".to_owned())),
                path => Ok(Self::File(path.to_owned())),
            },
            Some(("amqp" | "amqps", _)) => Self::broker(url, "RabbitMQ", RabbitMqPublisher::new),
            Some(("nats" | "tls", _)) => Self::broker(url, "NATS", NatsPublisher::new),
            Some(("redis" | "rediss", _)) => Self::broker(url, "Redis", RedisPublisher::new),
            #[cfg(feature = "kafka")]
            Some(("kafka" | "kafkas", _)) => Self::kafka(url),
            #[cfg(not(feature = "kafka"))]
            Some(("kafka" | "kafkas", _)) => {
                let what = "this program was built without Kafka";
                Err(Failure::new(Exit::Input, what).hint(BUILD))
            }
            Some(("http" | "https", _)) => Self::broker(url, "HTTP", HttpPublisher::new),
            Some((scheme, _)) if is_scheme(scheme) => Err(refused(format!(
                "cannot publish to a destination of scheme {scheme}"
            ))),
            Some((scheme, _)) if is_scheme(&scheme.to_ascii_lowercase()) => {
                let what =
                    "the scheme of the destination has capitals: write the scheme in lower case";
                Err(refused(what.to_owned()))
            }
            _ => Err(refused("this is no URL of a destination".to_owned())),
        }
    }

    #[cfg(feature = "kafka")]
    fn kafka(url: &str) -> Result<Self, Failure> {
        match KafkaConfig::from_url(url) {
            Err(InvalidUrl::Feature { what }) => {
                let what =
                    format!("this program was built without TLS for Kafka, which {what} needs");
                Err(Failure::new(Exit::Input, what).hint(BUILD_TLS))
            }
            _ => Self::broker(url, "Kafka", KafkaPublisher::new),
        }
    }

    fn broker<P: Publisher, E: std::error::Error>(
        url: &str,
        name: &str,
        make: impl FnOnce(&str) -> Result<P, E>,
    ) -> Result<Self, Failure> {
        Ok(Self::Broker(Broker {
            url: url.to_owned(),
            publisher: Arc::new(made(name, make(url))?),
        }))
    }

    pub(crate) fn open(&self) -> Result<Arc<dyn Publisher>, Failure> {
        Ok(match self {
            Self::Stdout => Arc::new(FilePublisher::stdout()),
            Self::File(path) => Arc::new(
                FilePublisher::open(path)
                    .map_err(|error| Failure::caused(Exit::Destination, &error))?,
            ),
            Self::Broker(broker) => Arc::clone(&broker.publisher),
        })
    }
}

impl PartialEq for Broker {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for Broker {}

/// Without the URL, which may hold a password.
impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.publisher.fmt(f)
    }
}

/// What was made of the URL of a broker, or what is wrong with that.
pub(crate) fn made<P, E: std::error::Error>(name: &str, made: Result<P, E>) -> Result<P, Failure> {
    made.map_err(|error| {
        let failure = Failure::caused(Exit::Input, &error);
        if failure.what.contains(name) {
            return failure;
        }
        let what = format!("the URL of {name}: {}", failure.what);
        Failure { what, ..failure }
    })
}

/// Whether the text before the colon looks like a scheme, and not like a secret that somebody pasted.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.len() <= 16
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '+')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_read_or_refused_without_showing_them() {
        let file = |path: &str| Destination::File(path.to_owned());
        assert_eq!(Destination::parse("stdout:").unwrap(), Destination::Stdout);
        assert_eq!(
            Destination::parse("file:a/b.ndjson").unwrap(),
            file("a/b.ndjson")
        );
        assert_eq!(Destination::parse("file:///a").unwrap(), file("/a"));
        for bad in [
            "",
            "stdout",
            "stdout:x",
            "file:",
            "file://",
            "pulsar://u:secret@h",
            "secret",
        ] {
            let refused = Destination::parse(bad).unwrap_err();
            assert_eq!(refused.exit, Exit::Input);
            assert!(!refused.to_string().contains("secret"), "{refused}");
            assert!(refused.to_string().contains(SUPPORTED));
        }
    }

    #[cfg(not(feature = "kafka"))]
    #[test]
    fn a_program_without_kafka_says_how_to_get_one_with_it() {
        let refused = Destination::parse("kafka://u:secret@h").unwrap_err();
        assert_eq!(refused.exit, Exit::Input);
        let refused = refused.to_string();
        assert!(refused.contains("--features kafka"), "{refused}");
        assert!(!refused.contains("secret"), "{refused}");
    }

    #[cfg(all(feature = "kafka", not(feature = "kafka-tls")))]
    #[test]
    fn a_program_without_tls_for_kafka_says_how_to_get_one_with_it() {
        for url in [
            "kafkas://u:secret@h",
            "kafka://u:secret@h?sasl=scram-sha-256",
        ] {
            let refused = Destination::parse(url).unwrap_err();
            assert_eq!(refused.exit, Exit::Input);
            let refused = refused.to_string();
            assert!(refused.contains("--features kafka-tls"), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn a_scheme_in_capitals_is_to_be_written_in_lower_case() {
        for url in ["Kafka://u:secret@h", "HTTP://h?secret", "Stdout:", "FILE:a"] {
            let refused = Destination::parse(url).unwrap_err().to_string();
            assert!(
                refused.contains("write the scheme in lower case"),
                "{refused}"
            );
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn what_an_endpoint_is_told_stands_behind_the_hash() {
        let good = "https://u:hunter2@h/hooks/{topic}?a=b#mode=cloudevents-binary&source=/shop";
        let destination = Destination::parse(good).unwrap();
        assert!(!format!("{destination:?}").contains("hunter2"));
        let refused = Destination::parse("https://h/a#colour=hunter2").unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("colour"), "{refused}");
        assert!(!refused.contains("hunter2"), "{refused}");
    }

    #[test]
    fn a_broker_is_named_by_its_url_and_its_parameters_are_read_at_once() {
        for (name, good) in [
            ("RabbitMQ", "amqp://u:secret@h/v?exchange=e"),
            ("NATS", "nats://u:secret@h?subject=s.{topic}"),
            ("Redis", "redis://:secret@h/1"),
            #[cfg(feature = "kafka")]
            ("Kafka", "kafka://u:secret@h/events"),
        ] {
            let destination = Destination::parse(good).unwrap();
            assert_eq!(destination, Destination::parse(good).unwrap());
            assert!(!format!("{destination:?}").contains("secret"));
            let bad = format!(
                "{good}{}colour=secret",
                if good.contains('?') { '&' } else { '?' }
            );
            let refused = Destination::parse(&bad).unwrap_err().to_string();
            assert!(refused.contains("colour"), "{refused}");
            assert_eq!(refused.matches(name).count(), 1, "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
