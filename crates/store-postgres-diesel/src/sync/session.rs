//! A blocking connection as a session: each of its futures is ready when it is polled first.

use diesel::{PgConnection, RunQueryDsl, connection::SimpleConnection};
use outbox_store_postgres::{Connection, Row, Session, Text, Value};

use crate::{
    error::DieselError,
    statement::{Answer, Statement},
};

/// The caller's connection.
pub(super) struct Blocking<'c> {
    pub(super) connection: &'c mut PgConnection,
    pub(super) kind: Connection,
}

impl Session for Blocking<'_> {
    type Error = DieselError;

    async fn query<'a>(
        &'a mut self,
        text: &'a Text,
        values: &'a [Value<'a>],
    ) -> Result<Vec<Row>, DieselError> {
        let statement = Statement {
            text,
            values,
            connection: self.kind,
        };
        let answers: Vec<Answer> = statement
            .load(self.connection)
            .map_err(|error| DieselError::of(text, error))?;
        Ok(answers.into_iter().map(Row::from).collect())
    }

    async fn batch(&mut self, text: &str) -> Result<(), DieselError> {
        Ok(self.connection.batch_execute(text)?)
    }
}
