//! A judge of what happened: whether a recorded history of a store, its relays and a broker kept
//! the ordering rules. It leaves out how a history is recorded, and every rule about content.

mod event;
mod holders;
mod index;
mod precedence;
mod sweep;
mod time;
mod turn;
mod violation;
mod waiting;

pub use event::{Event, Line, What};
pub use time::When;
pub use violation::{Rule, Violation};

use std::hash::Hash;

use index::Index;

/// Judges a history by O2, O3, O5, O6, O9 (its `hold`) and O11.
///
/// Events are given in the order in which they were recorded. Each names an instant, or an interval
/// in which it took effect, by the store's clock. Only what is certain counts: of two events that
/// overlap either may have been first. So a right store is never accused, however coarse the
/// intervals are; and a history of instants is judged exactly, instants that are equal by their order
/// in the list. A finer clock sees more: nanoseconds are good, milliseconds hide what happens within
/// one.
///
/// Messages without a key are ordered against nothing and are not judged; neither are messages that
/// no [`What::Saved`] names, nor tokens that no [`What::Claimed`] names. Each wrong hand-out is
/// reported with one message that should have come before it, not with all of them. Time and
/// memory grow nearly linearly with the history.
///
/// ```
/// use outbox_ordering::history::{Event, Line, Rule, What, check};
///
/// let mut history: Vec<Event<&str, &str, u64>> = Vec::new();
/// for (position, message) in [(1, "a"), (2, "b")] {
///     let (key, line) = (Some("order-1"), Line::AtOnce);
///     history.push(Event::at(position, What::Saved { message, key, position, line }));
///     history.push(Event::at(position, What::Committed { message }));
/// }
/// for (time, message) in [(10, "b"), (11, "a"), (12, "b")] {
///     history.push(Event::at(time, What::Received { message, token: None }));
/// }
///
/// let violations = check(&history);
/// assert_eq!(violations.len(), 1);
/// assert_eq!(violations[0].rule, Rule::O11);
/// assert_eq!((violations[0].first, violations[0].second), ("a", "b"));
/// ```
#[must_use]
pub fn check<K, I, T>(events: &[Event<K, I, T>]) -> Vec<Violation<I>>
where
    K: Eq + Hash,
    I: Eq + Hash + Clone,
    T: Eq + Hash,
{
    let index = Index::of(events);
    let mut found = precedence::claims(&index);
    found.extend(precedence::first_deliveries(&index));
    found.extend(holders::overlaps(&index));
    found.extend(turn::out_of_turn(&index));
    found.extend(waiting::past_a_waiting_head(&index));
    found.extend(waiting::past_a_dead_letter(&index));
    found.sort();
    found.dedup();
    found.into_iter().map(|found| found.name(&index)).collect()
}

#[cfg(test)]
mod mutations;
#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;
