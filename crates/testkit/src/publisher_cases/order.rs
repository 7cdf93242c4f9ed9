//! Messages of a key arrive in their order, and keys do not wait for each other (B2, B5, O5).

use crate::{Fault, PublisherHarness, publisher_scene::Scene};

/// O4, O5, B2: a run arrives in its order and once, and the next run behind it.
pub async fn b2_runs_of_a_key_arrive_in_their_order<H: PublisherHarness>() {
    let mut s = Scene::<H>::new().await;
    for run in 0..5 {
        let first = run * 20 + 1;
        let messages = s.client.numbered("k", first..=first + 19);
        s.client.publish_all(&messages).await;
    }
    let arrived = s.arrived().await;
    assert_eq!(arrived.0.len(), 100, "each arrives once");
    arrived.assert_first("k", 100);
}

/// B2: a message is given to the broker only after the one before it was confirmed.
pub async fn b2_a_message_waits_for_the_confirmation_of_the_one_before<H: PublisherHarness>() {
    if H::CAPABILITIES.whole_runs {
        return;
    }
    let mut s = Scene::<H>::new().await;
    s.client.publish_all(&s.client.one("k", 1)).await;
    s.client.publish_all(&s.client.one("after", 1)).await;
    s.harness.strike(Fault::Unanswered).await;
    let run = s.client.numbered("k", 2..=4);
    let call = s.client.spawn_attempt(run.clone());
    s.until_arrived("the first of the run", |arrived| arrived.has("k:2"))
        .await;
    // What would have been sent along is there by the time that something later is.
    let after = s.client.spawn_attempt(s.client.one("after", 2));
    let arrived = s
        .until_arrived("what was sent later", |arrived| arrived.has("after:2"))
        .await;
    assert_eq!(arrived.first("k"), [1, 2], "the first is not confirmed yet");
    call.abort();
    after.abort();
    s.harness.heal().await;
    s.client.confirm(&run).await;
    s.arrived().await.assert_first("k", 4);
}

/// B5, O2: of many runs at once each keeps its order, and all arrive.
pub async fn b5_many_runs_at_once_keep_their_order<H: PublisherHarness>() {
    const KEYS: u64 = 500;
    let mut s = Scene::<H>::new().await;
    let mut tasks = Vec::new();
    for n in 0..KEYS {
        let client = s.client.clone();
        tasks.push(tokio::spawn(async move {
            let key = format!("key-{n}");
            client.publish_all(&client.numbered(&key, 1..=3)).await;
            client.publish_all(&client.one(&key, 4)).await;
            let unkeyed = client.message(None, format!("unkeyed-{n}:1"));
            client.publish_all(&[unkeyed]).await;
        }));
    }
    for task in tasks {
        task.await.expect("each run is confirmed");
    }
    let arrived = s.arrived().await;
    assert_eq!(
        arrived.0.len(),
        usize::try_from(KEYS * 5).expect("it is small"),
        "each arrives once"
    );
    for n in 0..KEYS {
        arrived.assert_first(&format!("key-{n}"), 4);
        arrived.assert_first(&format!("unkeyed-{n}"), 1);
    }
}

/// B5, case 8: runs are on their way together: many arrive before the first of them is confirmed.
pub async fn b5_no_run_waits_for_the_confirmation_of_another<H: PublisherHarness>() {
    const KEYS: u64 = 32;
    let mut s = Scene::<H>::new().await;
    let key = |n| format!("key-{n}");
    let first: Vec<_> = (0..KEYS)
        .map(|n| s.client.spawn_confirm(s.client.one(&key(n), 1)))
        .collect();
    for task in first {
        task.await.expect("nothing hinders it");
    }
    s.harness.strike(Fault::Unanswered).await;
    let calls: Vec<_> = (0..KEYS)
        .map(|n| s.client.spawn_attempt(s.client.one(&key(n), 2)))
        .collect();
    s.until_arrived("one message of each key", |arrived| {
        (0..KEYS).all(|n| arrived.has(format!("{}:2", key(n))))
    })
    .await;
    for call in calls {
        call.abort();
    }
    s.harness.heal().await;
    for n in 0..KEYS {
        s.client.confirm(&s.client.numbered(&key(n), 2..=3)).await;
    }
    let arrived = s.arrived().await;
    for n in 0..KEYS {
        arrived.assert_first(&key(n), 3);
    }
}
