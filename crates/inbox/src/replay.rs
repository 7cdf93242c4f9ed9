//! Replays: messages that were published before and come again on purpose, marked by a header.

use outbox_message::Headers;
use outbox_store::REPLAY_HEADER;

/// Whether the message is a replay, which the header [`REPLAY_HEADER`] says with any value that is not empty: then effects that reach outside, such as mails
/// and payments, are not to be repeated.
///
/// ```
/// use outbox_inbox::is_replay;
/// use outbox_message::Headers;
/// use outbox_store::REPLAY_HEADER;
///
/// assert!(is_replay(&Headers::from_pairs([(REPLAY_HEADER, "1")])?));
/// assert!(!is_replay(&Headers::from_pairs([(REPLAY_HEADER, "")])?));
/// # Ok::<(), outbox_message::InvalidMessage>(())
/// ```
pub fn is_replay(headers: &Headers) -> bool {
    headers
        .iter()
        .any(|(name, value)| name == REPLAY_HEADER && !value.is_empty())
}

/// Runs `effect`, which reaches outside of the database, unless the message is a replay; then it is `None`. An effect may be a future, to be awaited
/// if there is one.
pub fn bypass_external_effects<R>(headers: &Headers, effect: impl FnOnce() -> R) -> Option<R> {
    (!is_replay(headers)).then(effect)
}
