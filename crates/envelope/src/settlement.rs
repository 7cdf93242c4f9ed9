//! How a consumer settles what it could not handle: a pure decision, to be carried out before the delivery is acknowledged.
//! Leaves out handlers, brokers, and how long a retry waits, which is for `outbox-backoff`. The rules are those of
//! `BabelQueue`'s consumers.
//!
//! ```
//! use outbox_envelope::{DeadLetterReason, settlement::{Policy, Settlement}};
//!
//! let policy = Policy::default(); // three deliveries, then a dead letter
//! let failed = |attempts| policy.settle(DeadLetterReason::Failed, attempts);
//! assert_eq!(failed(1), Settlement::Retry { attempts: 2 });
//! assert_eq!(failed(2), Settlement::DeadLetter { attempts: 3 });
//! ```
//!
//! # What is not promised
//!
//! A decision is nothing done. Whoever carries it out acknowledges the delivery last: after the dead letter or the retry is known to
//! be written. If the write fails, the delivery is neither acknowledged nor tried again here, so that the broker delivers it once
//! more.

use crate::{
    DeadLetterReason, Malformed,
    json::{self, Edit, splice},
};

/// What a consumer was told to do with what it cannot handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// How often a message is delivered, the first time included. Below 1 it counts as 1.
    pub max_attempts: i64,
    /// What becomes of a message for whose URN there is no handler.
    pub unknown_urn: UnknownUrn,
    /// What becomes of a message that is given up on.
    pub dead_letters: DeadLetters,
}

/// What becomes of a message for whose URN there is no handler. Of a message that is poison, or of an unknown schema version, the
/// first two and the last say the same; such a message is never released, because it would come back for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum UnknownUrn {
    /// It failed, as if by a handler.
    #[default]
    Fail,
    /// It is dropped.
    Delete,
    /// It goes back as it is, for another consumer. That counts for nothing.
    Release,
    /// It is a dead letter at once, even if dead letters are otherwise dropped or left to the broker.
    DeadLetter,
}

/// What becomes of a message that is given up on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeadLetters {
    /// It is written to a dead-letter queue.
    #[default]
    Written,
    /// It is dropped. It had better be logged.
    Dropped,
    /// As dropped; but what no consumer can handle is left to the broker, as Amazon SQS and Azure Service Bus can have it: it is
    /// not acknowledged, and the broker's own rule puts it away after some deliveries.
    Native,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            unknown_urn: UnknownUrn::default(),
            dead_letters: DeadLetters::default(),
        }
    }
}

/// What to do with a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settlement {
    /// Publish it again, as [`retried`] makes it, then acknowledge it.
    Retry {
        /// The attempts that it has then.
        attempts: i64,
    },
    /// Publish it again as it is, then acknowledge it.
    Release,
    /// Write it to a dead-letter queue, then acknowledge it.
    DeadLetter {
        /// The attempts that the block says.
        attempts: i64,
    },
    /// Acknowledge it. It is lost.
    Drop,
    /// Do not acknowledge it, and do nothing else.
    Native,
}

/// What to do with a delivery whose schema version is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gated {
    /// Write it to a dead-letter queue as it came, byte for byte and without a block, then acknowledge it.
    DeadLetter,
    /// Acknowledge it. It is lost.
    Drop,
    /// Do not acknowledge it, and do nothing else.
    Native,
}

impl Policy {
    /// What becomes of a delivery that was not handled for this reason, and had `attempts` before: those that a consumer of its
    /// broker goes by, as [`projection`](crate::projection) has them.
    pub fn settle(&self, reason: DeadLetterReason, attempts: i64) -> Settlement {
        let is_poison = reason == DeadLetterReason::Poison;
        let dead = Settlement::DeadLetter { attempts };
        if reason != DeadLetterReason::Failed {
            match self.unknown_urn {
                UnknownUrn::Delete => return Settlement::Drop,
                UnknownUrn::DeadLetter => return dead,
                UnknownUrn::Release if !is_poison => return Settlement::Release,
                UnknownUrn::Release | UnknownUrn::Fail => {}
            }
        }
        match self.dead_letters {
            DeadLetters::Written if is_poison => return dead,
            DeadLetters::Native if is_poison => return Settlement::Native,
            _ => {}
        }
        let attempts = attempts.saturating_add(1);
        if attempts < self.max_attempts {
            Settlement::Retry { attempts }
        } else if self.dead_letters == DeadLetters::Written {
            Settlement::DeadLetter { attempts }
        } else {
            Settlement::Drop
        }
    }

    /// What becomes of a delivery whose schema version is [not read](crate::projection::SchemaVersion::is_read), at its first
    /// delivery and whatever attempts it has: nobody decodes it, and no time will help it.
    pub fn settle_gated(&self) -> Gated {
        let keeps = self.unknown_urn != UnknownUrn::Delete;
        let writes =
            self.unknown_urn == UnknownUrn::DeadLetter || self.dead_letters == DeadLetters::Written;
        if keeps && writes {
            Gated::DeadLetter
        } else if keeps && self.dead_letters == DeadLetters::Native {
            Gated::Native
        } else {
            Gated::Drop
        }
    }
}

/// The envelope `raw` with so many attempts, to be delivered once more. Every other byte stays.
///
/// # Errors
///
/// [`Malformed`] if `raw` is not one JSON object in UTF-8 within the limits of this crate.
pub fn retried(raw: &[u8], attempts: i64) -> Result<String, Malformed> {
    let text = json::utf8(raw)?;
    let mut is_missing = true;
    let count = |name: &str, _: &str| {
        Ok::<_, Malformed>(if name == "attempts" {
            is_missing = false;
            Edit::Replace(attempts.to_string())
        } else {
            Edit::Keep
        })
    };
    let counted = splice(text, count, "")?;
    if is_missing {
        let keep = |_: &str, _: &str| Ok::<_, Malformed>(Edit::Keep);
        return splice(text, keep, &format!("\"attempts\":{attempts}"));
    }
    Ok(counted)
}
