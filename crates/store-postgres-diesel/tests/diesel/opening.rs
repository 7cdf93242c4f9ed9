//! Making the tables and opening a store on them, through both kinds of connections.

use diesel::{Connection, PgConnection};
use outbox_migrations::POSTGRES;
use outbox_store::StoreError;
use outbox_store_postgres_diesel::{PostgresConfig, PostgresStore, sync};
use tokio::task::spawn_blocking;

use crate::{
    pool::{pool, url},
    schema::TestSchema,
};

fn config(schema: &TestSchema) -> PostgresConfig {
    PostgresConfig {
        schema: schema.name.clone(),
        ..PostgresConfig::default()
    }
}

/// On a thread of its own: the runtime closes connections meanwhile.
async fn migrate_blocking(schema: &TestSchema) -> Result<(), StoreError> {
    let (url, name) = (url(schema), schema.name.clone());
    let migrated = spawn_blocking(move || {
        sync::migrate_with(&mut PgConnection::establish(&url).unwrap(), &name)
    });
    migrated.await.unwrap()
}

#[tokio::test]
async fn migrations_at_once_end_in_one() {
    let schema = TestSchema::new();
    let pool = pool(&schema, 3);
    let migrate = || PostgresStore::migrate_with(&pool, &schema.name);
    let migrated = tokio::join!(migrate(), migrate(), migrate(), migrate_blocking(&schema));
    for migrated in <[_; 4]>::from(migrated) {
        migrated.unwrap();
    }
    PostgresStore::open_with(pool, config(&schema))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_store_without_tables_is_not_opened() {
    let schema = TestSchema::new();
    let refused = PostgresStore::open_with(pool(&schema, 1), config(&schema)).await;
    let expected = POSTGRES.version();
    assert_eq!(
        refused.unwrap_err().to_string(),
        format!(
            "the outbox schema has version 0, this program needs version {expected}: run `outbox migrate --store ...`"
        )
    );
}

#[tokio::test]
async fn a_newer_schema_is_left_alone() {
    let schema = TestSchema::new();
    let pool = pool(&schema, 1);
    PostgresStore::migrate_with(&pool, &schema.name)
        .await
        .unwrap();
    schema
        .run("UPDATE outbox.schema_version SET version = 1000")
        .await;
    let refused = [
        PostgresStore::migrate_with(&pool, &schema.name).await,
        migrate_blocking(&schema).await,
        PostgresStore::open_with(pool, config(&schema))
            .await
            .map(|_| ()),
    ];
    for refused in refused {
        assert!(
            matches!(refused, Err(StoreError::Schema { found: 1000, .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn the_script_by_hand_makes_what_migrate_makes() {
    let schema = TestSchema::new();
    let script = PostgresStore::print_migrations(&schema.name);
    schema.run(&script).await;
    let pool = pool(&schema, 1);
    PostgresStore::migrate_with(&pool, &schema.name)
        .await
        .unwrap();
    PostgresStore::open_with(pool, config(&schema))
        .await
        .unwrap();
}
