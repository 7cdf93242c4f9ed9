//! One throwaway cluster: its address, and stopping and starting its server.

use std::path::{Path, PathBuf};
use std::process::Child;

use crate::home::Home;
use crate::kind::{End, POSTGRES};
use crate::launch::{self, Group, Refusal};
use crate::process;
use crate::{Options, Postgres, Result};

/// A private Postgres. Dropping it stops the server, by the process id that was started here and no other, and removes its
/// data. A cluster in a `static` is not dropped: the next start of any cluster finds its server and stops it.
#[derive(Debug)]
pub struct Cluster {
    postgres: Postgres,
    home: Home,
    options: Options,
    port: u16,
    server: Option<Child>,
}

impl Cluster {
    /// Starts a server over the data that is in the home.
    pub(crate) fn started(postgres: Postgres, home: Home, options: Options) -> Result<Self> {
        let (port, server) = launch::on_free_port(None, |port| {
            start_server(&postgres, &home, &options, port, Group::Terminal)
        })?;
        let server = Some(server);
        Ok(Self {
            postgres,
            home,
            options,
            port,
            server,
        })
    }

    /// The URL of one of its databases; `postgres` is always there. The user is `postgres`, who may do everything.
    pub fn url(&self, database: &str) -> String {
        url(self.port, database)
    }

    /// The port on 127.0.0.1; it stays the same when the server is started again.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of the server, if it was not stopped.
    pub fn pid(&self) -> Option<u32> {
        self.server.as_ref().map(Child::id)
    }

    /// What the server says. The file stays when the cluster is dropped, until another cluster takes its place.
    pub fn log(&self) -> PathBuf {
        self.home.log()
    }

    /// Stops the server: sessions are ended, open transactions rolled back, everything is written down.
    pub fn stop_fast(&mut self) -> Result {
        self.stop(End::Gently)
    }

    /// Stops the server at once, as a crash does; the next start recovers what was committed.
    pub fn stop_immediate(&mut self) -> Result {
        self.stop(End::AtOnce)
    }

    /// Starts the server again on the same port and data. One that runs is left alone.
    ///
    /// # Errors
    ///
    /// The server does not start; the error tells what it said.
    pub fn start(&mut self) -> Result {
        if self.server.is_none() {
            let group = Group::Terminal;
            let (postgres, home, options) = (&self.postgres, &self.home, &self.options);
            self.server = Some(start_server(postgres, home, options, self.port, group)?);
        }
        Ok(())
    }

    /// Runs SQL in one of its databases, as [`Postgres::sql`] does.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String> {
        self.postgres.sql(&self.url(database), sql)
    }

    fn stop(&mut self, end: End) -> Result {
        match self.server.take() {
            Some(mut server) => process::end_child(&mut server, POSTGRES.signal(end)).map(drop),
            None => Ok(()),
        }
    }

    pub(crate) fn postgres(&self) -> &Postgres {
        &self.postgres
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // What stays is cleared away by the next start.
        let _ = self.stop_immediate();
    }
}

pub(crate) fn url(port: u16, database: &str) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/{database}")
}

/// Starts a server over the data of a home and waits until it takes connections.
pub(crate) fn start_server(
    postgres: &Postgres,
    home: &Home,
    options: &Options,
    port: u16,
    group: Group,
) -> std::result::Result<Child, Refusal> {
    let data = home.data();
    let mut command = postgres.command("postgres", &data);
    command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
    for (name, value) in &options.settings {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    launch::start(&POSTGRES, command, group, &home.log(), |pid| {
        is_ready(&data, pid)
    })
}

/// Reads what the server itself writes into its pid file: its id first, how far it is last.
fn is_ready(data: &Path, pid: u32) -> bool {
    let text = std::fs::read_to_string(data.join(POSTGRES.pid_file)).unwrap_or_default();
    says_ready(&text, pid)
}

fn says_ready(pid_file: &str, pid: u32) -> bool {
    let mut lines = pid_file.lines().map(str::trim);
    lines.next() == Some(&pid.to_string()) && lines.nth(6) == Some("ready")
}

/// Reads the port in the pid file of a running server.
pub(crate) fn recorded_port(data: &Path) -> Option<u16> {
    let text = std::fs::read_to_string(data.join(POSTGRES.pid_file)).ok()?;
    text.lines().nth(3)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_ready_when_its_own_pid_file_says_so() {
        let file = "71\n/run/data\n1790000000\n17001\n\n127.0.0.1\n  1 2\nready   \n";
        assert!(says_ready(file, 71));
        assert!(!says_ready(file, 72), "the file of an earlier server");
        assert!(!says_ready(&file.replace("ready   ", "starting"), 71));
        assert!(!says_ready("71\n", 71));
    }
}
