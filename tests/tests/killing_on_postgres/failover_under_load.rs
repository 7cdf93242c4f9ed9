//! Case 34 while four relays publish and writers write, before and after: whatever survived arrives, and so does what is saved
//! afterwards, in order. What D5 cannot promise is not asked for: that nothing comes twice, or that no lost message was published.

use std::{collections::BTreeSet, time::Duration};

use outbox::store::OutboxOperator;
use tokio::{task::block_in_place, time::sleep};

use crate::{
    failover::Pair,
    proxy::Proxy,
    soak,
    storm::{Relays, by_key},
    witness::Witness,
    writers::Writers,
};

#[tokio::test(flavor = "multi_thread")]
async fn case_34_d5_what_survives_a_failover_under_load_arrives() {
    let failovers = if soak() { 10 } else { 1 };
    for _ in 0..failovers {
        fails_over().await;
    }
}

async fn fails_over() {
    let more = if soak() { 2_000 } else { 300 };
    let (mut pair, before) = Pair::start().await;
    let proxy = Proxy::to(pair.primary.port()).await;
    let address = before.moved(proxy.url()).await;
    let witness = Witness::default();
    let relays = Relays::start(&address, &witness).await;

    let writers = Writers::start(&before, &witness, "before");
    witness.has(more).await;
    block_in_place(|| pair.standby.stop_fast()).unwrap();
    // Not so much that everything that the standby has is out by then.
    witness.has(witness.count() + 100).await;
    let port = pair.fail_over();
    drop(writers);

    let after = before.moved(pair.standby.url("postgres")).await;
    let pending = "SELECT id FROM outbox.message UNION ALL SELECT id FROM outbox.waiting";
    let survived: Vec<String> = sqlx::query_scalar(after.sql(pending))
        .fetch_all(&after.pool)
        .await
        .unwrap();
    let known = witness.count();
    proxy.turn(port);
    let writers = Writers::start(&after, &witness, "after");
    witness.has(known + more).await;
    let written = writers.stop().await;
    while after.pending().await > 0 {
        sleep(Duration::from_millis(20)).await;
    }
    let reports = relays.stop().await;

    let first = witness.first();
    let came: BTreeSet<&String> = first.iter().collect();
    let lost: Vec<&String> = survived.iter().filter(|id| !came.contains(id)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    let new: Vec<String> = first
        .iter()
        .filter(|id| id.starts_with("after"))
        .cloned()
        .collect();
    assert_eq!(by_key(&new), by_key(&written.ids));
    let status = after.writer.status().await.unwrap();
    assert_eq!(status.dead, 0);
    let told: u64 = reports.iter().map(|report| report.lost).sum();
    eprintln!(
        "a failover: {} messages survived and {} came after it, {} duplicates, 0 lost, {told} outcomes reported as lost",
        survived.len(),
        new.len(),
        witness.duplicates(),
    );
}
