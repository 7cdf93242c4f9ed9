//! Stores in Postgres databases.

use std::{str::FromStr, time::Duration};

use outbox::{
    postgres_sqlx::{Connection, PostgresConfig, PostgresStore},
    store::StoreError,
};
use sqlx::{
    ConnectOptions, Connection as _, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::time::timeout;

use super::{
    StoreOptions, failure, is_up_to_date,
    opened::in_time,
    quoted,
    refusal::{Server, unreachable},
};
use crate::{args::StoreArgs, exit::Exit, failure::Failure};

/// The most connections that one command opens: a relay claims, settles and renews at the same time, and status may be asked for beside it.
const CONNECTIONS: u32 = 4;

/// What a session is called on the server if nothing else says it.
const APPLICATION: &str = "outbox";

/// What the driver knows of a URL's parameters. It would log any other with its value, which may be a password.
const PARAMETERS: [&str; 20] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
    "options[",
    "options%5B",
];

/// Opens the store; nothing is changed.
pub(super) async fn open(
    args: &StoreArgs,
    options: StoreOptions,
) -> Result<PostgresStore, Failure> {
    let (pool, server) = pool(args).await?;
    match PostgresStore::open_with(pool.clone(), config(args, options)).await {
        Ok(store) => Ok(store),
        Err(error) => {
            in_time(pool.close()).await;
            Err(refused(&error, &server))
        }
    }
}

/// Makes or upgrades the tables, and the schema if it is not there.
pub(super) async fn migrate(args: &StoreArgs) -> Result<bool, Failure> {
    let (pool, server) = pool(args).await?;
    let config = config(args, StoreOptions::default());
    let migrated = async {
        let opened = PostgresStore::open_with(pool.clone(), config).await;
        if is_up_to_date(opened)? {
            return Ok(false);
        }
        let migrated = PostgresStore::migrate_with(&pool, &args.postgres.schema).await;
        migrated.map(|()| true)
    };
    let migrated = migrated.await.map_err(|error| refused(&error, &server));
    in_time(pool.close()).await;
    migrated
}

/// Why the store cannot be used; where its tables are looked for is part of that.
fn refused(error: &StoreError, server: &Server) -> Failure {
    let failure = failure(error);
    match error {
        StoreError::Schema { found: 0, .. } => Failure {
            what: format!(
                "the database {} has no outbox tables in the schema {}",
                server.database, server.schema
            ),
            ..failure
        },
        _ => failure,
    }
}

fn config(args: &StoreArgs, options: StoreOptions) -> PostgresConfig {
    PostgresConfig {
        schema: args.postgres.schema.clone(),
        connection: if args.postgres.pooler {
            Connection::Pooler
        } else {
            Connection::Direct
        },
        wake_up: options.wake_up,
        retain: options.retain,
        ..PostgresConfig::default()
    }
}

/// Connections to a server that was seen to answer: a pool would try again for a while, and not say why.
async fn pool(args: &StoreArgs) -> Result<(PgPool, Server), Failure> {
    let options = connect_options(&args.store)?;
    let server = Server {
        address: address(&options),
        database: database(&options),
        role: options.get_username().to_owned(),
        schema: args.postgres.schema.to_string(),
    };
    let connected = timeout(args.busy_timeout, options.connect()).await;
    match connected {
        Ok(Ok(connection)) => in_time(async { drop(connection.close().await) }).await,
        Ok(Err(error)) => return Err(unreachable(Some(&error), &server)),
        Err(_) => return Err(unreachable(None, &server)),
    }
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(args.busy_timeout.max(Duration::from_secs(1)))
        .connect_lazy_with(options);
    Ok((pool, server))
}

/// Reads a URL; the failure does not repeat it, since it may hold a password.
pub(crate) fn connect_options(url: &str) -> Result<PgConnectOptions, Failure> {
    if let Some(unknown) = unknown_parameter(url) {
        let what = format!("--store has a parameter that is not known: {unknown}");
        return Err(Failure::new(Exit::Input, what)
            .hint("known are sslmode, sslrootcert, host, application_name, options and others"));
    }
    let read = PgConnectOptions::from_str(url).ok();
    // A name with such a character is rather the rest of a password.
    let options = read.filter(|options| !database(options).contains('@'));
    let Some(options) = options else {
        let what = "--store is no URL of a Postgres database";
        return Err(Failure::new(Exit::Input, what).hint(
            "write it as postgres://HOST:PORT/DATABASE, with USER:PASSWORD@ before the host, and what is no letter or digit of the password as %XX",
        ));
    };
    let options = match options.get_application_name() {
        Some(_) => options,
        None => options.application_name(APPLICATION),
    };
    // A pooler may refuse what it does not know.
    Ok(options.extra_float_digits(None))
}

/// The name of the first parameter that the driver does not know.
fn unknown_parameter(url: &str) -> Option<&str> {
    let (_, query) = url.rsplit_once('?')?;
    let mut names = query.split('&').filter_map(|part| part.split('=').next());
    names.find(|name| {
        !PARAMETERS
            .iter()
            .any(|known| match known.strip_prefix("options") {
                Some("[" | "%5B") => name.starts_with(known),
                _ => name == known,
            })
    })
}

fn address(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

/// A database that is not named has the name of the role.
fn database(options: &PgConnectOptions) -> String {
    let database = options.get_database();
    database.unwrap_or(options.get_username()).to_owned()
}

/// The options as one types them, but for what may be secret.
pub(super) fn named(args: &StoreArgs) -> String {
    let Ok(options) = connect_options(&args.store) else {
        return "--store ...".to_owned();
    };
    let database = database(&options);
    let url = match options.get_socket() {
        Some(socket) => format!("postgres:///{database}?host={}", socket.display()),
        None => format!("postgres://***@{}/{database}", address(&options)),
    };
    let schema = if args.postgres.schema == outbox::postgres_sqlx::SchemaName::default() {
        String::new()
    } else {
        format!(" --schema {}", quoted(args.postgres.schema.as_str()))
    };
    format!("--store {}{schema}", quoted(&url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_read_is_not_shown() {
        for url in [
            "postgres://me:s3/cret@db/shop",
            "postgres://me:12/s3cret@db/shop",
            "postgres://me@db:port-s3cret/shop",
            "postgres://db/shop?sslmode=s3cret",
        ] {
            let refused = connect_options(url).unwrap_err();
            assert_eq!(refused.exit, Exit::Input);
            assert!(!refused.to_string().contains("s3"), "{refused}");
        }
        let refused = connect_options("postgres://db/shop?sslmode=require&pasword=s3cret");
        let told = refused.unwrap_err().to_string();
        assert!(
            told.contains("pasword") && !told.contains("s3cret"),
            "{told}"
        );
    }

    #[test]
    fn parameters_that_the_driver_knows_are_taken() {
        for url in [
            "postgres://me:p%40ss@db:5433/shop?sslmode=require&application_name=x",
            "postgresql:///shop?host=/var/run/postgresql&options[statement_timeout]=5s",
        ] {
            assert!(connect_options(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_session_says_whose_it_is() {
        let name = |url: &str| {
            let options = connect_options(url).unwrap();
            options.get_application_name().map(str::to_owned)
        };
        assert_eq!(name("postgres://db/shop").as_deref(), Some("outbox"));
        let named = name("postgres://db/shop?application_name=importer");
        assert_eq!(named.as_deref(), Some("importer"));
    }

    #[test]
    fn a_store_is_named_without_its_password() {
        let mut args = StoreArgs::of("postgres://me:s3cret@db/shop?sslmode=require");
        args.postgres.schema = "Shop 1".parse().unwrap();
        assert_eq!(
            named(&args),
            "--store 'postgres://***@db:5432/shop' --schema 'Shop 1'"
        );
    }
}
