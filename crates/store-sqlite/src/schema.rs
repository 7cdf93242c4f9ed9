//! The version of the schema: brought up to date by `migrate`, and checked by everything else.

use std::time::Duration;

use outbox_migrations::SQLITE;
use outbox_store::{SaveError, StoreError};
use sqlx::{SqliteConnection, SqlitePool};

use crate::{
    connect::{file_of, journal_mode, refuse},
    error::{code, is_busy, primary_code, save_error, store_error},
    transaction,
};

/// How often another program that holds the file is waited for, while the file is set to WAL.
const WAL_TRIES: u32 = 100;

/// The pause between two of these tries: the busy timeout does not apply there.
const WAL_PAUSE: Duration = Duration::from_millis(50);

/// Brings the schema up to date.
pub(crate) async fn migrate(pool: &SqlitePool) -> Result<(), StoreError> {
    let file = file_of(pool)?;
    set_wal(pool, &file).await?;
    // One transaction, so that of several migrations at once one works and the others find it done.
    let found = transaction::write(pool, bring_up_to_date)
        .await
        .map_err(|error| refuse(&file, error))?;
    if found > SQLITE.version() {
        return Err(mismatch(found));
    }
    Ok(())
}

/// Runs the migrations that are newer than the version found, which it returns.
async fn bring_up_to_date(tx: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let found = version(tx).await?;
    for migration in SQLITE.migrations.iter().filter(|m| m.version > found) {
        sqlx::raw_sql(migration.sql).execute(&mut *tx).await?;
    }
    Ok(found)
}

async fn set_wal(pool: &SqlitePool, file: &str) -> Result<(), StoreError> {
    let mut tries = 0;
    loop {
        if journal_mode(pool, file).await?.eq_ignore_ascii_case("wal") {
            return Ok(());
        }
        tries += 1;
        match sqlx::query_scalar::<_, String>("PRAGMA journal_mode = WAL")
            .fetch_one(pool)
            .await
        {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => {
                return Err(StoreError::Unusable {
                    problem: format!("the database {file} stays in journal mode {mode}"),
                    hint: "use a file on a local disk; write-ahead logging needs shared memory",
                });
            }
            Err(error) if is_busy(&error) && tries < WAL_TRIES => {
                tokio::time::sleep(WAL_PAUSE).await;
            }
            Err(error) => return Err(refuse(file, error)),
        }
    }
}

/// Refuses any version but the one that this program knows.
pub(crate) async fn check(pool: &SqlitePool) -> Result<(), StoreError> {
    let what = "read its schema version";
    let mut connection = pool.acquire().await.map_err(store_error(what))?;
    let found = version(&mut connection).await.map_err(store_error(what))?;
    require(found)
}

/// Refuses any version but the one that this program knows.
pub(crate) fn require(found: i64) -> Result<(), StoreError> {
    if found == SQLITE.version() {
        return Ok(());
    }
    Err(mismatch(found))
}

fn mismatch(found: i64) -> StoreError {
    StoreError::Schema {
        found,
        expected: SQLITE.version(),
        hint: hint(found),
    }
}

fn hint(found: i64) -> &'static str {
    if found > SQLITE.version() {
        "use a newer version of this program"
    } else {
        "run `outbox migrate --store ...`"
    }
}

/// The version found; 0 when there is no schema.
async fn version(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let tables: i64 = sqlx::query_scalar(include_str!("sql/schema_exists.sql"))
        .fetch_one(&mut *connection)
        .await?;
    if tables == 0 {
        return Ok(0);
    }
    sqlx::query_scalar(include_str!("sql/schema_version.sql"))
        .fetch_one(connection)
        .await
}

/// What a failed statement of a writer means. A missing table is told by the schema's version, not by the error's text.
pub(crate) async fn explain_save(
    connection: &mut SqliteConnection,
    error: sqlx::Error,
) -> SaveError {
    if primary_code(&error) == Some(code::ERROR)
        && let Ok(found) = version(connection).await
        && let Err(mismatch) = require_save(found)
    {
        return mismatch;
    }
    save_error(error)
}

/// As [`explain_save`], for the relay and operator side.
pub(crate) async fn explain(
    pool: &SqlitePool,
    what: &'static str,
    error: sqlx::Error,
) -> StoreError {
    if primary_code(&error) == Some(code::ERROR)
        && let Err(mismatch @ StoreError::Schema { .. }) = check(pool).await
    {
        return mismatch;
    }
    store_error(what)(error)
}

/// As [`require`], for a writer.
pub(crate) fn require_save(found: i64) -> Result<(), SaveError> {
    if found == SQLITE.version() {
        return Ok(());
    }
    Err(SaveError::Schema {
        found,
        expected: SQLITE.version(),
        hint: hint(found),
    })
}
