//! A database that notes what is run on it, and passes everything on.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use outbox_store_postgres::{
    Database, Relaying, Row, Session, Statements, Text, Transaction, Value,
};
use outbox_store_postgres_sqlx::{PgDatabase, PgTransaction, SqlxError};

/// What was run: how many transactions, and which statements, by name.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) transactions: usize,
    pub(crate) statements: Vec<String>,
}

/// Notes what is run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    transactions: usize,
    texts: Vec<Text>,
}

impl Notes {
    /// What was run since the last call.
    pub(crate) fn take(&self, statements: &Statements) -> Run {
        let noted = std::mem::take(&mut *self.0.lock().unwrap());
        let name = |text: &Text| {
            let all = statements.all();
            let known = all.iter().find(|(_, known)| *known == text);
            known.map_or_else(
                || format!("unknown: {text}"),
                |(name, _)| (*name).to_owned(),
            )
        };
        Run {
            transactions: noted.transactions,
            statements: noted.texts.iter().map(name).collect(),
        }
    }
}

/// A database with notes.
#[derive(Debug)]
pub(crate) struct Counting {
    pub(crate) inner: PgDatabase,
    pub(crate) notes: Notes,
}

/// A store over one.
pub(crate) type Counted = Relaying<Counting>;

impl Database for Counting {
    type Transaction = CountingTransaction;
    type Error = SqlxError;

    async fn begin<'a>(&'a self, begin: &'a Text) -> Result<CountingTransaction, SqlxError> {
        self.notes.0.lock().unwrap().transactions += 1;
        Ok(CountingTransaction {
            inner: self.inner.begin(begin).await?,
            notes: self.notes.clone(),
        })
    }

    async fn wake_up(&self, schema: &str) {
        self.inner.wake_up(schema).await;
    }

    fn listens(&self) -> bool {
        self.inner.listens()
    }

    fn wake(&self) {
        self.inner.wake();
    }

    async fn sleep(&self, time: Duration) {
        self.inner.sleep(time).await;
    }
}

/// A transaction with notes.
#[derive(Debug)]
pub(crate) struct CountingTransaction {
    inner: PgTransaction,
    notes: Notes,
}

impl Session for CountingTransaction {
    type Error = SqlxError;

    async fn query<'a>(
        &'a mut self,
        text: &'a Text,
        values: &'a [Value<'a>],
    ) -> Result<Vec<Row>, SqlxError> {
        self.notes.0.lock().unwrap().texts.push(Arc::clone(text));
        self.inner.query(text, values).await
    }

    async fn batch<'a>(&'a mut self, text: &'a str) -> Result<(), SqlxError> {
        self.notes.0.lock().unwrap().texts.push(Text::from(text));
        self.inner.batch(text).await
    }
}

impl Transaction for CountingTransaction {
    async fn commit(self) -> Result<(), SqlxError> {
        self.inner.commit().await
    }
}
