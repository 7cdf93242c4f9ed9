//! What the lanes that their holder reads on leave out of a claim.

use std::collections::{HashMap, HashSet};

use outbox_message::{Lane, Position};
use outbox_ordering::share::Candidate;
use outbox_store::{ClaimRequest, ReadOn};

/// Positions in hand, and closed keys, as statements take them. A position is of one lane only, and so is a key.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    pub(super) positions: Vec<i64>,
    pub(super) keys: Vec<(String, String)>,
}

impl LeftOut {
    pub(super) fn of<'a>(held: impl Iterator<Item = &'a ReadOn>) -> Self {
        let mut all = Self::default();
        for held in held {
            all.positions
                .extend(held.in_hand.iter().map(|Position(position)| position));
            let keys = held.closed.iter();
            all.keys.extend(keys.map(|it| {
                let (topic, key) = (it.topic.as_str(), it.key.as_str());
                (topic.to_owned(), key.to_owned())
            }));
        }
        all
    }

    /// Of the waiting messages of due keys, each with the head of its key, those that are not in hand, at most as many of each as its run has.
    pub(super) fn beside(
        &self,
        found: Vec<(u16, i64, Candidate)>,
        runs: &[(i64, i64, usize)],
    ) -> Vec<(u16, Candidate)> {
        let in_hand: HashSet<i64> = self.positions.iter().copied().collect();
        let mut left: HashMap<i64, usize> =
            runs.iter().map(|(head, _, run)| (*head, *run)).collect();
        let mut beside = Vec::with_capacity(found.len());
        for (lane, head, candidate) in found {
            if let Some(left) = left.get_mut(&head)
                && *left > 0
                && !in_hand.contains(&candidate.position)
            {
                *left -= 1;
                beside.push((lane, candidate));
            }
        }
        beside
    }
}

/// The lanes of a request that are read on, at these places.
pub(super) fn lanes_of(request: &ClaimRequest, places: impl Iterator<Item = usize>) -> Vec<Lane> {
    let held = places.filter_map(|at| request.read_on.get(at));
    held.map(|held| held.token.lane).collect()
}
