//! The audit: a line for each command of an operator.

use outbox_store::{Action, AuditLine, AuditPage, Command};

use crate::{MemoryStore, state::State};

/// The lines, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Audit(Vec<AuditLine>);

impl Audit {
    /// Adds a step of a command, which changed so many.
    fn grow(&mut self, command: &Command, action: Action, count: u64, now: i64) {
        let same = |line: &&mut AuditLine| {
            line.command == command.id.as_str() && line.action == action.as_str()
        };
        if let Some(line) = self.0.iter_mut().rev().find(same) {
            line.steps += 1;
            line.count += count;
            line.ended_at_ms = now;
            return;
        }
        let number = self.0.last().map_or(1, |last| last.number + 1);
        self.0.push(AuditLine {
            number,
            command: command.id.to_string(),
            action: action.as_str().to_owned(),
            who: command.who().to_owned(),
            filter: command.filter().to_owned(),
            began_at_ms: now,
            ended_at_ms: now,
            steps: 1,
            count,
        });
    }

    /// A page, the newest first.
    pub(crate) fn list(&self, page: &AuditPage) -> Vec<AuditLine> {
        let lines = self.0.iter().rev();
        lines
            .filter(|line| page.before.is_none_or(|before| line.number < before))
            .take(page.limit)
            .cloned()
            .collect()
    }
}

impl MemoryStore {
    /// Notes a change, if it is made on behalf of a command.
    pub(crate) fn note(&self, state: &mut State, action: Action, count: usize) {
        if let Some(command) = &self.command {
            let (count, now) = (u64::try_from(count), state.clock.now_ms());
            let count = count.unwrap_or(u64::MAX);
            state.audit.grow(command, action, count, now);
        }
    }
}
