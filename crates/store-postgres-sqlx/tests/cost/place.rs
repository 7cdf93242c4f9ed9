//! Where tables are: a schema of its own on the server of all tests, or a server of its own, where nobody else holds anything.

use outbox_migrations::SchemaName;
use outbox_store_postgres_sqlx::PostgresStore;
use outbox_test_servers::{Cluster, Options, Postgres};
use sqlx::{
    AssertSqlSafe, Executor, PgPool, SqlSafeStr, SqlStr,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::schema::TestSchema;

/// The tables of one test.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) name: SchemaName,
    pub(crate) pool: PgPool,
    _ends_with_this: Home,
}

#[derive(Debug)]
#[expect(dead_code, reason = "it is only dropped")]
enum Home {
    Schema(TestSchema),
    Cluster(Box<Cluster>),
}

/// Whether the long forms are asked for.
pub(crate) fn is_soak() -> bool {
    std::env::var_os("OUTBOX_SOAK").is_some()
}

impl Place {
    /// A schema on the server of all tests.
    pub(crate) async fn schema() -> Self {
        let schema = TestSchema::new();
        let place = Self {
            name: schema.name.clone(),
            pool: schema.pool.clone(),
            _ends_with_this: Home::Schema(schema),
        };
        place.migrated().await
    }

    /// A server of its own. For the long forms it writes to the disk as one that is used in earnest.
    pub(crate) async fn server() -> Self {
        let fsync = if is_soak() { "on" } else { "off" };
        let options = Options {
            settings: vec![("fsync".to_owned(), fsync.to_owned())],
        };
        let cluster = Postgres::find().unwrap().start(options).unwrap();
        let server: PgConnectOptions = cluster.url("postgres").parse().unwrap();
        let place = Self {
            name: SchemaName::default(),
            pool: PgPoolOptions::new()
                .max_connections(10)
                .connect_lazy_with(server),
            _ends_with_this: Home::Cluster(Box::new(cluster)),
        };
        place.migrated().await
    }

    async fn migrated(self) -> Self {
        PostgresStore::migrate_with(&self.pool, &self.name)
            .await
            .unwrap();
        self
    }

    /// The statement, in which `outbox.` stands for the schema.
    pub(crate) fn sql(&self, statement: &str) -> SqlStr {
        AssertSqlSafe(self.name.apply(statement)).into_sql_str()
    }

    pub(crate) async fn run(&self, statements: &str) {
        let done = self.pool.execute(sqlx::raw_sql(self.sql(statements)));
        done.await.unwrap();
    }

    pub(crate) async fn count(&self, statement: &str) -> i64 {
        let count = sqlx::query_scalar(self.sql(statement)).fetch_one(&self.pool);
        count.await.unwrap()
    }
}
