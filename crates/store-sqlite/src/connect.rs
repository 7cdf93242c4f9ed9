//! Opening the file: how to connect, and what is said when the file cannot be used.

use std::{path::Path, str::FromStr, time::Duration};

use outbox_store::StoreError;
use sqlx::{
    SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteSynchronous},
};

use crate::error::{code, is_busy, primary_code};

/// How to connect to the file of a URL such as `sqlite:app.db` or `sqlite:///var/lib/app.db`: a busy timeout of 5 s and `synchronous = FULL`, so that
/// what was committed survives a power cut. The file is not created; add `create_if_missing(true)` before migrating.
///
/// # Errors
///
/// [`StoreError::Unusable`] if the URL is not one of an SQLite file.
pub fn connect_options(url: &str) -> Result<SqliteConnectOptions, StoreError> {
    let unusable = |problem: String| StoreError::Unusable {
        problem,
        hint: "write it as sqlite:app.db, or sqlite:///absolute/path/app.db",
    };
    if !url.starts_with("sqlite:") {
        return Err(unusable(
            "the store is not the URL of an SQLite file".into(),
        ));
    }
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| unusable(format!("the URL of the store cannot be read ({error})")))?;
    Ok(options
        .busy_timeout(Duration::from_secs(5))
        .synchronous(SqliteSynchronous::Full))
}

/// Refuses what is no database file in WAL mode, without changing anything.
pub(crate) async fn check_file(pool: &SqlitePool) -> Result<(), StoreError> {
    let file = file_of(pool)?;
    let mode = journal_mode(pool, &file).await?;
    if mode.eq_ignore_ascii_case("wal") {
        return Ok(());
    }
    Err(StoreError::Unusable {
        problem: format!("the database {file} is not in WAL mode but in {mode}"),
        hint: "run `outbox migrate --store ...`, which sets it",
    })
}

/// Refuses a file that cannot be written, without changing anything.
pub(crate) async fn check_writable(pool: &SqlitePool) -> Result<(), StoreError> {
    let file = file_of(pool)?;
    // An update of no row is how one learns it: on a read-only file even BEGIN IMMEDIATE succeeds.
    sqlx::query(include_str!("sql/write_nothing.sql"))
        .execute(pool)
        .await
        .map_err(|error| refuse(&file, error))?;
    Ok(())
}

/// The file's name, for people. A database in memory is refused: each connection of a pool would have its own.
pub(crate) fn file_of(pool: &SqlitePool) -> Result<String, StoreError> {
    let options = pool.connect_options();
    let file = options.get_filename();
    if is_memory(file) {
        return Err(StoreError::Unusable {
            problem: "the database is in memory".into(),
            hint: "each connection of a pool would have its own; use a file, or the memory store",
        });
    }
    Ok(file.display().to_string())
}

/// The names under which SQLite and its driver keep a database in memory.
fn is_memory(file: &Path) -> bool {
    let name = file.to_string_lossy();
    name.is_empty() || name.contains(":memory:") || name.starts_with("file:sqlx-in-memory-")
}

/// The journal mode. It is the first thing that is read of the file, so it meets whatever is wrong with it.
pub(crate) async fn journal_mode(pool: &SqlitePool, file: &str) -> Result<String, StoreError> {
    let mode = async {
        let mut connection = pool.acquire().await?;
        // A connection learns of a mode that another one set only when it reads the file again.
        sqlx::query(include_str!("sql/schema_exists.sql"))
            .fetch_all(&mut *connection)
            .await?;
        sqlx::query_scalar("PRAGMA journal_mode")
            .fetch_one(&mut *connection)
            .await
    };
    mode.await.map_err(|error| refuse(file, error))
}

/// Says what is wrong with a file that cannot be used.
pub(crate) fn refuse(file: &str, error: sqlx::Error) -> StoreError {
    let unusable = |problem: String, hint| StoreError::Unusable { problem, hint };
    match primary_code(&error) {
        Some(code::CANTOPEN) if Path::new(file).is_dir() => unusable(
            format!("{file} is a directory"),
            "name a database file in it",
        ),
        Some(code::CANTOPEN) if !Path::new(file).exists() => unusable(
            format!("there is no database {file}"),
            "check the path, or create it with `outbox migrate --store ...`",
        ),
        Some(code::CANTOPEN) => unusable(
            format!("the database {file} cannot be opened"),
            "check the permissions of the file and of its folder",
        ),
        Some(code::READONLY) => unusable(
            format!("the database {file} is read-only"),
            "check the permissions of the file and of its folder, and the mode in the URL",
        ),
        Some(code::NOTADB) => unusable(
            format!("{file} is not an SQLite database"),
            "check the path; nothing was changed",
        ),
        _ if is_busy(&error) => StoreError::Database {
            what: "get free in time; another program holds its write lock",
            source: Box::new(error),
        },
        _ => StoreError::Database {
            what: "open or migrate",
            source: Box::new(error),
        },
    }
}
