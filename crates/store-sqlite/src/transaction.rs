//! The store's own transactions, on connections of its pool. A writer's transaction is the caller's and does not pass here.
//!
//! On some errors, such as a full disk, SQLite ends a transaction by itself. The driver does not learn of it and counts the connection as
//! inside a transaction from then on, so that no other can begin on it. Such a connection must not go back to the pool, which the
//! application may share.

use sqlx::{Connection, SqliteConnection, SqlitePool};

use crate::error::is_busy;

/// Runs `work` under the write lock. What it did is committed if it succeeds; an error, or dropping this, rolls it back.
pub(crate) async fn write<T>(
    pool: &SqlitePool,
    work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    run(pool, "BEGIN IMMEDIATE", work).await
}

/// Runs `work`, all of whose statements see the same.
pub(crate) async fn read<T>(
    pool: &SqlitePool,
    work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    run(pool, "BEGIN", work).await
}

async fn run<T>(
    pool: &SqlitePool,
    begin: &'static str,
    work: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, sqlx::Error>,
) -> Result<T, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let done = async {
        let mut tx = connection.begin_with(begin).await?;
        let done = work(&mut tx).await?;
        tx.commit().await?;
        Ok(done)
    }
    .await;
    // Another writer in the way leaves a connection as it was.
    if let Err(error) = &done
        && !is_busy(error)
    {
        connection.close_on_drop();
    }
    done
}
