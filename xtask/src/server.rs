//! The servers that tests, benches and soaks are given: those that variables such as `OUTBOX_TEST_POSTGRES` name, or private
//! ones that end with the command. What is not installed is installed where that is plainly wanted: by root, on Debian and
//! Ubuntu. What no package has is brought, as `tools.rs` says.

use std::env;
use std::process::Command;
use std::thread;
use std::time::Instant;

use outbox_test_servers::{
    Broker, Cluster, Error, Kafka, Missing, Nats, Options, Postgres, RabbitMq, Redis, Server,
};

use crate::shell::{Failure, Result};
use crate::tools::{self, NODE_MODULES, PYTHON, Tools};

pub(crate) mod install;

/// The variable with the URL of a Postgres for tests.
const POSTGRES: &str = "OUTBOX_TEST_POSTGRES";

const WAYS_OUT: &str = "one of these:
        install it (Debian and Ubuntu: apt-get install postgresql pgbouncer rabbitmq-server nats-server redis-server)
        docker compose up -d --wait, and export the URLs at the top of compose.yaml
        export the URL of any such server for tests: OUTBOX_TEST_POSTGRES (its user makes databases),
        OUTBOX_TEST_RABBITMQ, OUTBOX_TEST_NATS, OUTBOX_TEST_REDIS, OUTBOX_TEST_KAFKA
        test a crate that needs no server: cargo test --profile ci -p <crate>";

/// One of each kind for the commands that they are lent to; none of a kind whose variable is set. They are stopped when
/// they are dropped.
#[derive(Debug)]
pub(crate) struct Servers {
    postgres: Option<Cluster>,
    rabbitmq: Option<RabbitMq>,
    nats: Option<Nats>,
    redis: Option<Redis>,
    kafka: Option<Kafka>,
    tools: Tools,
}

impl Servers {
    /// Takes what the variables name, and starts the rest, a Postgres with these settings.
    pub(crate) fn find(settings: &[(&str, &str)]) -> Result<Self> {
        let missing = outbox_test_servers::missing().into_iter();
        provide(
            &missing
                .filter(|missing| !stands_in(missing))
                .collect::<Vec<_>>(),
        )?;
        let tools = tools::bring()?;
        // All at once, as the slowest one takes longer than the others together.
        thread::scope(|scope| {
            let rabbitmq = scope.spawn(broker);
            let nats = scope.spawn(broker);
            let redis = scope.spawn(broker);
            let kafka = scope.spawn(broker);
            let postgres = postgres(settings);
            Ok(Self {
                rabbitmq: rabbitmq.join().expect("it does not panic")?,
                nats: nats.join().expect("it does not panic")?,
                redis: redis.join().expect("it does not panic")?,
                kafka: kafka.join().expect("it does not panic")?,
                postgres: postgres?,
                tools,
            })
        })
    }

    /// Tells a command where the servers and the clients are. What its variable names is known to it already.
    pub(crate) fn lend(&self, command: &mut Command) {
        if let Some(cluster) = &self.postgres {
            command.env(POSTGRES, cluster.url("postgres"));
        }
        lend(self.rabbitmq.as_ref(), command);
        lend(self.nats.as_ref(), command);
        lend(self.redis.as_ref(), command);
        lend(self.kafka.as_ref(), command);
        if let Some(python) = &self.tools.python {
            command.env(PYTHON, python);
        }
        if let Some(modules) = &self.tools.node_modules {
            command.env(NODE_MODULES, modules);
        }
    }
}

fn lend<B: Broker>(server: Option<&Server<B>>, command: &mut Command) {
    if let Some(server) = server {
        command.env(Server::<B>::variable(), server.url());
    }
}

fn postgres(settings: &[(&str, &str)]) -> Result<Option<Cluster>> {
    if is_taken(POSTGRES) {
        return Ok(None);
    }
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
        "{} (Postgres {}, started in {:.1} s; log: {})",
        cluster.url("postgres"),
        postgres.version(),
        begin.elapsed().as_secs_f64(),
        cluster.log().display()
    );
    Ok(Some(cluster))
}

fn broker<B: Broker>() -> Result<Option<Server<B>>> {
    if is_taken(Server::<B>::variable()) {
        return Ok(None);
    }
    let begin = Instant::now();
    let server = Server::start(B::default()).map_err(failure)?;
    println!(
        "{} (started in {:.1} s; log: {})",
        server.url(),
        begin.elapsed().as_secs_f64(),
        server.log().display()
    );
    Ok(Some(server))
}

/// Sees to it that a Postgres is installed, for a command that starts its own.
pub(crate) fn provide_postgres() -> Result {
    let missing = outbox_test_servers::missing().into_iter();
    let postgres = missing.filter(|missing| missing.variable == Some(POSTGRES));
    provide(&postgres.collect::<Vec<_>>())
}

/// Sees to it that these are installed.
fn provide(missing: &[Missing]) -> Result {
    let packages: Vec<_> = missing.iter().map(|missing| missing.package).collect();
    if packages.is_empty() || install::install(&packages)? {
        return Ok(());
    }
    let names = packages.join(" and ");
    if missing.iter().any(|missing| missing.variable.is_some()) {
        return Err(Failure::new(format!("not installed: {names}"), WAYS_OUT));
    }
    println!("warning: not installed: {names}");
    Ok(())
}

/// Whether the variable of a missing server names another.
fn stands_in(missing: &Missing) -> bool {
    missing.variable.is_some_and(is_set)
}

/// Whether a variable names a server, which is told then.
fn is_taken(variable: &str) -> bool {
    let set = is_set(variable);
    if set {
        println!("the server of {variable}");
    }
    set
}

pub(crate) fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|url| !url.is_empty())
}

pub(crate) fn failure(error: Error) -> Failure {
    Failure::new(error.what, error.fix)
}
