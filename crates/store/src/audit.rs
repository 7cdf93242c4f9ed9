//! The audit: a line in the database for each command of an operator, written with what the command changes.

use outbox_message::MessageId;

use crate::clean_error;

/// A command of an operator, on whose behalf changes are made: see [`OutboxOperator::audited`](crate::OutboxOperator::audited).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Its id, under which the steps of one command are counted together.
    pub id: MessageId,
    /// Who gives it: a name that the caller vouches for, nobody checks it.
    who: String,
    /// To what it applies, for people: as a rule a JSON object.
    filter: String,
}

impl Command {
    /// A command with a fresh id. Texts are cleaned as errors are, and shortened: `who` to 255 bytes, `filter` to
    /// [`MAX_ERROR_BYTES`](crate::MAX_ERROR_BYTES).
    pub fn new(who: &str, filter: &str) -> Self {
        let mut who = clean_error(who);
        let mut end = who.len().min(255);
        while !who.is_char_boundary(end) {
            end -= 1;
        }
        who.truncate(end);
        Self {
            id: MessageId::generate(),
            who,
            filter: clean_error(filter),
        }
    }

    /// Who gives it.
    pub fn who(&self) -> &str {
        &self.who
    }

    /// To what it applies.
    pub fn filter(&self) -> &str {
        &self.filter
    }
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Dead letters are made pending again.
    Redrive,
    /// Dead letters are dropped.
    Discard,
    /// Published messages are saved again.
    Replay,
    /// A waiting key is made due.
    RetryNow,
    /// A topic is paused.
    Pause,
    /// The stop of a topic is ended.
    Resume,
    /// What is kept of the past is deleted.
    Purge,
}

impl Action {
    /// The word that stores keep.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Redrive => "redrive",
            Self::Discard => "discard",
            Self::Replay => "replay",
            Self::RetryNow => "retry_now",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Purge => "purge",
        }
    }
}

/// A bounded part of the audit, the newest line first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditPage {
    /// Only lines before the one of this number.
    pub before: Option<i64>,
    /// At most this many.
    pub limit: usize,
}

/// A line of the audit: a command, and what came of it so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    /// Its number: later commands have greater ones.
    pub number: i64,
    /// The id of the command.
    pub command: String,
    /// The word of its [`Action`].
    pub action: String,
    /// Who gave it.
    pub who: String,
    /// To what it applied.
    pub filter: String,
    /// When its first step was done, in milliseconds since 1970-01-01 UTC by the store's clock.
    pub began_at_ms: i64,
    /// When its last step was done, likewise.
    pub ended_at_ms: i64,
    /// How many steps were done, each in a transaction of its own; the last may have found nothing more to do.
    pub steps: u64,
    /// How many messages, ids, topics or partitions they changed together.
    pub count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_holds_nothing_that_no_table_takes() {
        let command = Command::new(&"é\0".repeat(200), "{\"topic\":\"a\0\"}");
        assert!(command.who().len() <= 255 && !command.who().contains('\0'));
        assert_eq!(command.filter(), "{\"topic\":\"a\u{FFFD}\"}");
        assert_ne!(command.id, Command::new("me", "{}").id);
    }
}
