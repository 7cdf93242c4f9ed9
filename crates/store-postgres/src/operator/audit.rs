//! The audit: a line for each command of an operator, which grows in the transaction of each change.

use outbox_store::{Action, AuditLine, AuditPage, Command};

use crate::{
    failure::Failure,
    procedure::{Procedure, query},
    row::{Row, UnexpectedRow},
    session::{Session, Text},
    statements::Statements,
    value::Value,
};

/// A change, and the line that is to tell of it. The line comes last, so that two steps of one command wait for each other no longer than for the commit.
pub(super) struct Noted<'a, P, F> {
    pub(super) change: P,
    pub(super) action: Action,
    pub(super) command: Option<&'a Command>,
    /// How many the change concerned.
    pub(super) count: F,
}

impl<P, F> Procedure for Noted<'_, P, F>
where
    P: Procedure,
    P::Output: Sync,
    F: Fn(&P::Output) -> usize + Send + Sync,
{
    type Output = P::Output;

    const WHAT: &'static str = P::WHAT;

    fn begin<'s>(&self, statements: &'s Statements) -> &'s Text {
        self.change.begin(statements)
    }

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<P::Output, Failure<S::Error>> {
        let done = self.change.run(session, statements).await?;
        if let Some(command) = self.command {
            let count = i64::try_from((self.count)(&done)).unwrap_or(i64::MAX);
            let values = [
                Value::Text(Some(command.id.as_str())),
                Value::Text(Some(self.action.as_str())),
                Value::Text(Some(command.who())),
                Value::Text(Some(command.filter())),
                Value::Int(count),
            ];
            query(session, &statements.audit_note, &values).await?;
        }
        Ok(done)
    }
}

/// Changes nothing: the line tells of what was done before.
pub(super) struct Done;

impl Procedure for Done {
    type Output = ();

    const WHAT: &'static str = "note what was done";

    async fn run<S: Session>(&self, _: &mut S, _: &Statements) -> Result<(), Failure<S::Error>> {
        Ok(())
    }
}

/// Lists a page of lines.
pub(super) struct ListAudit<'a>(pub(super) &'a AuditPage);

impl Procedure for ListAudit<'_> {
    type Output = Vec<AuditLine>;

    const WHAT: &'static str = "list its audit";

    fn begin<'s>(&self, statements: &'s Statements) -> &'s Text {
        &statements.begin_read
    }

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Vec<AuditLine>, Failure<S::Error>> {
        let before = Value::Int(self.0.before.unwrap_or(i64::MAX));
        let limit = Value::Int(i64::try_from(self.0.limit).unwrap_or(i64::MAX));
        let rows = query(session, &statements.audit_page, &[before, limit]).await?;
        Ok(rows.into_iter().map(line).collect::<Result<_, _>>()?)
    }
}

fn line(mut row: Row) -> Result<AuditLine, UnexpectedRow> {
    Ok(AuditLine {
        number: row.int()?,
        command: row.shown()?.unwrap_or_default(),
        action: row.shown()?.unwrap_or_default(),
        who: row.shown()?.unwrap_or_default(),
        filter: row.shown()?.unwrap_or_default(),
        began_at_ms: row.int()?,
        ended_at_ms: row.int()?,
        steps: row.count()?,
        count: row.count()?,
    })
}
