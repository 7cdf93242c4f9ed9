//! A claim as the cases see it: checked against what every claim must keep, and settled by payload.

use std::collections::HashSet;

use outbox_message::{Delivery, LaneToken, Lanes, Position};
use outbox_store::{
    AfterDeath, Claim, ClaimRequest, DeathReason, Entry, LaneSettlement, Outcome, Settlement,
    Target, Unreadable,
};

use crate::scene::secs;

/// The outcome of a counted failure that is tried again after so many seconds.
pub(crate) fn retry(seconds: u64) -> Outcome {
    Outcome::Retry {
        after: Some(secs(seconds)),
        counted: true,
        error: "refused".to_owned(),
    }
}

/// The outcome of a counted failure without a new time.
pub(crate) fn retry_in_place() -> Outcome {
    Outcome::Retry {
        after: None,
        counted: true,
        error: "refused".to_owned(),
    }
}

/// The outcome of a failure that counts no attempt.
pub(crate) fn transient(seconds: u64) -> Outcome {
    Outcome::Retry {
        after: Some(secs(seconds)),
        counted: false,
        error: "unavailable".to_owned(),
    }
}

/// The outcome of a message that is given up on.
pub(crate) fn dead(after: AfterDeath) -> Outcome {
    Outcome::Dead {
        reason: DeathReason::Exhausted,
        error: "refused for good".to_owned(),
        after,
        notice: None,
    }
}

/// A claim that keeps what every claim must keep.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) claim: Claim,
}

impl Taken {
    /// Checks what holds for every claim, whatever the case.
    pub(crate) fn check(claim: Claim, request: &ClaimRequest, lanes: Lanes) -> Self {
        let leased: Vec<_> = claim.lanes.iter().map(|lease| lease.token.lane).collect();
        let distinct: HashSet<_> = leased.iter().collect();
        assert_eq!(distinct.len(), leased.len(), "a lane is leased once");
        assert!(leased.len() <= request.max_lanes, "P4: lanes of a claim");
        for lane in &leased {
            assert!(request.lanes.allows(*lane), "lane {lane} was not asked for");
        }
        assert!(
            claim.entries.len() <= request.limit,
            "P4: {} messages for a limit of {}",
            claim.entries.len(),
            request.limit
        );
        let weight: usize = messages(&claim).map(|d| d.message.weight()).sum();
        assert!(
            weight <= request.max_bytes || claim.entries.len() == 1,
            "P4: {weight} bytes for a limit of {}",
            request.max_bytes
        );
        let mut served = Vec::new();
        for pair in claim.entries.chunk_by(|a, b| a.lane() == b.lane()) {
            served.push(pair[0].lane());
            let positions: Vec<_> = pair.iter().map(Entry::position).collect();
            assert!(
                positions.is_sorted_by(|a, b| a < b),
                "S2: positions {positions:?} of a lane"
            );
        }
        served.sort_unstable();
        assert!(
            served.is_sorted_by(|a, b| a < b),
            "a lane has its entries together"
        );
        for lane in &leased {
            assert!(
                served.contains(lane),
                "a leased lane has at least one entry"
            );
        }
        for lane in served.iter().filter(|lane| !leased.contains(lane)) {
            let read_on = request.read_on.iter();
            assert!(
                read_on.map(|held| held.token.lane).any(|it| it == *lane),
                "S17: lane {lane} was neither leased nor read on"
            );
        }
        for delivery in messages(&claim) {
            if let Some(key) = delivery.ordering_key() {
                assert_eq!(delivery.lane, key.lane(lanes), "a key has one lane");
            }
        }
        for lease in &claim.lanes {
            let entries = claim.entries.iter();
            let of_lane = entries.filter(|entry| entry.lane() == lease.token.lane);
            assert!(
                !lease.careful || (of_lane.count() == 1 && claim.lanes.len() == 1),
                "F6: a careful lane is leased alone and gives one message"
            );
        }
        Self { claim }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.claim.entries.is_empty()
    }

    pub(crate) fn moved(&self) -> usize {
        self.claim.moved
    }

    /// The messages, in order.
    pub(crate) fn deliveries(&self) -> impl Iterator<Item = &Delivery> {
        messages(&self.claim)
    }

    /// The rows that cannot be read.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = &Unreadable> {
        self.claim.entries.iter().filter_map(|entry| match entry {
            Entry::Message(_) => None,
            Entry::Unreadable(row) => Some(row),
        })
    }

    /// The payloads of the messages, in order.
    pub(crate) fn payloads(&self) -> Vec<String> {
        self.deliveries().map(payload).collect()
    }

    /// Positions of everything handed out, in order.
    pub(crate) fn positions(&self) -> Vec<Position> {
        self.claim.entries.iter().map(Entry::position).collect()
    }

    /// The message with this payload.
    #[track_caller]
    pub(crate) fn of(&self, wanted: &str) -> &Delivery {
        self.deliveries()
            .find(|delivery| payload(delivery) == wanted)
            .expect("the claim has the message")
    }

    /// The token, of a claim of one lane.
    #[track_caller]
    pub(crate) fn token(&self) -> &LaneToken {
        assert_eq!(self.claim.lanes.len(), 1, "one lane is leased");
        &self.claim.lanes[0].token
    }

    /// Whether the claim's only lane is careful.
    #[track_caller]
    pub(crate) fn is_careful(&self) -> bool {
        self.token();
        self.claim.lanes[0].careful
    }

    /// A settlement of the named messages alone; a lane is given back if each of its messages is named.
    #[track_caller]
    pub(crate) fn settlements(&self, outcomes: &[(&str, Outcome)]) -> Vec<LaneSettlement> {
        for (wanted, _) in outcomes {
            self.of(wanted);
        }
        let mut lanes = self.settle_by(|entry| named(outcomes, entry).cloned());
        lanes.retain(|lane| !lane.outcomes.is_empty());
        lanes
    }

    /// A settlement of all messages: the named ones as said, the others as `rest`.
    #[track_caller]
    pub(crate) fn settlements_of_all(
        &self,
        outcomes: &[(&str, Outcome)],
        rest: &Outcome,
    ) -> Vec<LaneSettlement> {
        for (wanted, _) in outcomes {
            self.of(wanted);
        }
        self.settle_by(|entry| Some(named(outcomes, entry).unwrap_or(rest).clone()))
    }

    fn settle_by(&self, outcome: impl Fn(&Entry) -> Option<Outcome>) -> Vec<LaneSettlement> {
        let of_lane = |token: &LaneToken| {
            let lane = token.lane;
            let entries = self.claim.entries.iter();
            entries.filter(move |entry| entry.lane() == lane)
        };
        let tokens = self.claim.lanes.iter().map(|lease| &lease.token);
        tokens
            .map(|token| {
                let outcomes: Vec<_> = of_lane(token)
                    .filter_map(|entry| {
                        Some(Settlement {
                            target: target(entry),
                            outcome: outcome(entry)?,
                        })
                    })
                    .collect();
                LaneSettlement {
                    token: token.clone(),
                    release: outcomes.len() == of_lane(token).count(),
                    outcomes,
                }
            })
            .collect()
    }
}

fn messages(claim: &Claim) -> impl Iterator<Item = &Delivery> {
    claim.entries.iter().filter_map(|entry| match entry {
        Entry::Message(delivery) => Some(delivery),
        Entry::Unreadable(_) => None,
    })
}

/// The payload as text.
pub(crate) fn payload(delivery: &Delivery) -> String {
    String::from_utf8_lossy(&delivery.message.payload).into_owned()
}

/// What a settlement names of an entry.
pub(crate) fn target(entry: &Entry) -> Target {
    match entry {
        Entry::Message(delivery) => Target::from(delivery),
        Entry::Unreadable(row) => Target::from(row),
    }
}

fn named<'a>(outcomes: &'a [(&str, Outcome)], entry: &Entry) -> Option<&'a Outcome> {
    let Entry::Message(delivery) = entry else {
        return None;
    };
    let payload = payload(delivery);
    outcomes
        .iter()
        .find(|(wanted, _)| *wanted == payload)
        .map(|(_, outcome)| outcome)
}
