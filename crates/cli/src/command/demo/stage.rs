//! The folder, the database and the settings that the demo plays with.

use std::{path::PathBuf, time::Duration};

use outbox::{
    backoff::Backoff,
    relay::RelayConfig,
    sqlite::{SqliteStore, connect_options},
};
use sqlx::{SqlitePool, sqlite::SqlitePoolOptions};
use tempfile::TempDir;

use crate::{
    exit::Exit,
    failure::Failure,
    store::{explain, failure},
};

/// A temporary folder with a database of business rows and messages, and the file that messages are published to.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) store: SqliteStore,
    pub(super) pool: SqlitePool,
    pub(super) url: String,
    pub(super) published: PathBuf,
    /// Removed when the stage is dropped, last of all.
    _folder: TempDir,
}

/// The leases of the demo are short, so that the one who died is soon replaced.
pub(super) const LEASE: Duration = Duration::from_secs(1);

const CONNECTIONS: u32 = 8;

const BUSINESS_TABLE: &str = "
    create table purchase (
        message_id text primary key,
        customer text not null,
        number integer not null,
        payload text not null,
        unique (customer, number)
    )";

impl Stage {
    pub(super) async fn set() -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("outbox-demo-")
            .tempdir()
            .map_err(|error| {
                Failure::new(
                    Exit::Broken,
                    format!("cannot make a temporary folder: {error}"),
                )
            })?;
        let url = format!("sqlite:{}", folder.path().join("shop.db").display());
        let options = connect_options(&url)
            .map_err(|error| failure(&error))?
            .busy_timeout(Duration::from_secs(30))
            .create_if_missing(true);
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            .connect_lazy_with(options);
        SqliteStore::migrate(&pool)
            .await
            .map_err(|error| failure(&error))?;
        sqlx::query(BUSINESS_TABLE)
            .execute(&pool)
            .await
            .map_err(|error| explain(&error, "the demo cannot make its table"))?;
        let store = SqliteStore::open(pool.clone())
            .await
            .map_err(|error| failure(&error))?;
        Ok(Self {
            store,
            pool,
            url,
            published: folder.path().join("published.ndjson"),
            _folder: folder,
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
