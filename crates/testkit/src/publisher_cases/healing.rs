//! Outages spend no attempt, lose nothing, and end by themselves: no restart, no new save (F3, B4).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use outbox_publisher::PublishErrorKind;
use tokio::time::timeout;

use crate::{
    Door, Fault, PublisherHarness,
    publisher_scene::{Client, Scene, assert_transient, until},
};

/// The publish timeout of a relay that is in a hurry.
const LITTLE_PATIENCE: Duration = Duration::from_millis(200);

/// F3: a server that is away when the publisher is made, and comes later.
pub async fn f3_a_server_that_is_away_at_first_is_unavailable_until_it_comes<
    H: PublisherHarness,
>() {
    let mut s = Scene::<H>::new().await;
    s.harness.strike(Fault::Refused).await;
    for _ in 0..3 {
        let failure = s.client.fail(&s.client.one("k", 1)).await;
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    }
    s.harness.heal().await;
    s.client.confirm(&s.client.numbered("k", 1..=3)).await;
    s.arrived().await.assert_first("k", 3);
}

/// F3: a server that goes away while the publisher is connected to it.
pub async fn f3_a_server_that_goes_away_is_unavailable_until_it_comes_back<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    s.client.confirm(&s.client.one("k", 1)).await;
    s.harness.strike(Fault::Refused).await;
    // The first failures may still be about the connection that was lost.
    let mut failure = s.client.fail(&s.client.one("k", 2)).await;
    for _ in 0..5 {
        assert_transient(&failure);
        failure = s.client.fail(&s.client.one("k", 2)).await;
    }
    assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    s.harness.heal().await;
    s.client.confirm(&s.client.numbered("k", 2..=4)).await;
    s.arrived().await.assert_first("k", 4);
}

/// F3: a connection that is dropped while nothing and while much is in flight.
pub async fn f3_a_dropped_connection_is_made_again<H: PublisherHarness>() {
    const KEYS: u64 = 20;
    let mut s = Scene::<H>::new().await;
    let key = |n| format!("key-{n}");
    for n in 0..KEYS {
        s.client.confirm(&s.client.one(&key(n), 1)).await;
    }
    s.harness.strike(Fault::Cut).await;
    s.harness.heal().await;
    let tasks: Vec<_> = (0..KEYS)
        .map(|n| s.client.spawn_confirm(s.client.numbered(&key(n), 2..=30)))
        .collect();
    s.until_arrived("some of it", |arrived| arrived.0.len() > 30)
        .await;
    s.harness.strike(Fault::Cut).await;
    s.harness.heal().await;
    for task in tasks {
        task.await.expect("the publisher heals by itself");
    }
    let arrived = s.arrived().await;
    for n in 0..KEYS {
        arrived.assert_first(&key(n), 30);
    }
}

/// D1, F3: a server that is killed in the middle of work and started again has all that was confirmed, and the work goes on.
pub async fn f3_a_killed_server_loses_nothing_that_was_confirmed<H: PublisherHarness>() {
    const KEYS: u64 = 20;
    let mut s = Scene::<H>::alone().await;
    let work = Work::default();
    let tasks: Vec<_> = (0..KEYS)
        .map(|n| tokio::spawn(work.clone().go_on(s.client.clone(), format!("key-{n}"))))
        .collect();
    until("work begins", || work.confirmed() >= 10 * KEYS).await;
    s.harness.strike(Fault::Killed).await;
    s.harness.heal().await;
    let before = work.confirmed();
    until("work goes on", || work.confirmed() >= before + 10 * KEYS).await;
    work.stop.store(true, Ordering::Relaxed);
    let mut counts = Vec::new();
    for task in tasks {
        counts.push(task.await.expect("the publisher heals by itself"));
    }
    if !H::CAPABILITIES.survives_kill {
        return;
    }
    let arrived = s.arrived().await;
    for (n, count) in counts.into_iter().enumerate() {
        arrived.assert_first(&format!("key-{n}"), count);
    }
}

/// Keys that are published to without end.
#[derive(Debug, Clone, Default)]
struct Work {
    confirmed: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Work {
    fn confirmed(&self) -> u64 {
        self.confirmed.load(Ordering::Relaxed)
    }

    /// Publishes run after run of a key until it is told to stop, and says how many messages were confirmed.
    async fn go_on(self, client: Client, key: String) -> u64 {
        let mut count = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let run = client.numbered(&key, count + 1..=count + 3);
            client.confirm(&run).await;
            count += 3;
            self.confirmed.fetch_add(3, Ordering::Relaxed);
        }
        count
    }
}

/// B4: calls to a server that is frozen wait and can be dropped, and the publisher works when it thaws.
pub async fn b4_calls_to_a_frozen_server_can_be_dropped<H: PublisherHarness>() {
    let mut s = Scene::<H>::alone().await;
    silence(&mut s, Fault::Frozen).await;
}

/// B4: the same where it is the way to the server that carries nothing.
pub async fn b4_calls_over_a_stalled_connection_can_be_dropped<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    silence(&mut s, Fault::Stalled).await;
}

/// Publishes into silence with little patience, over a connection that is there and over one that is still to be made.
async fn silence<H: PublisherHarness>(s: &mut Scene<H>, fault: Fault) {
    const KEYS: u64 = 20;
    let connected = s.client.clone();
    connected.confirm(&connected.one("connected-0", 1)).await;
    let fresh = s.client(Door::Plain);
    let publishers = [(connected, "connected"), (fresh, "fresh")];
    s.harness.strike(fault).await;
    let mut calls = Vec::new();
    for (client, name) in &publishers {
        for n in 0..KEYS {
            let run = client.one(&format!("{name}-{n}"), 1);
            let client = client.clone();
            calls.push(tokio::spawn(async move {
                timeout(LITTLE_PATIENCE, client.call(&run)).await.ok()
            }));
        }
    }
    for call in calls {
        if let Some(published) = call.await.expect("the call does not panic") {
            assert_eq!(published.confirmed, 0, "nobody can have answered");
            assert_transient(&published.failure.expect("it is not confirmed"));
        }
    }
    s.harness.heal().await;
    for (client, name) in &publishers {
        for n in 0..KEYS {
            let key = format!("{name}-{n}");
            client.confirm(&client.numbered(&key, 1..=2)).await;
        }
    }
    let arrived = s.arrived().await;
    for n in 0..KEYS {
        arrived.assert_first(&format!("connected-{n}"), 2);
        arrived.assert_first(&format!("fresh-{n}"), 2);
    }
}

/// F3, B4: a server that falls silent for longer than a relay waits, while it waits.
pub async fn f3_a_server_that_was_silent_for_a_whole_timeout_is_used_again<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    s.client.confirm(&s.client.one("k", 1)).await;
    s.harness.strike(Fault::Stalled).await;
    match s.client.attempt(&s.client.one("k", 2)).await {
        None => {}
        Some(published) => {
            assert_eq!(published.confirmed, 0, "nobody can have answered");
            assert_transient(&published.failure.expect("it is not confirmed"));
        }
    }
    s.harness.heal().await;
    s.client.confirm(&s.client.numbered("k", 2..=3)).await;
    s.arrived().await.assert_first("k", 3);
}
