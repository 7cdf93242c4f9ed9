//! When ids of the inbox may be forgotten: not while a dead letter is older, whose redrive the inbox may have to catch. And what is said when a handler spoiled
//! its transaction.

use std::time::Duration;

use crate::StoreError;

/// The dead letter of a store that was saved first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldestDead {
    /// Its message id, as stored.
    pub id: String,
    /// Its topic, as stored.
    pub topic: String,
    /// How long ago it was saved.
    pub age: Duration,
}

impl OldestDead {
    /// Refuses to forget ids that were handled this long ago if the letter is older: what became of its message may have been recorded at any time since
    /// it was saved.
    ///
    /// # Errors
    ///
    /// [`StoreError::DeadLetterNeedsInbox`].
    pub fn check(self, older_than: Duration) -> Result<(), StoreError> {
        if self.age <= older_than {
            return Ok(());
        }
        Err(StoreError::DeadLetterNeedsInbox {
            id: self.id.into(),
            topic: self.topic.into(),
            age: self.age,
            older_than,
        })
    }
}

/// Why the transaction of a handler cannot be committed (obligation T3), `how` completing "the transaction of a handler ...".
pub fn spoiled(how: &str) -> StoreError {
    StoreError::Unusable {
        problem: format!("the transaction of a handler {how}"),
        hint: "let the handler answer the error of its statement, end its own savepoints, and leave the end of the transaction to its caller",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i6_ids_are_kept_for_as_long_as_the_oldest_dead_letter_is_old() {
        let letter = OldestDead {
            id: "1042".into(),
            topic: "orders".into(),
            age: Duration::from_mins(1),
        };
        for enough in [60, 61] {
            assert!(letter.clone().check(Duration::from_secs(enough)).is_ok());
        }
        let refused = letter.check(Duration::from_secs(59)).unwrap_err();
        assert!(!refused.is_transient());
        let said = refused.to_string();
        for part in ["1042", "orders", "60 s", "59 s", "redrive or discard"] {
            assert!(said.contains(part), "{said}");
        }
    }
}
