//! Writers: purchases and their messages in one transaction, and now and then a rollback.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use outbox::{message::Message, store::Save};
use tokio::task::JoinSet;

use super::{
    shop::{self, Purchase},
    stage::Stage,
};
use crate::{
    exit::Exit,
    failure::Failure,
    store::{Tx, explain, save_failure},
};

const WRITERS: usize = 4;

/// Purchases a transaction.
const TOGETHER: usize = 5;

/// One in so many transactions is rolled back.
const ROLLBACK: usize = 10;

const FAILED: &str = "a writer of the demo failed";

/// Writers at work.
pub(super) struct Writers {
    counts: Arc<Counts>,
    tasks: JoinSet<Result<(), Failure>>,
}

/// What all writers share.
#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    saved: AtomicUsize,
    rolled_back: AtomicUsize,
    ended: AtomicUsize,
}

/// What they wrote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    pub(super) saved: usize,
    pub(super) rolled_back: usize,
}

impl Writers {
    pub(super) fn start(stage: &Arc<Stage>, messages: usize, keys: usize) -> Self {
        let counts = Arc::new(Counts::default());
        let mut tasks = JoinSet::new();
        for _ in 0..WRITERS {
            let writer = Writer {
                stage: Arc::clone(stage),
                counts: Arc::clone(&counts),
                messages,
                keys,
            };
            tasks.spawn(async move {
                let wrote = writer.write().await;
                writer.counts.ended.fetch_add(1, Ordering::AcqRel);
                wrote
            });
        }
        Self { counts, tasks }
    }

    /// How many messages are committed or rolled back by now.
    pub(super) fn written(&self) -> usize {
        self.counts.saved.load(Ordering::Acquire) + self.counts.rolled_back.load(Ordering::Acquire)
    }

    /// Whether every writer has ended, well or not.
    pub(super) fn are_done(&self) -> bool {
        self.counts.ended.load(Ordering::Acquire) == WRITERS
    }

    /// What they wrote, or why one of them failed.
    pub(super) async fn finish(mut self) -> Result<Written, Failure> {
        while let Some(writer) = self.tasks.join_next().await {
            writer.map_err(|error| Failure::caused(Exit::Broken, &error))??;
        }
        Ok(Written {
            saved: self.counts.saved.load(Ordering::Acquire),
            rolled_back: self.counts.rolled_back.load(Ordering::Acquire),
        })
    }
}

struct Writer {
    stage: Arc<Stage>,
    counts: Arc<Counts>,
    messages: usize,
    keys: usize,
}

impl Writer {
    /// Takes purchases from the common heap, a few at a time, until none is left.
    async fn write(&self) -> Result<(), Failure> {
        loop {
            let first = self.counts.begun.fetch_add(TOGETHER, Ordering::AcqRel);
            let mut together: Vec<usize> = (first..(first + TOGETHER).min(self.messages)).collect();
            if together.is_empty() {
                return Ok(());
            }
            // Customers are held until the end; in one order, so that no two writers wait for each other.
            together.sort_by_key(|purchase| purchase % self.keys);
            let begun = shop::begin(&self.stage).await;
            let mut tx = begun.map_err(|error| explain(&error, FAILED))?;
            for purchase in &together {
                self.purchase(&mut tx, *purchase).await?;
            }
            let (ended, counter) = if (first / TOGETHER) % ROLLBACK == ROLLBACK - 1 {
                (tx.rollback().await, &self.counts.rolled_back)
            } else {
                (tx.commit().await, &self.counts.saved)
            };
            ended.map_err(|error| explain(&error, FAILED))?;
            counter.fetch_add(together.len(), Ordering::AcqRel);
        }
    }

    /// One business row and one message. The customer's purchases are numbered, so that their order can be checked by it.
    async fn purchase(&self, tx: &mut Tx, purchase: usize) -> Result<(), Failure> {
        let failed = |error: sqlx::Error| explain(&error, FAILED);
        let customer = format!("customer-{}", purchase % self.keys);
        let number = shop::number(tx, &customer).await.map_err(failed)?;
        let payload = format!(
            r#"{{"customer":"{customer}","number":{number},"total":{}}}"#,
            purchase * 7
        );
        let message = Message::new("purchases", payload.clone())
            .and_then(|message| message.with_key(&customer))
            .map_err(|error| Failure::caused(Exit::Broken, &error))?;
        let bought = Purchase {
            message_id: message.id.as_str().to_owned(),
            customer,
            number,
            payload,
        };
        shop::buy(tx, &bought).await.map_err(failed)?;
        tx.save_all(&[Save::from(&message)])
            .await
            .map_err(|error| save_failure(&error))
    }
}
