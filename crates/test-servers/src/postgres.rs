//! The Postgres on this machine, and throwaway clusters of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::home::{Base, Home};
use crate::{Cluster, Result, process, template};

/// The server programs that were found, and who runs them where.
#[derive(Clone, Debug)]
pub struct Postgres {
    binaries: Binaries,
    account: Account,
    base: Base,
}

/// What a cluster is started with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Settings of the server, such as `("fsync", "on")`. They stay for as long as the cluster is there.
    pub settings: Vec<(String, String)>,
}

impl Postgres {
    /// Finds a Postgres on `PATH`, or else the newest in the folders where packages keep it. Its clusters live in the
    /// target folder that this program was built into, if the account that runs them can enter it.
    ///
    /// # Errors
    ///
    /// None is installed, or no folder can hold a cluster.
    pub fn find() -> Result<Self> {
        let account = Account::find()?;
        Self::of(account, Base::find(account)?)
    }

    /// As [`find`](Self::find), with the clusters in this folder.
    pub fn find_in(folder: &Path) -> Result<Self> {
        let account = Account::find()?;
        Self::of(account, Base::at(folder, account)?)
    }

    fn of(account: Account, base: Base) -> Result<Self> {
        let binaries = Binaries::find()?;
        Ok(Self {
            binaries,
            account,
            base,
        })
    }

    /// Starts a new throwaway cluster. It is stopped and removed when it is dropped; Ctrl-C stops it too.
    ///
    /// # Errors
    ///
    /// The server does not start; the error tells what it said.
    pub fn start(&self, options: Options) -> Result<Cluster> {
        let home = Home::throwaway(&self.base, self.account)?;
        template::copy(self, &home.data())?;
        let copied = Cluster::started(self.clone(), home, options.clone());
        if copied.is_ok() {
            return copied;
        }
        // The template may be broken, as after the machine went down. If it is not that, the same error comes again.
        template::forget(self)?;
        let home = Home::throwaway(&self.base, self.account)?;
        template::copy(self, &home.data())?;
        Cluster::started(self.clone(), home, options)
    }

    /// Runs SQL in psql, at any URL, and returns the rows, one a line, with `|` between the cells.
    ///
    /// # Errors
    ///
    /// What psql says.
    pub fn sql(&self, url: &str, sql: &str) -> Result<String> {
        let mut psql = self.command("psql", self.base.folder());
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
        process::read(psql.args(["-d", url, "-c", sql]))
    }

    /// The whole version, such as `15.14`.
    pub fn version(&self) -> &str {
        self.binaries.version()
    }

    /// The folder that all clusters live in.
    pub fn folder(&self) -> &Path {
        self.base.folder()
    }

    pub(crate) fn major(&self) -> &str {
        self.binaries.major()
    }

    pub(crate) fn account(&self) -> Account {
        self.account
    }

    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// Begins a command that the servers' account runs: a program of this Postgres, or else of the system. It starts in
    /// the folder that holds the path.
    pub(crate) fn command(&self, name: &str, path: &Path) -> Command {
        let own = self.binaries.program(name);
        let program = if own.is_file() {
            own
        } else {
            PathBuf::from(name)
        };
        let folder = path.parent().unwrap_or(path);
        self.account.command(&program, folder)
    }

    /// Begins a command of a program that is elsewhere.
    pub(crate) fn foreign(&self, program: &Path, folder: &Path) -> Command {
        self.account.command(program, folder)
    }
}
