//! What is confirmed is at the broker, whatever happens on the way (B1, D1).

use outbox_publisher::Published;

use crate::{
    Fault, PublisherHarness,
    publisher_scene::{Arrived, Client, Scene, assert_transient},
};

/// B1: at the moment of its confirmation a message is there.
pub async fn b1_what_is_confirmed_is_there<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    for n in 1..=10 {
        s.client.publish_all(&s.client.one("k", n)).await;
        s.arrived().await.assert_first("k", n);
    }
}

/// B1, D1: a message that arrived is not confirmed before the broker says so.
pub async fn b1_nothing_is_confirmed_without_an_answer<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    s.client.publish_all(&s.client.one("k", 1)).await;
    s.harness.strike(Fault::Unanswered).await;
    let call = s.client.spawn_attempt(s.client.one("k", 2));
    s.until_arrived("what is sent", |arrived| arrived.has("k:2"))
        .await;
    if call.is_finished() {
        let ended = call.await.expect("the call does not panic");
        let confirmed = ended.map_or(0, |published| published.confirmed);
        assert_eq!(confirmed, 0, "nobody has answered yet");
    } else {
        call.abort();
    }
    s.harness.heal().await;
    s.client.confirm(&s.client.one("k", 2)).await;
    s.arrived().await.assert_first("k", 2);
}

/// B1, B2: a connection that is cut in the middle of a run of small messages, wherever that is.
pub async fn b1_a_connection_cut_in_mid_publish_confirms_a_prefix_that_is_there<
    H: PublisherHarness,
>() {
    cut_after::<H>(&[0, 1, 10, 50, 100, 200, 400, 800, 1_600], 40).await;
}

/// B1, B2: the same with large messages.
pub async fn b1_a_connection_cut_in_a_large_message_confirms_a_prefix_that_is_there<
    H: PublisherHarness,
>() {
    let size = H::CAPABILITIES.max_payload.min(512 * 1024);
    let part = u64::try_from(size / 4).expect("it is a small number");
    cut_after::<H>(
        &[1_000, part, part * 4 - 10, part * 4, part * 6, part * 9],
        size,
    )
    .await;
}

/// Cuts the connection after each of these numbers of bytes, in runs of three messages whose payloads are that large.
async fn cut_after<H: PublisherHarness>(cuts: &[u64], size: usize) {
    let mut s = Scene::<H>::new().await;
    s.client.confirm(&sized(&s.client, 1, size)).await;
    let mut count = 1;
    for bytes in cuts {
        let run: Vec<_> = (count + 1..=count + 3)
            .flat_map(|n| sized(&s.client, n, size))
            .collect();
        s.harness.strike(Fault::CutAfter(*bytes)).await;
        let confirmed = match s.client.attempt(&run).await {
            Some(published) => confirmed(&published),
            None => 0,
        };
        s.harness.heal().await;
        let there = s.arrived().await;
        assert_prefix(&there, count, confirmed, *bytes);
        s.client.confirm(&run[confirmed..]).await;
        count += 3;
        s.arrived().await.assert_first("k", count);
    }
}

fn sized(client: &Client, number: u64, size: usize) -> Vec<outbox_message::Message> {
    let mut payload = format!("k:{number}:");
    let fill = size.saturating_sub(payload.len());
    payload.extend(std::iter::repeat_n('x', fill));
    vec![client.message(Some("k"), payload)]
}

fn confirmed(published: &Published) -> usize {
    if let Some(failure) = &published.failure {
        assert_transient(failure);
    }
    published.confirmed
}

#[track_caller]
fn assert_prefix(there: &Arrived, before: u64, confirmed: usize, bytes: u64) {
    let first = there.first("k");
    let least = before + number(confirmed);
    assert!(
        number(first.len()) >= least,
        "{confirmed} were confirmed after {before}, cut after {bytes} bytes, but what is there is {first:?}"
    );
    let in_order: Vec<_> = (1..=number(first.len())).collect();
    assert_eq!(first, in_order, "cut after {bytes} bytes");
}

fn number(count: usize) -> u64 {
    u64::try_from(count).expect("it is a small number")
}
