//! `--store`: opens the store that a URL names, and says in plain words why one cannot be used.

mod refusal;

use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
    time::Duration,
};

use outbox::sqlite::{SqliteStore, connect_options};
use sqlx::{SqlitePool, sqlite::SqlitePoolOptions};
use tokio::time::timeout;

pub(crate) use self::refusal::{explain, failure, save_failure};
use crate::{args::StoreArgs, exit::Exit, failure::Failure, publisher::is_scheme};

/// What a command does to the store's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It may make it.
    Create,
    /// It must be there.
    Use,
}

/// An open store and the connections it uses.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) store: SqliteStore,
    pub(crate) pool: SqlitePool,
}

/// How long closing may take; a connection that hangs must not keep the program.
const CLOSING: Duration = Duration::from_secs(2);

/// The most connections that one command opens.
const CONNECTIONS: u32 = 2;

/// Opens the store, which changes nothing in it, does the work, and closes it again.
pub(crate) async fn with<T>(
    args: &StoreArgs,
    work: impl AsyncFnOnce(Opened) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let pool = pool(args, Access::Use)?;
    let worked = match SqliteStore::open(pool.clone()).await {
        Ok(store) => {
            let pool = pool.clone();
            work(Opened { store, pool }).await
        }
        Err(error) => Err(failure(&error)),
    };
    close(&pool).await;
    worked.map_err(|failure| naming(failure, args))
}

/// The same failure, whose hint names the store where the library does not know it.
pub(crate) fn naming(failure: Failure, args: &StoreArgs) -> Failure {
    let hint = failure
        .hint
        .map(|hint| hint.replace("--store ...", &named(args)));
    Failure { hint, ..failure }
}

/// The option as one types it.
fn named(args: &StoreArgs) -> String {
    let url = &args.store;
    let plain = |c: char| c.is_alphanumeric() || "/:._-".contains(c);
    if url.chars().all(plain) {
        format!("--store {url}")
    } else {
        format!("--store '{url}'")
    }
}

/// Closes every connection. The last one to close brings the write-ahead log back into the file, so that a copy of the file alone is whole.
pub(crate) async fn close(pool: &SqlitePool) {
    if timeout(CLOSING, pool.close()).await.is_err() {
        tracing::debug!("a connection to the store did not close in time");
    }
}

/// The connections to the database; none is opened yet, so that whatever is wrong with the file is told by the store.
pub(crate) fn pool(args: &StoreArgs, access: Access) -> Result<SqlitePool, Failure> {
    check_url(&args.store)?;
    let options = connect_options(&args.store)
        .map_err(|error| Failure::caused(Exit::Input, &error))?
        .create_if_missing(access == Access::Create)
        .busy_timeout(args.busy_timeout);
    check_file(options.get_filename(), access).map_err(|failure| naming(failure, args))?;
    Ok(SqlitePoolOptions::new()
        .max_connections(CONNECTIONS)
        .connect_lazy_with(options))
}

/// Refuses what is no URL of an `SQLite` file. The failure does not repeat the URL, since it may hold a password.
pub(crate) fn check_url(url: &str) -> Result<(), Failure> {
    let refused = |what: String| {
        Failure::new(Exit::Input, what).hint("supported is sqlite:PATH, such as sqlite:orders.db")
    };
    match url.split_once(':') {
        Some(("sqlite", rest)) => match rest.strip_prefix("//").unwrap_or(rest) {
            "" => Err(refused("--store sqlite: has no path".to_owned())),
            ":memory:" => Err(refused(
                "a store in memory would be gone when this command ends".to_owned(),
            )),
            _ => Ok(()),
        },
        Some((scheme, _)) if is_scheme(scheme) => {
            Err(refused(format!("cannot open a store of scheme {scheme}")))
        }
        _ => Err(refused("--store is no URL of a store".to_owned())),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_store_as_one_types_it() {
        let hint = |store: &str| {
            let args = StoreArgs {
                store: store.to_owned(),
                busy_timeout: Duration::ZERO,
            };
            let failure = Failure::new(Exit::Store, "").hint("run `outbox migrate --store ...`");
            naming(failure, &args).hint.unwrap()
        };
        assert_eq!(
            hint("sqlite:a/b.db"),
            "run `outbox migrate --store sqlite:a/b.db`"
        );
        assert_eq!(
            hint("sqlite:my orders.db?mode=rw"),
            "run `outbox migrate --store 'sqlite:my orders.db?mode=rw'`"
        );
    }

    #[test]
    fn a_url_that_is_no_store_is_refused_without_showing_it() {
        for url in ["sqlite:orders.db", "sqlite:///var/orders.db"] {
            assert!(check_url(url).is_ok());
        }
        for url in [
            "",
            "secret.db",
            "sqlite:",
            "sqlite://",
            "sqlite::memory:",
            "postgres://me:secret@db/orders",
            "Postgres://me:secret@db/orders",
        ] {
            let refused = check_url(url).unwrap_err();
            assert_eq!(refused.exit, Exit::Input);
            let told = refused.to_string();
            assert!(
                told.contains("sqlite:PATH") && !told.contains("secret"),
                "{told}"
            );
        }
    }
}
