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

/// What stands for no quiet: a time that is past.
const OVER: i64 = 1;

/// What one store knows of its claims.
#[derive(Debug, Default)]
pub(crate) struct Quiet {
    /// Since when claims found something without a pause.
    busy_since: Option<Instant>,
    /// When a claim first found nothing, if none found anything since.
    idle_since: Option<Instant>,
    /// What was said last, and not taken back.
    said: Option<i64>,
    /// When the last claim began, if it left nothing that is due.
    took_all: Option<Instant>,
}

/// What a claim says of the quiet: arguments of its first statement. By default it leaves it alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Say {
    /// For how many milliseconds nobody need notify, if the claim leases something.
    pub(crate) quiet_ms: Option<i64>,
    /// A quiet that lasts longer than so many milliseconds is over.
    pub(crate) most_ms: Option<i64>,
    /// This quiet is over, if nobody else said another since.
    pub(crate) ends: Option<i64>,
}

/// How a claim went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Went {
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    /// It handed something out, or moved something.
    pub(crate) found: bool,
    /// Until when nobody need notify, in milliseconds since 1970, if it said so; [`OVER`] if it ended that.
    pub(crate) set: Option<i64>,
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
        let ends = self.said.filter(|_| lasts(self.idle_since, PAUSE));
        let is_busy = self.idle_since.is_none() && lasts(self.busy_since, BUSY);
        Say {
            quiet_ms: is_busy.then_some(QUIET_MS),
            most_ms: Some(NOBODYS_MS),
            ends,
        }
    }

    /// Takes in how the claim went that said this. Returns whether to look again soon, whatever is heard.
    pub(crate) fn went(&mut self, say: Say, went: Went) -> bool {
        let is_over = went.set == Some(OVER) || say.ends.is_some();
        if is_over {
            *self = Self::default();
        } else {
            self.said = went.set.or(self.said);
        }
        self.took_all = (!went.full).then_some(went.began);
        if went.found {
            let idle = self.idle_since.take();
            let paused =
                idle.is_some_and(|idle| went.began.saturating_duration_since(idle) > PAUSE);
            if paused || self.busy_since.is_none() {
                self.busy_since = Some(went.began);
            }
            return false;
        }
        self.idle_since.get_or_insert(went.ended);
        // At the end of a quiet once more: whoever saw it before it ended, and committed after this look began, told nobody.
        is_over || self.said.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Say = Say {
        quiet_ms: None,
        most_ms: Some(NOBODYS_MS),
        ends: None,
    };
    const QUIET: Say = Say {
        quiet_ms: Some(QUIET_MS),
        ..NOTHING
    };
    /// What the quiet of these tests is set to.
    const SET: i64 = 5_000;
    const END: Say = Say {
        ends: Some(SET),
        ..NOTHING
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

        fn claim(&mut self, ms: u64, found: bool, set: Option<i64>) -> (Say, bool) {
            let now = self.zero + Duration::from_millis(ms);
            let say = self.quiet.say(now);
            let went = Went {
                began: now,
                ended: now,
                found,
                set,
                full: found,
            };
            (say, self.quiet.went(say, went))
        }

        fn finds(&mut self, ms: u64) -> Say {
            self.claim(ms, true, None).0
        }

        fn finds_nothing(&mut self, ms: u64) -> (Say, bool) {
            self.claim(ms, false, None)
        }
    }

    /// A relay that said so just now.
    fn quiet() -> Relay {
        let mut relay = Relay::new();
        relay.finds(0);
        assert_eq!(relay.finds(99), NOTHING);
        assert_eq!(relay.claim(100, true, Some(SET)), (QUIET, false));
        relay
    }

    #[test]
    fn a_relay_that_finds_something_without_a_pause_says_so_after_a_while() {
        let mut relay = quiet();
        assert_eq!(relay.finds(101), QUIET);
    }

    #[test]
    fn a_pause_counts_if_it_is_long() {
        for (found, expected) in [(60, QUIET), (61, NOTHING)] {
            let mut relay = Relay::new();
            relay.finds(0);
            assert_eq!(relay.finds_nothing(50), (NOTHING, false));
            relay.finds(found);
            assert_eq!(relay.finds(100), expected, "{found}");
        }
    }

    #[test]
    fn in_the_quiet_a_relay_looks_again_and_then_ends_it_and_looks_once_more() {
        let mut relay = quiet();
        assert_eq!(relay.finds_nothing(101), (QUIET, true));
        assert_eq!(relay.finds_nothing(103), (NOTHING, true));
        assert_eq!(relay.claim(111, false, Some(OVER)), (END, true));
        assert_eq!(relay.finds_nothing(112), (NOTHING, false));
        assert_eq!(relay.finds_nothing(212), (NOTHING, false));
    }

    #[test]
    fn a_quiet_that_another_ended_or_says_now_is_left_to_it() {
        let mut relay = quiet();
        relay.finds_nothing(101);
        assert_eq!(relay.finds_nothing(111), (END, true));
        assert_eq!(relay.finds_nothing(112), (NOTHING, false));
    }

    #[test]
    fn a_busy_relay_in_the_quiet_of_another_falls_asleep_at_once() {
        let mut relay = Relay::new();
        relay.finds(0);
        assert_eq!(relay.finds(100), QUIET);
        assert_eq!(relay.finds_nothing(101), (QUIET, false));
        assert_eq!(relay.finds_nothing(201), (NOTHING, false));
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
        assert_eq!(relay.claim(111, true, Some(OVER)), (END, false));
        assert_eq!(relay.finds_nothing(112), (NOTHING, false));
        relay.finds(113);
        assert_eq!(relay.finds(210), NOTHING);
        assert_eq!(relay.finds(211), QUIET);
    }

    #[test]
    fn a_claim_after_one_that_left_nothing_is_put_off() {
        let mut relay = Relay::new();
        let at = |ms| relay.zero + Duration::from_millis(ms);
        let (one, two, nine) = (at(1), at(2), at(9));
        assert_eq!(relay.quiet.put_off(one), Duration::ZERO);
        let rest = Duration::from_millis(2);
        for (full, expected) in [(false, rest), (true, Duration::ZERO)] {
            let went = Went {
                began: one,
                ended: two,
                found: true,
                set: None,
                full,
            };
            relay.quiet.went(NOTHING, went);
            assert_eq!(relay.quiet.put_off(two), expected);
            assert_eq!(relay.quiet.put_off(nine), Duration::ZERO);
        }
    }

    #[test]
    fn a_quiet_of_nobody_ends_with_one_look_more() {
        let mut relay = Relay::new();
        assert_eq!(relay.claim(0, false, Some(OVER)), (NOTHING, true));
        assert_eq!(relay.finds_nothing(1), (NOTHING, false));
    }
}
