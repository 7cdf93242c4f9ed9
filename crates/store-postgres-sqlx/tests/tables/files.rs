//! Migrations run by other tools, one at a time, and taken back.

use std::fs;

use outbox_message::MessageId;
use outbox_migrations::{MigrationFile, POSTGRES, Tool, postgres_files};
use outbox_store::{Consumer, Handled, OutboxStore};
use outbox_store_postgres_sqlx::{PostgresConfig, PostgresStore};
use sqlx::{AssertSqlSafe, Executor, migrate::Migrator, postgres::PgPoolOptions};

use crate::{
    schema::{TestSchema, pool, server},
    scratch::{message, request},
};

/// Runs a file as a tool does: in a transaction.
async fn run(schema: &TestSchema, file: &MigrationFile) {
    let mut tx = schema.pool.begin().await.unwrap();
    let sql = AssertSqlSafe(file.contents.clone());
    let ran = tx.execute(sqlx::raw_sql(sql)).await;
    ran.unwrap_or_else(|error| panic!("{}: {error}", file.path));
    tx.commit().await.unwrap();
}

/// On connections of its own: statements that were prepared do not outlive the types that their rows had.
async fn open(schema: &TestSchema) -> PostgresStore {
    let config = PostgresConfig {
        schema: schema.name.clone(),
        ..PostgresConfig::default()
    };
    let pool = pool(server().application_name(&schema.application));
    let opened = PostgresStore::open_with(pool, config).await;
    opened.unwrap()
}

/// Whether the schema, or anything that was in it, is there.
async fn is_there(schema: &TestSchema) -> bool {
    let found = sqlx::query_scalar("SELECT to_regnamespace($1) IS NOT NULL");
    let found = found.bind(schema.name.quoted()).fetch_one(&schema.pool);
    found.await.unwrap()
}

#[tokio::test]
async fn the_files_for_other_tools_make_a_store_and_take_it_back_whole() {
    for tool in [Tool::Sqlx, Tool::Diesel] {
        let schema = TestSchema::new();
        let files = postgres_files(&schema.name, tool);
        for _ in 0..2 {
            for up in files.iter().step_by(2) {
                run(&schema, up).await;
            }
            let store = open(&schema).await;
            let mut tx = schema.pool.begin().await.unwrap();
            store.save(&mut tx, &message(Some("k"), "a")).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(store.claim(&request(10)).await.unwrap().entries.len(), 1);
            let added = schema.count("SELECT outbox.add_partitions()::bigint").await;
            assert_eq!(added, 30);
            for down in files.iter().skip(1).step_by(2).rev() {
                run(&schema, down).await;
            }
            assert!(!is_there(&schema).await);
        }
    }
}

/// Whoever saves need not begin anew when the schema changes: what was prepared goes on.
#[tokio::test]
async fn a_saver_goes_on_over_version_10() {
    let schema = TestSchema::new();
    let files = postgres_files(&schema.name, Tool::Sqlx);
    let mut ups = files.iter().step_by(2);
    for up in ups.by_ref().take(9) {
        run(&schema, up).await;
    }
    let grant = "GRANT SELECT ON outbox.message, outbox.scheduled, outbox.pending TO PUBLIC";
    schema.run(grant).await;
    let mut saver = schema.pool.acquire().await.unwrap();
    let save = schema.sql(
        "INSERT INTO outbox.message (lane, id, topic, payload) VALUES ($1::smallint, 'i', $2::text, '') RETURNING position",
    );
    let mut positions = Vec::new();
    for _ in 0..8 {
        let save = sqlx::query_scalar::<_, i64>(save.clone());
        positions.push(save.bind(7).bind("t").fetch_one(&mut *saver).await.unwrap());
    }
    for up in ups {
        run(&schema, up).await;
    }
    let save = sqlx::query_scalar::<_, i64>(save);
    positions.push(save.bind(7).bind("t").fetch_one(&mut *saver).await.unwrap());
    let granted = "SELECT count(*) FROM (
          VALUES ('outbox.message'::regclass), ('outbox.scheduled'::regclass), ('outbox.pending'::regclass)
        ) AS t (name)
        WHERE has_table_privilege('public', t.name, 'SELECT')";
    assert_eq!(schema.count(granted).await, 3, "rights stay");
    let claim = open(&schema).await.claim(&request(10)).await.unwrap();
    let claimed = claim.entries.iter().map(|entry| entry.position().0);
    assert_eq!(claimed.collect::<Vec<_>>(), positions);
}

/// The table in which sqlx notes what it ran is the application's, so it stands in a schema of the application's.
#[tokio::test]
async fn sqlx_itself_runs_the_files_and_undoes_them() {
    let schema = TestSchema::new();
    let folder = tempfile::tempdir().unwrap();
    for file in postgres_files(&schema.name, Tool::Sqlx) {
        fs::write(folder.path().join(file.path), file.contents).unwrap();
    }
    let migrator = Migrator::new(folder.path()).await.unwrap();
    let application = TestSchema::new();
    let create = format!("CREATE SCHEMA {}", application.name.quoted());
    application.run(&create).await;
    let path = [("search_path", application.name.quoted())];
    let options = (*application.pool.connect_options()).clone().options(path);
    let pool = PgPoolOptions::new().connect_lazy_with(options);
    for _ in 0..2 {
        // Again does nothing more.
        migrator.run(&pool).await.unwrap();
    }
    let notes = "SELECT count(*) FROM outbox.\"_sqlx_migrations\""
        .replace("outbox", &application.name.quoted());
    assert_eq!(application.count(&notes).await, POSTGRES.version());
    open(&schema).await;
    migrator.undo(&pool, 0).await.unwrap();
    assert!(!is_there(&schema).await);
    pool.close().await;
}

#[tokio::test]
async fn each_file_can_be_taken_back_by_itself() {
    let schema = TestSchema::new();
    for pair in postgres_files(&schema.name, Tool::Sqlx).chunks(2) {
        for file in [&pair[0], &pair[1], &pair[0]] {
            run(&schema, file).await;
        }
    }
    open(&schema).await;
}

#[tokio::test]
async fn a_schema_with_something_of_somebody_else_in_it_is_not_dropped() {
    let schema = TestSchema::new();
    let files = postgres_files(&schema.name, Tool::Sqlx);
    for up in files.iter().step_by(2) {
        run(&schema, up).await;
    }
    schema.run("CREATE TABLE outbox.mine ()").await;
    for down in files.iter().skip(3).step_by(2).rev() {
        run(&schema, down).await;
    }
    let last = AssertSqlSafe(files[1].contents.clone());
    let mut tx = schema.pool.begin().await.unwrap();
    let error = tx.execute(sqlx::raw_sql(last)).await.unwrap_err();
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    assert_eq!(code.as_deref(), Some("2BP01"), "{error}");
}

#[tokio::test]
async fn an_older_schema_is_brought_up_to_date_with_its_messages() {
    let schema = TestSchema::new();
    run(&schema, &postgres_files(&schema.name, Tool::Sqlx)[0]).await;
    schema
        .run("INSERT INTO outbox.message (lane, id, topic, payload) VALUES (0, 'm', 't', '\\x00')")
        .await;
    PostgresStore::migrate_with(&schema.pool, &schema.name)
        .await
        .unwrap();
    let version = schema.count("SELECT version FROM outbox.schema_version");
    assert_eq!(version.await, POSTGRES.version());
    let store = open(&schema).await;
    assert_eq!(store.claim(&request(10)).await.unwrap().entries.len(), 1);
}

/// Version 6 brings the inbox, beside whatever a store of version 5 holds.
#[tokio::test]
async fn a_schema_without_an_inbox_gets_one_beside_its_dead_letters() {
    let schema = TestSchema::new();
    for up in postgres_files(&schema.name, Tool::Sqlx)[..10]
        .iter()
        .step_by(2)
    {
        run(&schema, up).await;
    }
    let version = "SELECT version FROM outbox.schema_version";
    assert_eq!(schema.count(version).await, 5);
    schema
        .run(
            "INSERT INTO outbox.message (lane, id, topic, payload) VALUES (0, 'm', 't', '\\x00');
             INSERT INTO outbox.dead (position, attempts, tries, saved_at, died_at, lane, id, topic, reason, after, payload)
             SELECT outbox.next_position(), 1, 1, now(), now(), 0, 'd', 't', 'attempts', 'skip', '\\x00'",
        )
        .await;
    PostgresStore::migrate_with(&schema.pool, &schema.name)
        .await
        .unwrap();
    assert_eq!(schema.count(version).await, POSTGRES.version());
    let store = open(&schema).await;
    let (consumer, id) = (
        Consumer::new("billing").unwrap(),
        MessageId::new("m").unwrap(),
    );
    for told in [Handled::First, Handled::Duplicate] {
        let mut tx = schema.pool.begin().await.unwrap();
        assert_eq!(store.once(&mut tx, &consumer, &id).await.unwrap(), told);
        tx.commit().await.unwrap();
    }
    assert_eq!(schema.count("SELECT count(*) FROM outbox.dead").await, 1);
    assert_eq!(store.claim(&request(10)).await.unwrap().entries.len(), 1);
}
