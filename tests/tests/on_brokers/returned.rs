//! Case 23: an exchange of RabbitMQ that no queue is bound to returns what is published to it, which is a failure.

use std::{sync::Arc, time::Duration};

use lapin::{
    ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions},
    types::FieldTable,
};
use outbox::{
    Relay, RelayConfig, backoff::Backoff, memory::MemoryStore, rabbitmq::RabbitMqPublisher,
    store::OutboxOperator,
};

use crate::{
    brokers::{Place, RabbitMqQueue, TOPIC},
    outage::save,
    relays::{judge, messages},
};

#[tokio::test(flavor = "multi_thread")]
async fn f5_case_23_what_rabbitmq_returns_is_a_counted_failure_and_goes_out_when_a_queue_is_bound()
{
    let broker = RabbitMqQueue::start().await;
    let (_connection, channel) = broker.channel().await;
    let declared = channel.exchange_declare(
        "events".into(),
        ExchangeKind::Direct,
        ExchangeDeclareOptions::default(),
        FieldTable::default(),
    );
    declared.await.unwrap();

    let store = MemoryStore::manual();
    let saved = messages(2, 1);
    save(&store, &saved).await;
    let url = format!("{}/?exchange=events&routing_key={{topic}}", broker.0.url());
    let config = RelayConfig {
        max_attempts: 3,
        backoff: Backoff::fixed(Duration::from_mins(1)),
        ..RelayConfig::default()
    };
    let publisher = Arc::new(RabbitMqPublisher::new(&url).unwrap());
    let relay = Relay::with_config(store.clone(), publisher, config).unwrap();
    for attempt in 1..=2 {
        let done = relay.drain().await.unwrap();
        assert_eq!(
            (done.published, done.retried, done.dead),
            (0, 1, 0),
            "attempt {attempt}: {done:?}"
        );
        store.advance(Duration::from_mins(1));
    }
    let status = store.status().await.unwrap();
    assert_eq!((status.pending(), status.dead), (2, 0));
    let error = status
        .blocked_keys
        .first()
        .and_then(|key| key.error.clone());
    let error = error.unwrap();
    assert!(error.contains("NO_ROUTE"), "it says why: {error}");

    let bound = channel.queue_bind(
        TOPIC.into(),
        "events".into(),
        TOPIC.into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.unwrap();
    let done = relay.drain().await.unwrap();
    assert_eq!((done.published, done.dead), (2, 0), "{done:?}");
    assert_eq!(judge(&saved, &broker.take(TOPIC).await), 0);
}
