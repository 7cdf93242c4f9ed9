//! Standbys: asynchronous streaming replication, and promotion. To have one miss the last commits, stop it before they are
//! made, stop the primary after them, start the standby and promote it.

use crate::home::Home;
use crate::process::{self, PATIENCE};
use crate::{Cluster, Error, Result};

impl Cluster {
    /// Makes a standby of a running cluster and starts it. It follows asynchronously: a commit does not wait for it.
    ///
    /// # Errors
    ///
    /// What `pg_basebackup` or the server says.
    pub fn standby_of(primary: &Cluster) -> Result<Self> {
        let postgres = primary.postgres().clone();
        let home = Home::throwaway(postgres.base(), postgres.account())?;
        let mut backup = postgres.command("pg_basebackup", &home.data());
        backup.args(["-X", "stream", "-R", "-c", "fast", "--no-sync"]);
        backup.args(["-d", &primary.url("postgres")]);
        process::run(backup.arg("-D").arg(home.data()))?;
        Self::started(postgres, home, primary.options().clone())
    }

    /// Waits until this standby shows everything that its primary has committed.
    ///
    /// # Errors
    ///
    /// It does not come that far within a minute, or one of the two does not answer.
    pub fn catch_up_with(&self, primary: &Cluster) -> Result {
        let committed = primary.sql("postgres", "SELECT pg_current_wal_lsn()")?;
        let reached = format!("SELECT pg_last_wal_replay_lsn() >= '{committed}'::pg_lsn");
        let mut answer = Ok(String::new());
        let caught_up = process::within(PATIENCE, || {
            answer = self.sql("postgres", &reached);
            answer.as_ref().map_or(true, |answer| answer == "t")
        });
        answer?;
        if caught_up {
            return Ok(());
        }
        Err(Error::new(
            format!("the standby does not reach {committed}"),
            format!("read its log: {}", self.log().display()),
        ))
    }

    /// Makes this standby a primary of its own and waits until it is one.
    ///
    /// # Errors
    ///
    /// It is no standby, or does not answer.
    pub fn promote(&self) -> Result {
        self.sql("postgres", "SELECT pg_promote(true, 60)")
            .map(drop)
    }
}
