//! Replays: messages that were published before and come again on purpose, marked by a header.

use outbox_message::Headers;

/// The header that marks a replay. Any value that is not empty counts.
pub const REPLAY_BYPASS: &str = "bq-replay-bypass";

/// Whether the message is a replay: then effects that reach outside, such as mails and payments, are not to be repeated.
///
/// ```
/// use outbox_inbox::{REPLAY_BYPASS, is_replay};
/// use outbox_message::Headers;
///
/// assert!(is_replay(&Headers::from_pairs([(REPLAY_BYPASS, "1")])?));
/// assert!(!is_replay(&Headers::from_pairs([(REPLAY_BYPASS, "")])?));
/// # Ok::<(), outbox_message::InvalidMessage>(())
/// ```
pub fn is_replay(headers: &Headers) -> bool {
    headers
        .iter()
        .any(|(name, value)| name == REPLAY_BYPASS && !value.is_empty())
}

/// Runs `effect`, which reaches outside of the database, unless the message is a replay; then it is `None`. An effect may be a future, to be awaited
/// if there is one.
pub fn bypass_external_effects<R>(headers: &Headers, effect: impl FnOnce() -> R) -> Option<R> {
    (!is_replay(headers)).then(effect)
}
