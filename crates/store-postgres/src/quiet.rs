//! Quiet: while a relay finds something all the time, savers need not notify it, and say nothing. For transactions that notify commit one after another,
//! so under load the hints would slow down the very writers that make them needless. When to say so and when to take it back is decided here, from when
//! claims began and what they found; `lease.sql` says it, and savers read it (`outbox.quiet`).
//!
//! A relay that is woken keeps up with its savers, so for their sake it also takes a breath between two claims, unless there is more than it could take.
//!
//! It stays a hint: a saver that saw the quiet and commits after the last look is found by the next poll, or with the next save.

use std::time::{Duration, Instant};

/// So long a relay finds something without a pause before it says that nobody need notify.
const BUSY: Duration = Duration::from_millis(100);

/// What is shorter is no pause.
const PAUSE: Duration = Duration::from_millis(10);

/// The least time from the beginning of a claim that left nothing to that of the next: what is saved meanwhile is taken together. A relay that took each message
/// for itself would keep the server as busy as the savers do.
const PACE: Duration = Duration::from_millis(3);

/// How long nobody need notify, in milliseconds, unless it is said again: not longer than an idle relay sleeps, so that one that says so and then looks no
/// more, because it is dead, stopped, or waits for a broker, makes others late by no more than polling alone.
const QUIET_MS: i64 = 1_000;

/// A quiet that ends later than in so many milliseconds was not said by a relay that looks: a new store has it, or the server's clock was set back.
const NOBODYS_MS: i64 = 2 * QUIET_MS;

/// What one store knows of its claims.
#[derive(Debug, Default)]
pub(crate) struct Quiet {
    /// Since when claims found something without a pause.
    busy_since: Option<Instant>,
    /// When a claim first found nothing, if none found anything since.
    idle_since: Option<Instant>,
    /// It was said, and not taken back.
    is_said: bool,
    /// When the last claim began, if it left nothing that is due.
    took_all: Option<Instant>,
}

/// What a claim says of the quiet: arguments of its first statement. By default it leaves it alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Say {
    /// For how many milliseconds nobody need notify, if the claim leases something.
    pub(crate) quiet_ms: Option<i64>,
    /// A quiet that ends later than in so many milliseconds is over.
    pub(crate) most_ms: Option<i64>,
}

/// How a claim went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Went {
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    /// It handed something out, or moved something.
    pub(crate) found: bool,
    /// It ended a quiet.
    pub(crate) roused: bool,
    /// It leased as many lanes as it was to, so that there may be more in others.
    pub(crate) full: bool,
}

impl Quiet {
    /// How long a claim is put off that would begin now.
    pub(crate) fn put_off(&self, now: Instant) -> Duration {
        self.took_all.map_or(Duration::ZERO, |began| {
            PACE.saturating_sub(now.saturating_duration_since(began))
        })
    }

    /// What a claim that begins now says.
    pub(crate) fn say(&self, now: Instant) -> Say {
        let lasts = |since: Option<Instant>, least| {
            since.is_some_and(|since| now.saturating_duration_since(since) >= least)
        };
        let falls_asleep = self.is_said && lasts(self.idle_since, PAUSE);
        let is_busy = self.idle_since.is_none() && lasts(self.busy_since, BUSY);
        Say {
            quiet_ms: (!falls_asleep && is_busy).then_some(QUIET_MS),
            most_ms: Some(if falls_asleep { 0 } else { NOBODYS_MS }),
        }
    }

    /// Takes in how the claim went that said this. Returns whether to look again soon, whatever is heard.
    pub(crate) fn went(&mut self, say: Say, went: Went) -> bool {
        let is_over = went.roused || say.most_ms == Some(0);
        if is_over {
            *self = Self::default();
        }
        self.took_all = (!went.full).then_some(went.began);
        if went.found {
            let idle = self.idle_since.take();
            let paused =
                idle.is_some_and(|idle| went.began.saturating_duration_since(idle) > PAUSE);
            if paused || self.busy_since.is_none() {
                self.busy_since = Some(went.began);
            }
            self.is_said |= say.quiet_ms.is_some();
            return false;
        }
        self.idle_since.get_or_insert(went.ended);
        // At the end of a quiet once more: whoever saw it before it ended, and committed after this look began, told nobody.
        is_over || self.is_said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Say = Say {
        quiet_ms: None,
        most_ms: Some(NOBODYS_MS),
    };
    const QUIET: Say = Say {
        quiet_ms: Some(QUIET_MS),
        most_ms: Some(NOBODYS_MS),
    };
    const OVER: Say = Say {
        quiet_ms: None,
        most_ms: Some(0),
    };

    /// A relay whose claims take no time, at moments in milliseconds.
    struct Relay {
        quiet: Quiet,
        zero: Instant,
    }

    impl Relay {
        fn new() -> Self {
            Self {
                quiet: Quiet::default(),
                zero: Instant::now(),
            }
        }

        fn claim(&mut self, ms: u64, found: bool, roused: bool) -> (Say, bool) {
            let now = self.zero + Duration::from_millis(ms);
            let say = self.quiet.say(now);
            let went = Went {
                began: now,
                ended: now,
                found,
                roused,
                full: found,
            };
            (say, self.quiet.went(say, went))
        }

        fn finds(&mut self, ms: u64) -> Say {
            self.claim(ms, true, false).0
        }

        fn finds_nothing(&mut self, ms: u64) -> (Say, bool) {
            self.claim(ms, false, false)
        }
    }

    fn quiet() -> Relay {
        let mut relay = Relay::new();
        relay.finds(0);
        assert_eq!(relay.finds(99), SOON);
        assert_eq!(relay.finds(100), QUIET);
        relay
    }

    #[test]
    fn a_relay_that_finds_something_without_a_pause_says_so_after_a_while() {
        let mut relay = quiet();
        assert_eq!(relay.finds(101), QUIET);
    }

    #[test]
    fn a_pause_counts_if_it_is_long() {
        for (found, expected) in [(60, QUIET), (61, SOON)] {
            let mut relay = Relay::new();
            relay.finds(0);
            assert_eq!(relay.finds_nothing(50), (SOON, false));
            relay.finds(found);
            assert_eq!(relay.finds(100), expected, "{found}");
        }
    }

    #[test]
    fn in_the_quiet_a_relay_looks_again_and_then_ends_it_and_looks_once_more() {
        let mut relay = quiet();
        assert_eq!(relay.finds_nothing(101), (QUIET, true));
        assert_eq!(relay.finds_nothing(103), (SOON, true));
        assert_eq!(relay.claim(111, false, true), (OVER, true));
        assert_eq!(relay.finds_nothing(112), (SOON, false));
        assert_eq!(relay.finds_nothing(212), (SOON, false));
    }

    #[test]
    fn a_quiet_that_another_ended_or_that_ran_out_is_over_too() {
        let mut relay = quiet();
        relay.finds_nothing(101);
        assert_eq!(relay.finds_nothing(111), (OVER, true));
        assert_eq!(relay.finds_nothing(112), (SOON, false));
    }

    #[test]
    fn a_short_pause_keeps_the_quiet() {
        let mut relay = quiet();
        relay.finds_nothing(101);
        relay.finds_nothing(103);
        relay.finds(110);
        assert_eq!(relay.finds(111), QUIET);
    }

    #[test]
    fn whoever_finds_something_while_it_ends_the_quiet_begins_anew() {
        let mut relay = quiet();
        relay.finds_nothing(101);
        assert_eq!(relay.claim(111, true, true), (OVER, false));
        assert_eq!(relay.finds_nothing(112), (SOON, false));
        relay.finds(113);
        assert_eq!(relay.finds(210), SOON);
        assert_eq!(relay.finds(211), QUIET);
    }

    #[test]
    fn a_claim_after_one_that_left_nothing_is_put_off() {
        let mut relay = Relay::new();
        let at = |ms| relay.zero + Duration::from_millis(ms);
        let (one, two, nine) = (at(1), at(2), at(9));
        assert_eq!(relay.quiet.put_off(one), Duration::ZERO);
        for (full, expected) in [(false, Duration::from_millis(2)), (true, Duration::ZERO)] {
            let went = Went {
                began: one,
                ended: two,
                found: true,
                roused: false,
                full,
            };
            relay.quiet.went(SOON, went);
            assert_eq!(relay.quiet.put_off(two), expected);
            assert_eq!(relay.quiet.put_off(nine), Duration::ZERO);
        }
    }

    #[test]
    fn a_quiet_of_nobody_ends_with_one_look_more() {
        let mut relay = Relay::new();
        let looked = relay.claim(0, false, true);
        assert_eq!(looked, (SOON, true));
        assert_eq!(relay.finds_nothing(1), (SOON, false));
    }
}
