//! What can happen to a store, as values that proptest can shrink. Which claim or key an operation means is an index that wraps
//! around, so that every shrunk history still makes sense.

use proptest::{collection::vec, option, prelude::*};

use super::stops::Stop;

/// One history.
#[derive(Debug, Clone)]
pub(super) struct History {
    pub(super) relays: Relays,
    /// How many keys there are: few of them meet often, many spread over lanes.
    pub(super) keys: usize,
    pub(super) ops: Vec<Op>,
}

/// How relays behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relays {
    /// As the contract asks of them, so that the whole history can be judged.
    Lawful,
    /// They settle whatever they like; only the store is judged.
    Reckless,
}

/// One thing that happens.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// A transaction saves messages and ends, or stays open.
    Save { messages: Vec<NewMessage>, end: End },
    /// The transaction that is open longest ends.
    Close { commit: bool },
    /// A relay claims.
    Claim(Ask),
    /// A relay claims, and reads on in lanes that it holds.
    ReadOn { ask: Ask, lanes: Vec<usize> },
    /// A relay claims, hands over what it got and settles all of it.
    Serve { ask: Ask, replies: Vec<Reply> },
    /// A relay hands messages of a leased lane to the broker.
    Publish { lane: usize, replies: Vec<Reply> },
    /// A relay settles a lane, and perhaps a second one with it: what is known so far, or all of it with the lane given back.
    Settle { lane: usize, two: bool, whole: bool },
    /// A relay sends its last settlement of a lane again.
    SettleAgain { lane: usize },
    /// A relay renews a lease.
    Extend { lane: usize },
    /// Time passes, by this many steps. Nothing else is needed for a crash: the relay is not heard of in time.
    Advance { steps: u64 },
    /// An operator makes the first dead letters pending again.
    Redrive { limit: usize },
    /// An operator drops the first dead letters.
    Discard { limit: usize },
    /// An operator makes a key due.
    RetryNow { key: usize },
    /// Something happens to a whole topic.
    Stop { topic: usize, stop: Stop },
}

/// What a claim asks for.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) limit: usize,
    pub(super) max_bytes: usize,
    pub(super) max_lanes: usize,
    pub(super) only: Option<u16>,
}

/// A message to save.
#[derive(Debug, Clone)]
pub(super) struct NewMessage {
    /// Without a key, it is of this topic.
    pub(super) key: Result<usize, usize>,
    /// It falls due after this many steps and a half.
    pub(super) due: Option<u64>,
    pub(super) bytes: usize,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    Rollback,
    /// Not yet; a store that serializes its writers commits instead.
    Open,
}

/// What the broker does with a message, and what the relay makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    Confirm,
    /// Refused: tried again at once, or after this many steps and a half.
    Refuse {
        after: Option<u64>,
    },
    /// Not reached, or reached and the answer lost: not counted.
    Unavailable {
        received: bool,
    },
    /// Given up on.
    Kill {
        hold: bool,
    },
    /// Not handed over.
    Leave,
}

pub(super) fn history() -> impl Strategy<Value = History> {
    let relays = prop_oneof![3 => Just(Relays::Lawful), 1 => Just(Relays::Reckless)];
    let ops = prop_oneof![vec(op(), 1..90), vec(op_with_stops(), 1..90)];
    (relays, 1..9_usize, ops).prop_map(|(relays, keys, ops)| History { relays, keys, ops })
}

/// As [`op`], with topics that are stopped now and then.
fn op_with_stops() -> impl Strategy<Value = Op> {
    let stop = prop_oneof![
        2 => option::of(0..4_u64).prop_map(|steps| Stop::Pause { steps }),
        4 => (0..6_u64).prop_map(|steps| Stop::Down { steps }),
        4 => Just(Stop::Probe),
        3 => Just(Stop::Start),
        2 => Just(Stop::Resume),
        4 => Just(Stop::Free),
    ];
    prop_oneof![
        4 => op(),
        1 => (0..2_usize, stop).prop_map(|(topic, stop)| Op::Stop { topic, stop }),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let end = prop_oneof![6 => Just(End::Commit), 1 => Just(End::Rollback), 2 => Just(End::Open)];
    prop_oneof![
        12 => (vec(new_message(), 1..7), end).prop_map(|(messages, end)| Op::Save { messages, end }),
        4 => prop::bool::weighted(0.8).prop_map(|commit| Op::Close { commit }),
        10 => ask().prop_map(Op::Claim),
        18 => (ask(), vec(reply(), 1..8)).prop_map(|(ask, replies)| Op::Serve { ask, replies }),
        8 => (ask(), vec(0..4_usize, 1..3)).prop_map(|(ask, lanes)| Op::ReadOn { ask, lanes }),
        12 => (0..4_usize, vec(reply(), 1..8)).prop_map(|(lane, replies)| Op::Publish { lane, replies }),
        10 => (0..4_usize, any::<bool>(), prop::bool::weighted(0.7))
            .prop_map(|(lane, two, whole)| Op::Settle { lane, two, whole }),
        4 => (0..3_usize).prop_map(|lane| Op::SettleAgain { lane }),
        3 => (0..6_usize).prop_map(|lane| Op::Extend { lane }),
        9 => (0..4_u64).prop_map(|steps| Op::Advance { steps }),
        3 => (1..4_usize).prop_map(|limit| Op::Redrive { limit }),
        1 => (1..3_usize).prop_map(|limit| Op::Discard { limit }),
        1 => (0..8_usize).prop_map(|key| Op::RetryNow { key }),
    ]
}

fn ask() -> impl Strategy<Value = Ask> {
    let limit = prop_oneof![3 => 1..4_usize, 3 => 4..12_usize, 1 => Just(100_usize)];
    let max_bytes = prop_oneof![4 => Just(1_000_000_usize), 1 => 1..400_usize];
    let only = option::weighted(0.2, 0..8_u16);
    (limit, max_bytes, 1..4_usize, only).prop_map(|(limit, max_bytes, max_lanes, only)| Ask {
        limit,
        max_bytes,
        max_lanes,
        only,
    })
}

fn new_message() -> impl Strategy<Value = NewMessage> {
    let due = option::weighted(0.2, 0..4_u64);
    let key = prop_oneof![9 => (0..8_usize).prop_map(Ok), 1 => (0..2_usize).prop_map(Err)];
    (key, due, 0..60_usize).prop_map(|(key, due, bytes)| NewMessage { key, due, bytes })
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        10 => Just(Reply::Confirm),
        4 => option::weighted(0.8, 0..4_u64).prop_map(|after| Reply::Refuse { after }),
        2 => any::<bool>().prop_map(|received| Reply::Unavailable { received }),
        2 => any::<bool>().prop_map(|hold| Reply::Kill { hold }),
        3 => Just(Reply::Leave),
    ]
}
