//! The cluster in this process that the client library brings: it answers what it is told to.

use std::time::Duration;

use outbox_publisher_kafka::KafkaPublisher;
use rdkafka::{
    mocking::MockCluster,
    producer::DefaultProducerContext,
    types::{RDKafkaApiKey, RDKafkaRespErr},
};

use crate::reader::{self, Stored};

/// How many partitions a topic has unless the test says otherwise.
const PARTITIONS: i32 = 1;

/// A cluster of one broker with one topic, `t`.
pub(crate) struct Cluster {
    mock: MockCluster<'static, DefaultProducerContext>,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let mock = MockCluster::new(1).unwrap();
        let cluster = Self { mock };
        cluster.create("t", PARTITIONS);
        cluster
    }

    pub(crate) fn create(&self, topic: &str, partitions: i32) {
        self.mock.create_topic(topic, partitions, 1).unwrap();
    }

    /// `host:port` of its broker.
    pub(crate) fn server(&self) -> String {
        self.mock.bootstrap_servers()
    }

    /// A publisher that is patient, unless the parameters say otherwise.
    pub(crate) fn publisher(&self, parameters: &str) -> KafkaPublisher {
        let parameters = match parameters {
            "" => "message_timeout=30",
            parameters => parameters,
        };
        let url = format!("kafka://{}/?{parameters}", self.server());
        KafkaPublisher::new(&url).unwrap()
    }

    /// Answers the next requests to produce with these errors, one each.
    pub(crate) fn refuse(&self, errors: &[RDKafkaRespErr]) {
        self.mock.request_errors(RDKafkaApiKey::Produce, errors);
    }

    /// Says of a topic that something is wrong with it, or that nothing is.
    pub(crate) fn topic_error(&self, topic: &str, error: RDKafkaRespErr) {
        self.mock.topic_error(topic, error).unwrap();
    }

    pub(crate) fn down(&self) {
        self.mock.broker_down(1).unwrap();
    }

    pub(crate) fn up(&self) {
        self.mock.broker_up(1).unwrap();
    }

    /// Lets every answer wait for so long.
    pub(crate) fn slow(&self, round_trip: Duration) {
        self.mock.broker_round_trip_time(1, round_trip).unwrap();
    }

    /// What a partition of a topic has.
    pub(crate) fn stored(&self, topic: &str, partition: i32) -> Vec<Stored> {
        let server = self.server();
        let (_, port) = server.rsplit_once(':').unwrap();
        reader::partition(port.parse().unwrap(), topic, partition)
    }

    /// The payloads in the topic `t`.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.stored("t", 0).iter().map(Stored::text).collect()
    }
}
