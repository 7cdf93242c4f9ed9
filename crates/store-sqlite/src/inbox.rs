//! The inbox: recording inside a handler's transaction what was handled, and opening such a transaction for a processor.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use async_trait::async_trait;
use outbox_message::MessageId;
use outbox_store::{
    Consumer, Handled, InboxWriter, PurgeMode, SaveError, StoreError, Transactions,
    adapter::{OldestDead, spoiled},
};
use sqlx::{
    SqlSafeStr, Sqlite, SqliteConnection, SqlitePool,
    pool::PoolConnection,
    sqlite::{SqliteQueryResult, SqliteTransactionManager},
};
use sqlx_core::transaction::TransactionManager;

use crate::{
    SqliteStore,
    error::store_error,
    row::{int, shown},
    save::require_transaction,
    schema::{self, explain_save},
    transaction,
    upkeep::age,
};

impl SqliteStore {
    /// Records in the caller's open transaction that `consumer` handles the message, unless it was handled.
    ///
    /// From here on the transaction holds the write lock. One that began by reading and meets another writer's commit cannot get it, and is
    /// [`SaveError::Busy`]: begin it with `BEGIN IMMEDIATE`.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; the transaction is as it was, but for [`SaveError::Database`].
    pub async fn once(
        &self,
        tx: &mut SqliteConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        let statement = include_str!("sql/inbox_once.sql");
        let recorded = run(tx, statement, consumer, id).await?;
        if recorded.rows_affected() == 0 {
            return Ok(Handled::Duplicate);
        }
        Ok(Handled::First)
    }

    /// Forgets in the caller's open transaction that `consumer` handled the message. `false` if it was not recorded.
    ///
    /// # Errors
    ///
    /// As [`once`](Self::once).
    pub async fn forget(
        &self,
        tx: &mut SqliteConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        let statement = include_str!("sql/inbox_forget.sql");
        let forgotten = run(tx, statement, consumer, id).await?;
        Ok(forgotten.rows_affected() > 0)
    }
}

/// Runs a statement on one id in the caller's transaction.
async fn run(
    tx: &mut SqliteConnection,
    statement: &'static str,
    consumer: &Consumer,
    id: &MessageId,
) -> Result<SqliteQueryResult, SaveError> {
    require_transaction(tx).await?;
    let done = sqlx::query(statement)
        .bind(consumer.as_str())
        .bind(id.as_str())
        .execute(&mut *tx)
        .await;
    match done {
        Ok(done) => Ok(done),
        Err(error) => Err(explain_save(tx, error).await),
    }
}

#[async_trait]
impl InboxWriter<SqliteConnection> for SqliteStore {
    async fn once(
        &self,
        tx: &mut SqliteConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<Handled, SaveError> {
        self.once(tx, consumer, id).await
    }

    async fn forget(
        &self,
        tx: &mut SqliteConnection,
        consumer: &Consumer,
        id: &MessageId,
    ) -> Result<bool, SaveError> {
        self.forget(tx, consumer, id).await
    }
}

/// One step of forgetting ids of the inbox by age, and how many it forgot or counted. Refused while a dead letter is older.
pub(crate) async fn forget_old(
    pool: &SqlitePool,
    older_than: Duration,
    limit: i64,
    mode: PurgeMode,
) -> Result<u64, StoreError> {
    let work = async |tx: &mut SqliteConnection| {
        if let Some(letter) = oldest_dead(tx).await?
            && let Err(refused) = letter.check(older_than)
        {
            return Ok(Err(refused));
        }
        let statement = match mode {
            PurgeMode::Delete => include_str!("sql/inbox_purge.sql"),
            PurgeMode::Count => include_str!("sql/inbox_count.sql"),
        };
        let statement = sqlx::query(statement).bind(age(older_than)).bind(limit);
        Ok(Ok(match mode {
            PurgeMode::Delete => statement.execute(tx).await?.rows_affected(),
            PurgeMode::Count => int(&statement.fetch_one(tx).await?, "ids")?.unsigned_abs(),
        }))
    };
    let done = match mode {
        PurgeMode::Delete => transaction::write(pool, work).await,
        PurgeMode::Count => transaction::read(pool, work).await,
    };
    match done {
        Ok(done) => done,
        Err(error) => {
            let what = "forget what was handled long ago";
            Err(schema::explain(pool, what, error).await)
        }
    }
}

async fn oldest_dead(tx: &mut SqliteConnection) -> Result<Option<OldestDead>, sqlx::Error> {
    let row = sqlx::query(include_str!("sql/dead_oldest.sql"))
        .fetch_optional(tx)
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let age = u64::try_from(int(&row, "age")?).unwrap_or(0);
    Ok(Some(OldestDead {
        id: shown(&row, "id")?.unwrap_or_default(),
        topic: shown(&row, "topic")?.unwrap_or_default(),
        age: Duration::from_millis(age),
    }))
}

/// The open transaction of a handler, on a connection of the store's pool, with the write lock. Dropping it closes the connection, which rolls it back.
#[derive(Debug)]
pub struct HandlerTransaction {
    connection: PoolConnection<Sqlite>,
    /// The driver knows that it was committed or rolled back.
    is_over: bool,
}

impl Deref for HandlerTransaction {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for HandlerTransaction {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}

impl Drop for HandlerTransaction {
    fn drop(&mut self) {
        if !self.is_over {
            self.connection.close_on_drop();
        }
    }
}

/// A handler's transaction has the write lock from its beginning: it waits for other writers there, up to the busy timeout, and not in the midst of the handler.
/// While it is open no relay and no writer of this file gets on.
#[async_trait]
impl Transactions for SqliteStore {
    type Tx = SqliteConnection;
    type Open = HandlerTransaction;

    async fn begin(&self) -> Result<HandlerTransaction, StoreError> {
        const WHAT: &str = "begin a transaction for a handler";
        let connection = self.pool.acquire().await.map_err(store_error(WHAT))?;
        let mut open = HandlerTransaction {
            connection,
            is_over: false,
        };
        let begun = SqliteTransactionManager::begin(
            &mut open.connection,
            Some("BEGIN IMMEDIATE".into_sql_str()),
        )
        .await;
        begun.map_err(store_error(WHAT))?;
        Ok(open)
    }

    fn tx<'a>(&self, open: &'a mut HandlerTransaction) -> &'a mut SqliteConnection {
        open
    }

    async fn commit(&self, mut open: HandlerTransaction) -> Result<(), StoreError> {
        match SqliteTransactionManager::get_transaction_depth(&open.connection) {
            1 => {}
            0 => return Err(spoiled("has ended before its commit")),
            _ => return Err(spoiled("has a savepoint that was not ended")),
        }
        // SQLite refuses to commit what it ended by itself, such as on a full disk.
        let committed = SqliteTransactionManager::commit(&mut open.connection).await;
        committed.map_err(store_error("commit the transaction of a handler"))?;
        open.is_over = true;
        Ok(())
    }

    async fn rollback(&self, mut open: HandlerTransaction) {
        // With savepoints left the rollback would be that of the last of them.
        if SqliteTransactionManager::get_transaction_depth(&open.connection) == 1 {
            let rolled_back = SqliteTransactionManager::rollback(&mut open.connection).await;
            open.is_over = rolled_back.is_ok();
        }
    }
}
