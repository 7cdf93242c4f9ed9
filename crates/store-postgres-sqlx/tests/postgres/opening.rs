//! Migrating and opening: what a schema may be called, and what is said of a database that cannot be used.

use std::time::Duration;

use outbox_store::{OutboxStore, SaveError, StoreError};
use outbox_store_postgres_sqlx::{PostgresConfig, PostgresStore, SchemaName};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgPool, postgres::PgPoolOptions};

use crate::{
    schema::{TestSchema, pool, server},
    scratch::{Scratch, message, payloads, published, request},
};

fn config(schema: &SchemaName) -> PostgresConfig {
    PostgresConfig {
        schema: schema.clone(),
        ..PostgresConfig::default()
    }
}

async fn open(schema: &TestSchema) -> Result<PostgresStore, StoreError> {
    PostgresStore::open_with(schema.pool.clone(), config(&schema.name)).await
}

async fn refusal(pool: &PgPool, schema: &SchemaName) -> (StoreError, String) {
    let opened = PostgresStore::open_with(pool.clone(), config(schema)).await;
    let error = opened.unwrap_err();
    let text = error.to_string();
    (error, text)
}

#[tokio::test]
async fn migrations_at_once_end_in_one() {
    let schema = TestSchema::new();
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (pool, name) = (pool(server()), schema.name.clone());
            tokio::spawn(async move { PostgresStore::migrate_with(&pool, &name).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    PostgresStore::migrate_with(&schema.pool, &schema.name)
        .await
        .unwrap();
    open(&schema).await.unwrap();
    assert_eq!(schema.count("SELECT count(*) FROM outbox.lane").await, 64);
}

#[tokio::test]
async fn any_name_that_postgres_keeps_whole_is_one_for_the_schema() {
    let random: u64 = rand::random();
    for name in [
        format!("MixedCase{random:x}"),
        format!("with spaces, dots. and-{random:x}"),
        format!("{}{random:016x}", "ö".repeat(23)),
        "analyse".to_owned(),
    ] {
        let schema = TestSchema::named(&name);
        PostgresStore::migrate_with(&schema.pool, &schema.name)
            .await
            .unwrap();
        let store = open(&schema).await.unwrap();
        let mut tx = schema.pool.begin().await.unwrap();
        store.save(&mut tx, &message(Some("a"), "1")).await.unwrap();
        tx.commit().await.unwrap();
        let claim = store.claim(&request(10)).await.unwrap();
        assert_eq!(payloads(&claim), [b"1"], "{name}");
        store.settle(&published(&claim)).await.unwrap();
        assert_eq!(schema.count("SELECT count(*) FROM outbox.message").await, 0);
    }
}

#[tokio::test]
async fn what_is_printed_makes_the_same_schema_by_hand() {
    let schema = TestSchema::new();
    let script = PostgresStore::print_migrations(&schema.name);
    let made = schema.pool.execute(sqlx::raw_sql(AssertSqlSafe(script)));
    made.await.unwrap();
    open(&schema).await.unwrap();
}

#[tokio::test]
async fn a_schema_that_is_not_there_is_named_with_both_versions_and_the_command() {
    let schema = TestSchema::new();
    let (error, text) = refusal(&schema.pool, &schema.name).await;
    assert!(matches!(error, StoreError::Schema { found: 0, .. }));
    assert!(
        text.contains("has version 0") && text.contains("outbox migrate"),
        "{text}"
    );

    // A schema of that name that holds something else.
    let create = format!("CREATE SCHEMA {}", schema.name.quoted());
    let created = schema.pool.execute(sqlx::raw_sql(AssertSqlSafe(create)));
    created.await.unwrap();
    let (error, _) = refusal(&schema.pool, &schema.name).await;
    assert!(matches!(error, StoreError::Schema { found: 0, .. }));
}

#[tokio::test]
async fn another_schema_version_is_refused() {
    let scratch = Scratch::new().await;
    scratch
        .schema
        .run("UPDATE outbox.schema_version SET version = 99")
        .await;
    let newer = |error: &StoreError| matches!(error, StoreError::Schema { found: 99, .. });
    let (error, text) = refusal(&scratch.schema.pool, &scratch.schema.name).await;
    assert!(
        newer(&error) && text.contains("use a newer version"),
        "{text}"
    );
    let migrated = PostgresStore::migrate_with(&scratch.schema.pool, &scratch.schema.name).await;
    assert!(newer(&migrated.unwrap_err()));
    assert!(newer(&scratch.store.claim(&request(1)).await.unwrap_err()));
}

#[tokio::test]
async fn a_schema_that_went_away_is_named_as_such() {
    let scratch = Scratch::new().await;
    let drop = format!("DROP SCHEMA {} CASCADE", scratch.schema.name.quoted());
    scratch.schema.run(&drop).await;
    let claimed = scratch.store.claim(&request(1)).await.unwrap_err();
    assert!(
        matches!(claimed, StoreError::Schema { found: 0, .. }),
        "{claimed}"
    );
    let mut tx = scratch.pool().begin().await.unwrap();
    let saved = scratch.store.save(&mut tx, &message(None, "no")).await;
    assert!(matches!(saved, Err(SaveError::Schema { found: 0, .. })));
}

/// A role without any grant, as which a pool acts.
async fn stranger(schema: &TestSchema) -> (String, PgPool) {
    let role = format!("outbox_test_{:016x}", rand::random::<u64>());
    let create = AssertSqlSafe(format!("CREATE ROLE {role}"));
    schema.pool.execute(sqlx::raw_sql(create)).await.unwrap();
    let pool = pool(
        server()
            .application_name(&schema.application)
            .options([("role", &role)]),
    );
    (role, pool)
}

#[tokio::test]
async fn a_role_that_may_not_is_told_so() {
    let schema = TestSchema::new();
    let (role, pool) = stranger(&schema).await;
    let refused = PostgresStore::migrate_with(&pool, &schema.name)
        .await
        .unwrap_err();
    assert!(matches!(refused, StoreError::Unusable { .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("role") && text.contains("grants"), "{text}");

    PostgresStore::migrate_with(&schema.pool, &schema.name)
        .await
        .unwrap();
    let (refused, text) = refusal(&pool, &schema.name).await;
    assert!(matches!(refused, StoreError::Unusable { .. }), "{text}");
    assert!(text.contains("role") && text.contains("grants"), "{text}");
    let drop = AssertSqlSafe(format!("DROP ROLE {role}"));
    schema.pool.execute(sqlx::raw_sql(drop)).await.unwrap();
}

#[tokio::test]
async fn a_database_in_another_encoding_is_refused() {
    let name = format!("outbox_test_{:016x}", rand::random::<u64>());
    let create = format!(
        "CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    );
    let mut admin = server().connect().await.unwrap();
    let created = admin.execute(sqlx::raw_sql(AssertSqlSafe(create)));
    created.await.unwrap();
    let latin = pool(server().database(&name));
    let refused = PostgresStore::migrate(&latin).await.unwrap_err();
    let opened = PostgresStore::open(latin.clone()).await.unwrap_err();
    latin.close().await;
    let drop = AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"));
    admin.execute(sqlx::raw_sql(drop)).await.unwrap();
    admin.close().await.unwrap();
    assert!(matches!(refused, StoreError::Unusable { .. }), "{refused}");
    assert!(refused.to_string().contains("LATIN1"), "{refused}");
    assert_eq!(opened.to_string(), refused.to_string());
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_a_passing_error() {
    // Nothing listens at this port, however often the pool tries.
    let nowhere = PgPoolOptions::new()
        .acquire_timeout(Duration::from_millis(1))
        .connect_lazy_with(server().host("127.0.0.1").port(1));
    let (error, text) = refusal(&nowhere, &SchemaName::default()).await;
    assert!(error.is_transient(), "{text}");
}
