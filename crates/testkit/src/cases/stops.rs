//! Why and for how long a topic is stopped: paused by an operator (A6), or because its destination is down; and what `status` tells of it.

use outbox_store::{AfterDeath, DestinationStop, OutboxStore, Outcome, StopCause, StoppedTopic};

use crate::{
    Harness,
    scene::{
        Scene, message, numbered, secs,
        stops::{OTHER, STOP, down, other, topic},
    },
    taken::dead,
};

/// A6: a paused topic stays paused, whatever relays say of its destination.
pub async fn a6_a_paused_topic_stays_paused_whatever_relays_say<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m").await;
    s.pause(None).await;
    s.set_aside().await;
    s.stop().await;
    assert!(!s.probe().await, "nothing of a paused topic is let through");
    s.start_topic().await;
    assert_eq!(s.free().await, 0);
    s.advance(STOP).await;
    s.advance(secs(10)).await;
    assert_eq!(s.free().await, 0);
    assert!(s.drain().await.is_empty());
    let stopped = s.stopped().await;
    assert_eq!((stopped.cause, stopped.until), (StopCause::Paused, None));
    assert_eq!((stopped.destination, stopped.error), (None, None));
    assert_eq!(s.resume_and_drain().await, ["m"]);
}

/// A6: a pause takes the place of a stop; what was set aside stays where it is, and the end of the outage frees nothing.
pub async fn a6_a_pause_takes_the_place_of_a_stop<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m1").await;
    s.save(None::<&str>, "u1").await;
    s.stop().await;
    assert_eq!(s.set_aside().await, 2);
    s.advance(secs(10)).await;
    s.pause(None).await;
    s.save("k", "m2").await;
    s.start_topic().await;
    s.advance(STOP).await;
    assert_eq!(s.free().await, 0);
    assert!(s.drain().await.is_empty());
    let stopped = s.stopped().await;
    assert_eq!(stopped.cause, StopCause::Paused);
    assert!(
        stopped.stopped_for >= secs(70),
        "it has been stopped all the time"
    );
    let mut out = s.resume_and_drain().await;
    out.sort();
    assert_eq!(out, ["m1", "m2", "u1"]);
    assert!(!s.resume().await);
    s.assert_empty().await;
}

/// A6: a pause with a time ends by itself, and a new one sets a new time, be it sooner or later.
pub async fn a6_a_pause_with_a_time_ends_by_itself<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m1").await;
    s.pause(Some(secs(600))).await;
    s.set_aside().await;
    s.advance(secs(500)).await;
    assert_eq!(s.free().await, 0);
    s.pause(Some(secs(600))).await;
    s.advance(secs(500)).await;
    assert_eq!(s.free().await, 0);
    assert!(s.drain().await.is_empty());
    let until = s.stopped().await.until.expect("it ends by itself");
    assert!(until <= secs(100) && until > secs(30), "{until:?}");
    s.pause(Some(secs(10))).await;
    s.save("k", "m2").await;
    s.save("l", "flows").await;
    s.advance(secs(10)).await;
    assert_eq!(s.drain().await, ["flows"], "the rest waits to be freed");
    let stopped = s.stopped().await;
    assert_eq!(stopped.until, Some(secs(0)), "it is over, and being freed");
    assert!(s.free().await > 0);
    assert_eq!(s.drain().await, numbered("m", 2));
    assert!(!s.resume().await, "it is not stopped any more");
    s.assert_empty().await;
}

/// A6: what is over begins anew, before or after it was freed.
pub async fn a6_a_pause_after_its_end_begins_anew<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m1").await;
    s.pause(None).await;
    s.set_aside().await;
    s.advance(secs(100)).await;
    assert!(s.resume().await);
    assert!(!s.resume().await, "it is over");
    s.pause(None).await;
    assert!(s.stopped().await.stopped_for < secs(50));
    assert_eq!(s.free().await, 0);
    s.save("k", "m2").await;
    assert_eq!(s.set_aside().await, 1);
    assert_eq!(s.resume_and_drain().await, numbered("m", 2));
    s.pause(Some(secs(60))).await;
    s.save("k", "m3").await;
    assert_eq!(s.set_aside().await, 1);
    s.resume().await;
    s.stop().await;
    assert_eq!(s.stopped().await.cause, StopCause::Destination);
    assert_eq!(s.free().await, 0);
    assert_eq!(s.start_and_drain().await, ["m3"]);
    s.assert_empty().await;
}

/// An operator ends the stop of a destination too: the relay will say it again if it is so.
pub async fn a6_resume_ends_the_stop_of_a_destination<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m").await;
    s.stop().await;
    s.set_aside().await;
    assert_eq!(s.resume_and_drain().await, ["m"]);
    s.assert_empty().await;
}

/// S14: a stop holds for its lease and then is over, whether or not anybody says so; a relay that says it again prolongs it.
pub async fn s14_the_stop_of_a_destination_is_a_lease<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save_run("k", &numbered("m", 2)).await;
    s.save(None::<&str>, "u").await;
    s.stop().await;
    assert_eq!(s.set_aside().await, 3);
    s.advance(secs(40)).await;
    s.stop().await;
    s.advance(secs(40)).await;
    assert!(s.drain().await.is_empty());
    assert_eq!(s.free().await, 0);
    let stopped = s.stopped().await;
    assert!(stopped.stopped_for >= secs(80));
    s.advance(secs(20)).await;
    assert_eq!(s.stopped().await.until, Some(secs(0)));
    assert!(
        s.drain().await.is_empty(),
        "it is set aside until it is freed"
    );
    assert!(s.free().await > 0);
    assert_eq!(s.drain().await.len(), 3);
    s.assert_empty().await;
}

/// S14: of two relays that say it the longer lease counts and the last one shows; the first that knows better ends it for both.
pub async fn s14_two_relays_stop_the_same_topic<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m").await;
    s.stop_as(&down("one", secs(600), "refused")).await;
    s.set_aside().await;
    s.advance(secs(100)).await;
    s.stop_as(&down("two", secs(60), "timed out")).await;
    let stopped = s.stopped().await;
    let until = stopped.until.expect("it is a lease");
    assert!(until <= secs(500) && until > secs(400), "{until:?}");
    assert!(stopped.stopped_for >= secs(100));
    let expected = StoppedTopic {
        topic: "orders".to_owned(),
        cause: StopCause::Destination,
        destination: Some("broker".to_owned()),
        relay: Some("two".to_owned()),
        error: Some("timed out".to_owned()),
        ..stopped.clone()
    };
    assert_eq!(stopped, expected);
    s.advance(secs(100)).await;
    assert!(s.drain().await.is_empty());
    assert_eq!(s.start_and_drain().await, ["m"]);
    s.start_topic().await;
    s.assert_empty().await;
}

/// S14: one call stops or starts several topics, each for itself; those that are not stopped are not concerned.
pub async fn s14_topics_are_stopped_and_started_each_for_itself<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "orders").await;
    s.put(&other("k", "mail")).await;
    let both = DestinationStop {
        topics: vec![topic(OTHER), topic("orders")],
        ..down("one", STOP, "refused")
    };
    s.stop_as(&both).await;
    assert_eq!(s.set_aside().await, 2);
    let stopped = s.status().await.stopped;
    let topics: Vec<_> = stopped.into_iter().map(|stopped| stopped.topic).collect();
    assert_eq!(topics, [OTHER, "orders"]);
    let start = async |topics: &[outbox_message::Topic]| {
        let started = s.store().start_topics(topics).await;
        started.expect("the store starts topics");
    };
    start(&[topic(OTHER), topic("never stopped")]).await;
    s.free().await;
    assert_eq!(s.drain().await, ["mail"]);
    let none = DestinationStop {
        topics: Vec::new(),
        ..down("one", STOP, "refused")
    };
    s.stop_as(&none).await;
    start(&[]).await;
    assert_eq!(s.start_and_drain().await, ["orders"]);
    s.assert_empty().await;
}

/// Every pending message of a paused topic counts as paused and as nothing else.
pub async fn status_counts_what_is_paused<H: Harness>() {
    let s = Scene::<H>::new().await;
    everything(&s).await;
    s.pause(None).await;
    for _ in 0..2 {
        let status = s.status().await;
        assert_eq!((status.pending(), status.paused), (8, 6));
        assert_eq!((status.ready, status.held, status.later), (1, 0, 1));
        let age = status.oldest_ready.expect("one is ready");
        assert!(age < secs(60), "{age:?}: only what is ready has an age");
        assert_eq!(status.blocked, 1, "that of the dead letter");
        s.put_back_ready().await;
    }
    let status = s.status().await;
    let backlog = |name: &str| {
        let of = status.topics.iter().find(|backlog| backlog.topic == name);
        of.map(|backlog| (backlog.pending, backlog.dead))
    };
    assert_eq!(
        (backlog("orders"), backlog(OTHER)),
        (Some((6, 1)), Some((2, 0)))
    );
}

/// What an outage keeps is not ready, before and after it was set aside; but what a dead letter holds, and what is for later, counts as ever.
pub async fn status_counts_nothing_ready_whose_destination_is_down<H: Harness>() {
    let s = Scene::<H>::new().await;
    everything(&s).await;
    s.stop().await;
    for _ in 0..2 {
        let status = s.status().await;
        assert_eq!((status.pending(), status.paused), (8, 0));
        assert_eq!((status.ready, status.held, status.later), (1, 1, 2));
        assert_eq!(status.blocked, 1);
        s.put_back_ready().await;
    }
    s.start_topic().await;
    let status = s.status().await;
    assert_eq!(status.stopped.len(), 1, "it is being freed");
    assert_eq!((status.ready, status.held, status.later), (1, 1, 2));
    s.free().await;
    let status = s.status().await;
    assert_eq!((status.ready, status.held, status.later), (5, 1, 2));
    assert_eq!(status.stopped, []);
}

/// Saves six messages of the usual topic (of two keys, one of them held by a dead letter, unkeyed, and for later) and two of another.
async fn everything<H: Harness>(s: &Scene<H>) {
    let keys = s.keys_together(2);
    s.save_run(&keys[0], &numbered("dead", 2)).await;
    let taken = s.claim().await;
    s.settle_all(
        &taken,
        &[("dead1", dead(AfterDeath::Hold))],
        &Outcome::Release,
    )
    .await;
    s.save_run(&keys[1], &numbered("m", 2)).await;
    s.put_all(&[message(None::<&str>, "u1"), message(None::<&str>, "u2")])
        .await;
    s.advance(secs(600)).await;
    s.schedule(&keys[1], "later", secs(3_600)).await;
    s.put(&other("k", "ready")).await;
    let later = other("k", "later");
    s.try_save(outbox_store::Save {
        due: Some(outbox_store::Due::After(secs(3_600))),
        ..outbox_store::Save::from(&later)
    })
    .await;
}

impl<H: Harness> Scene<H> {
    /// Claims until nothing is moved any more, and gives back what is handed out: the one message that is ready.
    async fn put_back_ready(&self) {
        for () in crate::scene::rounds() {
            let taken = self.claim().await;
            assert!(taken.payloads().iter().all(|payload| payload == "ready"));
            self.release(&taken).await;
            if taken.moved() == 0 && !taken.is_empty() {
                break;
            }
        }
    }
}
