//! The settings of the client library, and why each is not left as it is.

use std::time::Duration;

use rdkafka::ClientConfig;

use crate::{Compression, KafkaConfig};

/// Which of its two clients a publisher sets up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Sends records in batches.
    Batching,
    /// Sends every record in a request of its own, and looks at what there is without making a topic.
    Single,
}

/// What the client of this role is made with.
pub(crate) fn of(config: &KafkaConfig, role: Role) -> ClientConfig {
    let mut settings = ClientConfig::new();
    let milliseconds = |duration: Duration| (duration.as_secs_f64() * 1_000.0).to_string();
    let timeout = config.message_timeout.as_millis().to_string();
    settings
        .set("bootstrap.servers", config.with_ports())
        .set("client.id", "outbox")
        // A retry inside the library then neither doubles nor reorders what a partition has; all replicas in sync confirm.
        .set("enable.idempotence", "true")
        .set("acks", "all")
        // As the Java clients do, so that a key has the same partition whoever produces it.
        .set("partitioner", "murmur2_random")
        .set("message.timeout.ms", &timeout)
        // A broker that waits for its replicas, or a connection that carries nothing, is not waited for any longer than that.
        .set("request.timeout.ms", &timeout)
        .set("socket.timeout.ms", &timeout)
        .set("linger.ms", milliseconds(config.linger))
        .set("batch.size", config.batch_bytes.to_string())
        .set("compression.codec", codec(config.compression))
        // How large a record may be is for the broker to say; no message is as large as this.
        .set("message.max.bytes", MAX_RECORD_BYTES)
        // Outages end when the broker is back, not up to 10 s later.
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "1000")
        .set(
            "socket.connection.setup.timeout.ms",
            config.connect_timeout.as_millis().to_string(),
        )
        .set("socket.keepalive.enable", "true")
        // A topic that is missing is a destination that is missing, which the relay waits for by itself.
        .set("topic.metadata.propagation.max.ms", "0")
        // Nothing is told to brokers that collect statistics of their clients.
        .set("enable.metrics.push", "false");
    let is_single = role == Role::Single;
    if is_single {
        settings.set("batch.num.messages", "1");
    }
    // Unless it is told otherwise the library lets brokers make topics, of whatever name a producer asks for.
    let may_create = config.create_topics && !is_single;
    settings.set("allow.auto.create.topics", may_create.to_string());
    security(config, &mut settings);
    settings
}

/// Room for the largest payload and headers of a message, below what a broker takes as a request by default.
const MAX_RECORD_BYTES: &str = "100000000";

fn codec(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "none",
        Compression::Lz4 => "lz4",
        Compression::Snappy => "snappy",
    }
}

fn security(config: &KafkaConfig, settings: &mut ClientConfig) {
    let protocol = match (config.tls, &config.credentials) {
        (false, None) => "plaintext",
        (false, Some(_)) => "sasl_plaintext",
        (true, None) => "ssl",
        (true, Some(_)) => "sasl_ssl",
    };
    settings.set("security.protocol", protocol);
    if let Some(credentials) = &config.credentials {
        settings
            .set("sasl.mechanism", credentials.mechanism.name())
            .set("sasl.username", &credentials.user)
            .set("sasl.password", &credentials.password);
    }
    if config.tls {
        // The OpenSSL that is compiled with it does not know where the system keeps what it trusts; the library looks for it.
        let ca = config.ca.as_ref().map(|ca| ca.to_string_lossy());
        settings.set("ssl.ca.location", ca.unwrap_or("probe".into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Credentials, Mechanism};

    #[test]
    fn the_library_takes_every_setting() {
        let config = KafkaConfig {
            credentials: Some(Credentials {
                user: "u".into(),
                password: "p".into(),
                mechanism: Mechanism::Plain,
            }),
            ..KafkaConfig::default()
        };
        for role in [Role::Batching, Role::Single] {
            let settings = of(&config, role);
            let native = settings.create_native_config().unwrap();
            let taken = |name: &str| native.get(name).unwrap();
            assert_eq!(taken("message.timeout.ms"), "4000");
            assert_eq!(taken("partitioner"), "murmur2_random");
            assert_eq!(taken("security.protocol"), "sasl_plaintext");
            let is_single = role == Role::Single;
            assert_eq!(taken("batch.num.messages") == "1", is_single);
            assert_eq!(taken("allow.auto.create.topics"), "false");
        }
    }

    #[test]
    fn the_library_takes_the_longest_timeouts() {
        let url = "kafka://h?message_timeout=300&connect_timeout=300";
        let config = KafkaConfig::from_url(url).unwrap();
        let native = of(&config, Role::Batching).create_native_config().unwrap();
        assert_eq!(native.get("socket.timeout.ms").unwrap(), "300000");
        let setup = native.get("socket.connection.setup.timeout.ms").unwrap();
        assert_eq!(setup, "300000");
    }
}
