//! Filled databases, made once and copied for each round: every round of every system begins with the same bytes.

use std::collections::BTreeSet;

use crate::{Result, server::Server, system::System};

/// What a database is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fill {
    /// Pending messages that can run.
    pub(crate) messages: u64,
    /// Over so many keys, in turn; none if zero.
    pub(crate) keys: u64,
    /// Older messages of one more key, whose head waits for a retry.
    pub(crate) waiting: u64,
    /// Published messages that are kept.
    pub(crate) published: u64,
    /// The bytes of a payload, about.
    pub(crate) payload: u64,
}

impl Fill {
    pub(crate) fn of(messages: u64, keys: u64) -> Self {
        Self {
            messages,
            keys,
            waiting: 0,
            published: 0,
            payload: 200,
        }
    }
}

/// The databases of a run.
#[derive(Debug)]
pub(crate) struct Templates<'a> {
    server: &'a Server,
    made: BTreeSet<String>,
}

/// The database that a round works in.
pub(crate) const WORK: &str = "round";

impl<'a> Templates<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        Self {
            server,
            made: BTreeSet::new(),
        }
    }

    /// Makes the database of the next round, filled for a system. Returns its URL.
    pub(crate) async fn lay(&mut self, system: &System, fill: Fill) -> Result<String> {
        let name = format!(
            "{}_{}_{}_{}_{}_{}",
            system.name().replace(['-', ' ', ',', ':'], "_"),
            fill.messages,
            fill.keys,
            fill.waiting,
            fill.published,
            fill.payload
        );
        if self.made.insert(name.clone()) {
            self.server
                .execute(&format!("CREATE DATABASE {name}"))
                .await?;
            system.fill(&self.server.url(&name), fill).await?;
            self.server.wait_until_left(&name).await?;
        }
        self.clear().await?;
        // Copies files, and ends with a checkpoint: nothing of the fill is left to be written.
        let copy = format!("CREATE DATABASE {WORK} TEMPLATE {name} STRATEGY FILE_COPY");
        self.server.execute(&copy).await?;
        self.server.execute("CHECKPOINT").await?;
        Ok(self.server.url(WORK))
    }

    /// Drops the database of the last round.
    pub(crate) async fn clear(&mut self) -> Result {
        self.server
            .execute(&format!("DROP DATABASE IF EXISTS {WORK} WITH (FORCE)"))
            .await
    }

    /// Drops what was made for a scenario, to make room.
    pub(crate) async fn forget(&mut self) -> Result {
        self.clear().await?;
        for name in std::mem::take(&mut self.made) {
            self.server
                .execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
                .await?;
        }
        Ok(())
    }
}
