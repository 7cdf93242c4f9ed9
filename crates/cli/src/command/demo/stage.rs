//! The folder, the database and the settings that the demo plays with.

use std::{path::PathBuf, time::Duration};

use outbox::{
    backoff::Backoff,
    postgres_sqlx::{PostgresConfig, PostgresStore, SchemaName},
    relay::RelayConfig,
    sqlite::{SqliteStore, connect_options},
};
use sqlx::{AssertSqlSafe, postgres::PgPoolOptions, sqlite::SqlitePoolOptions};
use tempfile::TempDir;

use super::shop;
use crate::{
    exit::Exit,
    failure::Failure,
    store::{Kind, Opened, explain, failure, postgres_options},
};

/// A database of business rows and messages, and the file that messages are published to.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) opened: Opened,
    pub(super) url: String,
    /// The schema of the demo's own, on Postgres.
    pub(super) schema: SchemaName,
    pub(super) published: PathBuf,
    /// Removed when the stage is dropped, last of all.
    _folder: TempDir,
}

/// The leases of the demo are short, so that the one who died is soon replaced.
pub(super) const LEASE: Duration = Duration::from_secs(1);

const CONNECTIONS: u32 = 8;

/// What the schemas of demos are called, before a number.
const SCHEMA: &str = "outbox_demo_";

impl Stage {
    /// Sets the stage: on a temporary file, or in a schema of its own on this server.
    pub(super) async fn set(store: Option<&str>) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("outbox-demo-")
            .tempdir()
            .map_err(|error| {
                Failure::new(
                    Exit::Broken,
                    format!("cannot make a temporary folder: {error}"),
                )
            })?;
        let schema = format!("{SCHEMA}{}", rand::random::<u32>());
        let schema: SchemaName = schema
            .parse()
            .map_err(|error| Failure::caused(Exit::Broken, &error))?;
        let own = format!("sqlite:{}", folder.path().join("shop.db").display());
        let url = match store {
            None => own,
            Some(url) => match Kind::of(url)? {
                Kind::Postgres => url.to_owned(),
                Kind::Sqlite => {
                    let what = "the demo makes a temporary SQLite database of its own";
                    return Err(Failure::new(Exit::Input, what)
                        .hint("leave --store out, or name a Postgres database"));
                }
            },
        };
        let opened = if store.is_some() {
            Opened::Postgres(postgres(&url, &schema).await?)
        } else {
            Opened::Sqlite(sqlite(&url).await?)
        };
        let stage = Self {
            opened,
            url,
            schema,
            published: folder.path().join("published.ndjson"),
            _folder: folder,
        };
        match shop::open(&stage).await {
            Ok(()) => Ok(stage),
            Err(failure) => {
                stage.strike().await?;
                Err(failure)
            }
        }
    }

    /// Takes away whatever the demo made.
    pub(super) async fn strike(&self) -> Result<(), Failure> {
        let dropped = match &self.opened {
            Opened::Sqlite(_) => Ok(()),
            Opened::Postgres(store) => {
                let drop = format!("drop schema {} cascade", self.schema.quoted());
                let dropped = sqlx::raw_sql(AssertSqlSafe(drop)).execute(store.pool());
                dropped.await.map(|_| ())
            }
        };
        self.opened.close().await;
        dropped.map_err(|error| {
            let what = format!("the demo cannot drop its schema {}", self.schema);
            explain(&error, &what)
        })
    }

    /// Everything shorter than the defaults; nobody dies of the failures that are thrown in.
    pub(super) fn relay_config(name: &str) -> RelayConfig {
        RelayConfig {
            name: name.into(),
            lease: LEASE,
            renewal: LEASE / 3,
            publish_timeout: LEASE / 2,
            poll_min: Duration::from_millis(5),
            poll_max: Duration::from_millis(50),
            max_attempts: u32::MAX,
            backoff: Backoff::fixed(Duration::from_millis(20)),
            transient_delay: Duration::from_millis(20),
            ..RelayConfig::default()
        }
    }
}

async fn sqlite(url: &str) -> Result<SqliteStore, Failure> {
    let options = connect_options(url)
        .map_err(|error| failure(&error))?
        .busy_timeout(Duration::from_secs(30))
        .create_if_missing(true);
    let pool = SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .connect_lazy_with(options);
    let opened = async {
        SqliteStore::migrate(&pool).await?;
        SqliteStore::open(pool.clone()).await
    };
    opened.await.map_err(|error| failure(&error))
}

async fn postgres(url: &str, schema: &SchemaName) -> Result<PostgresStore, Failure> {
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .connect_lazy_with(postgres_options(url)?);
    let config = PostgresConfig {
        schema: schema.clone(),
        ..PostgresConfig::default()
    };
    let opened = async {
        PostgresStore::migrate_with(&pool, schema).await?;
        PostgresStore::open_with(pool.clone(), config).await
    };
    opened.await.map_err(|error| failure(&error))
}
