//! Kafka: a topic of three partitions, an idempotent producer, all replicas in sync.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use outbox::{Message, kafka::KafkaPublisher, publisher::Publisher};
use rdkafka::{
    ClientConfig,
    message::{Header, OwnedHeaders},
    producer::{FutureProducer, FutureRecord},
};

use super::{Kind, unique};

pub(crate) struct Kafka {
    url: String,
    producer: FutureProducer,
}

impl Kind for Kafka {
    const NAME: &'static str = "Kafka";
    /// What is in a request is a matter of chance: with batches as they come, one round takes up to twice as long as another.
    const ROUNDS: usize = 15;

    async fn open() -> Self {
        let server = outbox_test_servers::Kafka::shared().unwrap();
        let url = server.url().to_owned();
        let (_, servers) = url.split_once("://").unwrap();
        let producer = ClientConfig::new()
            .set("bootstrap.servers", servers)
            .set("enable.idempotence", "true")
            .set("acks", "all")
            // What is fastest here.
            .set("linger.ms", "0")
            .create()
            .unwrap();
        Self { url, producer }
    }

    async fn topic(&self) -> String {
        let topic = unique();
        outbox_test_servers::Kafka::create_topic_at(&self.url, &topic, 3).unwrap();
        topic
    }

    fn publisher(&self) -> Arc<dyn Publisher> {
        Arc::new(KafkaPublisher::new(&self.url).unwrap())
    }

    async fn bare(&self, messages: &[Message]) {
        let delivered = stream::iter(messages)
            .map(async |message| {
                let header = Header {
                    key: "bq-message-id",
                    value: Some(message.id.as_str()),
                };
                let mut record = FutureRecord::to(message.topic.as_str())
                    .payload(&*message.payload)
                    .headers(OwnedHeaders::new().insert(header));
                if let Some(key) = &message.key {
                    record = record.key(key.as_str());
                }
                let delivered = self.producer.send(record, Duration::from_secs(10));
                delivered.await.unwrap();
            })
            .buffer_unordered(Self::UNDER_WAY)
            .count();
        assert_eq!(delivered.await, messages.len());
    }
}
