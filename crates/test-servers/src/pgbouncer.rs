//! A pgbouncer in front of a cluster, in transaction mode: after each transaction a client may get another session.

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;

use crate::cluster::{self, Cluster};
use crate::home::{self, Home};
use crate::kind::{End, PGBOUNCER};
use crate::launch::{self, Group, Refusal};
use crate::process;
use crate::{Error, Postgres, Result, binaries};

const INI: &str = "pgbouncer.ini";
const USERS: &str = "users.txt";

/// A pooler of its own for one cluster. Dropping it stops it, by the process id that was started here.
#[derive(Debug)]
pub struct PgBouncer {
    port: u16,
    pooler: Child,
}

impl PgBouncer {
    /// Starts a pooler with so many sessions of the server for each database and user; up to 500 clients share them.
    ///
    /// # Errors
    ///
    /// pgbouncer is not installed, or does not start; the error tells what it said.
    pub fn start(cluster: &Cluster, pool_size: u32) -> Result<Self> {
        let program = find()?;
        let (postgres, home) = (cluster.postgres(), cluster.home());
        let (port, pooler) = launch::on_free_port(None, |port| {
            let folder = home.folder().join(format!("pgbouncer-{port}"));
            let pooled = Pooled {
                server: cluster.port(),
                pool_size,
                port,
            };
            start_pooler(&program, postgres, home, &folder, pooled, Group::Terminal)
        })?;
        Ok(Self { port, pooler })
    }

    /// The URL of one of the cluster's databases through this pooler.
    pub fn url(&self, database: &str) -> String {
        cluster::url(self.port, database)
    }

    /// The process id of the pooler.
    pub fn pid(&self) -> u32 {
        self.pooler.id()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = process::end_child(&mut self.pooler, PGBOUNCER.signal(End::AtOnce));
    }
}

/// Which port leads to which, through how many sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pooled {
    pub(crate) server: u16,
    pub(crate) pool_size: u32,
    pub(crate) port: u16,
}

/// Finds the program.
pub(crate) fn find() -> Result<PathBuf> {
    binaries::program("pgbouncer").ok_or_else(|| {
        Error::new(
            "pgbouncer is not installed",
            "install it (Debian and Ubuntu: apt-get install pgbouncer)",
        )
    })
}

/// Starts a pooler that works in this folder and waits until it takes connections.
pub(crate) fn start_pooler(
    program: &Path,
    postgres: &Postgres,
    home: &Home,
    folder: &Path,
    pooled: Pooled,
    group: Group,
) -> std::result::Result<Child, Refusal> {
    let account = postgres.account();
    // The pid file of one that was killed would keep this one from starting.
    let written = home::remove(folder).and_then(|()| {
        account.make_folder(folder)?;
        account.write(&folder.join(USERS), "\"postgres\" \"\"\n")?;
        account.write(&folder.join(INI), &ini(folder, pooled))
    });
    written.map_err(|error| Refusal::Other(Error::path(folder, &error)))?;
    let mut command = postgres.foreign(program, folder);
    command.arg(folder.join(INI));
    launch::start(&PGBOUNCER, command, group, &home.log(), |_| {
        TcpStream::connect((Ipv4Addr::LOCALHOST, pooled.port)).is_ok()
    })
}

/// Reads the port of a pooler that works in this folder.
pub(crate) fn recorded_port(folder: &Path) -> Option<u16> {
    let ini = std::fs::read_to_string(folder.join(INI)).ok()?;
    let mut lines = ini.lines();
    lines.find_map(|line| line.strip_prefix("listen_port = ")?.parse().ok())
}

/// Users are trusted as the cluster trusts them. `extra_float_digits` is what drivers ask for when they connect, and
/// pgbouncer refuses unless told to pass over it.
fn ini(folder: &Path, pooled: Pooled) -> String {
    let Pooled {
        server,
        pool_size,
        port,
    } = pooled;
    let folder = folder.display();
    let pid_file = PGBOUNCER.pid_file;
    format!(
        "\
[databases]
* = host=127.0.0.1 port={server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/{USERS}
admin_users = postgres
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
pidfile = {folder}/{pid_file}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_a_pooler_name_its_server_its_port_and_its_sessions() {
        let pooled = Pooled {
            server: 17_001,
            pool_size: 4,
            port: 17_002,
        };
        let ini = ini(Path::new("/run/pooler"), pooled);
        for line in [
            "* = host=127.0.0.1 port=17001",
            "listen_port = 17002",
            "pool_mode = transaction",
            "default_pool_size = 4",
            "pidfile = /run/pooler/pgbouncer.pid",
        ] {
            assert!(ini.lines().any(|is| is == line), "{line}");
        }
    }
}
