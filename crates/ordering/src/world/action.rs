//! What can happen in the world.

use proptest::prelude::*;

use super::{Key, LANES, TOPICS};
use crate::lane::Verdict;
use crate::state::AfterDeath;

/// One thing that happens. Picks are taken modulo what there is to pick from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    Save {
        key: Option<Key>,
        due_in: Option<u64>,
    },
    Close {
        pick: usize,
        commit: bool,
    },
    Claim {
        relay: usize,
        first: u32,
        max_lanes: usize,
        limit: usize,
    },
    Start {
        relay: usize,
        pick: usize,
        max: usize,
    },
    Complete {
        relay: usize,
        pick: usize,
        received: usize,
        verdict: Verdict,
        after: u64,
    },
    Settle {
        relay: usize,
        pick: usize,
    },
    Renew {
        relay: usize,
        pick: usize,
    },
    Stop {
        relay: usize,
    },
    Crash {
        relay: usize,
    },
    Advance {
        by: u64,
    },
    Redrive {
        pick: usize,
    },
    Discard {
        pick: usize,
    },
    Pause {
        topic: u32,
        time: Option<u64>,
    },
    Down {
        topic: u32,
        lease: u64,
    },
    LetThrough {
        topic: u32,
    },
    Resume {
        topic: u32,
    },
    Free,
}

pub(crate) fn actions() -> impl Strategy<Value = Vec<Action>> {
    let verdict = prop_oneof![
        3 => Just(Verdict::Retry),
        2 => Just(Verdict::Dead(AfterDeath::Skip)),
        1 => Just(Verdict::Dead(AfterDeath::Hold)),
        1 => Just(Verdict::Release),
    ];
    let (relay, pick) = (0..2_usize, any::<usize>());
    let save = (
        prop::option::weighted(0.9, 0..4_u8),
        prop::option::weighted(0.2, 0..150_u64),
    );
    let claim = (relay.clone(), 0..LANES, 1..3_usize, 1..8_usize);
    let complete = (relay.clone(), pick, 0..6_usize, verdict, 0..80_u64);
    let action = prop_oneof![
        20 => save.prop_map(|(key, due_in)| Action::Save { key, due_in }),
        15 => (pick, prop::bool::weighted(0.9))
            .prop_map(|(pick, commit)| Action::Close { pick, commit }),
        15 => claim.prop_map(|(relay, first, max_lanes, limit)| {
            Action::Claim { relay, first, max_lanes, limit }
        }),
        25 => (relay.clone(), pick, 1..4_usize)
            .prop_map(|(relay, pick, max)| Action::Start { relay, pick, max }),
        25 => complete.prop_map(|(relay, pick, received, verdict, after)| {
            Action::Complete { relay, pick, received, verdict, after }
        }),
        15 => (relay.clone(), pick).prop_map(|(relay, pick)| Action::Settle { relay, pick }),
        3 => (relay.clone(), pick).prop_map(|(relay, pick)| Action::Renew { relay, pick }),
        2 => relay.clone().prop_map(|relay| Action::Stop { relay }),
        2 => relay.prop_map(|relay| Action::Crash { relay }),
        8 => (1..60_u64).prop_map(|by| Action::Advance { by }),
        3 => pick.prop_map(|pick| Action::Redrive { pick }),
        2 => pick.prop_map(|pick| Action::Discard { pick }),
        1 => (0..TOPICS, prop::option::of(1..200_u64))
            .prop_map(|(topic, time)| Action::Pause { topic, time }),
        3 => (0..TOPICS, 1..200_u64).prop_map(|(topic, lease)| Action::Down { topic, lease }),
        6 => (0..TOPICS).prop_map(|topic| Action::LetThrough { topic }),
        3 => (0..TOPICS).prop_map(|topic| Action::Resume { topic }),
        3 => Just(Action::Free),
    ];
    prop::collection::vec(action, 0..250)
}
