//! diesel's own migrations run the files of the outbox and take them back.

use std::fs;

use diesel::{Connection, PgConnection, connection::SimpleConnection};
use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use outbox_migrations::{POSTGRES, Tool, postgres_files};
use outbox_store_postgres_diesel::{PostgresConfig, PostgresStore};

use crate::{
    pool::{pool, url},
    schema::TestSchema,
};

/// The table in which diesel notes what it ran is the application's, so it stands in a schema of the application's.
#[tokio::test(flavor = "multi_thread")]
async fn diesel_itself_runs_the_files_and_takes_them_back() {
    let (schema, application) = (TestSchema::new(), TestSchema::new());
    let folder = tempfile::tempdir().unwrap();
    for file in postgres_files(&schema.name, Tool::Diesel) {
        let path = folder.path().join(file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file.contents).unwrap();
    }
    let migrations = FileBasedMigrations::from_path(folder.path()).unwrap();
    let connect = || {
        let mut connection = PgConnection::establish(&url(&application)).unwrap();
        let own = application.name.quoted();
        let set = format!("CREATE SCHEMA IF NOT EXISTS {own}; SET search_path = {own}");
        connection.batch_execute(&set).unwrap();
        connection
    };
    let ran = tokio::task::block_in_place(|| {
        let mut connection = connect();
        let ran = connection
            .run_pending_migrations(migrations.clone())
            .unwrap()
            .len();
        assert!(
            !connection
                .has_pending_migration(migrations.clone())
                .unwrap()
        );
        ran
    });
    assert_eq!(i64::try_from(ran), Ok(POSTGRES.version()));
    let config = PostgresConfig {
        schema: schema.name.clone(),
        ..PostgresConfig::default()
    };
    PostgresStore::open_with(pool(&schema, 1), config)
        .await
        .unwrap();
    tokio::task::block_in_place(|| {
        connect().revert_all_migrations(migrations).unwrap();
    });
    let left = format!(
        "SELECT count(*) FROM pg_namespace WHERE nspname = '{}'",
        schema.name
    );
    assert_eq!(schema.count(&left).await, 0);
}
