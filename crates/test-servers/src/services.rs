//! The same servers to play with: a Postgres, and where they are installed a pgbouncer in front of it, a RabbitMQ, a NATS,
//! a Redis and a Kafka. They outlive the program that starts them, and their data outlives them, except for that of Kafka.

use std::fs;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::broker::{self, Broker, Ports};
use crate::cluster::{self, start_server};
use crate::home::{self, Base, Found, Home};
use crate::kind::{EPMD, End, KAFKA, Kind, NATS, PGBOUNCER, POSTGRES, RABBITMQ, REDIS};
use crate::launch::{self, Group};
use crate::pgbouncer::{self, Pooled, start_pooler};
use crate::{
    Error, KafkaOptions, NatsOptions, Options, Postgres, RabbitMqOptions, RedisOptions, Result,
    template,
};

const HOME: &str = "services";

/// The ports, if they are free.
const POSTGRES_PORT: u16 = 15_432;
const PGBOUNCER_PORT: u16 = 16_432;
const RABBITMQ_PORT: u16 = 15_672;
const NATS_PORT: u16 = 14_222;
const REDIS_PORT: u16 = 16_379;
const KAFKA_PORT: u16 = 19_092;
const POOL_SIZE: u32 = 10;

/// The servers of this checkout for people.
#[derive(Clone, Debug)]
pub struct Services {
    account: Account,
    base: Base,
}

/// A server that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// `postgres`, `pgbouncer`, `rabbitmq`, `nats`, `redis` or `kafka`.
    pub name: &'static str,
    /// The process id.
    pub pid: u32,
    /// Its URL; that of its database `postgres`, if it has any.
    pub url: String,
}

impl Services {
    /// Finds where they live, as [`Postgres::find`] does.
    pub fn find() -> Result<Self> {
        let account = Account::find()?;
        let base = Base::find(account)?;
        Ok(Self { account, base })
    }

    /// As [`find`](Self::find), with the servers in this folder.
    pub fn find_in(folder: &Path) -> Result<Self> {
        let account = Account::find()?;
        let base = Base::at(folder, account)?;
        Ok(Self { account, base })
    }

    /// Starts what is installed and does not run yet, and tells what runs then. Data that this Postgres cannot start with,
    /// such as those of another version, are put aside as `data.old`.
    ///
    /// # Errors
    ///
    /// A server does not start; the error tells what it said. That one other than Postgres is not installed is none.
    pub fn up(&self, postgres: &Postgres) -> Result<Vec<Service>> {
        let home = Home::kept(&self.base, self.account, HOME)?;
        let running = self.status();
        let runs = |kind: &Kind| running.iter().any(|service| service.name == kind.name);
        if !runs(&POSTGRES) {
            // A pooler that is left leads to a port that is gone.
            home::stop(home.folder(), &[&PGBOUNCER], End::AtOnce)?;
            start_postgres(postgres, &home)?;
        }
        let pooler_runs = runs(&PGBOUNCER) && runs(&POSTGRES);
        if let (false, Ok(program)) = (pooler_runs, pgbouncer::find()) {
            start_pgbouncer(&program, postgres, &home)?;
        }
        if !runs(&RABBITMQ) {
            // A name server that is left has the wrong port.
            home::stop(home.folder(), &[&EPMD], End::AtOnce)?;
            self.start::<RabbitMqOptions>(&home, RABBITMQ_PORT)?;
        }
        if !runs(&NATS) {
            self.start::<NatsOptions>(&home, NATS_PORT)?;
        }
        if !runs(&REDIS) {
            self.start::<RedisOptions>(&home, REDIS_PORT)?;
        }
        if !runs(&KAFKA) {
            self.start::<KafkaOptions>(&home, KAFKA_PORT)?;
        }
        Ok(self.status())
    }

    /// Starts a broker, if it is installed.
    fn start<B: Broker>(&self, home: &Home, preferred: u16) -> Result {
        if B::NEEDS.find().is_none() {
            return Ok(());
        }
        let pick = |number| Ports::free(Some(preferred).filter(|_| number == 1));
        launch::on_free_ports(pick, |ports| {
            let at = (home, self.account);
            broker::launch(&B::default(), at, *ports, None, Group::Own)
        })
        .map(drop)
    }

    /// Tells what runs.
    pub fn status(&self) -> Vec<Service> {
        home::running(&self.folder())
            .iter()
            .filter_map(service)
            .collect()
    }

    /// Stops them, by their process ids, and tells which ran. The data are kept.
    pub fn down(&self) -> Result<Vec<Service>> {
        let home = Home::kept(&self.base, self.account, HOME)?;
        let ran = self.status();
        home::stop_all(home.folder(), End::Gently)?;
        Ok(ran)
    }

    /// The folder with their data; their log is beside it.
    pub fn folder(&self) -> PathBuf {
        self.base.folder().join(HOME)
    }
}

fn start_pgbouncer(program: &Path, postgres: &Postgres, home: &Home) -> Result {
    let Some(server) = cluster::recorded_port(&home.data()) else {
        return Ok(());
    };
    let folder = home.folder().join(PGBOUNCER.name);
    launch::on_free_port(Some(PGBOUNCER_PORT), |port| {
        let pooled = Pooled {
            server,
            pool_size: POOL_SIZE,
            port,
        };
        start_pooler(program, postgres, home, &folder, pooled, Group::Own)
    })
    .map(drop)
}

fn start_postgres(postgres: &Postgres, home: &Home) -> Result {
    let data = home.data();
    let start = || {
        let options = Options::default();
        launch::on_free_port(Some(POSTGRES_PORT), |port| {
            start_server(postgres, home, &options, port, Group::Own)
        })
    };
    if template::is_read_by(&data, postgres.major()) && start().is_ok() {
        return Ok(());
    }
    let old = data.with_extension("old");
    move_to(&data, &old)?;
    template::copy(postgres, &data)?;
    let started = start();
    if started.is_err() && old.exists() {
        // The data were not the reason, so they stay where they were.
        move_to(&old, &data)?;
    }
    started.map(drop)
}

/// Moves a folder, if it is there, to where anything else is given up.
fn move_to(from: &Path, to: &Path) -> Result {
    if !from.exists() {
        return Ok(());
    }
    let moved = home::remove(to).and_then(|()| fs::rename(from, to));
    moved.map_err(|error| Error::path(from, &error))
}

fn service(found: &Found) -> Option<Service> {
    let Found { kind, pid, folder } = found;
    let url = match **kind {
        POSTGRES => cluster::url(cluster::recorded_port(folder)?, "postgres"),
        PGBOUNCER => cluster::url(pgbouncer::recorded_port(folder)?, "postgres"),
        EPMD => return None,
        _ => broker::recorded_url(folder)?,
    };
    let (name, pid) = (kind.name, *pid);
    Some(Service { name, pid, url })
}
