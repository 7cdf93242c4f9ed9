//! Whether a failure is the message's or the destination's, by what became of other messages (contract F1, F3).
//!
//! A receiver that answers 500, falls silent or hangs up says nothing about whom it failed. If it took other messages
//! meanwhile, it is this message; if it took none, it is the receiver, and no outage may spend a message's attempts. Pure but
//! for what it remembers.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, PoisonError},
};

use outbox_message::MessageId;

/// At least so many of the messages that failed last are remembered, and at most twice as many: past it the older half is forgotten,
/// and the next failure of each is its first again.
const REMEMBERED: usize = 5_000;

/// What is known of all destinations of a publisher.
#[derive(Debug, Default)]
pub(crate) struct Evidence(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// How many messages each destination confirmed.
    confirmed: HashMap<String, u64>,
    /// What that number was when a message failed last.
    failed: HashMap<MessageId, u64>,
    /// The same of messages that failed earlier.
    failed_earlier: HashMap<MessageId, u64>,
}

/// How a message failed, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It was not answered for a long time. What others were answered in that time is evidence by itself.
    Silent {
        /// What [`Evidence::confirmations`] said when it began.
        since: u64,
    },
    /// It failed at once, as any message would in the first moment of an outage: once is no evidence.
    Failed,
}

impl Evidence {
    /// How many messages a destination has confirmed so far.
    pub(crate) fn confirmations(&self, destination: &str) -> u64 {
        self.with(|known| known.count(destination))
    }

    /// Takes in that a destination confirmed a message.
    pub(crate) fn confirm(&self, destination: &str, id: &MessageId) {
        self.with(|known| {
            known.forget(id);
            // Looked up first, so that the name is copied once.
            match known.confirmed.get_mut(destination) {
                Some(count) => *count += 1,
                None => {
                    known.confirmed.insert(destination.to_owned(), 1);
                }
            }
        });
    }

    /// Takes in that a message failed. Whether the message is to blame: the destination confirmed others since the same message
    /// failed before, or while this one waited.
    pub(crate) fn blames(&self, destination: &str, id: &MessageId, doubt: Doubt) -> bool {
        self.with(|known| {
            let now = known.count(destination);
            let before = known.forget(id);
            if known.failed.len() >= REMEMBERED {
                known.failed_earlier = mem::take(&mut known.failed);
            }
            known.failed.insert(id.clone(), now);
            let since = match doubt {
                Doubt::Silent { since } => Some(since),
                Doubt::Failed => None,
            };
            [before, since].into_iter().flatten().any(|then| now > then)
        })
    }

    fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Known {
    fn count(&self, destination: &str) -> u64 {
        self.confirmed.get(destination).copied().unwrap_or(0)
    }

    /// Forgets that a message failed, and says what was known of it.
    fn forget(&mut self, id: &MessageId) -> Option<u64> {
        let earlier = self.failed_earlier.remove(id);
        self.failed.remove(id).or(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> MessageId {
        MessageId::new(text).unwrap()
    }

    #[test]
    fn f3_while_a_destination_confirms_nothing_no_message_is_to_blame() {
        let evidence = Evidence::default();
        for round in 0..100 {
            let since = evidence.confirmations("d");
            for message in ["a", "b"] {
                assert!(
                    !evidence.blames("d", &id(message), Doubt::Failed),
                    "{round}"
                );
                let silent = Doubt::Silent { since };
                assert!(!evidence.blames("d", &id(message), silent), "{round}");
            }
        }
    }

    #[test]
    fn f1_a_message_that_fails_again_after_others_were_confirmed_is_to_blame() {
        let evidence = Evidence::default();
        evidence.confirm("d", &id("earlier"));
        assert!(!evidence.blames("d", &id("a"), Doubt::Failed));
        assert!(!evidence.blames("d", &id("a"), Doubt::Failed));
        evidence.confirm("d", &id("b"));
        assert!(evidence.blames("d", &id("a"), Doubt::Failed));
        // Since then nothing was confirmed.
        assert!(!evidence.blames("d", &id("a"), Doubt::Failed));
        // Another one's evidence is not its own.
        assert!(!evidence.blames("d", &id("c"), Doubt::Failed));
    }

    #[test]
    fn f1_a_message_without_an_answer_while_others_were_confirmed_is_to_blame() {
        let evidence = Evidence::default();
        let since = evidence.confirmations("d");
        evidence.confirm("d", &id("b"));
        assert!(evidence.blames("d", &id("a"), Doubt::Silent { since }));
    }

    #[test]
    fn destinations_are_no_evidence_for_each_other() {
        let evidence = Evidence::default();
        assert!(!evidence.blames("d", &id("a"), Doubt::Failed));
        evidence.confirm("e", &id("b"));
        assert!(!evidence.blames("d", &id("a"), Doubt::Failed));
    }

    #[test]
    fn what_was_confirmed_has_a_clean_slate_and_memory_is_bounded() {
        let evidence = Evidence::default();
        assert!(!evidence.blames("d", &id("a"), Doubt::Failed));
        evidence.confirm("d", &id("a"));
        assert!(!evidence.blames("d", &id("a"), Doubt::Failed));
        for n in 0..5 * REMEMBERED {
            evidence.blames("d", &id(&n.to_string()), Doubt::Failed);
        }
        let remembered = evidence.with(|known| known.failed.len() + known.failed_earlier.len());
        assert!(remembered <= 2 * REMEMBERED, "{remembered}");
    }

    #[test]
    fn f1_of_many_messages_that_fail_the_last_ones_are_remembered() {
        for more in [0, 1, REMEMBERED / 2, REMEMBERED - 1] {
            let evidence = Evidence::default();
            let all = 3 * REMEMBERED + more;
            for n in 0..all {
                evidence.blames("d", &id(&n.to_string()), Doubt::Failed);
            }
            evidence.confirm("d", &id("another"));
            for n in all - REMEMBERED..all {
                let again = evidence.blames("d", &id(&n.to_string()), Doubt::Failed);
                assert!(again, "{n} of {all}");
            }
        }
    }
}
