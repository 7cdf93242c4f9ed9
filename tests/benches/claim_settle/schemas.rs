//! Postgres: a schema of its own for each use, filled by plain SQL. What the rows mean stands in the migrations.

use outbox::{
    Save,
    postgres_sqlx::{PostgresConfig, PostgresStore, SchemaName},
};
use sqlx::{
    AssertSqlSafe, Executor, PgPool, SqlSafeStr, SqlStr,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{
    shape::{Keys, Shape, TOPIC, WAITING, sql},
    stores::{Kind, Opened},
};

/// The server that `cargo xtask bench` gives.
pub(crate) struct Schemas {
    server: PgConnectOptions,
}

impl Schemas {
    pub(crate) fn new() -> Self {
        let url = std::env::var("OUTBOX_TEST_POSTGRES")
            .expect("OUTBOX_TEST_POSTGRES names no database: run `cargo xtask bench`");
        Self {
            server: url.parse().expect("it is the URL of a database"),
        }
    }
}

impl Kind for Schemas {
    const ROUNDS: &'static str = "claim_settle on Postgres";
    const DRAINS: &'static str = "drain on Postgres";
    type Opened = Schema;

    async fn open(&self, shape: Shape) -> Schema {
        let name = format!("bench_{:016x}", rand::random::<u64>());
        let name: SchemaName = name.parse().expect("it is the name of a schema");
        let pool = PgPoolOptions::new().connect_lazy_with(self.server.clone());
        PostgresStore::migrate_with(&pool, &name)
            .await
            .expect("a new schema migrates");
        let config = PostgresConfig {
            schema: name.clone(),
            ..PostgresConfig::default()
        };
        let store = PostgresStore::open_with(pool.clone(), config)
            .await
            .expect("a migrated schema opens");
        let schema = Schema { name, pool, store };
        schema.fill(shape).await.expect("the schema can be filled");
        schema
    }
}

/// A filled schema.
pub(crate) struct Schema {
    name: SchemaName,
    pool: PgPool,
    store: PostgresStore,
}

impl Schema {
    fn sql(&self, statement: &str) -> SqlStr {
        AssertSqlSafe(self.name.apply(statement)).into_sql_str()
    }

    async fn fill(&self, shape: Shape) -> Result<(), sqlx::Error> {
        if shape.waiting > 0 {
            sqlx::query(self.sql(include_str!("waiting_postgres.sql")))
                .bind(sql(shape.waiting))
                .bind(TOPIC)
                .bind(WAITING)
                .execute(&self.pool)
                .await?;
            let block = "INSERT INTO outbox.blocked_key (lane, topic, key, until, reason, position)
                 SELECT outbox.lane_of($1, $2), $1, $2, now() + interval '1 year', 'retry', min(position)
                 FROM outbox.waiting";
            sqlx::query(self.sql(block))
                .bind(TOPIC)
                .bind(WAITING)
                .execute(&self.pool)
                .await?;
        }
        let keys = match shape.keys {
            Keys::None => None,
            Keys::One => Some(1),
            Keys::Many(keys) => Some(sql(keys)),
        };
        sqlx::query(self.sql(include_str!("line_postgres.sql")))
            .bind(sql(shape.line))
            .bind(keys)
            .bind(TOPIC)
            .execute(&self.pool)
            .await?;
        // Else the server may do it while something is measured.
        for table in ["message", "waiting", "blocked_key"] {
            let vacuum = format!("VACUUM (ANALYZE) outbox.{table}");
            self.pool.execute(self.sql(&vacuum)).await?;
        }
        self.pool.execute(self.sql("CHECKPOINT")).await?;
        Ok(())
    }
}

impl Opened for Schema {
    type Store = PostgresStore;

    fn store(&self) -> &PostgresStore {
        &self.store
    }

    async fn save(&self, saves: &[Save<'_>]) {
        let mut tx = self.pool.begin().await.expect("the server is there");
        self.store
            .save_all(&mut tx, saves)
            .await
            .expect("they were saved before");
        tx.commit().await.expect("the server is there");
    }

    async fn close(self) {
        let drop = format!("DROP SCHEMA {} CASCADE", self.name.quoted());
        let drop = sqlx::raw_sql(AssertSqlSafe(drop));
        self.pool
            .execute(drop)
            .await
            .expect("the schema can be dropped");
        self.pool.close().await;
    }
}
