//! A relay drops calls at its publish timeout and when it stops: at any moment, and nobody else is hurt (B4).

use proptest::{
    collection::vec,
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use crate::{
    Door, PublisherHarness,
    publisher_scene::{Client, Scene, cut},
};

/// At how many of its waits a call is cut at most. A call of a relay waits this often only if it has much to do.
const WAITS: usize = 40;

/// How often a call that ended before it was cut is tried again: a server that answered at once gave it nothing to wait for.
const TRIES: usize = 5;

/// B4: a call over a connection that is there, dropped at each of its waits.
pub async fn b4_a_call_can_be_dropped_at_any_wait<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    s.client.confirm(&s.client.one("neighbor", 1)).await;
    let cuts = cut_everywhere(&s, |s| s.client.clone()).await;
    assert!(cuts > 0, "a call never waited");
    let arrived = s.arrived().await;
    for n in 0..cuts {
        arrived.assert_first(&format!("key-{n}"), 3);
    }
}

/// B4: the first call of a publisher, which makes the connection, dropped at each of its waits.
pub async fn b4_a_first_call_can_be_dropped_at_any_wait<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    let cuts = cut_everywhere(&s, |s| s.client(Door::Plain)).await;
    assert!(cuts > 0, "a call never waited");
    let arrived = s.arrived().await;
    for n in 0..cuts {
        arrived.assert_first(&format!("key-{n}"), 3);
    }
}

/// Cuts a run at its first wait, another at its second, and so on until runs end before. After each cut, another run and the same one must
/// be confirmed at once. Says how many cuts there were.
async fn cut_everywhere<H: PublisherHarness>(
    s: &Scene<H>,
    client: impl Fn(&Scene<H>) -> Client,
) -> usize {
    let (mut cuts, mut tries, mut calls) = (0, 0, 1);
    while tries < TRIES && cuts < WAITS {
        let client = client(s);
        let key = format!("key-{cuts}");
        let run = client.numbered(&key, 1..=3);
        let ended = cut(client.call(&run), cuts).await;
        calls += 1;
        client.publish_all(&client.one("neighbor", calls)).await;
        if ended.is_none() {
            client.publish_all(&run).await;
            (cuts, tries) = (cuts + 1, 0);
        } else {
            tries += 1;
        }
    }
    cuts
}

/// A run among others that are published at the same time.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Dropped at this wait; `None` if it may end.
    at: Option<usize>,
}

/// B4, B5: of many calls at once, some are dropped at random waits; the others are confirmed as if nothing had happened.
pub async fn b4_calls_that_are_dropped_hurt_no_others<H: PublisherHarness>() {
    const ROUNDS: usize = 24;
    let mut s = Scene::<H>::new().await;
    s.client.confirm(&s.client.one("neighbor", 1)).await;
    let cut_or_not = proptest::option::weighted(0.5, 0_usize..12);
    let calls = vec(cut_or_not.prop_map(|at| Cut { at }), 2..30);
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut keys = Vec::new();
    for round in 0..ROUNDS {
        let calls = calls.new_tree(&mut runner).expect("nothing is filtered");
        let tasks: Vec<_> = (0..)
            .zip(calls.current())
            .map(|(n, call): (usize, Cut)| {
                let (client, key) = (s.client.clone(), format!("key-{round}-{n}"));
                keys.push(key.clone());
                tokio::spawn(async move {
                    let run = client.numbered(&key, 1..=3);
                    let waits = call.at.unwrap_or(usize::MAX);
                    match cut(client.call(&run), waits).await {
                        None => client.confirm(&run).await,
                        Some(published) => assert!(
                            published.failure.is_none(),
                            "nothing hinders it, and yet: {published:?}"
                        ),
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("calls that are dropped hurt no others");
        }
    }
    let arrived = s.arrived().await;
    for key in keys {
        arrived.assert_first(&key, 3);
    }
}
