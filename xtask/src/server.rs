//! The Postgres that tests, benches and soaks are given: the one that `OUTBOX_TEST_POSTGRES` names, or a private one that
//! ends with the command. What is not installed is installed where that is plainly wanted: by root, on Debian and Ubuntu.

use std::env;
use std::process::Command;
use std::time::Instant;

use outbox_test_servers::{Cluster, Error, Options, Postgres};

use crate::shell::{Failure, Result};

mod install;

/// The variable with the URL of a Postgres for tests.
const VARIABLE: &str = "OUTBOX_TEST_POSTGRES";
/// The only server that is needed: without it there are no tests.
const POSTGRES: &str = "postgresql";

const WAYS_OUT: &str = "one of these:
        install a Postgres (Debian and Ubuntu: apt-get install postgresql pgbouncer)
        docker compose up -d --wait postgres, and export \
        OUTBOX_TEST_POSTGRES=postgres://postgres@127.0.0.1:5432/postgres
        export OUTBOX_TEST_POSTGRES=<the URL of any Postgres for tests; its user makes databases>
        test a crate that needs no server: cargo test --profile ci -p <crate>";

/// A Postgres for the commands that it is lent to.
#[derive(Debug)]
pub(crate) struct Server(Option<Cluster>);

impl Server {
    /// Takes the Postgres of the variable, or starts one with these settings. It is stopped when it is dropped.
    pub(crate) fn find(settings: &[(&str, &str)]) -> Result<Self> {
        if env::var_os(VARIABLE).is_some_and(|url| !url.is_empty()) {
            println!("postgres: the one of {VARIABLE}");
            return Ok(Self(None));
        }
        provide()?;
        let begin = Instant::now();
        let settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let postgres = Postgres::find().map_err(failure)?;
        let options = Options {
            settings: settings.collect(),
        };
        let cluster = postgres.start(options).map_err(failure)?;
        println!(
            "postgres {}: {} (started in {:.1} s; log: {})",
            postgres.version(),
            cluster.url("postgres"),
            begin.elapsed().as_secs_f64(),
            cluster.log().display()
        );
        Ok(Self(Some(cluster)))
    }

    /// Tells a command where the server is. One that the variable names is known to it already.
    pub(crate) fn lend(&self, command: &mut Command) {
        if let Some(cluster) = &self.0 {
            command.env(VARIABLE, cluster.url("postgres"));
        }
    }
}

/// Sees to it that the servers are installed.
pub(crate) fn provide() -> Result {
    let missing = outbox_test_servers::missing();
    if missing.is_empty() || install::install(&missing)? {
        return Ok(());
    }
    if missing.contains(&POSTGRES) {
        return Err(Failure::new("no Postgres server is installed", WAYS_OUT));
    }
    println!("warning: {} is not installed", missing.join(" and "));
    Ok(())
}

pub(crate) fn failure(error: Error) -> Failure {
    Failure::new(error.what, error.fix)
}
