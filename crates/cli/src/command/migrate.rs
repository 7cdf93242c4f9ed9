//! `outbox migrate`: makes or upgrades the outbox tables, or prints the statements that would.

use clap::Args;
use outbox::sqlite::SqliteStore;
use serde::Serialize;

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
    let migrated = SqliteStore::migrate(&pool).await;
    store::close(&pool).await;
    migrated.map_err(|error| store::failure(&error))?;
    output.result(&Shown::Migrated(true), || {
        "the outbox tables are up to date".to_owned()
    })?;
    Ok(Exit::Done)
}
