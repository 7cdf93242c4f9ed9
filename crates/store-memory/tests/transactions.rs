//! What is particular to transactions, locks, clock and wake-ups in memory. What all stores share is in the conformance suite.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use outbox_message::{Message, MessageId};
use outbox_store::{
    ClaimRequest, Consumer, Due, Handled, LaneFilter, OutboxOperator, OutboxStore, OutboxWriter,
    Save, SaveError, SaveOrder, Saved, StoreError, Transactions,
};
use outbox_store_memory::{MemoryStore, MemoryTx};

const HOUR: Duration = Duration::from_hours(1);

fn message(key: &str, id: &str) -> Message {
    let message = Message::new("t", id.to_owned()).unwrap();
    message.with_key(key).unwrap().with_id(id).unwrap()
}

fn once(message: &Message) -> Save<'_> {
    Save {
        once: Some(HOUR),
        ..Save::from(message)
    }
}

fn in_commit_order(message: &Message) -> Save<'_> {
    Save {
        order: SaveOrder::Commit,
        ..Save::from(message)
    }
}

async fn claimed(store: &MemoryStore) -> Vec<i64> {
    let request = ClaimRequest {
        relay: "relay".into(),
        limit: 100,
        max_bytes: 1 << 20,
        max_lanes: 8,
        lease: HOUR,
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    };
    let claim = store.claim(&request).await.unwrap();
    let positions = claim.entries.iter().map(|entry| entry.position().0);
    positions.collect()
}

async fn pending(store: &MemoryStore, tx: &mut MemoryTx) -> Vec<String> {
    let pending = store.pending(tx).await.unwrap();
    pending.iter().map(|m| m.id.to_string()).collect()
}

/// Polls once, as a runtime would that nobody woke yet.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn c1_nothing_is_visible_before_its_commit_nor_after_a_rollback_or_a_drop() {
    let store = MemoryStore::manual();
    let mut tx = store.begin();
    store.save(&mut tx, &message("k", "a")).await.unwrap();
    assert_eq!(pending(&store, &mut tx).await, ["a"]);
    assert_eq!(pending(&store, &mut store.begin()).await, [""; 0]);
    assert!(claimed(&store).await.is_empty());
    tx.rollback();
    tx.commit();

    let mut dropped = store.begin();
    store.save(&mut dropped, &message("k", "b")).await.unwrap();
    drop(dropped);
    assert!(claimed(&store).await.is_empty());
}

#[tokio::test]
async fn c1_a_transaction_that_ended_or_belongs_to_another_store_is_refused() {
    let store = MemoryStore::manual();
    let mut tx = store.begin();
    tx.commit();
    let ended = store.save(&mut tx, &message("k", "a")).await;
    assert!(matches!(ended, Err(SaveError::NoTransaction { .. })));
    assert!(store.pending(&mut tx).await.is_err());

    let mut foreign = MemoryStore::manual().begin();
    let foreign = store.save(&mut foreign, &message("k", "a")).await;
    assert!(matches!(foreign, Err(SaveError::NoTransaction { .. })));
}

#[tokio::test]
async fn o10_transactions_may_commit_in_another_order_than_they_saved() {
    let store = MemoryStore::manual();
    let (mut first, mut second) = (store.begin(), store.begin());
    store.save(&mut first, &message("k", "a")).await.unwrap();
    store.save(&mut second, &message("k", "b")).await.unwrap();
    second.commit();
    assert_eq!(pending(&store, &mut first).await, ["a", "b"]);
    assert_eq!(claimed(&store).await, [2]);
    first.commit();
    assert_eq!(store.status().await.unwrap().line, 2);
}

#[tokio::test]
async fn o10_a_save_in_commit_order_waits_until_the_other_writer_of_its_key_has_ended() {
    let store = MemoryStore::manual();
    let (a, b, other) = (message("k", "a"), message("k", "b"), message("l", "c"));
    let (mut first, mut second) = (store.begin(), store.begin());
    store.save(&mut first, in_commit_order(&a)).await.unwrap();
    store
        .save(&mut second, in_commit_order(&other))
        .await
        .unwrap();
    let mut waiting = pin!(store.save(&mut second, in_commit_order(&b)));
    assert!(poll(waiting.as_mut()).is_pending());
    store.save(&mut first, in_commit_order(&a)).await.unwrap();
    first.commit();
    let saved = waiting.await.unwrap();
    assert!(saved.position() > Some(outbox_message::Position(3)));
}

#[tokio::test]
async fn writers_that_wait_for_each_other_are_told_so_and_one_goes_on() {
    let store = MemoryStore::manual();
    let (a, b) = (message("k", "a"), message("l", "b"));
    let (mut first, mut second) = (store.begin(), store.begin());
    store.save(&mut first, in_commit_order(&a)).await.unwrap();
    store.save(&mut second, in_commit_order(&b)).await.unwrap();
    let mut waiting = pin!(store.save(&mut first, in_commit_order(&b)));
    assert!(poll(waiting.as_mut()).is_pending());
    let refused = store.save(&mut second, in_commit_order(&a)).await;
    assert!(matches!(refused, Err(SaveError::Conflict(_))));
    assert!(matches!(poll(waiting), Poll::Ready(Ok(Saved::New(_)))));
    let ended = store.save(&mut second, &b).await;
    assert!(matches!(ended, Err(SaveError::NoTransaction { .. })));
}

#[tokio::test]
async fn a_writer_that_gave_up_waiting_waits_for_nobody() {
    let store = MemoryStore::manual();
    let (a, b) = (message("k", "a"), message("l", "b"));
    let (mut first, mut second) = (store.begin(), store.begin());
    store.save(&mut first, in_commit_order(&a)).await.unwrap();
    store.save(&mut second, in_commit_order(&b)).await.unwrap();
    {
        let mut given_up = pin!(store.save(&mut first, in_commit_order(&b)));
        assert!(poll(given_up.as_mut()).is_pending());
    }
    let mut waiting = pin!(store.save(&mut second, in_commit_order(&a)));
    assert!(poll(waiting.as_mut()).is_pending());
    first.rollback();
    assert!(waiting.await.is_ok());
}

#[tokio::test]
async fn c3_an_id_that_another_transaction_is_saving_is_judged_when_that_has_ended() {
    for commits in [true, false] {
        let store = MemoryStore::manual();
        let a = message("k", "a");
        let (mut first, mut second) = (store.begin(), store.begin());
        store.save(&mut first, once(&a)).await.unwrap();
        assert_eq!(
            store.save(&mut first, once(&a)).await.unwrap(),
            Saved::Duplicate
        );
        let mut waiting = pin!(store.save(&mut second, once(&a)));
        assert!(poll(waiting.as_mut()).is_pending());
        if commits {
            first.commit();
        } else {
            drop(first);
        }
        assert_eq!(waiting.await.unwrap() == Saved::Duplicate, commits);
    }
}

#[tokio::test]
async fn c3_an_id_is_forgotten_when_its_time_is_over() {
    let store = MemoryStore::manual();
    let a = message("k", "a");
    for expected in [false, true] {
        let mut tx = store.begin();
        let saved = store.save(&mut tx, once(&a)).await.unwrap();
        assert_eq!(saved == Saved::Duplicate, expected);
        tx.commit();
    }
    assert_eq!(store.maintain().await.unwrap(), 0);
    store.advance(HOUR);
    let mut tx = store.begin();
    assert!(matches!(
        store.save(&mut tx, once(&a)).await,
        Ok(Saved::New(_))
    ));
    tx.rollback();
    assert_eq!(store.maintain().await.unwrap(), 1);
}

#[tokio::test]
async fn c4_of_several_saves_with_one_too_large_nothing_is_stored() {
    let store = MemoryStore::manual();
    let large = Message::new("t", vec![0; outbox_message::MAX_PAYLOAD_BYTES + 1]).unwrap();
    let small = message("k", "a");
    let mut tx = store.begin();
    let saves = [Save::from(&small), Save::from(&large)];
    let refused = store.save_all(&mut tx, &saves).await;
    assert!(matches!(refused, Err(SaveError::Invalid(_))));
    assert_eq!(pending(&store, &mut tx).await, [""; 0]);
}

#[tokio::test]
async fn s12_a_scheduled_message_falls_due_by_the_clock_that_the_test_moves() {
    for store in [MemoryStore::manual(), MemoryStore::new()] {
        let reminder = message("k", "a");
        let mut tx = store.begin();
        let due = Some(Due::AtUnixMs(store.now_unix_ms() + 3_600_000));
        let save = Save {
            due,
            ..Save::from(&reminder)
        };
        store.save(&mut tx, save).await.unwrap();
        tx.commit();
        assert!(claimed(&store).await.is_empty());
        store.advance(HOUR);
        assert_eq!(claimed(&store).await, [1]);

        let mut tx = store.begin();
        let overdue = Save {
            due: Some(Due::AtUnixMs(0)),
            ..save
        };
        store.save(&mut tx, overdue).await.unwrap();
        tx.commit();
        assert_eq!(
            store.status().await.unwrap().line,
            2,
            "a time in the past is at once"
        );
    }
}

#[tokio::test]
async fn d3_a_commit_wakes_whoever_waits_and_one_that_nobody_heard_is_kept() {
    let store = MemoryStore::manual();
    let commit = async || {
        let mut tx = store.begin();
        store.save(&mut tx, &message("k", "a")).await.unwrap();
        tx.commit();
    };
    let (mut one, mut other) = (pin!(store.wake_up()), pin!(store.wake_up()));
    assert!(poll(one.as_mut()).is_pending() && poll(other.as_mut()).is_pending());
    commit().await;
    assert!(poll(one).is_ready() && poll(other).is_ready());
    assert!(poll(pin!(store.wake_up())).is_pending());

    commit().await;
    assert!(poll(pin!(store.wake_up())).is_ready());
    assert!(poll(pin!(store.wake_up())).is_pending());
}

#[tokio::test]
async fn d3_a_hint_to_somebody_who_left_before_hearing_it_is_not_lost() {
    let store = MemoryStore::manual();
    {
        let mut left = pin!(store.wake_up());
        assert!(poll(left.as_mut()).is_pending());
        store.advance(HOUR);
    }
    assert!(poll(pin!(store.wake_up())).is_ready());
    // Somebody who left before the hint was given does not count as having heard it.
    {
        let mut left = pin!(store.wake_up());
        assert!(poll(left.as_mut()).is_pending());
    }
    assert!(poll(pin!(store.wake_up())).is_pending());
    store.advance(HOUR);
    assert!(poll(pin!(store.wake_up())).is_ready());
}

fn names(id: &str) -> (Consumer, MessageId) {
    (
        Consumer::new("billing").unwrap(),
        MessageId::new(id).unwrap(),
    )
}

#[tokio::test]
async fn t2_a_handler_that_is_dropped_is_rolled_back_and_lets_others_go_on() {
    let store = MemoryStore::manual();
    let (billing, id) = names("1");
    let mut dropped = Transactions::begin(&store).await.unwrap();
    let handled = store.once(store.tx(&mut dropped), &billing, &id).await;
    assert_eq!(handled.unwrap(), Handled::First);
    let mut next = Transactions::begin(&store).await.unwrap();
    {
        let mut waiting = pin!(store.once(store.tx(&mut next), &billing, &id));
        assert!(poll(waiting.as_mut()).is_pending());
        drop(dropped);
        let Poll::Ready(handled) = poll(waiting) else {
            panic!("the other one is gone");
        };
        assert_eq!(handled.unwrap(), Handled::First);
    }
    Transactions::commit(&store, next).await.unwrap();
}

/// Its handler went on although a save of it had ended the transaction.
#[tokio::test]
async fn t3_a_handler_whose_transaction_ended_in_a_conflict_commits_nothing() {
    let store = MemoryStore::manual();
    let (billing, first) = names("1");
    let (_, second) = names("2");
    let mut one = Transactions::begin(&store).await.unwrap();
    let mut two = Transactions::begin(&store).await.unwrap();
    let handled = store.once(&mut one, &billing, &first).await;
    assert_eq!(handled.unwrap(), Handled::First);
    let handled = store.once(&mut two, &billing, &second).await;
    assert_eq!(handled.unwrap(), Handled::First);
    {
        let mut waiting = pin!(store.once(&mut one, &billing, &second));
        assert!(poll(waiting.as_mut()).is_pending());
        let conflict = store.once(&mut two, &billing, &first).await;
        assert!(
            matches!(conflict, Err(SaveError::Conflict(_))),
            "{conflict:?}"
        );
        assert!(matches!(poll(waiting), Poll::Ready(Ok(Handled::First))));
    }
    let refused = Transactions::commit(&store, two).await;
    assert!(
        matches!(refused, Err(StoreError::Unusable { .. })),
        "{refused:?}"
    );
    Transactions::commit(&store, one).await.unwrap();
    let mut again = store.begin();
    for id in [&first, &second] {
        let handled = store.once(&mut again, &billing, id).await;
        assert_eq!(handled.unwrap(), Handled::Duplicate);
    }
}
