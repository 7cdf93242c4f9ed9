//! The private Postgres of a run, and what it tells about itself.

use std::time::Duration;

use outbox_test_servers::{Cluster, Options, Postgres};
use sqlx::{AssertSqlSafe, PgPool, postgres::PgPoolOptions};

use crate::{Result, costs::ServerCosts, process};

/// Durability is the default, which `outbox-test-servers` turns off. The rest keeps checkpoints and the limit of connections
/// out of what is compared.
const SETTINGS: [(&str, &str); 6] = [
    ("fsync", "on"),
    ("shared_buffers", "512MB"),
    ("max_wal_size", "8GB"),
    ("checkpoint_timeout", "30min"),
    ("shared_preload_libraries", "pg_stat_statements"),
    ("pg_stat_statements.track_utility", "off"),
];

/// A private server that ends with this value.
#[derive(Debug)]
pub(crate) struct Server {
    cluster: Cluster,
    version: String,
    admin: PgPool,
}

/// What the server had used at some moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    wal: f64,
    statements: f64,
    commits: f64,
    dead_rows: f64,
    cpu: Duration,
}

impl Server {
    /// Starts one.
    pub(crate) async fn start() -> Result<Self> {
        let postgres = Postgres::find()?;
        let settings = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = Options {
            settings: settings.into(),
        };
        let cluster = postgres.start(options)?;
        let admin = PgPoolOptions::new()
            .max_connections(2)
            .connect(&cluster.url("postgres"))
            .await?;
        sqlx::raw_sql("CREATE EXTENSION pg_stat_statements")
            .execute(&admin)
            .await?;
        Ok(Self {
            version: postgres.version().to_owned(),
            cluster,
            admin,
        })
    }

    /// Such as `15.14`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn url(&self, database: &str) -> String {
        self.cluster.url(database)
    }

    /// Runs statements as the administrator, outside of any database of a system.
    pub(crate) async fn execute(&self, sql: &str) -> Result {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&self.admin)
            .await?;
        Ok(())
    }

    /// What was used until now, for all of the server but for what concerns rows and commits: of this database.
    pub(crate) async fn moment(&self, database: &str) -> Result<Moment> {
        let sql = "SELECT
            (pg_current_wal_insert_lsn() - '0/0')::float8,
            (SELECT coalesce(sum(s.calls), 0)::float8 FROM pg_stat_statements s WHERE s.dbid = d.oid),
            d.commits
          FROM (
            SELECT p.oid, pg_stat_get_db_xact_commit(p.oid)::float8 AS commits
            FROM pg_database p
            WHERE p.datname = $1
          ) AS d";
        let (wal, statements, commits): (f64, f64, f64) = sqlx::query_as(sql)
            .bind(database)
            .fetch_one(&self.admin)
            .await?;
        Ok(Moment {
            wal,
            statements,
            commits,
            dead_rows: self.dead_rows(database).await?,
            cpu: process::time_of_family(self.pid()?)?,
        })
    }

    /// Row versions that updates and deletes left behind in a database, ever.
    async fn dead_rows(&self, database: &str) -> Result<f64> {
        let own = PgPoolOptions::new()
            .max_connections(1)
            .connect(&self.url(database))
            .await?;
        let dead = sqlx::query_scalar(
            "SELECT coalesce(sum(n_tup_upd + n_tup_del), 0)::float8 FROM pg_stat_user_tables",
        )
        .fetch_one(&own)
        .await?;
        own.close().await;
        Ok(dead)
    }

    /// Waits until nobody else is in a database: sessions that end tell what they did only then.
    pub(crate) async fn wait_until_left(&self, database: &str) -> Result {
        loop {
            let sessions: i64 = sqlx::query_scalar(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
            )
            .bind(database)
            .fetch_one(&self.admin)
            .await?;
            if sessions == 0 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn pid(&self) -> Result<u32> {
        self.cluster
            .pid()
            .ok_or_else(|| "the server is gone".into())
    }
}

impl Moment {
    /// What was used from an earlier moment to this one.
    pub(crate) fn since(&self, begin: &Self) -> ServerCosts {
        ServerCosts {
            statements: self.statements - begin.statements,
            commits: self.commits - begin.commits,
            wal_bytes: self.wal - begin.wal,
            dead_rows: self.dead_rows - begin.dead_rows,
            cpu: self.cpu.saturating_sub(begin.cpu).as_secs_f64(),
        }
    }
}
