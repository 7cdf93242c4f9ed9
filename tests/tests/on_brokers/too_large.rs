//! Case 5: of three messages of one key, Kafka finds the first too large. The others are not sent before it is resolved.

use std::sync::Arc;

use outbox::{
    Message, Relay, RelayConfig,
    kafka::KafkaPublisher,
    memory::MemoryStore,
    store::{AfterDeath, DeadFilter, DeadPage, OutboxOperator},
};
use rdkafka::{
    mocking::MockCluster,
    producer::DefaultProducerContext,
    types::{RDKafkaApiKey, RDKafkaRespErr},
};

use crate::{
    brokers::{TOPIC, reader},
    outage::save,
    relays::messages,
};

/// The answer to a batch that is too large, and to its record when that comes by itself.
const TOO_LARGE: [RDKafkaRespErr; 2] = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE; 2];

/// A relay whose first message is refused, over messages of one key.
struct Refused {
    cluster: MockCluster<'static, DefaultProducerContext>,
    store: MemoryStore,
    relay: Relay,
    messages: Vec<Message>,
}

impl Refused {
    async fn drained(after_death: AfterDeath) -> Self {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic(TOPIC, 1, 1).unwrap();
        cluster.request_errors(RDKafkaApiKey::Produce, &TOO_LARGE);
        let store = MemoryStore::manual();
        let messages = messages(3, 1);
        save(&store, &messages).await;
        let url = format!("kafka://{}", cluster.bootstrap_servers());
        let publisher = Arc::new(KafkaPublisher::new(&url).unwrap());
        let config = RelayConfig {
            after_death,
            ..RelayConfig::default()
        };
        let relay = Relay::with_config(store.clone(), publisher, config).unwrap();
        let done = relay.drain().await.unwrap();
        assert_eq!((done.dead, done.retried), (1, 0), "{done:?}");
        Self {
            cluster,
            store,
            relay,
            messages,
        }
    }

    /// The places among the messages of those that arrived.
    fn arrived(&self) -> Vec<usize> {
        let servers = self.cluster.bootstrap_servers();
        let (_, port) = servers.rsplit_once(':').unwrap();
        let port = port.parse().unwrap();
        let stored = tokio::task::block_in_place(|| reader::partition(port, TOPIC, 0));
        let place = |id: String| {
            let mut messages = self.messages.iter();
            messages.position(|message| message.id.as_str() == id)
        };
        let places = stored.iter().map(|stored| place(stored.text()).unwrap());
        places.collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_5_under_hold_nothing_is_sent_behind_what_kafka_finds_too_large() {
    let refused = Refused::drained(AfterDeath::Hold).await;
    assert_eq!(refused.arrived(), [0; 0]);
    let done = refused.relay.drain().await.unwrap();
    assert_eq!((done.published, done.dead), (0, 0), "{done:?}");
    let status = refused.store.status().await.unwrap();
    assert_eq!((status.pending(), status.held, status.dead), (2, 2, 1));

    // The limit was raised, and an operator sends it again.
    let all = DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 10,
    };
    let stepped = refused.store.redrive(&all).await.unwrap();
    assert_eq!((stepped.count, stepped.out_of_order), (1, 0));
    let done = refused.relay.drain().await.unwrap();
    assert_eq!((done.published, done.dead), (3, 0), "{done:?}");
    assert_eq!(refused.arrived(), [0, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_5_under_skip_the_rest_is_sent_when_what_kafka_finds_too_large_is_dead() {
    let refused = Refused::drained(AfterDeath::Skip).await;
    assert_eq!(refused.arrived(), [1, 2]);
    let status = refused.store.status().await.unwrap();
    assert_eq!((status.pending(), status.dead), (0, 1));
}
