//! A holder reads on past a key in flight: what else can run of its lane goes out, and nothing of what it has in hand (S17, O7).

use outbox_store::{ClaimRequest, LaneFilter, OutboxStore, OutboxWriter, Outcome, Save};

use crate::{
    Corruption, Harness,
    holder::Holder,
    scene::{PAST_LEASE, Scene, message, numbered, rounds, secs},
    taken::retry,
};

/// S17, O7: the other keys of a lane go out while one hangs; its own later messages wait for it.
pub async fn s17_a_holder_reads_on_past_a_key_in_flight<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    s.save(keys[0].as_str(), "hangs").await;
    let mut holder = Holder::claim(&s, &keys).await;
    s.save(keys[0].as_str(), "behind").await;
    s.save_run(&keys[1], &numbered("b", 2)).await;
    s.save(keys[2].as_str(), "c1").await;
    assert_eq!(holder.read(&s).await, ["b1", "b2", "c1"]);
    assert!(s.claim().await.is_empty(), "the lane is held");
    holder.confirm(&["b1", "b2", "c1"]);
    holder.settle(&s, &[], false).await;
    s.save(keys[1].as_str(), "b3").await;
    assert_eq!(holder.read(&s).await, ["b3"]);
    holder.confirm(&["hangs", "b3"]);
    holder.settle(&s, &[], true).await;
    assert_eq!(s.drain().await, ["behind"]);
    s.assert_empty().await;
}

/// S17: what is in hand is not handed out again, recorded or not; of a key in hand only what comes after confirmed messages.
pub async fn s17_what_is_in_hand_is_left_out<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    s.save(keys[0].as_str(), "hangs").await;
    s.save_run(&keys[1], &numbered("b", 2)).await;
    let mut holder = Holder::claim(&s, &keys).await;
    s.save(keys[1].as_str(), "b3").await;
    assert!(holder.read(&s).await.is_empty(), "both keys are closed");
    holder.confirm(&["b1"]);
    assert!(holder.read(&s).await.is_empty(), "b2 is in flight");
    holder.confirm(&["b2"]);
    assert_eq!(holder.read(&s).await, ["b3"]);
    assert!(holder.read(&s).await.is_empty());
    holder.confirm(&["b3", "hangs"]);
    holder.settle(&s, &[], true).await;
    s.assert_empty().await;
}

/// S17, D2: a token that is stale, or whose lease ran out, reads nothing.
pub async fn s17_a_stale_token_reads_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(keys[0].as_str(), "hangs").await;
    let mut holder = Holder::claim(&s, &keys).await;
    s.save(keys[1].as_str(), "b1").await;
    let mut forged = holder.request();
    forged.read_on[0].token.epoch += 1;
    assert!(holder.read_with(&s, forged).await.is_empty());
    let mut forged = holder.request();
    forged.read_on[0].token.holder = "another".into();
    assert!(holder.read_with(&s, forged).await.is_empty());
    s.advance(PAST_LEASE).await;
    assert!(holder.read(&s).await.is_empty(), "the lease ran out");
    let other = s.claim().await;
    assert_eq!(other.payloads(), ["hangs"]);
    assert!(holder.read(&s).await.is_empty(), "it is another's");
    s.release(&other).await;
    assert!(holder.read(&s).await.is_empty(), "it is nobody's");
}

/// S17, D2: reading on prolongs no lease.
pub async fn s17_reading_on_prolongs_no_lease<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(keys[0].as_str(), "hangs").await;
    let mut holder = Holder::claim(&s, &keys).await;
    s.save(keys[1].as_str(), "b1").await;
    s.advance(secs(20)).await;
    assert_eq!(holder.read(&s).await, ["b1"]);
    s.advance(secs(11)).await;
    let other = s.claim().await;
    assert_eq!(other.payloads(), ["hangs"]);
    assert!(other.is_careful());
}

/// S17, O6: keys of the lane that waited go out when they are due, and when that is, is told.
pub async fn s17_a_key_that_falls_due_is_read_on<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(keys[0].as_str(), "hangs").await;
    s.save(keys[1].as_str(), "b1").await;
    let mut holder = Holder::claim(&s, &keys).await;
    holder.settle(&s, &[("b1", retry(60))], false).await;
    s.save(keys[1].as_str(), "b2").await;
    s.schedule(keys[1].as_str(), "b3", secs(10)).await;
    let request = ClaimRequest {
        lease: secs(120),
        ..holder.request()
    };
    let tokens = [request.read_on[0].token.clone()];
    let renewed = s.store().extend(&tokens, secs(120)).await;
    assert!(renewed.expect("the store extends").is_empty());
    let waits = s.claim_with(request).await;
    assert_eq!((waits.payloads().len(), waits.moved()), (0, 1));
    let next = waits.claim.next_due.expect("something of the lane waits");
    assert!(next <= secs(10), "{next:?}");
    s.advance(secs(60)).await;
    assert_eq!(holder.read(&s).await, ["b1", "b2", "b3"]);
    assert!(holder.read(&s).await.is_empty());
    holder.confirm(&["b1", "b2", "b3", "hangs"]);
    // Its first hand-over failed and is recorded; this is the second one.
    holder.recorded.clear();
    holder.first.claim.entries.truncate(1);
    holder.settle(&s, &[], true).await;
    s.assert_empty().await;
}

/// S17, O6: a closed key gives nothing, though it waited and is due.
pub async fn s17_a_closed_key_that_is_due_gives_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(1);
    s.save_run(&keys[0], &numbered("a", 2)).await;
    let mut holder = Holder::claim(&s, &keys).await;
    holder.settle(&s, &[("a1", retry(5))], false).await;
    s.save(keys[0].as_str(), "a3").await;
    s.advance(secs(5)).await;
    for () in rounds().take(3) {
        assert!(holder.read(&s).await.is_empty(), "a2 is not recorded");
    }
    holder.settle(&s, &[("a2", Outcome::Release)], false).await;
    assert_eq!(holder.read(&s).await, numbered("a", 3));
}

/// S17, O8: a message that joins while its lane is held goes out, at its place before what has not gone.
pub async fn s17_a_scheduled_message_is_read_on_when_it_is_due<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.schedule(keys[1].as_str(), "b1", secs(10)).await;
    s.save(keys[0].as_str(), "hangs").await;
    s.save(keys[1].as_str(), "b2").await;
    let mut holder = Holder::claim(&s, &keys).await;
    s.save(keys[1].as_str(), "b3").await;
    holder.confirm(&["b2"]);
    s.advance(secs(10)).await;
    assert_eq!(holder.read(&s).await, ["b1", "b3"]);
}

/// S17: a smaller position that commits while the lane is held is not lost behind what was read before: all is read from the bottom.
pub async fn s17_an_earlier_message_that_commits_late_is_read_on<H: Harness>() {
    if !(H::CAPABILITIES.concurrent_writers && H::CAPABILITIES.claims_beside_writers) {
        return;
    }
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    let mut late = s.harness.begin().await;
    let early = message(keys[1].as_str(), "b1");
    let saved = s
        .store()
        .save(H::connection(&mut late), Save::from(&early))
        .await;
    saved.expect("the save keeps the limits");
    s.save(keys[0].as_str(), "hangs").await;
    s.save(keys[1].as_str(), "b2").await;
    let mut holder = Holder::claim(&s, &keys).await;
    assert_eq!(holder.first.payloads(), ["hangs", "b2"]);
    assert!(holder.read(&s).await.is_empty());
    s.harness.commit(late).await;
    assert!(holder.read(&s).await.is_empty(), "b2 is in flight");
    holder.confirm(&["b2"]);
    assert_eq!(holder.read(&s).await, ["b1"]);
}

/// S17, P4: the limits hold over lanes that are leased and lanes that are read on, and each gets its part.
pub async fn s17_the_limits_hold_over_both_kinds_of_lanes<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(11);
    s.save(keys[0].as_str(), "hangs").await;
    let holder = Holder::claim(&s, &keys).await;
    for key in &keys[1..] {
        s.save(key.as_str(), "held").await;
    }
    let lane = s.lane(&keys[0]);
    let mut apart = s.keys_apart().into_iter();
    let other = apart.find(|key| s.lane(key) != lane).expect("more lanes");
    for key in s.keys_in(s.lane(&other)).take(10) {
        s.save(key.as_str(), "free").await;
    }
    let ask = ClaimRequest {
        lanes: LaneFilter::All,
        limit: 8,
        ..holder.request()
    };
    let taken = s.claim_with(ask.clone()).await;
    let count = |wanted| taken.payloads().iter().filter(|it| **it == wanted).count();
    assert_eq!((count("free"), count("held")), (4, 4));
    s.release_lane(&taken).await;
    let weight = taken.of("free").message.weight();
    let ask = ClaimRequest {
        max_bytes: 4 * weight,
        ..ask
    };
    let taken = s.claim_with(ask).await;
    assert!((2..=4).contains(&taken.payloads().len()));
}

/// S17, P3: what waits is set aside when it is met, and neither that nor what is in hand nor what is closed fills a read.
pub async fn s17_what_cannot_run_does_not_fill_a_read<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    s.save(keys[0].as_str(), "hangs").await;
    s.save(keys[1].as_str(), "b1").await;
    let mut holder = Holder::claim(&s, &keys).await;
    holder.settle(&s, &[("b1", retry(600))], false).await;
    s.save_run(&keys[0], &numbered("a", 40)).await;
    s.save_run(&keys[1], &numbered("w", 40)).await;
    s.save(keys[2].as_str(), "c1").await;
    let few = |holder: &Holder| ClaimRequest {
        limit: 3,
        ..holder.request()
    };
    assert_eq!(holder.read_with(&s, few(&holder)).await, ["c1"]);
    assert_eq!(holder.more[0].moved(), 40);
    s.save(keys[2].as_str(), "c2").await;
    holder.confirm(&["c1"]);
    assert_eq!(holder.read_with(&s, few(&holder)).await, ["c2"]);
    assert_eq!(holder.more[1].moved(), 0);
    holder.confirm(&["hangs", "c2"]);
    holder.settle(&s, &[], true).await;
    assert_eq!(s.drain().await, numbered("a", 40));
}

/// S17, O7: a key that fills the reads of its lane lets its neighbors through, as in any claim.
pub async fn s17_a_busy_key_is_read_on_beside_its_neighbors<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    s.save(keys[0].as_str(), "hangs").await;
    let mut holder = Holder::claim(&s, &keys).await;
    s.save_run(&keys[1], &numbered("b", 60)).await;
    s.save(keys[2].as_str(), "neighbor").await;
    let mut out = Vec::new();
    for () in rounds().take(100) {
        let few = ClaimRequest {
            limit: 8,
            ..holder.request()
        };
        let got = holder.read_with(&s, few).await;
        let met = got.contains(&"neighbor".to_owned());
        holder.confirm(&got.iter().map(String::as_str).collect::<Vec<_>>());
        out.extend(got);
        if met {
            break;
        }
    }
    assert!(
        out.contains(&"neighbor".to_owned()) && out.len() < 40,
        "{out:?}"
    );
    while out.len() < 61 {
        holder.settle(&s, &[], false).await;
        let got = holder.read(&s).await;
        assert!(!got.is_empty());
        holder.confirm(&got.iter().map(String::as_str).collect::<Vec<_>>());
        out.extend(got);
    }
    out.retain(|it| it != "neighbor");
    assert_eq!(out, numbered("b", 60));
}

/// S17, F7: a row that cannot be read is handed out to a holder that reads on, and hinders no other.
pub async fn f7_a_bad_row_hinders_no_reading_on<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(3);
    s.save(keys[0].as_str(), "hangs").await;
    let mut holder = Holder::claim(&s, &keys).await;
    let bad = s.save(keys[1].as_str(), "bad").await;
    s.save(keys[2].as_str(), "c1").await;
    s.harness.corrupt(bad, Corruption::Headers).await;
    assert_eq!(holder.read(&s).await, ["c1"]);
    assert_eq!(holder.more[0].unreadable().count(), 1);
}

/// S17, F6: nothing is read on beside a lane that is served carefully.
pub async fn f6_a_careful_lane_is_not_read_on<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(keys[0].as_str(), "a1").await;
    let lost = s.claim().await;
    s.crash(lost).await;
    s.save(keys[1].as_str(), "b1").await;
    let mut holder = Holder::claim(&s, &keys).await;
    assert!(holder.first.is_careful());
    assert!(holder.read(&s).await.is_empty());
}

/// S17, S14: a message of a stopped topic is not read on, and what is in hand of it stays where it is.
pub async fn s14_a_stopped_topic_is_not_read_on<H: Harness>() {
    let s = Scene::<H>::new().await;
    let keys = s.keys_together(2);
    s.save(keys[0].as_str(), "hangs").await;
    s.save(keys[1].as_str(), "b1").await;
    let mut holder = Holder::claim(&s, &keys).await;
    holder.confirm(&["b1"]);
    s.pause(None).await;
    s.save(keys[1].as_str(), "b2").await;
    assert!(holder.read(&s).await.is_empty());
    holder.confirm(&["hangs"]);
    holder.settle(&s, &[], true).await;
    assert_eq!(s.resume_and_drain().await, ["b2"]);
    s.assert_empty().await;
}
