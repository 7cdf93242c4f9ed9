//! Stores in SQLite files.

use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
};

use outbox::sqlite::{SqliteConfig, SqliteStore, connect_options};
use sqlx::{SqlitePool, sqlite::SqlitePoolOptions};

use super::{StoreOptions, failure, is_up_to_date, opened::in_time};
use crate::{args::StoreArgs, exit::Exit, failure::Failure};

/// What a command does to the store's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// It may make it.
    Create,
    /// It must be there.
    Use,
}

/// The most connections that one command opens.
const CONNECTIONS: u32 = 2;

/// Opens the store; nothing is changed.
pub(super) async fn open(args: &StoreArgs, options: StoreOptions) -> Result<SqliteStore, Failure> {
    let pool = pool(args, Access::Use)?;
    let config = SqliteConfig {
        retain: options.retain,
        ..SqliteConfig::default()
    };
    match SqliteStore::open_with(pool.clone(), config).await {
        Ok(store) => Ok(store),
        Err(error) => {
            in_time(pool.close()).await;
            Err(failure(&error))
        }
    }
}

/// Makes or upgrades the tables, and the file if it is not there.
pub(super) async fn migrate(args: &StoreArgs) -> Result<bool, Failure> {
    let pool = pool(args, Access::Create)?;
    let migrated = async {
        if is_up_to_date(SqliteStore::open(pool.clone()).await)? {
            return Ok(false);
        }
        SqliteStore::migrate(&pool).await.map(|()| true)
    };
    let migrated = migrated.await.map_err(|error| failure(&error));
    in_time(pool.close()).await;
    migrated
}

/// The connections to the database; none is opened yet, so that whatever is wrong with the file is told by the store.
fn pool(args: &StoreArgs, access: Access) -> Result<SqlitePool, Failure> {
    let options = connect_options(&args.store)
        .map_err(|error| Failure::caused(Exit::Input, &error))?
        .create_if_missing(access == Access::Create)
        .busy_timeout(args.busy_timeout);
    check_file(options.get_filename(), access)?;
    Ok(SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .connect_lazy_with(options))
}

/// Asks the file system first: it says more than the database would.
fn check_file(path: &Path, access: Access) -> Result<(), Failure> {
    let refused = |what: &str| Failure::new(Exit::Store, format!("{} {what}", path.display()));
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            Err(refused("is a directory, not a database").hint("name a file in it"))
        }
        Ok(found) if found.permissions().readonly() => Err(refused("is read-only")
            .hint("nothing was changed; make the file writable, its folder too")),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => match access {
            Access::Use => Err(refused("is not there")
                .hint("check the path, or make the store: outbox migrate --store ...")),
            Access::Create => folder_of(path)
                .map_err(|error| refused(&format!("cannot be made: {error}")))
                .and_then(|is_dir| {
                    if is_dir {
                        Ok(())
                    } else {
                        Err(refused("cannot be made: its folder is not there")
                            .hint("make the folder first"))
                    }
                }),
        },
        Err(error) => Err(refused(&format!("cannot be opened: {error}"))),
    }
}

/// Whether the folder that is to hold `path` is one.
fn folder_of(path: &Path) -> io::Result<bool> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => return Ok(true),
    };
    match fs::metadata(folder) {
        Ok(found) => Ok(found.is_dir()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
