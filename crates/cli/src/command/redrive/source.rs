//! The broker that `--from` names, if its dead-letter queues can be read.

use outbox::{
    nats::NatsPublisher, publisher::DeadQueues, rabbitmq::RabbitMqPublisher, redis::RedisPublisher,
};

use crate::{
    exit::Exit,
    failure::Failure,
    publisher::{Destination, made},
};

const SUPPORTED: &str = "dead letters are read from amqp://HOST, amqps://HOST (RabbitMQ), nats://HOST, tls://HOST \
                         (NATS JetStream), redis://HOST and rediss://HOST (Redis)";

/// Reads the URL; nothing is connected to yet. The failure does not repeat it, since it may hold a password.
pub(super) fn open(url: &str) -> Result<Box<dyn DeadQueues>, Failure> {
    Ok(match url.split_once(':') {
        Some(("amqp" | "amqps", _)) => Box::new(made("RabbitMQ", RabbitMqPublisher::new(url))?),
        Some(("nats" | "tls", _)) => Box::new(made("NATS", NatsPublisher::new(url))?),
        Some(("redis" | "rediss", _)) => Box::new(made("Redis", RedisPublisher::new(url))?),
        Some(("kafka" | "kafkas", _)) => {
            let what = "no dead letter can be taken out of a topic of Kafka; let a consumer group read it and publish again";
            return Err(Failure::new(Exit::Input, what).hint(SUPPORTED));
        }
        _ => {
            Destination::parse(url)?;
            let what = "this destination cannot be read";
            return Err(Failure::new(Exit::Input, what).hint(SUPPORTED));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_that_can_be_read_are_opened_and_others_refused_without_showing_them() {
        for url in ["amqp://u:secret@h", "nats://h", "redis://h?layout=stream"] {
            assert!(open(url).is_ok(), "{url}");
        }
        for url in [
            "kafka://u:secret@h",
            "https://u:secret@h/a",
            "stdout:",
            "file:a",
            "secret",
            "redis://u:secret@h?colour=red",
            "REDIS://u:secret@h",
        ] {
            let refused = open(url).unwrap_err();
            assert_eq!(refused.exit, Exit::Input);
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
    }
}
