//! A server of the Kafka protocol whose data outlive it.

use std::sync::Arc;

use outbox::{kafka::KafkaPublisher, publisher::Publisher};
use outbox_test_servers::{Kafka, KafkaOptions, Objects};

use super::{Place, TOPIC};

#[path = "../../../../crates/publisher-kafka/tests/support/reader.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
pub(crate) mod reader;

const PARTITIONS: u16 = 3;

pub(crate) struct KafkaTopic(Kafka);

impl Place for KafkaTopic {
    const NAME: &'static str = "Kafka";

    /// A record waits for its broker until its time is up.
    const FEWER_PROBES: usize = 10;

    async fn start() -> Self {
        let options = KafkaOptions {
            objects: Some(Objects::start().unwrap()),
            ..KafkaOptions::default()
        };
        let broker = Kafka::start(options).unwrap();
        broker.create_topic(TOPIC, PARTITIONS.into()).unwrap();
        Self(broker)
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        // The relays of these tests wait for three seconds.
        let url = format!("{}?message_timeout=1&connect_timeout=1", self.0.url());
        Arc::new(KafkaPublisher::new(&url).unwrap())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
    }

    fn stop(&mut self) {
        self.0.stop().unwrap();
    }

    fn start_again(&mut self) {
        self.0.start_again().unwrap();
    }

    async fn received(&mut self) -> Vec<String> {
        let port = self.0.port();
        let partition = |number| reader::partition(port, TOPIC, number);
        tokio::task::block_in_place(|| {
            let stored = (0..i32::from(PARTITIONS)).flat_map(partition);
            stored.map(|stored| stored.text()).collect()
        })
    }
}
