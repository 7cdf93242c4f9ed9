//! A database that stops a call where a test says, until the test lets it go on: all other sessions go on meanwhile, on the real server.
//!
//! It adds nothing to what is sent. It also loses the reply to a COMMIT when it is told to, and counts the transactions that the server ended for
//! the sake of another.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use outbox_store_postgres::{
    Database, DriverError, Row, SchemaName, Session, Statements, Text, Transaction, Value,
};
use outbox_store_postgres_sqlx::{PgDatabase, PgTransaction, SqlxError};
use tokio::sync::Notify;

/// A point of a call. Statements are known by the names of their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// The transaction has begun, and no statement has run.
    Begun,
    /// Before this statement.
    Before(&'static str),
    /// After this statement.
    After(&'static str),
    /// Everything is done but not committed.
    Commit,
    /// Before the statement or COMMIT that so many others came before.
    Step(usize),
}

impl Point {
    /// Whether a call that comes to `here` is at this point; a point that counts, counts.
    fn is_met(&mut self, here: Self) -> bool {
        match self {
            Self::Step(0) => matches!(here, Self::Before(_) | Self::Commit),
            Self::Step(left) => {
                if matches!(here, Self::Before(_) | Self::Commit) {
                    *left -= 1;
                }
                false
            }
            point => *point == here,
        }
    }
}

/// Where one call stops.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) reached: Notify,
    pub(crate) open: Notify,
}

/// What a test asks of one session's calls, and what it saw of them.
#[derive(Debug, Default)]
pub(crate) struct Control {
    names: HashMap<Text, &'static str>,
    gates: Mutex<Vec<(Point, Arc<Gate>)>>,
    loses_reply: AtomicBool,
    /// Transactions that the server ended for the sake of another.
    pub(crate) conflicts: AtomicUsize,
}

impl Control {
    fn new(schema: &SchemaName) -> Self {
        let statements = Statements::new(schema);
        let names = statements.all().into_iter();
        Self {
            names: names
                .map(|(name, text)| (Text::clone(text), name))
                .collect(),
            ..Self::default()
        }
    }

    /// The first call that comes to this point stops there.
    pub(crate) fn stop_at(&self, point: Point) -> Arc<Gate> {
        let gate = Arc::<Gate>::default();
        self.gates.lock().unwrap().push((point, Arc::clone(&gate)));
        gate
    }

    /// Takes a stop back at which no call came.
    pub(crate) fn forget(&self, gate: &Arc<Gate>) {
        let mut gates = self.gates.lock().unwrap();
        gates.retain(|(_, other)| !Arc::ptr_eq(gate, other));
    }

    /// The next COMMIT takes place, and its reply is lost.
    pub(crate) fn lose_reply(&self) {
        self.loses_reply.store(true, Ordering::SeqCst);
    }

    async fn pass(&self, here: Point) {
        let met = {
            let mut gates = self.gates.lock().unwrap();
            let met = gates.iter_mut().position(|(point, _)| point.is_met(here));
            met.map(|at| gates.remove(at).1)
        };
        if let Some(gate) = met {
            gate.reached.notify_one();
            gate.open.notified().await;
        }
    }

    fn note<T>(&self, answer: Result<T, SqlxError>) -> Result<T, SqlxError> {
        if let Err(error) = &answer
            && let Some("40001" | "40P01") = error.sqlstate()
        {
            self.conflicts.fetch_add(1, Ordering::SeqCst);
        }
        answer
    }
}

/// The database of one relay or operator.
#[derive(Debug)]
pub(crate) struct Paused {
    inner: PgDatabase,
    pub(crate) control: Arc<Control>,
}

impl Paused {
    pub(crate) fn new(inner: PgDatabase, schema: &SchemaName) -> Self {
        let control = Arc::new(Control::new(schema));
        Self { inner, control }
    }
}

impl Database for Paused {
    type Transaction = PausedTransaction;
    type Error = SqlxError;

    async fn begin<'a>(&'a self, begin: &'a Text) -> Result<PausedTransaction, SqlxError> {
        let inner = self.control.note(self.inner.begin(begin).await)?;
        self.control.pass(Point::Begun).await;
        let control = Arc::clone(&self.control);
        Ok(PausedTransaction { inner, control })
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

/// A transaction that stops where its database was told to.
#[derive(Debug)]
pub(crate) struct PausedTransaction {
    inner: PgTransaction,
    control: Arc<Control>,
}

impl Session for PausedTransaction {
    type Error = SqlxError;

    async fn query<'a>(
        &'a mut self,
        text: &'a Text,
        values: &'a [Value<'a>],
    ) -> Result<Vec<Row>, SqlxError> {
        let name = self.control.names.get(text).copied().unwrap_or_default();
        self.control.pass(Point::Before(name)).await;
        let rows = self.control.note(self.inner.query(text, values).await)?;
        self.control.pass(Point::After(name)).await;
        Ok(rows)
    }

    async fn batch<'a>(&'a mut self, text: &'a str) -> Result<(), SqlxError> {
        self.inner.batch(text).await
    }
}

impl Transaction for PausedTransaction {
    async fn commit(self) -> Result<(), SqlxError> {
        self.control.pass(Point::Commit).await;
        self.control.note(self.inner.commit().await)?;
        if self.control.loses_reply.swap(false, Ordering::SeqCst) {
            let lost = std::io::ErrorKind::ConnectionReset;
            return Err(SqlxError(sqlx::Error::Io(lost.into())));
        }
        Ok(())
    }
}
