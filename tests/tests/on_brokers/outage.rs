//! Cases 18 and 24: a broker that is away for long costs no attempt and no message, and is asked with one message at a time.

use std::time::Duration;

use outbox::{
    Message, Relay, RelayConfig, Save,
    memory::MemoryStore,
    store::{OutboxOperator, OutboxWriter},
};

use crate::{
    brokers::{HttpEndpoint, KafkaTopic, NatsStream, Place, RabbitMqQueue, RedisList, RedisStream},
    hearing::{Heard, Hearing},
    relays::{Running, hasty, judge, messages, until},
    report, soak,
};

/// What stands for the second between two probes.
const DELAY: Duration = Duration::from_millis(10);

#[tokio::test(flavor = "multi_thread")]
async fn f3_case_18_case_24_an_outage_of_rabbitmq_kills_nothing() {
    outage::<RabbitMqQueue>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_case_18_case_24_an_outage_of_nats_kills_nothing() {
    outage::<NatsStream>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_case_18_case_24_an_outage_of_redis_lists_kills_nothing() {
    outage::<RedisList>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_case_18_case_24_an_outage_of_redis_streams_kills_nothing() {
    outage::<RedisStream>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_case_18_case_24_an_outage_of_kafka_kills_nothing() {
    outage::<KafkaTopic>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_case_18_case_24_an_outage_of_an_http_endpoint_kills_nothing() {
    outage::<HttpEndpoint>().await;
}

/// The probes of half an hour; the short form takes fewer.
async fn outage<P: Place>() {
    let (pending, probes) = if soak() { (10_000, 1_800) } else { (1_000, 50) };
    let probes = probes / P::FEWER_PROBES;
    let mut broker = P::start().await;
    let store = MemoryStore::new();
    let messages = messages(pending, 100);
    let (first, later) = messages.split_at(pending / 2);
    save(&store, first).await;
    tokio::task::block_in_place(|| broker.stop());

    let heard = Heard::default();
    let hearing = Hearing {
        broker: broker.publisher(),
        heard: heard.clone(),
    };
    let config = RelayConfig {
        max_attempts: 5,
        transient_delay: DELAY,
        ..hasty("relay")
    };
    let in_flight_at_most = config.concurrency;
    let relay = Running::start(Relay::with_config(store.clone(), hearing, config).unwrap());
    until("the circuit is open", async || {
        heard.sums().calls >= in_flight_at_most + 2
            && !store.status().await.unwrap().circuits.is_empty()
    })
    .await;
    // From here on only probes, whatever else arrives.
    heard.listen_anew();
    let begun = heard.sums().calls;
    save(&store, later).await;
    until("so many probes", async || {
        heard.sums().calls >= begun + probes
    })
    .await;
    let sums = heard.sums();
    assert_eq!(sums.most_in_flight, 1, "one probe at a time");
    let gap = sums.least_gap.unwrap();
    assert!(gap >= DELAY, "a probe came {gap:?} after the one before");
    let status = store.status().await.unwrap();
    assert_eq!(
        (status.pending(), status.dead),
        (u64::try_from(pending).unwrap(), 0)
    );
    assert!(status.lanes.len() <= 1, "no lease but that of the probe");
    assert_eq!(sums.confirmed, 0);

    tokio::task::block_in_place(|| broker.start_again());
    until("nothing is pending", async || {
        store.status().await.unwrap().pending() == 0
    })
    .await;
    let done = relay.stop().await;
    assert_eq!(
        (done.published, done.dead),
        (u64::try_from(pending).unwrap(), 0)
    );
    assert_eq!(heard.sums().attempts, 0, "no attempt was spent");
    let again = judge(&messages, &broker.received().await);
    report(&format!(
        "{}: {pending} messages, {} probes, no attempt counted, {again} came twice",
        P::NAME,
        sums.calls - begun
    ));
}

pub(crate) async fn save(store: &MemoryStore, messages: &[Message]) {
    let saves: Vec<_> = messages.iter().map(Save::from).collect();
    let mut tx = store.begin();
    store.save_all(&mut tx, &saves).await.unwrap();
    tx.commit();
}
