//! `--store`: opens the store that a URL names, and says in plain words why one cannot be used.

mod opened;
mod postgres;
mod refusal;
mod sqlite;

use std::time::Duration;

use outbox::{
    migrations::{MigrationFile, Tool, postgres_files, sqlite_files},
    postgres_sqlx::{PostgresStore, WakeUp},
    sqlite::SqliteStore,
    store::StoreError,
};

pub(crate) use self::{
    opened::{Opened, Tx},
    postgres::connect_options as postgres_options,
    refusal::{explain, failure, save_failure},
};
use crate::{args::StoreArgs, exit::Exit, failure::Failure, publisher::is_scheme};

/// The kinds of stores there are, told apart by the scheme of their URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// What a command asks of a store besides where it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StoreOptions {
    /// Whether relays are woken by saves; SQLite has no such thing.
    pub(crate) wake_up: WakeUp,
    /// How long published messages are kept.
    pub(crate) retain: Option<Duration>,
}

const SUPPORTED: &str =
    "supported are sqlite:PATH, such as sqlite:orders.db, and postgres://HOST:PORT/DATABASE";

impl Kind {
    /// Reads the kind off a URL. The failure does not repeat the URL, since it may hold a password.
    pub(crate) fn of(url: &str) -> Result<Self, Failure> {
        let refused = |what: &str| Err(Failure::new(Exit::Input, what).hint(SUPPORTED));
        match url.split_once(':') {
            Some(("sqlite", rest)) => match rest.strip_prefix("//").unwrap_or(rest) {
                "" => refused("--store sqlite: has no path"),
                ":memory:" => refused("a store in memory would be gone when this command ends"),
                _ => Ok(Self::Sqlite),
            },
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => Ok(Self::Postgres),
            Some((scheme, _)) if is_scheme(scheme) => {
                refused(&format!("cannot open a store of scheme {scheme}"))
            }
            _ => refused("--store is no URL of a store"),
        }
    }
}

/// Opens the store, which changes nothing in it, does the work, and closes it again.
pub(crate) async fn with<T>(
    args: &StoreArgs,
    work: impl AsyncFnOnce(&Opened) -> Result<T, Failure>,
) -> Result<T, Failure> {
    with_options(args, StoreOptions::default(), work).await
}

/// The same with these options.
pub(crate) async fn with_options<T>(
    args: &StoreArgs,
    options: StoreOptions,
    work: impl AsyncFnOnce(&Opened) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let worked = match open(args, options).await {
        Ok(opened) => {
            let worked = work(&opened).await;
            opened.close().await;
            worked
        }
        Err(failure) => Err(failure),
    };
    worked.map_err(|failure| naming(failure, args))
}

async fn open(args: &StoreArgs, options: StoreOptions) -> Result<Opened, Failure> {
    match Kind::of(&args.store)? {
        Kind::Sqlite => sqlite::open(args, options).await.map(Opened::Sqlite),
        Kind::Postgres => postgres::open(args, options).await.map(Opened::Postgres),
    }
}

/// Makes or upgrades the tables. Whether there was anything to do.
pub(crate) async fn migrate(args: &StoreArgs) -> Result<bool, Failure> {
    let migrated = match Kind::of(&args.store)? {
        Kind::Sqlite => sqlite::migrate(args).await,
        Kind::Postgres => postgres::migrate(args).await,
    };
    migrated.map_err(|failure| naming(failure, args))
}

/// The statements that make the tables; no store is looked for.
pub(crate) fn script(args: &StoreArgs) -> Result<String, Failure> {
    Ok(match Kind::of(&args.store)? {
        Kind::Sqlite => SqliteStore::print_migrations(),
        Kind::Postgres => PostgresStore::print_migrations(&args.postgres.schema),
    })
}

/// The same as files for a tool.
pub(crate) fn files(args: &StoreArgs, tool: Tool) -> Result<Vec<MigrationFile>, Failure> {
    Ok(match Kind::of(&args.store)? {
        Kind::Sqlite => sqlite_files(tool),
        Kind::Postgres => postgres_files(&args.postgres.schema, tool),
    })
}

/// What to make of the answer to opening a store before it is migrated: what can be opened is up to date.
fn is_up_to_date<T>(opened: Result<T, StoreError>) -> Result<bool, StoreError> {
    match opened {
        Ok(_) => Ok(true),
        Err(error) if error.is_transient() => Err(error),
        Err(_) => Ok(false),
    }
}

/// The same failure, whose hint names the store where the library does not know it.
fn naming(failure: Failure, args: &StoreArgs) -> Failure {
    let hint = failure
        .hint
        .map(|hint| hint.replace("--store ...", &named(args)));
    Failure { hint, ..failure }
}

/// The options as one types them, without a password.
fn named(args: &StoreArgs) -> String {
    match Kind::of(&args.store) {
        Ok(Kind::Sqlite) => format!("--store {}", quoted(&args.store)),
        Ok(Kind::Postgres) => postgres::named(args),
        Err(_) => "--store ...".to_owned(),
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/:._-@".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_store_as_one_types_it() {
        let hint = |store: &str| {
            let args = StoreArgs::of(store);
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
        assert_eq!(
            hint("postgres://me:s3cret@db:5433/shop?sslmode=require"),
            "run `outbox migrate --store 'postgres://***@db:5433/shop'`"
        );
    }

    #[test]
    fn a_url_that_is_no_store_is_refused_without_showing_it() {
        for url in ["sqlite:orders.db", "sqlite:///var/orders.db"] {
            assert_eq!(Kind::of(url).unwrap(), Kind::Sqlite);
        }
        for url in ["postgres://me:secret@db/orders", "postgresql:///orders"] {
            assert_eq!(Kind::of(url).unwrap(), Kind::Postgres);
        }
        for url in [
            "",
            "secret.db",
            "sqlite:",
            "sqlite://",
            "sqlite::memory:",
            "postgres:secret",
            "mysql://me:secret@db/orders",
            "Postgres://me:secret@db/orders",
        ] {
            let refused = Kind::of(url).unwrap_err();
            assert_eq!(refused.exit, Exit::Input);
            let told = refused.to_string();
            assert!(
                told.contains("sqlite:PATH") && !told.contains("secret"),
                "{told}"
            );
        }
    }
}
