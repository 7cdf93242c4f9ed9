//! Which lanes a claim leases: a pure decision over the lanes as they were seen.

use std::{sync::Arc, time::Duration};

use outbox_message::Lane;
use outbox_store::{ClaimRequest, adapter::until};

/// The most lanes a claim leases, so that a relay that dies holds up few (contract defaults).
const MOST_LANES: usize = 2;

/// The lanes at one moment, least recently served first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) lanes: Vec<LaneSeen>,
    /// The store's clock.
    pub(crate) now: i64,
    /// Drawn at random, the holder of what this claim leases.
    pub(crate) nonce: Arc<str>,
}

/// A lane, and the first of what waits in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LaneSeen {
    pub(crate) lane: u16,
    pub(crate) epoch: i64,
    pub(crate) held: bool,
    pub(crate) lease_until: i64,
    pub(crate) turn: i64,
    pub(crate) careful: i64,
    /// The first position in line.
    pub(crate) line: Option<i64>,
    /// When the first scheduled message falls due, and the first that is not due yet.
    pub(crate) scheduled: Option<i64>,
    pub(crate) scheduled_next: Option<i64>,
    /// When the first blocked key falls due, and the first that is not due yet.
    pub(crate) blocked: Option<i64>,
    pub(crate) blocked_next: Option<i64>,
}

impl LaneSeen {
    fn is_leased(&self, now: i64) -> bool {
        self.held && self.lease_until > now
    }

    fn needs_care(&self, now: i64) -> bool {
        self.careful > 0 || (self.held && self.lease_until <= now)
    }

    fn is_due(&self, now: i64) -> bool {
        let reached = |at: Option<i64>| at.is_some_and(|at| at <= now);
        self.line.is_some() || reached(self.scheduled) || reached(self.blocked)
    }
}

/// What a claim does with the lanes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The lanes to lease, in the order in which they are served.
    pub(crate) lease: Vec<LaneSeen>,
    /// The lanes to read on, each with its place in the request; they may be held with other tokens.
    pub(crate) read_on: Vec<(usize, LaneSeen)>,
    /// Lanes whose care ends, because nothing of them is due.
    pub(crate) end_care: Vec<(u16, i64)>,
    /// Whether due work is left alone because another claim holds its lane.
    pub(crate) leased_elsewhere: bool,
}

impl Choice {
    /// Whether nothing is to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.lease.is_empty() && self.read_on.is_empty() && self.end_care.is_empty()
    }
}

impl Seen {
    /// Chooses the lanes for a claim. A lane that needs care is served alone, when its turn comes (contract F6).
    pub(crate) fn choose(&self, request: &ClaimRequest) -> Choice {
        let now = self.now;
        let allowed = |seen: &&LaneSeen| request.lanes.allows(Lane(seen.lane));
        let (leased, free): (Vec<_>, Vec<_>) = self
            .lanes
            .iter()
            .filter(allowed)
            .partition(|seen| seen.is_leased(now));
        let (due, idle): (Vec<_>, Vec<_>) = free.into_iter().partition(|seen| seen.is_due(now));
        let most = request
            .max_lanes
            .clamp(1, MOST_LANES)
            // A lane that could not get a single message is left to others.
            .min(request.limit.max(1));
        let lease = match due.first() {
            Some(first) if first.needs_care(now) => vec![(*first).clone()],
            _ => due
                .into_iter()
                .filter(|seen| !seen.needs_care(now))
                .take(most)
                .cloned()
                .collect(),
        };
        let is_careful = lease.iter().any(|seen: &LaneSeen| seen.needs_care(now));
        let read_on = request
            .read_on
            .iter()
            .enumerate()
            .filter_map(|(at, asked)| {
                let mut lanes = self.lanes.iter();
                let seen = lanes.find(|seen| seen.lane == asked.token.lane.0)?;
                let may = seen.is_leased(now) && seen.epoch == asked.token.epoch && !is_careful;
                (may && seen.is_due(now)).then(|| (at, seen.clone()))
            });
        Choice {
            read_on: read_on.collect(),
            lease,
            end_care: idle
                .into_iter()
                .filter(|seen| seen.needs_care(now))
                .map(|seen| (seen.lane, seen.epoch))
                .collect(),
            leased_elsewhere: leased.into_iter().any(|seen| seen.is_due(now)),
        }
    }

    /// How long until something falls due in a lane that nobody holds; `kept` are the lanes that this claim holds. Those that were read on count,
    /// too.
    pub(crate) fn next_due(&self, kept: &[Lane], read_on: &[Lane]) -> Option<Duration> {
        let free = |seen: &LaneSeen| !seen.is_leased(self.now) && !kept.contains(&Lane(seen.lane));
        self.lanes
            .iter()
            .filter(|seen| free(seen) || read_on.contains(&Lane(seen.lane)))
            .flat_map(|seen| [seen.scheduled_next, seen.blocked_next])
            .flatten()
            .min()
            .map(|at| until(at, self.now))
    }
}

#[cfg(test)]
mod tests {
    use outbox_store::LaneFilter;

    use super::*;

    fn request() -> ClaimRequest {
        ClaimRequest {
            relay: Arc::from("relay"),
            limit: 100,
            max_bytes: 1000,
            max_lanes: 8,
            lease: Duration::from_secs(30),
            lanes: LaneFilter::All,
            read_on: Vec::new(),
        }
    }

    fn lane(lane: u16) -> LaneSeen {
        LaneSeen {
            lane,
            line: Some(1),
            ..LaneSeen::default()
        }
    }

    fn choose(lanes: Vec<LaneSeen>, request: &ClaimRequest) -> (Vec<u16>, Choice) {
        let seen = Seen {
            lanes,
            now: 100,
            nonce: Arc::from("n"),
        };
        let choice = seen.choose(request);
        (choice.lease.iter().map(|seen| seen.lane).collect(), choice)
    }

    #[test]
    fn s13_the_least_recently_served_lanes_come_first_and_at_most_two() {
        let (leased, _) = choose(vec![lane(5), lane(1), lane(3)], &request());
        assert_eq!(leased, [5, 1]);
        let one = ClaimRequest {
            limit: 1,
            ..request()
        };
        assert_eq!(choose(vec![lane(5), lane(1)], &one).0, [5]);
    }

    #[test]
    fn a_lane_is_due_by_its_line_its_schedule_or_a_blocked_key() {
        let idle = LaneSeen {
            line: None,
            scheduled: Some(101),
            blocked: Some(101),
            ..lane(0)
        };
        let scheduled = LaneSeen {
            line: None,
            scheduled: Some(100),
            ..lane(1)
        };
        let blocked = LaneSeen {
            line: None,
            blocked: Some(100),
            ..lane(2)
        };
        let (leased, choice) = choose(vec![idle, scheduled, blocked], &request());
        assert_eq!(leased, [1, 2]);
        assert_eq!(choice.end_care, []);
    }

    #[test]
    fn a_leased_lane_is_left_alone_and_reported_if_it_has_due_work() {
        let held = LaneSeen {
            held: true,
            lease_until: 101,
            ..lane(0)
        };
        let (leased, choice) = choose(vec![held.clone(), lane(1)], &request());
        assert_eq!(leased, [1]);
        assert!(choice.leased_elsewhere);
        let except = ClaimRequest {
            lanes: LaneFilter::Except(vec![Lane(0)]),
            ..request()
        };
        assert!(!choose(vec![held, lane(1)], &except).1.leased_elsewhere);
    }

    #[test]
    fn f6_a_lane_that_needs_care_is_served_alone_and_only_in_its_turn() {
        let lapsed = LaneSeen {
            held: true,
            lease_until: 100,
            ..lane(0)
        };
        let careful = LaneSeen {
            careful: 3,
            ..lane(1)
        };
        assert_eq!(choose(vec![lapsed.clone(), lane(2)], &request()).0, [0]);
        assert_eq!(choose(vec![careful.clone(), lane(2)], &request()).0, [1]);
        assert_eq!(
            choose(vec![lane(2), careful, lapsed, lane(3)], &request()).0,
            [2, 3]
        );
    }

    #[test]
    fn f6_care_ends_when_nothing_of_the_lane_is_due() {
        let lapsed = LaneSeen {
            held: true,
            lease_until: 100,
            epoch: 7,
            line: None,
            ..lane(0)
        };
        let (leased, choice) = choose(vec![lapsed], &request());
        assert_eq!((leased, choice.end_care), (vec![], vec![(0, 7)]));
    }

    #[test]
    fn the_next_due_time_counts_only_lanes_that_nobody_holds() {
        let waiting = |number, at| LaneSeen {
            blocked_next: Some(at),
            ..lane(number)
        };
        let seen = Seen {
            lanes: vec![
                LaneSeen {
                    held: true,
                    lease_until: 200,
                    ..waiting(0, 110)
                },
                waiting(1, 120),
                waiting(2, 130),
            ],
            now: 100,
            nonce: Arc::from("n"),
        };
        assert_eq!(seen.next_due(&[], &[]), Some(Duration::from_millis(20)));
        assert_eq!(
            seen.next_due(&[Lane(1)], &[]),
            Some(Duration::from_millis(30))
        );
        assert_eq!(
            seen.next_due(&[Lane(1)], &[Lane(0)]),
            Some(Duration::from_millis(10))
        );
    }
}
