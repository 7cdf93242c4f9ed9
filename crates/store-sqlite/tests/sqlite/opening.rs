//! Migrating and opening: what is refused, and what the refusal says.

use std::error::Error;

use outbox_migrations::{MigrationFile, SQLITE, Tool, sqlite_files};
use outbox_store::{SaveError, StoreError};
use outbox_store_sqlite::{SqliteStore, connect_options};
use sqlx::{SqlitePool, sqlite::SqlitePoolOptions};
use tempfile::TempDir;

use crate::scratch::{Scratch, file, message, request, url};
use outbox_store::OutboxStore;

async fn pool(folder: &TempDir) -> SqlitePool {
    let options = connect_options(&url(folder)).unwrap();
    SqlitePool::connect_with(options.create_if_missing(true))
        .await
        .unwrap()
}

/// A pool that has not connected yet, as `open` meets it when something is wrong with the file.
fn lazy(url: &str) -> SqlitePool {
    SqlitePoolOptions::new().connect_lazy_with(connect_options(url).unwrap())
}

async fn refusal(pool: SqlitePool) -> (StoreError, String) {
    let error = SqliteStore::open(pool).await.unwrap_err();
    let text = error.to_string();
    (error, text)
}

#[tokio::test]
async fn migrating_twice_does_nothing_more_and_opening_changes_nothing() {
    let scratch = Scratch::new().await;
    scratch.save(&[message(None, "kept")]).await;
    let before = scratch.count("PRAGMA schema_version").await;
    SqliteStore::migrate(&scratch.pool).await.unwrap();
    SqliteStore::open(scratch.pool.clone()).await.unwrap();
    assert_eq!(scratch.count("PRAGMA schema_version").await, before);
    assert_eq!(scratch.claim(10).await.entries.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_migrations_at_once_one_works_and_none_fails() {
    let folder = tempfile::tempdir().unwrap();
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let options = connect_options(&url(&folder)).unwrap();
        tasks.push(tokio::spawn(async move {
            let pool = SqlitePool::connect_with(options.create_if_missing(true))
                .await
                .unwrap();
            SqliteStore::migrate(&pool).await
        }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    SqliteStore::open(pool(&folder).await).await.unwrap();
}

#[tokio::test]
async fn an_older_schema_is_brought_up_to_date_with_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let pool = pool(&folder).await;
    sqlx::raw_sql(SQLITE.migrations[0].sql)
        .execute(&pool)
        .await
        .unwrap();
    sqlx::raw_sql("INSERT INTO outbox_message (position, lane, id, topic, payload, saved_at) VALUES (1, 0, 'm', 't', x'00', 1)")
        .execute(&pool)
        .await
        .unwrap();
    SqliteStore::migrate(&pool).await.unwrap();
    let store = SqliteStore::open(pool).await.unwrap();
    assert_eq!(store.claim(&request(10)).await.unwrap().entries.len(), 1);
}

#[tokio::test]
async fn the_files_for_other_tools_make_a_store_and_take_it_back_whole() {
    for tool in [Tool::Sqlx, Tool::Diesel] {
        let folder = tempfile::tempdir().unwrap();
        let pool = pool(&folder).await;
        let files = sqlite_files(tool);
        let (ups, downs): (Vec<_>, Vec<_>) =
            files.chunks(2).map(|pair| (&pair[0], &pair[1])).unzip();
        let run = async |file: &MigrationFile| {
            let mut tx = pool.begin().await.unwrap();
            let sql = sqlx::AssertSqlSafe(file.contents.clone());
            sqlx::raw_sql(sql).execute(&mut *tx).await.unwrap();
            tx.commit().await.unwrap();
        };
        for _ in 0..2 {
            for up in &ups {
                run(up).await;
            }
            // Which sets WAL, and finds the tables up to date.
            SqliteStore::migrate(&pool).await.unwrap();
            SqliteStore::open(pool.clone()).await.unwrap();
            for down in downs.iter().rev() {
                run(down).await;
            }
            let left = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM sqlite_master");
            assert_eq!(left.fetch_one(&pool).await.unwrap(), 0);
        }
    }
}

#[tokio::test]
async fn the_printed_script_makes_a_store_that_opens() {
    let folder = tempfile::tempdir().unwrap();
    let pool = pool(&folder).await;
    let script = sqlx::AssertSqlSafe(SqliteStore::print_migrations());
    sqlx::raw_sql(script).execute(&pool).await.unwrap();
    SqliteStore::open(pool).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_not_there_is_named_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let (error, text) = refusal(lazy(&url(&folder))).await;
    assert!(matches!(error, StoreError::Unusable { .. }));
    assert!(text.starts_with("there is no database "), "{text}");
    assert!(
        text.contains("app.db") && text.contains("outbox migrate"),
        "{text}"
    );
    assert!(!file(&folder).exists());
}

#[tokio::test]
async fn a_directory_is_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let (_, text) = refusal(lazy(&format!("sqlite:{}", folder.path().display()))).await;
    assert!(text.contains("is a directory"), "{text}");
}

#[tokio::test]
async fn a_file_of_something_else_is_no_database_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = b"this is no database, only some text that is long enough to be one".repeat(20);
    std::fs::write(file(&folder), &bytes).unwrap();
    let (_, text) = refusal(lazy(&url(&folder))).await;
    assert!(text.contains("is not an SQLite database"), "{text}");
    let migrated = SqliteStore::migrate(&lazy(&url(&folder))).await;
    assert!(
        migrated
            .unwrap_err()
            .to_string()
            .contains("is not an SQLite database")
    );
    assert_eq!(std::fs::read(file(&folder)).unwrap(), bytes);
}

#[tokio::test]
async fn a_read_only_store_is_refused() {
    let scratch = Scratch::new().await;
    let read_only = format!("{}?mode=ro", url(&scratch.folder));
    let (_, text) = refusal(lazy(&read_only)).await;
    assert!(text.contains("is read-only"), "{text}");

    let folder = tempfile::tempdir().unwrap();
    let writable = pool(&folder).await;
    let wal = sqlx::raw_sql("PRAGMA journal_mode = WAL").execute(&writable);
    wal.await.unwrap();
    let migrated = SqliteStore::migrate(&lazy(&format!("{}?mode=ro", url(&folder)))).await;
    let text = migrated.unwrap_err().to_string();
    assert!(text.contains("is read-only"), "{text}");
}

#[tokio::test]
async fn a_file_without_a_schema_names_both_versions_and_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let pool = pool(&folder).await;
    let (_, text) = refusal(pool.clone()).await;
    assert!(text.contains("not in WAL mode but in delete"), "{text}");
    sqlx::raw_sql("PRAGMA journal_mode = WAL")
        .execute(&pool)
        .await
        .unwrap();
    let (_, text) = refusal(pool).await;
    let newest = SQLITE.version();
    assert_eq!(
        text,
        format!(
            "the outbox schema has version 0, this program needs version {newest}: run `outbox migrate --store ...`"
        )
    );
}

#[tokio::test]
async fn another_schema_version_is_refused_by_everything() {
    let scratch = Scratch::new().await;
    scratch.save(&[message(None, "kept")]).await;
    scratch
        .sql("UPDATE outbox_schema_version SET version = 99")
        .await;
    let newer = |error: &StoreError| {
        matches!(
            error,
            StoreError::Schema {
                found: 99,
                expected,
                ..
            } if *expected == SQLITE.version()
        )
    };
    let (error, text) = refusal(scratch.pool.clone()).await;
    assert!(
        newer(&error) && text.contains("use a newer version"),
        "{text}"
    );
    assert!(newer(
        &SqliteStore::migrate(&scratch.pool).await.unwrap_err()
    ));
    assert!(newer(&scratch.store.claim(&request(1)).await.unwrap_err()));
    let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let saved = scratch.store.save(&mut tx, &message(None, "no")).await;
    assert!(matches!(saved, Err(SaveError::Schema { found: 99, .. })));
}

#[tokio::test]
async fn a_schema_that_went_away_is_named_as_such() {
    let scratch = Scratch::new().await;
    scratch
        .sql("DROP TABLE outbox_schema_version; DROP TABLE outbox_position; DROP TABLE outbox_lane")
        .await;
    let claimed = scratch.store.claim(&request(1)).await.unwrap_err();
    assert!(
        matches!(claimed, StoreError::Schema { found: 0, .. }),
        "{claimed}"
    );
    let mut tx = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let saved = scratch.store.save(&mut tx, &message(None, "no")).await;
    assert!(matches!(saved, Err(SaveError::Schema { found: 0, .. })));
}

#[tokio::test]
async fn a_database_in_memory_is_refused_with_a_hint() {
    for url in [
        "sqlite::memory:",
        "sqlite://:memory:",
        "sqlite:?mode=memory",
    ] {
        let options = connect_options(url).unwrap();
        let pool = SqlitePoolOptions::new().connect_lazy_with(options);
        let migrated = SqliteStore::migrate(&pool).await.unwrap_err();
        let (_, text) = refusal(pool).await;
        assert_eq!(migrated.to_string(), text);
        assert!(
            text.contains("in memory") && text.contains("use a file"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_locked_database_is_a_passing_error() {
    let scratch = Scratch::new().await;
    let _writer = scratch.pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let options = connect_options(&url(&scratch.folder))
        .unwrap()
        .busy_timeout(std::time::Duration::ZERO);
    let (error, text) = refusal(SqlitePoolOptions::new().connect_lazy_with(options)).await;
    assert!(error.is_transient());
    assert!(text.contains("holds its write lock"), "{text}");
    assert!(error.source().unwrap().to_string().contains("locked"));
}

#[test]
fn a_url_of_something_else_is_refused_without_its_password() {
    let error = connect_options("postgres://me:secret@host/db").unwrap_err();
    assert!(!error.to_string().contains("secret"));
    assert!(error.to_string().contains("sqlite:app.db"));
}
