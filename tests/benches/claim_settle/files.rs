//! SQLite: database files, prepared once by plain SQL in one transaction, kept under the build folder, and copied
//! for each use. What the rows mean stands in the migrations.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use outbox::{
    Save,
    message::{OrderingKey, PartitionKey, Topic},
    sqlite::{SqliteStore, connect_options},
    store::OutboxStore,
};
use sqlx::{Connection, SqliteConnection, SqlitePool};
use tempfile::TempDir;

use crate::{
    shape::{Keys, Shape, TOPIC, WAITING, sql},
    stores,
};

/// The name of the file of a shape.
fn name(shape: Shape) -> String {
    let keys = match shape.keys {
        Keys::None => 0,
        Keys::One => 1,
        Keys::Many(keys) => keys,
    };
    format!(
        "v{VERSION}-{}-of-{keys}-keys-{}-waiting.db",
        shape.line, shape.waiting
    )
}

/// Part of the files' names: a file of another version is left alone.
const VERSION: u32 = 3;

/// The folder of the prepared files.
pub(crate) struct Files {
    prepared: PathBuf,
}

/// A copy that goes away with this.
struct Copied {
    folder: TempDir,
    path: PathBuf,
}

/// An open copy.
pub(crate) struct Opened {
    _folder: TempDir,
    pool: SqlitePool,
    store: SqliteStore,
}

impl stores::Kind for Files {
    const ROUNDS: &'static str = "claim_settle";
    const DRAINS: &'static str = "drain";
    type Opened = Opened;

    async fn open(&self, shape: Shape) -> Opened {
        let Copied { folder, path } = self.copy(shape).await;
        let pool = connect(&path).await;
        let store = SqliteStore::open(pool.clone())
            .await
            .expect("the file is one of ours");
        Opened {
            _folder: folder,
            pool,
            store,
        }
    }
}

impl stores::Opened for Opened {
    type Store = SqliteStore;

    fn store(&self) -> &SqliteStore {
        &self.store
    }

    async fn save(&self, saves: &[Save<'_>]) {
        let mut tx = self
            .pool
            .begin_with("BEGIN IMMEDIATE")
            .await
            .expect("nobody else writes");
        self.store
            .save_all(&mut tx, saves)
            .await
            .expect("they were saved before");
        tx.commit().await.expect("nobody else writes");
    }

    async fn close(self) {
        self.pool.close().await;
    }
}

impl Files {
    pub(crate) fn new() -> Self {
        let prepared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("claim_settle");
        fs::create_dir_all(&prepared).expect("the build folder can be written");
        Self { prepared }
    }

    /// A copy of the file of this shape, which is prepared at its first use.
    async fn copy(&self, shape: Shape) -> Copied {
        let prepared = self.prepared.join(name(shape));
        if !prepared.exists() {
            let unfinished = prepared.with_extension("unfinished");
            prepare(&unfinished, shape)
                .await
                .expect("the file can be prepared");
            fs::rename(&unfinished, &prepared).expect("the file can be renamed");
        }
        self.copied(&prepared).expect("the file can be copied")
    }

    fn copied(&self, prepared: &Path) -> io::Result<Copied> {
        // On the same disk as the prepared file, so that a folder in memory does not flatter the figures.
        let folder = tempfile::tempdir_in(&self.prepared)?;
        let path = folder.path().join("bench.db");
        fs::copy(prepared, &path)?;
        Ok(Copied { folder, path })
    }
}

/// A connection pool to a file.
async fn connect(path: &Path) -> SqlitePool {
    let url = format!("sqlite:{}", path.display());
    let options = connect_options(&url).expect("it is the URL of a file");
    SqlitePool::connect_with(options.create_if_missing(true))
        .await
        .expect("the file opens")
}

async fn prepare(path: &Path, shape: Shape) -> Result<(), sqlx::Error> {
    // Left from a run that was interrupted; not there otherwise.
    let _ = fs::remove_file(path);
    let pool = connect(path).await;
    SqliteStore::migrate(&pool)
        .await
        .expect("an empty file migrates");
    let store = SqliteStore::open(pool.clone())
        .await
        .expect("a migrated file opens");
    let lanes = store.lanes();
    let mut connection = pool.acquire().await?;
    let mut tx = connection.begin().await?;
    sqlx::query(
        "CREATE TEMP TABLE bench_key (number INTEGER PRIMARY KEY, lane INTEGER NOT NULL, key TEXT)",
    )
    .execute(&mut *tx)
    .await?;
    let keys = match shape.keys {
        // Spread over the lanes, as the store's writer does it.
        Keys::None => {
            let lanes = u64::from(lanes.get());
            for lane in 0..lanes {
                add_key(&mut tx, lane, i64::try_from(lane).unwrap_or(0), None).await?;
            }
            lanes
        }
        Keys::One | Keys::Many(_) => {
            let count = if let Keys::Many(count) = shape.keys {
                count
            } else {
                1
            };
            for number in 0..count {
                let key = key(number);
                let lane = i64::from(ordering_key(&key).lane(lanes).0);
                add_key(&mut tx, number, lane, Some(&key)).await?;
            }
            count
        }
    };
    let (first, keys) = (sql(shape.waiting), sql(keys));
    sqlx::query(include_str!("line.sql"))
        .bind(first)
        .bind(first + sql(shape.line))
        .bind(keys)
        .bind(TOPIC)
        .execute(&mut *tx)
        .await?;
    if shape.waiting > 0 {
        let lane = i64::from(ordering_key(WAITING).lane(lanes).0);
        sqlx::query(include_str!("waiting.sql"))
            .bind(first)
            .bind(lane)
            .bind(TOPIC)
            .bind(WAITING)
            .execute(&mut *tx)
            .await?;
        sqlx::query("INSERT INTO outbox_blocked_key (lane, topic, key, until, reason, position) VALUES (?, ?, ?, ?, 'retry', 1)")
            .bind(lane)
            .bind(TOPIC)
            .bind(WAITING)
            .bind(FAR_AWAY)
            .execute(&mut *tx)
            .await?;
    }
    sqlx::query("UPDATE outbox_position SET last = ?")
        .bind(first + sql(shape.line))
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&mut *connection)
        .await?;
    drop(connection);
    pool.close().await;
    Ok(())
}

/// A time after every run of this bench, in milliseconds since 1970.
const FAR_AWAY: i64 = 32_503_680_000_000;

async fn add_key(
    tx: &mut SqliteConnection,
    number: u64,
    lane: i64,
    key: Option<&str>,
) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO bench_key (number, lane, key) VALUES (?, ?, ?)")
        .bind(sql(number))
        .bind(lane)
        .bind(key.map(str::to_owned))
        .execute(tx)
        .await?;
    Ok(())
}

fn key(number: u64) -> String {
    format!("order-{number}")
}

fn ordering_key(key: &str) -> OrderingKey {
    OrderingKey {
        topic: Topic::new(TOPIC).expect("it keeps the limits of topics"),
        key: PartitionKey::new(key).expect("it keeps the limits of keys"),
    }
}
