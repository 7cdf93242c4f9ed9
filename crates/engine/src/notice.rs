//! The hook for dead letters on the wire: what is told of a death, to be saved with it. What a notice looks like, and where it goes, is the hook's.

use std::{
    fmt::Debug,
    panic::{AssertUnwindSafe, catch_unwind},
};

use outbox_message::{Delivery, MAX_PAYLOAD_BYTES, Message};
use outbox_store::{BoxError, DeathReason};
use tracing::warn;

/// Makes the notice of a message's death: a message of its own, as a rule a dead letter for the queue `<topic>.dlq`. The store saves it in the transaction that
/// records the death, and only if that is recorded, so that there is neither a death without its notice nor a notice of a message that still lives.
///
/// Obligations:
///
/// * A notice is a new message: with an id of its own, since the store may still remember that of the dead one.
/// * The death of a notice has no notice, or they would follow each other without end. The relay leaves out one for the topic of the message that died;
///   what goes round over several topics is the hook's to end.
/// * It answers at once: the relay waits for it.
///
/// A notice that cannot be made (an error, a panic, too large a payload) is left out with a warning, and the death is recorded without: the dead letter in the
/// store has everything. A row that cannot be read dies without a notice, since there is no message to tell of.
pub trait DeathNotices: Debug + Send + Sync + 'static {
    /// The notice of this death; `None` if there is to be none.
    ///
    /// # Errors
    ///
    /// Why it cannot be made, for the log.
    fn notice(&self, death: &Death<'_>) -> Result<Option<Message>, BoxError>;
}

/// What is known of a death.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Death<'a> {
    /// The message, with its counters as it was claimed.
    pub delivery: &'a Delivery,
    /// The kind of reason.
    pub reason: DeathReason,
    /// The last error, cleaned.
    pub error: &'a str,
    /// Counted failures, this one included.
    pub attempts: u32,
}

impl<'a> Death<'a> {
    /// The death of `delivery`, for this reason and after this error.
    pub fn new(delivery: &'a Delivery, reason: DeathReason, error: &'a str) -> Self {
        // Neither a process that ended nor a row that cannot be read is a counted failure.
        let counted = !matches!(reason, DeathReason::Poison | DeathReason::Unreadable);
        Self {
            delivery,
            reason,
            error,
            attempts: delivery.attempts.saturating_add(u32::from(counted)),
        }
    }
}

/// Asks the hook, and leaves out what must not or cannot be saved.
pub(crate) fn notice(hook: &dyn DeathNotices, death: &Death<'_>) -> Option<Box<Message>> {
    let died = &death.delivery.message;
    let left_out = |why: &str| {
        warn!(id = %died.id, topic = %died.topic, why, "a message is dead without a notice; its dead letter is in the store");
    };
    let notice = match catch_unwind(AssertUnwindSafe(|| hook.notice(death))) {
        Ok(Ok(notice)) => notice?,
        Ok(Err(error)) => {
            left_out(&error.to_string());
            return None;
        }
        Err(_) => {
            left_out("making it panicked");
            return None;
        }
    };
    if notice.topic == died.topic {
        left_out("it is for the topic of the message itself");
        return None;
    }
    if let Err(error) = notice.check_payload(MAX_PAYLOAD_BYTES) {
        left_out(&error.to_string());
        return None;
    }
    Some(Box::new(notice))
}

#[cfg(test)]
mod tests {
    use outbox_message::{Lane, Position};

    use super::*;

    /// What a hook does.
    #[derive(Debug)]
    enum Hook {
        To(&'static str, usize),
        Nobody,
        Fails,
        Panics,
    }

    impl DeathNotices for Hook {
        fn notice(&self, death: &Death<'_>) -> Result<Option<Message>, BoxError> {
            match self {
                Self::To(topic, len) => Ok(Some(Message::new(topic, vec![b'x'; *len])?)),
                Self::Nobody => Ok(None),
                Self::Fails => Err(death.error.into()),
                Self::Panics => panic!("a faulty hook"),
            }
        }
    }

    fn delivery() -> Delivery {
        Delivery {
            lane: Lane(0),
            position: Position(1),
            attempts: 5,
            tries: 7,
            starts: 0,
            message: Message::new("orders", "x").unwrap(),
        }
    }

    fn made(hook: &Hook) -> bool {
        let delivery = delivery();
        let death = Death::new(&delivery, DeathReason::Exhausted, "refused");
        notice(hook, &death).is_some()
    }

    #[test]
    fn s16_a_hook_that_fails_costs_the_notice_and_nothing_else() {
        assert!(made(&Hook::To("orders.dlq", MAX_PAYLOAD_BYTES)));
        assert!(!made(&Hook::To("orders.dlq", MAX_PAYLOAD_BYTES + 1)));
        for hook in [Hook::Nobody, Hook::Fails, Hook::Panics] {
            assert!(!made(&hook), "{hook:?}");
        }
    }

    #[test]
    fn s16_a_notice_is_never_for_the_topic_of_the_message_that_died() {
        assert!(!made(&Hook::To("orders", 1)));
    }

    #[test]
    fn f1_a_death_counts_its_failure_unless_nobody_refused_it() {
        let delivery = delivery();
        let attempts = |reason| Death::new(&delivery, reason, "").attempts;
        assert_eq!(attempts(DeathReason::Exhausted), 6);
        assert_eq!(attempts(DeathReason::Permanent), 6);
        assert_eq!(attempts(DeathReason::Poison), 5);
    }
}
