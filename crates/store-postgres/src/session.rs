//! What this crate needs of a driver: transactions that run statements. Nothing here knows how a statement reaches a server.

use std::{error::Error, fmt::Debug, sync::Arc, time::Duration};

use crate::{row::Row, value::Value};

/// A statement whose schema has its name, such as one of [`Statements`](crate::Statements).
pub type Text = Arc<str>;

/// An open transaction, or the caller's own connection that has one.
pub trait Session: Send {
    /// What the driver says when a statement fails.
    type Error: DriverError;

    /// Runs one statement and reads all its rows. The statement may be prepared and kept, unless the store was told that there is a pooler.
    ///
    /// Dropping the future ends the transaction: the connection never goes on with a statement half read.
    fn query<'a>(
        &'a mut self,
        text: &'a Text,
        values: &'a [Value<'a>],
    ) -> impl Future<Output = Result<Vec<Row>, Self::Error>> + Send + 'a;

    /// Runs several statements in one text without parameters, whose rows nobody reads.
    fn batch<'a>(
        &'a mut self,
        text: &'a str,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'a;
}

/// A transaction that was begun by a [`Database`].
pub trait Transaction: Session + 'static {
    /// Commits it. Dropped without a commit it is rolled back.
    fn commit(self) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Connections to one database.
pub trait Database: Debug + Send + Sync + 'static {
    /// A transaction on a connection of its own.
    type Transaction: Transaction<Error = Self::Error>;
    /// What the driver says.
    type Error: DriverError;

    /// Begins a transaction by running `begin`, which is several statements in one text without parameters: BEGIN with its isolation level, and
    /// settings local to it.
    fn begin<'a>(
        &'a self,
        begin: &'a Text,
    ) -> impl Future<Output = Result<Self::Transaction, Self::Error>> + Send + 'a;

    /// Completes when another session sent a notification for the outbox in `schema`, and once after each (re)connect of the session that listens.
    /// A hint: it may never complete.
    fn wake_up(&self, schema: &str) -> impl Future<Output = ()> + Send;

    /// Whether a session listens at this moment, so that `wake_up` completes with what is sent from now on.
    fn listens(&self) -> bool;

    /// Makes `wake_up` complete once, as if it had heard something. A hint too.
    fn wake(&self);

    /// Completes after this time.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// An error of a driver, as far as this crate must understand it.
pub trait DriverError: Error + Send + Sync + 'static {
    /// The SQLSTATE, if the server answered: five characters such as `40001`.
    fn sqlstate(&self) -> Option<&str>;
}
