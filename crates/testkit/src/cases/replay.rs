//! Published messages that are kept are saved again (A7).

use std::time::Duration;

use outbox_message::Message;
use outbox_store::{
    OutboxOperator, PublishedFilter, REPLAY_HEADER, Replay, ReplayMode, Replayed, Save, Saved,
};

use crate::{
    Harness,
    scene::{Scene, message, numbered, rounds, secs},
};

const KEPT: Duration = Duration::from_hours(1);

fn all(mode: ReplayMode) -> Replay {
    Replay {
        filter: PublishedFilter::default(),
        after: None,
        upto: None,
        limit: 100,
        mode,
    }
}

async fn step<H: Harness>(s: &Scene<H>, replay: &Replay) -> Replayed {
    let replayed = s.store().replay(replay).await;
    replayed.expect("the store replays")
}

/// How many messages of a filter are counted, in one step.
async fn count<H: Harness>(s: &Scene<H>, filter: PublishedFilter) -> usize {
    let replay = Replay {
        filter,
        ..all(ReplayMode::Count)
    };
    step(s, &replay).await.count
}

/// A7: what was published comes again as it was, marked, at new positions and in its order.
pub async fn a7_published_messages_are_saved_again_as_they_were<H: Harness>() {
    let Some(s) = Scene::<H>::keeping(KEPT).await else {
        return;
    };
    let first = Message::new("orders", vec![0, 255, 10])
        .and_then(|it| it.with_key("k"))
        .and_then(|it| it.with_header("b", "1"))
        .and_then(|it| it.with_header("b", "2"))
        .and_then(|it| it.with_content_type("text/x"))
        .expect("its parts keep the limits");
    let old = s.put(&first).await;
    s.save_run("k", &numbered("m", 3)).await;
    let taken = s.claim().await;
    s.publish(&taken).await;
    let replayed = step(&s, &all(ReplayMode::Save)).await;
    assert_eq!((replayed.count, replayed.left_out), (4, 0));
    let taken = s.claim().await;
    assert_eq!(taken.payloads()[1..], numbered("m", 3));
    let again = taken.deliveries().next().expect("it is handed out");
    let marked = first.with_header(REPLAY_HEADER, "1");
    assert_eq!(again.message, marked.expect("there is room"));
    assert!(again.position > old);
    assert_eq!((again.attempts, again.tries), (0, 0));
    // The old ones stay, and the new ones are kept beside them.
    s.publish(&taken).await;
    assert_eq!(s.published().await.len(), 8);
}

/// A7: a walk in small steps meets each message once, and nothing that it had published itself.
pub async fn a7_a_walk_is_bounded_and_meets_each_message_once<H: Harness>() {
    let Some(s) = Scene::<H>::keeping(KEPT).await else {
        return;
    };
    s.save_run("k", &numbered("m", 7)).await;
    s.drain().await;
    let mut replay = Replay {
        limit: 3,
        ..all(ReplayMode::Save)
    };
    let mut out = Vec::new();
    for () in rounds() {
        let replayed = step(&s, &replay).await;
        assert!(replayed.count <= 3, "a step is bounded");
        let Some(last) = replayed.last else { break };
        (replay.after, replay.upto) = (Some(last), Some(replayed.upto));
        out.extend(s.drain().await);
    }
    assert_eq!(out, numbered("m", 7));
    assert_eq!(s.published().await.len(), 14);
}

/// A7: filters narrow the choice, each for itself and together.
pub async fn a7_filters_choose_published_messages<H: Harness>() {
    let Some(s) = Scene::<H>::keeping(KEPT).await else {
        return;
    };
    let early = message("a", "early");
    s.put(&early).await;
    s.put(&Message::new("bills", "x").expect("it keeps the limits"))
        .await;
    s.drain().await;
    s.advance(secs(100)).await;
    s.save("a", "late").await;
    s.save("b", "late").await;
    s.drain().await;
    let between = s.harness.now_ms().await - 50_000;
    let filter = PublishedFilter::default;
    let of_key = |key: &str| PublishedFilter {
        key: Some(key.to_owned()),
        ..filter()
    };
    assert_eq!(count(&s, filter()).await, 4);
    assert_eq!(count(&s, of_key("a")).await, 2);
    assert_eq!(count(&s, of_key("c")).await, 0);
    let id = Some(early.id.clone());
    assert_eq!(count(&s, PublishedFilter { id, ..filter() }).await, 1);
    let topic = Some("bills".to_owned());
    assert_eq!(count(&s, PublishedFilter { topic, ..filter() }).await, 1);
    let since = PublishedFilter {
        since_ms: Some(between),
        ..filter()
    };
    assert_eq!(count(&s, since).await, 2);
    let before = PublishedFilter {
        before_ms: Some(between),
        ..of_key("a")
    };
    let replay = Replay {
        filter: before,
        ..all(ReplayMode::Save)
    };
    assert_eq!(step(&s, &replay).await.count, 1);
    assert_eq!(s.drain().await, ["early"]);
}

/// A7: what is only counted is not saved.
pub async fn a7_what_is_counted_stays_where_it_is<H: Harness>() {
    let Some(s) = Scene::<H>::keeping(KEPT).await else {
        return;
    };
    s.save_run("k", &numbered("m", 3)).await;
    s.drain().await;
    assert_eq!(count(&s, PublishedFilter::default()).await, 3);
    assert!(s.drain().await.is_empty());
    assert_eq!(s.published().await.len(), 3);
}

/// A7: a replay of a replay has the mark once.
pub async fn a7_a_replay_of_a_replay_is_marked_once<H: Harness>() {
    let Some(s) = Scene::<H>::keeping(KEPT).await else {
        return;
    };
    s.save("k", "m").await;
    s.drain().await;
    for _ in 0..2 {
        step(&s, &all(ReplayMode::Save)).await;
        s.drain().await;
    }
    let kept = s.published().await;
    let marks = kept.iter().map(|it| {
        let marks = it.message.headers.iter();
        marks.filter(|(name, _)| *name == REPLAY_HEADER).count()
    });
    // Once it was published; the first replay added one; the second one of each of both.
    assert_eq!(marks.collect::<Vec<_>>(), [0, 1, 1, 1]);
}

/// A7, C3: that an id is remembered is about saves, not about replays.
pub async fn a7_a_remembered_id_is_replayed_all_the_same<H: Harness>() {
    let Some(s) = Scene::<H>::keeping(KEPT).await else {
        return;
    };
    let message = message("k", "m");
    let once = Save {
        once: Some(KEPT),
        ..Save::from(&message)
    };
    s.try_save(once).await;
    s.drain().await;
    step(&s, &all(ReplayMode::Save)).await;
    assert_eq!(s.drain().await, ["m"]);
    assert_eq!(s.try_save(once).await, Saved::Duplicate);
}

/// A7: where nothing is kept there is nothing to replay, which is no error.
pub async fn a7_a_store_that_keeps_nothing_replays_nothing<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "m").await;
    s.drain().await;
    let replayed = step(&s, &all(ReplayMode::Save)).await;
    assert_eq!((replayed.count, replayed.last), (0, None));
    s.assert_empty().await;
}
