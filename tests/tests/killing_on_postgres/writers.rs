//! Writers that outlive the server: what they could not commit, or do not know to be committed, they save again, once (C3).

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use outbox::{Message, Save, postgres_sqlx::PostgresStore};
use sqlx::PgPool;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    place::{Place, message},
    witness::Witness,
};

const WRITERS: usize = 2;
const KEYS_OF_A_WRITER: usize = 12;
/// How far the writers run ahead of the broker, so that they write for as long as it is attacked.
const AHEAD: usize = 400;
const REMEMBERED: Duration = Duration::from_hours(1);

/// Writers at work. No two of them write the same key.
pub(crate) struct Writers {
    enough: Arc<AtomicBool>,
    tasks: JoinSet<Written>,
}

/// What was committed.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The ids; those of a key in the order of saving.
    pub(crate) ids: Vec<String>,
    /// How often a transaction was tried again.
    pub(crate) repeated: usize,
}

impl Writers {
    /// Their keys begin with this word.
    pub(crate) fn start(place: &Place, witness: &Witness, word: &'static str) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let saved = Arc::new(AtomicUsize::new(witness.count()));
        let mut tasks = JoinSet::new();
        for number in 0..WRITERS {
            let writer = Writer {
                name: format!("{word}{number}"),
                pool: place.pool.clone(),
                store: place.writer.clone(),
                witness: witness.clone(),
                enough: Arc::clone(&enough),
                saved: Arc::clone(&saved),
            };
            tasks.spawn(writer.write());
        }
        Self { enough, tasks }
    }

    /// Lets them end, and tells what they wrote.
    pub(crate) async fn stop(self) -> Written {
        self.enough.store(true, Ordering::Relaxed);
        let mut all = Written::default();
        for written in self.tasks.join_all().await {
            all.ids.extend(written.ids);
            all.repeated += written.repeated;
        }
        all
    }
}

struct Writer {
    name: String,
    pool: PgPool,
    store: PostgresStore,
    witness: Witness,
    enough: Arc<AtomicBool>,
    saved: Arc<AtomicUsize>,
}

impl Writer {
    async fn write(self) -> Written {
        let mut written = Written::default();
        for round in 0.. {
            if self.enough.load(Ordering::Relaxed) {
                break;
            }
            let saved = self.saved.load(Ordering::Relaxed);
            self.witness.has(saved.saturating_sub(AHEAD)).await;
            let messages: Vec<Message> = (0..KEYS_OF_A_WRITER)
                .map(|key| {
                    let key = format!("{}.{key}", self.name);
                    message(&key, format!("{key}/{round:07}"))
                })
                .collect();
            while self.save(&messages).await.is_err() {
                written.repeated += 1;
                sleep(Duration::from_millis(20)).await;
            }
            self.saved.fetch_add(messages.len(), Ordering::Relaxed);
            let ids = messages.iter().map(|message| message.id.to_string());
            written.ids.extend(ids);
        }
        written
    }

    /// After an error nothing is known: the transaction may have been committed.
    async fn save(&self, messages: &[Message]) -> Result<(), Box<dyn Error + Send + Sync>> {
        let once = |message| Save {
            once: Some(REMEMBERED),
            ..Save::from(message)
        };
        let saves: Vec<Save<'_>> = messages.iter().map(once).collect();
        let mut tx = self.pool.begin().await?;
        self.store.save_all(&mut tx, &saves).await?;
        tx.commit().await?;
        Ok(())
    }
}
