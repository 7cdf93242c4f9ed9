//! Published messages that are kept for a time, and the purge of what is old (obligation A5). A store that keeps none passes the cases that need it without
//! a look.

use std::time::Duration;

use outbox_message::Message;
use outbox_store::{AfterDeath, OutboxStore, Outcome, Purge, PurgeMode, Purged, Save, Saved};

use crate::{
    Harness,
    scene::{PAST_LEASE, Scene, message, secs},
    taken::{retry, retry_in_place},
};

const HOUR: Duration = Duration::from_hours(1);

/// A step that deletes what is at least this old.
fn older_than(older_than: Duration) -> Purge {
    Purge {
        older_than,
        inbox_older_than: None,
        limit: 1_000,
        mode: PurgeMode::Delete,
    }
}

/// A purge step that did nothing.
const NOTHING: Purged = Purged {
    published: 0,
    ids: 0,
    inbox: 0,
    partitions: 0,
    more: false,
};

/// Without retention a published message is gone, and a purge of it finds nothing.
pub async fn without_retention_nothing_is_kept<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    assert_eq!(s.drain().await, ["a"]);
    assert!(s.published().await.is_empty());
    assert_eq!(s.purge(&older_than(Duration::ZERO)).await, NOTHING);
    s.assert_empty().await;
}

/// A published message is kept as it was, with what it was tried, and is nowhere else.
pub async fn a_published_message_is_kept_as_it_was<H: Harness>() {
    let Some(s) = Scene::<H>::keeping(HOUR).await else {
        return;
    };
    let full = message("k", vec![0, 0xFF, b'a'])
        .with_header("b", "1")
        .and_then(|m| m.with_header("a", "line\nfeed \"quoted\" \\"))
        .and_then(|m| m.with_header("b", "žluťoučký"))
        .and_then(|m| m.with_content_type("application/octet-stream"))
        .expect("the parts keep the limits");
    let bare = Message::new("bare", "").expect("the topic keeps the limits");
    let positions = s.put_all(&[full.clone(), bare.clone()]).await;
    let failed = s.claim_until(&String::from_utf8_lossy(&full.payload)).await;
    s.settle_all(&failed, &[], &retry_in_place()).await;
    s.drain().await;
    let kept = s.published().await;
    let parts = kept.iter().map(|d| (d.position, &d.message));
    assert!(parts.eq([(positions[0], &full), (positions[1], &bare)]));
    assert_eq!((kept[0].attempts, kept[0].tries), (1, 1));
    assert_eq!(
        Some(kept[0].lane),
        full.ordering_key().map(|key| key.lane(s.store().lanes()))
    );
    s.assert_empty().await;
}

/// D2: what a late settlement saw confirmed is kept too, wherever the message stood by then.
pub async fn a_late_confirmation_keeps_its_message<H: Harness>() {
    for key in [Some("k"), None] {
        let Some(s) = Scene::<H>::keeping(HOUR).await else {
            return;
        };
        let position = s.save(key, "a").await;
        let stale = s.claim().await;
        s.advance(PAST_LEASE).await;
        let held = s.claim().await;
        s.settle(&held, &[("a", retry(60))]).await;
        let settled = s.settle(&stale, &[("a", Outcome::Published)]).await;
        assert!(settled[0].lost && settled[0].missed.is_empty());
        let kept = s.published().await;
        let kept: Vec<_> = kept.iter().map(|d| (d.position, d.tries)).collect();
        assert_eq!(kept, [(position, 1)]);
        // Said twice it is not there twice.
        s.settle(&stale, &[("a", Outcome::Published)]).await;
        assert_eq!(s.published().await.len(), 1);
    }
}

/// Upkeep removes published messages when their time is over, and no others.
pub async fn upkeep_removes_published_messages_after_their_time<H: Harness>() {
    let Some(s) = Scene::<H>::keeping(HOUR).await else {
        return;
    };
    let upkeep = async || s.store().maintain().await.expect("the store keeps house");
    for payload in ["a", "b"] {
        s.save("k", payload).await;
        assert_eq!(s.drain().await, [payload]);
        s.advance((HOUR / 2).saturating_sub(secs(60))).await;
        assert_eq!(upkeep().await, 0);
    }
    s.save("k", "pending").await;
    s.advance(secs(120)).await;
    assert_eq!(upkeep().await, 1);
    let kept = s.published().await;
    let payloads: Vec<_> = kept.iter().map(|d| &d.message.payload[..]).collect();
    assert_eq!(payloads, [b"b"]);
    s.advance(HOUR / 2).await;
    assert_eq!(upkeep().await, 1);
    assert!(s.published().await.is_empty());
    assert_eq!(s.drain().await, ["pending"]);
}

/// A5, case 29: a purge goes in bounded steps and comes to an end; it deletes published messages that are old enough and ids whose time is over, and
/// touches nothing that is pending or dead. Counting changes nothing.
pub async fn a_purge_deletes_what_is_old_in_steps_and_nothing_else<H: Harness>() {
    let Some(s) = Scene::<H>::keeping(24 * HOUR).await else {
        return;
    };
    s.save_run("old", &["a", "b", "c"].map(str::to_owned)).await;
    s.drain().await;
    let once = |message, time| Save {
        once: Some(time),
        ..Save::from(message)
    };
    let (forgotten, remembered) = (message("dead", "dead"), message("held", "held"));
    s.try_save(once(&forgotten, HOUR / 2)).await;
    s.kill("dead", AfterDeath::Skip).await;
    s.try_save(once(&remembered, 24 * HOUR)).await;
    s.kill("held", AfterDeath::Hold).await;
    s.save("held", "behind").await;
    s.save("waits", "waits").await;
    let taken = s.claim_until("waits").await;
    let waits = [("waits", retry(24 * 3_600))];
    s.settle_all(&taken, &waits, &Outcome::Release).await;
    s.schedule("k", "later", 24 * HOUR).await;
    s.advance(HOUR).await;
    s.save_run("young", &["d", "e"].map(str::to_owned)).await;
    assert_eq!(s.drain().await, ["d", "e"]);
    s.save("k", "line").await;

    let before = s.status().await;
    let found = Purged {
        published: 3,
        ids: 1,
        ..NOTHING
    };
    let count = Purge {
        mode: PurgeMode::Count,
        ..older_than(HOUR)
    };
    assert_eq!(s.purge(&count).await, found);
    assert_eq!(
        s.purge(&Purge { limit: 2, ..count }).await,
        Purged {
            published: 2,
            more: true,
            ..found
        }
    );
    assert_eq!(s.published().await.len(), 5, "it only counted");

    let step = Purge {
        limit: 2,
        ..older_than(HOUR)
    };
    assert_eq!(
        s.purge(&step).await,
        Purged {
            published: 2,
            more: true,
            ..found
        }
    );
    assert_eq!(
        s.purge(&step).await,
        Purged {
            published: 1,
            ..NOTHING
        }
    );
    assert_eq!(s.purge(&step).await, NOTHING);
    let kept = s.published().await;
    let payloads: Vec<_> = kept.iter().map(|d| &d.message.payload[..]).collect();
    assert_eq!(payloads, [b"d", b"e"]);
    let after = s.status().await;
    assert_eq!(
        (
            after.line,
            after.waiting,
            after.scheduled,
            after.dead,
            after.blocked
        ),
        (
            before.line,
            before.waiting,
            before.scheduled,
            before.dead,
            before.blocked
        )
    );
    assert_eq!(s.try_save(once(&remembered, HOUR)).await, Saved::Duplicate);
    assert_eq!(s.purge(&older_than(Duration::ZERO)).await.published, 2);
    assert!(s.published().await.is_empty());
}
