//! The same servers to play with: a Postgres, and a pgbouncer in front of it where one is installed. They outlive the
//! program that starts them, and their data outlives them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::broker;
use crate::cluster::{self, start_server};
use crate::home::{self, Base, Found, Home};
use crate::kind::{EPMD, End, PGBOUNCER, POSTGRES};
use crate::launch::{self, Group};
use crate::pgbouncer::{self, Pooled, start_pooler};
use crate::{Error, Options, Postgres, Result, template};

const HOME: &str = "services";

/// The ports, if they are free.
const POSTGRES_PORT: u16 = 15_432;
const PGBOUNCER_PORT: u16 = 16_432;
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
    /// `postgres` or `pgbouncer`.
    pub name: &'static str,
    /// The process id.
    pub pid: u32,
    /// The URL of its database `postgres`.
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

    /// Starts what does not run yet, and tells what runs then. Data that this Postgres cannot start with, such as those of
    /// another version, are put aside as `data.old`.
    ///
    /// # Errors
    ///
    /// A server does not start; the error tells what it said. A missing pgbouncer is none.
    pub fn up(&self, postgres: &Postgres) -> Result<Vec<Service>> {
        let home = Home::kept(&self.base, self.account, HOME)?;
        if !self
            .status()
            .iter()
            .any(|service| service.name == POSTGRES.name)
        {
            // A pooler that is left leads to a port that is gone.
            home::stop_all(home.folder(), End::Gently)?;
            start_postgres(postgres, &home)?;
        }
        let running = self.status();
        let server = cluster::recorded_port(&home.data());
        if let (Some(server), [_], Ok(program)) = (server, &*running, pgbouncer::find()) {
            let folder = home.folder().join(PGBOUNCER.name);
            launch::on_free_port(Some(PGBOUNCER_PORT), |port| {
                let pooled = Pooled {
                    server,
                    pool_size: POOL_SIZE,
                    port,
                };
                start_pooler(&program, postgres, &home, &folder, pooled, Group::Own)
            })?;
        }
        Ok(self.status())
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
