//! P1 through this driver: it runs one statement where the shared procedures ask for one, and none of its own but BEGIN and
//! COMMIT. Which statements those are is shown beside the other driver.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use diesel::connection::InstrumentationEvent;
use diesel_async::AsyncConnection;
use outbox_message::Message;
use outbox_store::{
    Claim, Entry, LaneSettlement, OutboxStore, Outcome, Save, SaveOrder, Settlement, Target,
};

use crate::scratch::{Scratch, message, request};

const BEGIN_AND_COMMIT: usize = 2;

/// Counts what the only connection of the pool runs.
async fn counting(scratch: &Scratch) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let mut connection = scratch.pool().get().await.unwrap();
    connection.set_instrumentation(move |event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::StartQuery { .. } = event {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    count
}

/// The statements of one transaction.
async fn cost<T>(count: &AtomicUsize, work: impl Future<Output = T>) -> (T, usize) {
    let before = count.load(Ordering::SeqCst);
    let done = work.await;
    let all = count.load(Ordering::SeqCst) - before;
    (done, all - BEGIN_AND_COMMIT)
}

async fn save_all(scratch: &Scratch, saves: &[Save<'_>]) {
    let mut connection = scratch.pool().get().await.unwrap();
    let done = connection.transaction(async |connection| {
        scratch.store.save_all(connection, saves).await.unwrap();
        Ok::<_, diesel::result::Error>(())
    });
    done.await.unwrap();
}

fn many(count: usize) -> Vec<Message> {
    (0..count).map(|n| message(&format!("key-{n}"))).collect()
}

fn published(claim: &Claim) -> Vec<LaneSettlement> {
    let of = |lane| {
        let mine = claim
            .entries
            .iter()
            .filter(move |entry| entry.lane() == lane);
        mine.map(|entry| match entry {
            Entry::Message(delivery) => Settlement {
                target: Target::from(delivery),
                outcome: Outcome::Published,
            },
            Entry::Unreadable(row) => panic!("a row cannot be read: {}", row.error),
        })
    };
    let lanes = claim.lanes.iter().map(|lease| LaneSettlement {
        token: lease.token.clone(),
        release: true,
        outcomes: of(lease.token.lane).collect(),
    });
    lanes.collect()
}

#[tokio::test]
async fn p1_a_save_costs_one_statement_for_any_number_of_messages() {
    let scratch = Scratch::new().await;
    let count = counting(&scratch).await;
    let message = message("a");
    assert_eq!(cost(&count, scratch.save(&message)).await.1, 1);
    let once = Some(Duration::from_mins(1));
    for size in [1, 10, 100, 500] {
        for (once, order, statements) in [
            (None, SaveOrder::Position, 1),
            (once, SaveOrder::Position, 1),
            (None, SaveOrder::Commit, 2),
        ] {
            let messages = many(size);
            let save = |message| Save {
                once,
                order,
                ..Save::from(message)
            };
            let saves: Vec<_> = messages.iter().map(save).collect();
            let ((), cost) = cost(&count, save_all(&scratch, &saves)).await;
            assert_eq!(cost, statements, "{size}, {once:?}, {order:?}");
        }
    }
}

#[tokio::test]
async fn p1_a_batch_costs_three_statements_a_renewal_one_and_an_idle_look_one() {
    let scratch = Scratch::new().await;
    let count = counting(&scratch).await;
    for batch in [1, 10, 100, 500] {
        let messages = many(batch);
        let saves: Vec<_> = messages.iter().map(Save::from).collect();
        save_all(&scratch, &saves).await;
        let mut request = request();
        request.limit = batch;
        let mut left = batch;
        while left > 0 {
            let (claim, claimed) = cost(&count, scratch.store.claim(&request)).await;
            let claim = claim.unwrap();
            assert!(!claim.entries.is_empty());
            left -= claim.entries.len();
            let tokens: Vec<_> = claim
                .lanes
                .iter()
                .map(|lease| lease.token.clone())
                .collect();
            let (lost, renewed) = cost(&count, scratch.store.extend(&tokens, request.lease)).await;
            assert_eq!(lost.unwrap(), []);
            let (settled, settling) = cost(&count, scratch.store.settle(&published(&claim))).await;
            assert!(settled.unwrap().iter().all(|lane| !lane.lost));
            assert_eq!((claimed, renewed, settling), (2, 1, 1), "{batch}");
        }
    }
    let (idle, looked) = cost(&count, scratch.store.claim(&request())).await;
    assert!(idle.unwrap().lanes.is_empty());
    assert_eq!(looked, 1);
}
