//! What a stop set aside comes back when it is over: all of it, in order, and nothing else (S15).

use outbox_store::{ClaimRequest, Due, OutboxOperator, OutboxStore, Save};

use crate::{
    Harness,
    scene::{
        Scene, ask, message, rounds, secs,
        stops::{of, topic},
    },
    taken::retry,
};

/// S15: what a stop set aside comes back in the order of each key, in all lanes, whatever was set aside when.
pub async fn s15_each_key_keeps_its_order<H: Harness>() {
    let s = Scene::<H>::new().await;
    let mut keys: Vec<_> = s.keys_apart().into_iter().take(6).collect();
    keys.extend(s.keys_together(3).into_iter().skip(1));
    let save = async |round: usize| {
        for (n, key) in keys.iter().enumerate() {
            s.save(key, &format!("{n}-{round}")).await;
        }
    };
    save(1).await;
    s.pause(None).await;
    save(2).await;
    s.set_aside().await;
    save(3).await;
    s.resume().await;
    save(4).await;
    // A claim comes before anything was freed, and sets aside what would overtake.
    let mut out = s.drain().await;
    s.free().await;
    save(5).await;
    out.extend(s.drain_with(ClaimRequest { limit: 3, ..ask() }).await);
    for n in 0..keys.len() {
        let expected: Vec<_> = (1..=5).map(|round| format!("{n}-{round}")).collect();
        assert_eq!(of(&out, &format!("{n}-")), expected);
    }
    s.assert_empty().await;
}

/// S15: freeing touches nothing but what a stop set aside: schedules, and retries that are not due, keep their time.
pub async fn s15_schedules_and_retries_keep_their_time<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    s.save(&keys[0], "retried").await;
    s.save(None::<&str>, "unkeyed").await;
    for () in rounds() {
        let taken = s.claim().await;
        if taken.is_empty() {
            break;
        }
        s.settle_all(&taken, &[], &retry(600)).await;
    }
    s.schedule(&keys[1], "later", secs(900)).await;
    s.save(&keys[2], "aside").await;
    s.pause(None).await;
    assert_eq!(s.set_aside().await, 1);
    assert_eq!(s.resume_and_drain().await, ["aside"]);
    s.advance(secs(570)).await;
    assert!(s.drain().await.is_empty(), "nothing is due yet");
    s.advance(secs(30)).await;
    let mut out = s.drain().await;
    out.sort();
    assert_eq!(out, ["retried", "unkeyed"]);
    s.advance(secs(300)).await;
    assert_eq!(s.drain().await, ["later"]);
}

/// S15: a schedule of the same topic stays, however far its time is.
pub async fn s15_a_far_schedule_stays<H: Harness>() {
    let s = Scene::<H>::new().await;
    let (keyed, unkeyed) = (message("far", "far"), message(None::<&str>, "far too"));
    for message in [&keyed, &unkeyed] {
        s.try_save(Save {
            due: Some(Due::AtUnixMs(i64::MAX)),
            ..Save::from(message)
        })
        .await;
    }
    s.save(None::<&str>, "aside").await;
    s.pause(None).await;
    s.set_aside().await;
    assert_eq!(s.status().await.stopped.len(), 1);
    assert_eq!(s.resume_and_drain().await, ["aside"]);
    assert!(s.status().await.stopped.is_empty());
    let status = s.status().await;
    assert_eq!((status.scheduled, status.later), (2, 2));
}

/// S15: freeing is done in bounded steps, says how much it did, and comes to an end; afterwards the topic is like any other.
pub async fn s15_freeing_is_bounded_and_comes_to_an_end<H: Harness>() {
    let s = Scene::<H>::new().await;
    let free = async || {
        let freed = s.store().free_topics().await;
        freed.expect("the store frees what it set aside")
    };
    assert_eq!(free().await, 0, "nothing was ever stopped");
    let messages: Vec<_> = (0..2_500)
        .map(|n| {
            if n % 2 == 0 {
                message(None::<&str>, "u")
            } else {
                message(n, "k")
            }
        })
        .collect();
    s.put_all(&messages).await;
    s.pause(None).await;
    assert_eq!(s.set_aside().await, 2_500);
    assert_eq!(free().await, 0, "it is stopped");
    s.resume().await;
    let mut steps = Vec::new();
    for () in rounds() {
        let stopped = s.status().await.stopped.len();
        let step = free().await;
        if step == 0 {
            assert_eq!(stopped, 0, "what is over is forgotten once all is free");
            break;
        }
        assert_eq!(stopped, 1);
        steps.push(step);
    }
    assert!(steps.iter().all(|step| *step <= 1_200), "{steps:?}");
    assert!(steps.iter().sum::<usize>() >= 2_500, "{steps:?}");
    let out = s
        .drain_with(ClaimRequest {
            limit: 1_000,
            ..ask()
        })
        .await;
    assert_eq!(out.len(), 2_500);
    s.assert_empty().await;
}

/// S15: claims that overlap the end of a stop and its freeing leave nothing behind, and keep the order.
pub async fn s15_claims_at_the_end_of_a_stop_leave_nothing_behind<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(4);
    let mut expected = 0;
    let mut out = Vec::new();
    for round in 0..6 {
        for (n, key) in keys.iter().enumerate() {
            s.save(key, &format!("{n}-{round}")).await;
            s.save(None::<&str>, "unkeyed").await;
            expected += 2;
        }
        s.pause(None).await;
        if round % 2 == 0 {
            s.set_aside().await;
        }
        let relay = async || {
            let taken = s.claim().await;
            let payloads = taken.payloads();
            s.publish(&taken).await;
            payloads
        };
        let (first, resumed) = tokio::join!(relay(), s.resume());
        assert!(resumed);
        let (second, _, _) = tokio::join!(relay(), s.free(), s.free());
        out.extend(first);
        out.extend(second);
        s.free().await;
        out.extend(s.drain().await);
        assert!(s.status().await.stopped.is_empty());
        s.assert_empty().await;
    }
    assert_eq!(out.len(), expected);
    for n in 0..keys.len() {
        let of_key: Vec<_> = (0..6).map(|round| format!("{n}-{round}")).collect();
        assert_eq!(of(&out, &format!("{n}-")), of_key);
    }
    let resumed = s.store().resume(&topic("never stopped")).await;
    assert!(!resumed.expect("the store answers"));
}
