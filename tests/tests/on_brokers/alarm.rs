//! Case 46: RabbitMQ under its memory alarm takes messages and confirms none.

use std::time::Duration;

use outbox::{Relay, RelayConfig, memory::MemoryStore, store::OutboxOperator};

use crate::{
    brokers::{Place, RabbitMqQueue},
    hearing::{Heard, Hearing},
    outage::save,
    relays::{Running, hasty, judge, messages, until},
    report, soak,
};

/// What stands for the publish timeout of 10 s.
const PATIENCE: Duration = Duration::from_secs(2);

/// Half an hour has 164 probes of a publish timeout and a transient delay each; the short form takes fewer.
#[tokio::test(flavor = "multi_thread")]
async fn f3_case_46_the_memory_alarm_of_rabbitmq_counts_no_attempt_and_work_resumes_when_it_clears()
{
    let probes = if soak() { 164 } else { 4 };
    let pending = 500;
    let mut broker = RabbitMqQueue::start().await;
    let store = MemoryStore::new();
    let messages = messages(pending, 50);
    let (first, later) = messages.split_at(pending / 2);

    let heard = Heard::default();
    let hearing = Hearing {
        broker: broker.publisher(),
        heard: heard.clone(),
    };
    let config = RelayConfig {
        max_attempts: 2,
        publish_timeout: PATIENCE,
        transient_delay: Duration::from_millis(10),
        ..hasty("relay")
    };
    let relay = Running::start(Relay::with_config(store.clone(), hearing, config).unwrap());
    save(&store, first).await;
    let all_out = async || store.status().await.unwrap().pending() == 0;
    until("what comes before the alarm is published", all_out).await;

    tokio::task::block_in_place(|| broker.0.set_memory_alarm(true)).unwrap();
    let before = heard.sums();
    save(&store, later).await;
    // What was handed over before the first call was given up is no probe.
    until("the topic is stopped", async || {
        let status = store.status().await.unwrap();
        heard.sums().in_flight <= 1 && !(status.stopped.is_empty() && status.circuits.is_empty())
    })
    .await;
    heard.listen_anew();
    let begun = heard.sums().calls;
    until("so many probes are given up", async || {
        heard.sums().calls >= begun + probes
    })
    .await;
    let sums = heard.sums();
    assert_eq!(sums.most_in_flight, 1, "one probe at a time");
    assert_eq!(sums.confirmed, before.confirmed, "it confirms none");
    let status = store.status().await.unwrap();
    let expected = u64::try_from(later.len()).unwrap();
    assert_eq!((status.pending(), status.dead), (expected, 0));

    tokio::task::block_in_place(|| broker.0.set_memory_alarm(false)).unwrap();
    until("nothing is pending", all_out).await;
    let done = relay.stop().await;
    assert_eq!(done.dead, 0);
    assert_eq!(heard.sums().attempts, 0, "no attempt was spent");
    let again = judge(&messages, &broker.received().await);
    report(&format!(
        "{} probes under the alarm, no attempt counted, {again} came twice",
        sums.calls - begun
    ));
}
