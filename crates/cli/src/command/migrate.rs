//! `outbox migrate`: makes or upgrades the outbox tables, or prints the statements that would.

use clap::Args;
use outbox::{sqlite::SqliteStore, store::StoreError};
use serde::Serialize;
use sqlx::SqlitePool;

use crate::{
    args::StoreArgs,
    exit::Exit,
    failure::Failure,
    output::Output,
    store::{self, Access},
};

/// Make or upgrade the outbox tables; no other command changes them
///
/// Makes the database file if it is not there, and sets it to write-ahead logging. Doing it again does nothing more. The
/// application's own tables may be in the same file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox migrate --store sqlite:orders.db
  outbox migrate --store sqlite:orders.db --print > outbox.sql

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(crate) struct MigrateArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Print the SQL and touch nothing
    #[arg(long)]
    print: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Shown {
    /// Whether anything had to be done.
    Migrated(bool),
    Sql(String),
}

pub(crate) async fn run(args: MigrateArgs, output: Output) -> Result<Exit, Failure> {
    if args.print {
        store::check_url(&args.store.store)?;
        let sql = SqliteStore::print_migrations();
        output.result(&Shown::Sql(sql.clone()), || sql)?;
        return Ok(Exit::Done);
    }
    let pool = store::pool(&args.store, Access::Create)?;
    let migrated = migrate(&pool).await;
    store::close(&pool).await;
    let migrated = migrated.map_err(|error| store::naming(store::failure(&error), &args.store))?;
    output.result(&Shown::Migrated(migrated), || {
        if migrated {
            "the outbox tables were brought up to date".to_owned()
        } else {
            "the outbox tables were up to date already; nothing was done".to_owned()
        }
    })?;
    Ok(Exit::Done)
}

/// Whether there was anything to do: what can be opened is up to date.
async fn migrate(pool: &SqlitePool) -> Result<bool, StoreError> {
    match SqliteStore::open(pool.clone()).await {
        Ok(_) => Ok(false),
        Err(error) if error.is_transient() => Err(error),
        Err(_) => SqliteStore::migrate(pool).await.map(|()| true),
    }
}
