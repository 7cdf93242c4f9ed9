//! The states of a message and the steps between them. It leaves out when a step is taken and what
//! it does to other messages of the key: see [`lane`](crate::lane) and the stores.

use std::error::Error;
use std::fmt;

/// The state of one saved message.
///
/// A message begins as [`Ready`](State::Ready), or as [`Scheduled`](State::Scheduled) when it was
/// saved for later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Pending: saved for later and never tried, or an unkeyed message that waits for its retry.
    Scheduled,
    /// Pending: in the line and not held, so a relay may claim it in its turn.
    Ready,
    /// Pending: claimed by a relay whose lease has neither been given back nor reclaimed.
    Held,
    /// Pending: set aside because its key waits, be it for this message or for one before it.
    Waiting,
    /// Confirmed by the broker and settled: deleted, or kept for the retention time.
    Published,
    /// Given up on and kept as a dead letter.
    Dead,
    /// Discarded by an operator or purged.
    Gone,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Scheduled,
        Self::Ready,
        Self::Held,
        Self::Waiting,
        Self::Published,
        Self::Dead,
        Self::Gone,
    ];

    /// Whether the message is still to be published.
    #[must_use]
    pub fn is_pending(self) -> bool {
        match self {
            Self::Scheduled | Self::Ready | Self::Held | Self::Waiting => true,
            Self::Published | Self::Dead | Self::Gone => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Held => "held",
            Self::Waiting => "waiting",
            Self::Published => "published",
            Self::Dead => "dead",
            Self::Gone => "gone",
        })
    }
}

/// What happens to the key of a message that was given up on (O9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AfterDeath {
    /// The next message of the key goes out.
    #[default]
    Skip,
    /// The key stays blocked until an operator redrives or discards the dead letter.
    Hold,
}

/// Something that happens to one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Its scheduled time has come and it takes its place in the line.
    Join,
    /// Its key waits, so it leaves the line.
    SetAside,
    /// Its key waits no longer, so it is back in the line.
    Unblock,
    /// A relay takes it under a lease.
    Claim,
    /// It is given back untried, or its lease ended.
    Release,
    /// It failed and is due again at once, in its place.
    RetryNow,
    /// It failed and waits, and its key waits with it.
    RetryKeyed,
    /// It failed and waits; without a key nobody waits with it.
    RetryUnkeyed,
    /// The broker confirmed it. A late confirmation is still a fact: it counts in every pending
    /// state, whoever holds the message by then.
    Publish,
    /// It was given up on.
    Die,
    /// An operator makes a dead letter pending again.
    Redrive,
    /// An operator drops it.
    Discard,
    /// Its retention time is over.
    Purge,
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 13] = [
        Self::Join,
        Self::SetAside,
        Self::Unblock,
        Self::Claim,
        Self::Release,
        Self::RetryNow,
        Self::RetryKeyed,
        Self::RetryUnkeyed,
        Self::Publish,
        Self::Die,
        Self::Redrive,
        Self::Discard,
        Self::Purge,
    ];
}

/// Takes one step.
///
/// | from | step | to |
/// | --- | --- | --- |
/// | scheduled | join | ready |
/// | ready | set aside | waiting |
/// | waiting | unblock | ready |
/// | ready, waiting | claim | held |
/// | held | release, retry now | ready |
/// | held | retry keyed | waiting |
/// | held | retry unkeyed | scheduled |
/// | scheduled, ready, held, waiting | publish | published |
/// | held | die | dead |
/// | dead | redrive | ready |
/// | scheduled, ready, held, waiting, dead | discard | gone |
/// | published | purge | gone |
///
/// ```
/// use outbox_ordering::state::{State, Step, step};
///
/// assert_eq!(step(State::Ready, Step::Claim), Ok(State::Held));
/// assert!(step(State::Dead, Step::Claim).is_err());
/// ```
///
/// # Errors
/// [`IllegalStep`] for every pair that is not in the table.
pub fn step(state: State, step: Step) -> Result<State, IllegalStep> {
    match (state, step) {
        (State::Scheduled, Step::Join)
        | (State::Waiting, Step::Unblock)
        | (State::Held, Step::Release | Step::RetryNow)
        | (State::Dead, Step::Redrive) => Ok(State::Ready),
        (State::Ready | State::Waiting, Step::Claim) => Ok(State::Held),
        (State::Ready, Step::SetAside) | (State::Held, Step::RetryKeyed) => Ok(State::Waiting),
        (State::Held, Step::RetryUnkeyed) => Ok(State::Scheduled),
        (State::Held, Step::Die) => Ok(State::Dead),
        (State::Published, Step::Purge) | (State::Dead, Step::Discard) => Ok(State::Gone),
        (pending, Step::Publish) if pending.is_pending() => Ok(State::Published),
        (pending, Step::Discard) if pending.is_pending() => Ok(State::Gone),
        (state, step) => Err(IllegalStep { state, step }),
    }
}

/// A step that a message in this state cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IllegalStep {
    /// The state that the message is in.
    pub state: State,
    /// The step that was asked for.
    pub step: Step,
}

impl fmt::Display for IllegalStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a {} message cannot take the step {:?}",
            self.state, self.step
        )
    }
}

impl Error for IllegalStep {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table once more, one column per state in the order of [`State::ALL`].
    #[test]
    fn every_pair_of_state_and_step_is_as_in_the_table() {
        const READY: Option<State> = Some(State::Ready);
        const GONE: Option<State> = Some(State::Gone);
        const PUBLISHED: Option<State> = Some(State::Published);
        let only = |from: usize, to: State| {
            let mut row = [None; 7];
            row[from] = Some(to);
            row
        };
        let table = [
            only(0, State::Ready),
            only(1, State::Waiting),
            only(3, State::Ready),
            [
                None,
                Some(State::Held),
                None,
                Some(State::Held),
                None,
                None,
                None,
            ],
            only(2, State::Ready),
            only(2, State::Ready),
            only(2, State::Waiting),
            only(2, State::Scheduled),
            [PUBLISHED, PUBLISHED, PUBLISHED, PUBLISHED, None, None, None],
            only(2, State::Dead),
            [None, None, None, None, None, READY, None],
            [GONE, GONE, GONE, GONE, None, GONE, None],
            only(4, State::Gone),
        ];
        for (action, row) in Step::ALL.into_iter().zip(table) {
            for (state, to) in State::ALL.into_iter().zip(row) {
                assert_eq!(step(state, action).ok(), to, "{state} {action:?}");
            }
        }
    }

    #[test]
    fn o9_a_dead_message_leaves_only_by_an_operator() {
        let legal: Vec<Step> = Step::ALL
            .into_iter()
            .filter(|action| step(State::Dead, *action).is_ok())
            .collect();
        assert_eq!(legal, [Step::Redrive, Step::Discard]);
    }

    #[test]
    fn an_illegal_step_names_the_state_and_the_step() {
        let error = step(State::Gone, Step::Claim).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a gone message cannot take the step Claim"
        );
    }
}
