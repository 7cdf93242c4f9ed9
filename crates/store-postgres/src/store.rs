//! The relay and operator side over any driver: each call is one short transaction that a procedure fills.

use std::sync::{Arc, Mutex};

use outbox_store::{Command, StoreError};

use crate::{
    config::PostgresConfig,
    failure::Failure,
    procedure::Procedure,
    quiet::Quiet,
    session::{Database, Text, Transaction},
    statements::Statements,
};

/// How often a transaction is tried that the server ends for the sake of another.
const TRIES: u32 = 5;

/// The relay and operator side of a Postgres store. An adapter wraps it and adds the writer side of its driver.
#[derive(Debug)]
pub struct Relaying<D> {
    pub(crate) database: Arc<D>,
    pub(crate) statements: Arc<Statements>,
    pub(crate) config: PostgresConfig,
    pub(crate) quiet: Arc<Mutex<Quiet>>,
    /// On whose behalf an operator works through this handle.
    pub(crate) command: Option<Arc<Command>>,
}

impl<D: Database> Relaying<D> {
    /// A store on this database; nothing is asked of it yet.
    pub fn new(database: D, config: PostgresConfig) -> Self {
        Self {
            database: Arc::new(database),
            statements: Arc::new(Statements::new(&config.schema)),
            config,
            quiet: Arc::default(),
            command: None,
        }
    }

    /// A handle through which changes are noted in the audit.
    pub(crate) fn on_behalf(&self, command: &Command) -> Self {
        Self {
            database: Arc::clone(&self.database),
            statements: Arc::clone(&self.statements),
            config: self.config.clone(),
            quiet: Arc::clone(&self.quiet),
            command: Some(Arc::new(command.clone())),
        }
    }

    /// The database.
    pub fn database(&self) -> &D {
        &self.database
    }

    /// The statements.
    pub fn statements(&self) -> &Arc<Statements> {
        &self.statements
    }

    /// The settings.
    pub fn config(&self) -> &PostgresConfig {
        &self.config
    }

    /// Runs a procedure in a transaction of its own, and again when the server ended it for the sake of another.
    pub(crate) async fn run<P: Procedure>(&self, procedure: P) -> Result<P::Output, StoreError> {
        let begin = procedure.begin(&self.statements);
        let mut tries = 0;
        loop {
            tries += 1;
            match self.run_once(begin, &procedure).await {
                Ok(done) => return Ok(done),
                Err(failure) if failure.is_conflict() && tries < TRIES => {}
                Err(failure) => return Err(failure.store_error(P::WHAT)),
            }
        }
    }

    async fn run_once<P: Procedure>(
        &self,
        begin: &Text,
        procedure: &P,
    ) -> Result<P::Output, Failure<D::Error>> {
        let mut transaction = self.database.begin(begin).await.map_err(Failure::Driver)?;
        let done = procedure.run(&mut transaction, &self.statements).await?;
        transaction.commit().await.map_err(Failure::Driver)?;
        Ok(done)
    }
}
