//! A procedure: what a store does in one transaction, as a story of statements, over any driver.

use crate::{
    failure::Failure,
    row::Row,
    session::{Session, Text},
    statements::Statements,
    value::Value,
};

/// What is done in one transaction. It may be run again from its beginning when the server ended the transaction for the sake of another.
pub(crate) trait Procedure: Send + Sync {
    /// What it answers.
    type Output: Send;

    /// Completes "the database did not ...".
    const WHAT: &'static str;

    /// How its transaction begins.
    fn begin<'s>(&self, statements: &'s Statements) -> &'s Text {
        &statements.begin
    }

    /// Runs it.
    fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> impl Future<Output = Result<Self::Output, Failure<S::Error>>> + Send;
}

/// Runs one statement of a procedure.
pub(crate) async fn query<S: Session>(
    session: &mut S,
    text: &Text,
    values: &[Value<'_>],
) -> Result<Vec<Row>, Failure<S::Error>> {
    session.query(text, values).await.map_err(Failure::Driver)
}
