//! Claims: what a relay asks for, and the leased lanes and messages it gets.

use std::{sync::Arc, time::Duration};

use outbox_message::{Delivery, Lane, LaneToken, OrderingKey, Position};

/// What a relay asks of one claim.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// The relay's name, for people who look at the holders of lanes.
    pub relay: Arc<str>,
    /// At most this many messages (at least 1), over all lanes together (P4).
    pub limit: usize,
    /// At most this many bytes, over all lanes together; the first message is always taken (P4).
    pub max_bytes: usize,
    /// At most this many lanes (at least 1); a store may take fewer.
    pub max_lanes: usize,
    /// How long the lease lasts; at least a millisecond.
    pub lease: Duration,
    /// Which lanes are leased.
    pub lanes: LaneFilter,
    /// Lanes that the relay holds, and of which it wants what else can run (S17).
    pub read_on: Vec<ReadOn>,
}

/// A lane that its holder reads on, because something of it is in flight and takes long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOn {
    /// The lane, and the proof that it is still held.
    pub token: LaneToken,
    /// Every message that was handed out with this token and has no recorded outcome.
    pub in_hand: Vec<Position>,
    /// The ordering keys of those of them that are not confirmed: nothing of these keys may go out beside them.
    pub closed: Vec<OrderingKey>,
}

/// Which lanes a claim may lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LaneFilter {
    /// Any lane.
    #[default]
    All,
    /// Only these.
    Only(Vec<Lane>),
    /// All but these.
    Except(Vec<Lane>),
}

impl LaneFilter {
    /// Whether `lane` may be leased.
    pub fn allows(&self, lane: Lane) -> bool {
        match self {
            Self::All => true,
            Self::Only(lanes) => lanes.contains(&lane),
            Self::Except(lanes) => !lanes.contains(&lane),
        }
    }
}

/// What a claim gave: leased lanes, and what was handed out of them and of those that were read on.
#[derive(Debug, Clone, Default)]
pub struct Claim {
    /// The lanes that were leased. Each has at least one entry: a lane that gave nothing was released in the claim.
    pub lanes: Vec<LaneLease>,
    /// What was handed out, grouped by lane and ordered by position within each.
    pub entries: Vec<Entry>,
    /// How many messages were promoted or set aside, and how many blocks without messages were removed. If this is not zero the claim made
    /// progress even without entries.
    pub moved: usize,
    /// How long until the next message of a lane that is not leased, or that was read on, falls due, if any waits. A claim that leased as
    /// many lanes as it was to need not know it of others.
    pub next_due: Option<Duration>,
    /// Whether due work was left alone because another claim holds its lane. A claim that leased as many lanes as it was to need not know.
    pub leased_elsewhere: bool,
}

/// One leased lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneLease {
    /// Fences renewals and settlements.
    pub token: LaneToken,
    /// The lane's last holder vanished: one message in the whole process, its start recorded before the hand-over (F6).
    pub careful: bool,
}

/// One message handed out, or a row that cannot be read as one.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A message.
    Message(Delivery),
    /// A row that cannot be read as a message (F7).
    Unreadable(Unreadable),
}

impl Entry {
    /// The lane it was claimed in.
    pub fn lane(&self) -> Lane {
        match self {
            Self::Message(delivery) => delivery.lane,
            Self::Unreadable(row) => row.lane,
        }
    }

    /// Its place in the store's order.
    pub fn position(&self) -> Position {
        match self {
            Self::Message(delivery) => delivery.position,
            Self::Unreadable(row) => row.position,
        }
    }
}

/// A row that cannot be read as a message. It fails alone, and dies with its raw bytes kept (F7).
#[derive(Debug, Clone)]
pub struct Unreadable {
    /// The lane it was claimed in.
    pub lane: Lane,
    /// Its place in the store's order.
    pub position: Position,
    /// Publish calls whose outcome was recorded so far.
    pub tries: u32,
    /// Its ordering key, if topic and key can be read and belong to this lane.
    pub key: Option<OrderingKey>,
    /// What is wrong with it.
    pub error: String,
}
