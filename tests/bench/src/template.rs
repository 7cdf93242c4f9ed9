//! Filled databases, made once and copied for each round: every round of every system begins with the same bytes.

use std::collections::BTreeSet;

use crate::{
    Result,
    costs::ServerCosts,
    drain::Ground,
    server::{Moment, Server},
    system::System,
};

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

    /// A name for what a system makes of it, such as can be one of a database or of a file.
    pub(crate) fn name(&self, system: &System) -> String {
        format!(
            "{}_{}_{}_{}_{}_{}",
            system.name().replace(['-', ' ', ',', ':'], "_"),
            self.messages,
            self.keys,
            self.waiting,
            self.published,
            self.payload
        )
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

impl Ground for Templates<'_> {
    type Moment = Moment;

    async fn lay(&mut self, system: &System, fill: Fill) -> Result<String> {
        let name = fill.name(system);
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

    async fn moment(&self) -> Result<Moment> {
        self.server.moment(WORK).await
    }

    async fn used(&self, since: &Moment) -> Result<Option<ServerCosts>> {
        self.server.wait_until_left(WORK).await?;
        Ok(Some(self.moment().await?.since(since)))
    }
}
