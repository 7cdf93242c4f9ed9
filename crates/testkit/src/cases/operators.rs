//! What a store tells people: counts, holders of lanes, circuits (and what they do about waiting keys in `waiting.rs`, about dead letters in `dead.rs`).

use outbox_message::Message;
use outbox_store::{
    AfterDeath, BlockReason, Circuit, CircuitChange, ClaimRequest, OutboxStore, Outcome,
    TopicBacklog,
};

use crate::{
    Harness,
    scene::{PAST_LEASE, Scene, ask, numbered, secs},
    taken::{dead, retry},
};

/// Each pending message is counted once, by where it is and by whether it can run.
pub async fn status_counts_each_message_once<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(4);
    s.save_run(&keys[0], &numbered("r", 3)).await;
    s.save_run(&keys[1], &numbered("d", 3)).await;
    let taken = s.claim().await;
    s.settle_all(
        &taken,
        &[("r1", retry(60)), ("d1", dead(AfterDeath::Hold))],
        &Outcome::Release,
    )
    .await;
    s.claim().await;
    s.schedule(&keys[2], "later", secs(600)).await;
    s.save_run(&keys[3], &numbered("l", 2)).await;
    let status = s.status().await;
    assert_eq!(
        (status.line, status.waiting, status.scheduled, status.dead),
        (2, 5, 1, 1)
    );
    assert_eq!((status.pending(), status.ready), (8, 2));
    assert_eq!((status.held, status.later), (2, 1));
    assert_eq!(status.blocked, 2);
    let blocked: Vec<_> = status
        .blocked_keys
        .iter()
        .map(|b| (b.key.clone(), b.reason, b.waiting))
        .collect();
    assert_eq!(
        blocked,
        [
            (keys[0].clone(), BlockReason::Retry, 3),
            (keys[1].clone(), BlockReason::Dead, 2),
        ]
    );
    let next_try = status.blocked_keys[0].next_try.expect("it is tried again");
    assert!(next_try <= secs(60) && next_try > secs(30));
    assert!(status.next_due.is_some_and(|due| due <= secs(60)));
    s.advance(secs(60)).await;
    let status = s.status().await;
    assert_eq!((status.ready, status.held), (5, 2), "a due key can run");
    assert_eq!(status.blocked_keys[0].next_try, Some(secs(0)));
}

/// Messages in the line behind a key that waits are not ready, though no claim has met them yet.
pub async fn status_sees_behind_which_key_a_message_stands<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "head").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("head", retry(60))]).await;
    s.save_run("k", &numbered("m", 2)).await;
    let status = s.status().await;
    assert_eq!((status.pending(), status.ready), (3, 0));
}

/// The age of the oldest ready message grows with time.
pub async fn status_tells_the_age_of_the_oldest_ready_message<H: Harness>() {
    let s = Scene::<H>::new().await;
    assert_eq!(s.status().await.oldest_ready, None);
    s.save("k", "a").await;
    s.advance(secs(120)).await;
    s.save("l", "b").await;
    let age = s.status().await.oldest_ready.expect("one is ready");
    assert!(age >= secs(120) && age < secs(180), "{age:?}");
}

/// A destination is down: the message that waited for its retry is overdue, and its age counts from when it was saved.
pub async fn status_tells_the_age_of_a_due_retry<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s.claim().await;
    s.settle(&taken, &[("a", retry(60))]).await;
    let status = s.status().await;
    assert_eq!((status.ready, status.oldest_ready), (0, None));
    s.advance(secs(600)).await;
    let status = s.status().await;
    let age = status.oldest_ready.expect("its retry is due");
    assert_eq!((status.ready, status.line), (1, 0));
    assert!(age >= secs(600) && age < secs(660), "{age:?}");
}

/// No relay runs: a scheduled message is overdue from its time on, not from when it was saved.
pub async fn status_tells_how_long_a_scheduled_message_is_due<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.schedule("k", "a", secs(1_000)).await;
    s.advance(secs(500)).await;
    let status = s.status().await;
    assert_eq!((status.ready, status.oldest_ready), (0, None));
    s.advance(secs(800)).await;
    let status = s.status().await;
    let age = status.oldest_ready.expect("it is due");
    assert_eq!((status.ready, status.line), (1, 0));
    assert!(age >= secs(299) && age < secs(360), "{age:?}");
}

/// What stands behind a dead letter or a waiting head is not ready, wherever it is, and has no age.
pub async fn status_tells_no_age_of_what_cannot_run<H: Harness>() {
    let s = Scene::<H>::new().await;
    for (key, payload) in [("held", "dead"), ("waits", "failed")] {
        s.save(key, payload).await;
    }
    s.kill("dead", AfterDeath::Hold).await;
    let taken = s.claim_until("failed").await;
    s.settle(&taken, &[("failed", retry(3_600))]).await;
    for key in ["held", "waits"] {
        s.save(key, "in line").await;
        s.schedule(key, "due", secs(10)).await;
    }
    s.advance(secs(600)).await;
    let status = s.status().await;
    assert_eq!((status.line, status.scheduled), (2, 2));
    assert_eq!((status.ready, status.oldest_ready), (0, None));
    s.drain().await;
    let status = s.status().await;
    assert_eq!((status.line, status.waiting), (0, 5));
    assert_eq!((status.ready, status.oldest_ready), (0, None));
}

/// Pending and dead messages are told by topic.
pub async fn status_counts_by_topic<H: Harness>() {
    let s = Scene::<H>::new().await;
    for (topic, payload) in [("b", "1"), ("a", "2"), ("b", "3")] {
        let message = Message::new(topic, payload.to_owned())
            .and_then(|m| m.with_key("k"))
            .expect("the parts keep the limits");
        s.put(&message).await;
    }
    let taken = s.claim_until("1").await;
    s.settle_all(&taken, &[("1", dead(AfterDeath::Skip))], &Outcome::Release)
        .await;
    let topic = |topic: &str, pending, dead| TopicBacklog {
        topic: topic.to_owned(),
        pending,
        dead,
    };
    assert_eq!(
        s.status().await.topics,
        [topic("a", 1, 0), topic("b", 1, 1)]
    );
}

/// A leased lane shows with its relay and the rest of its lease, a lapsed one with none left, and neither when it was given back.
pub async fn status_tells_who_holds_a_lane<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let taken = s
        .claim_with(ClaimRequest {
            relay: "relay-7".into(),
            ..ask()
        })
        .await;
    let lanes = s.status().await.lanes;
    assert_eq!(lanes.len(), 1);
    assert_eq!(lanes[0].lane, s.lane("k"));
    assert_eq!(lanes[0].relay.as_deref(), Some("relay-7"));
    assert!(lanes[0].lease <= secs(30) && lanes[0].lease > secs(0));
    s.advance(PAST_LEASE).await;
    assert_eq!(s.status().await.lanes[0].lease, secs(0));
    let careful = s.claim_up_to(5).await;
    assert_eq!(s.status().await.lanes[0].careful, 5);
    s.release(&careful).await;
    s.release_lane(&s.claim().await).await;
    drop(taken);
    let again = s.claim().await;
    s.publish(&again).await;
    s.assert_empty_after_claim().await;
}

/// Only the ten keys that wait longest are listed, by the position they wait for; all are counted.
pub async fn status_lists_ten_blocked_keys<H: Harness>() {
    let s = Scene::<H>::new().await;
    let lane = s.lane("k0");
    let keys: Vec<_> = s.keys_in(lane).take(12).collect();
    for key in &keys {
        s.save(key, "x").await;
    }
    let taken = s.claim().await;
    s.settle_all(&taken, &[], &retry(60)).await;
    let status = s.status().await;
    assert_eq!(status.blocked, 12);
    let listed: Vec<_> = status.blocked_keys.iter().map(|b| b.key.clone()).collect();
    assert_eq!(listed, keys[..10]);
}

/// An open circuit shows until it closes, one for each destination and relay.
pub async fn status_shows_open_circuits<H: Harness>() {
    let s = Scene::<H>::new().await;
    let record = async |destination: &str, relay: &str, open: bool, error: &str| {
        let change = CircuitChange {
            destination: destination.to_owned(),
            relay: relay.into(),
            open: open.then(|| (secs(5), error.to_owned())),
        };
        let recorded = s.store().record_circuit(&change).await;
        recorded.expect("the store records");
    };
    record("broker", "one", true, "refused").await;
    record("broker", "two", true, "refused").await;
    record("broker", "one", true, "still refused").await;
    s.advance(secs(2)).await;
    let circuits = s.status().await.circuits;
    assert_eq!(circuits.len(), 2);
    let one = circuits
        .iter()
        .find(|c| c.relay == "one")
        .expect("it shows");
    assert_eq!(
        (one.destination.as_str(), one.error.as_str()),
        ("broker", "still refused")
    );
    assert!(one.open_for >= secs(2) && one.next_probe <= secs(3));
    record("broker", "one", false, "").await;
    record("broker", "three", false, "").await;
    let circuits = s.status().await.circuits;
    assert_eq!(circuits.len(), 1);
    assert_eq!(circuits[0].relay, "two");
}

/// The circuit of a relay that was killed shows no longer than a live relay would leave it without a word, and upkeep removes it.
pub async fn status_forgets_the_circuit_of_a_relay_that_is_gone<H: Harness>() {
    let s = Scene::<H>::new().await;
    let open = async |relay: &str, next_probe| {
        let change = CircuitChange {
            destination: "broker".to_owned(),
            relay: relay.into(),
            open: Some((next_probe, "refused".to_owned())),
        };
        let recorded = s.store().record_circuit(&change).await;
        recorded.expect("the store records");
    };
    let shown = async || {
        let circuits = s.status().await.circuits;
        circuits.into_iter().map(|c| c.relay).collect::<Vec<_>>()
    };
    let upkeep = async || s.store().maintain().await.expect("the store keeps house");
    open("gone", secs(5)).await;
    open("lives", secs(5)).await;
    open("patient", secs(3_600)).await;
    s.advance(secs(5)).await;
    s.advance(Circuit::FORGOTTEN_AFTER.saturating_sub(secs(90)))
        .await;
    assert_eq!(upkeep().await, 0);
    assert_eq!(shown().await, ["gone", "lives", "patient"]);
    open("lives", secs(5)).await;
    // A store may do one step of upkeep a minute, for all its relays.
    s.advance(secs(91)).await;
    assert_eq!(shown().await, ["lives", "patient"]);
    assert_eq!(upkeep().await, 1);
    assert_eq!(upkeep().await, 0);
    let circuits = s.status().await.circuits;
    assert!(circuits[0].open_for > Circuit::FORGOTTEN_AFTER);
    assert_eq!(shown().await, ["lives", "patient"]);
}

/// D3: a wake-up is only a hint: a message is there for the claim whether or not anybody was woken.
pub async fn d3_a_message_is_found_without_a_wake_up<H: Harness>() {
    let s = Scene::<H>::new().await;
    {
        let mut hint = std::pin::pin!(s.store().wake_up());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = hint.as_mut().poll(&mut context);
        s.save("k", "a").await;
    }
    assert_eq!(s.claim().await.payloads(), ["a"]);
}
