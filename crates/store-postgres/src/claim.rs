//! The claim: lease lanes, read what can run, set aside what cannot, hand out within the limits.
//!
//! In the common case two statements: one leases, one reads. Lanes that are read on cost one more, which locks them, and are looked at without
//! payloads. What they answer decides what else is needed; each further step is one
//! statement, whatever the number of lanes and messages.

mod lanes;
mod line;
mod load;
mod read_on;
mod waiting;

use std::collections::{HashMap, HashSet};

use outbox_message::{Lane, LaneToken};
use outbox_ordering::{
    line::LineRead,
    share::{Candidate, Room, hand_out},
};
use outbox_store::{Claim, ClaimRequest, Entry, LaneLease};

use crate::{
    failure::{Failure, require},
    procedure::Procedure,
    quiet::Say,
    session::Session,
    statements::Statements,
};

pub(crate) use lanes::lease_millis;

use lanes::{LaneSeen, Left};
use waiting::Waiting;

/// The most lanes a claim leases, so that a relay that dies holds up few (contract defaults).
const MOST_LANES: usize = 8;

/// The most rows a claim looks at in vain, over all its lanes.
const MOST_LOOKED_AT: usize = 10_000;

/// The most bytes a claim sets aside, over all its lanes, so that it comes to its end whatever the messages weigh; one message more is never too much.
const MOST_BYTES_ASIDE: u64 = 64 << 20;

/// The ordering key of a message in line: topic and key.
type KeyText = (String, String);

/// Claims for a request.
#[derive(Debug)]
pub(crate) struct Claiming<'a> {
    pub(crate) request: &'a ClaimRequest,
    pub(crate) say: Say,
}

/// What a claim gave.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) claim: Claim,
    /// Until when savers need not notify, if it said so.
    pub(crate) quiet: Option<i64>,
    /// It leased as many lanes as it was to, so that there may be more in others.
    pub(crate) full: bool,
}

impl Procedure for Claiming<'_> {
    type Output = Claimed;
    const WHAT: &'static str = "claim messages";

    async fn run<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<Claimed, Failure<S::Error>> {
        let seen = lanes::lease(session, statements, self.request, self.say).await?;
        require(seen.version)?;
        let full = seen.lanes.len() >= lanes::most(self.request);
        let mut lanes: Vec<LaneWork> = seen.lanes.into_iter().map(LaneWork::new).collect();
        let is_careful = lanes.iter().any(|lane| lane.seen.careful);
        if !self.request.read_on.is_empty() && !is_careful {
            let held = read_on::hold(session, statements, self.request).await?;
            lanes.extend(held.into_iter().map(|(at, seen)| LaneWork {
                left_out: Some(at),
                ..LaneWork::new(seen)
            }));
        }
        let mut work = Work {
            request: self.request,
            next_due: seen.next_due,
            leased_elsewhere: seen.leased_elsewhere,
            lanes,
            whole: HashMap::new(),
            stopped: HashSet::new(),
            empty: Vec::new(),
            stopped_keys: Vec::new(),
            moved: 0,
        };
        if !work.lanes.is_empty() {
            work.promote(session, statements).await?;
            work.read_lines(session, statements).await?;
            work.set_aside(session, statements).await?;
            work.read_waiting(session, statements).await?;
            work.hand_out();
            work.load(session, statements).await?;
            work.leave(session, statements).await?;
        }
        Ok(Claimed {
            claim: work.finish(),
            quiet: seen.quiet,
            full,
        })
    }
}

/// A claim in the making.
struct Work<'a> {
    request: &'a ClaimRequest,
    /// When the first message of a lane that was not leased falls due, in milliseconds from now.
    next_due: Option<i64>,
    leased_elsewhere: bool,
    lanes: Vec<LaneWork>,
    /// Messages that were read whole, by position.
    whole: HashMap<i64, Entry>,
    /// Messages in the lines whose topics are stopped, by position.
    stopped: HashSet<i64>,
    /// Due keys of which nothing may wait.
    empty: Vec<KeyText>,
    /// Due keys whose topics are stopped.
    stopped_keys: Vec<KeyText>,
    moved: usize,
}

/// A lane that was leased or is read on, and what was found in it.
struct LaneWork {
    seen: LaneSeen,
    /// It is read on: where the request says what is left out.
    left_out: Option<usize>,
    line: LineRead<KeyText>,
    /// A key was found to keep the lane to itself.
    busy: Option<KeyText>,
    /// Messages of due keys, by position.
    waiting: Vec<Waiting>,
    chosen: Vec<Candidate>,
}

impl LaneWork {
    fn new(seen: LaneSeen) -> Self {
        Self {
            seen,
            left_out: None,
            line: LineRead::default(),
            busy: None,
            waiting: Vec::new(),
            chosen: Vec::new(),
        }
    }

    fn lane(&self) -> Lane {
        Lane(self.seen.lane)
    }

    fn has_due_keys(&self) -> bool {
        self.seen.blocked_due || self.busy.is_some()
    }

    /// Whether it gave nothing only because the limits were used up; then it keeps its turn.
    fn was_cut_off(&self) -> bool {
        self.chosen.is_empty() && !(self.line.runnable.is_empty() && self.waiting.is_empty())
    }
}

impl Work<'_> {
    fn is_careful(&self) -> bool {
        self.lanes.iter().any(|lane| lane.seen.careful)
    }

    /// What the whole claim may hand out; a careful lane gives one message.
    fn room(&self) -> Room {
        Room {
            messages: if self.is_careful() {
                1
            } else {
                self.request.limit.max(1)
            },
            bytes: u64::try_from(self.request.max_bytes).unwrap_or(u64::MAX),
        }
    }

    fn share(&self) -> Room {
        self.room().share(self.lanes.len())
    }

    fn looks(&self) -> usize {
        MOST_LOOKED_AT / self.lanes.len().max(1)
    }

    fn bytes_aside(&self) -> u64 {
        MOST_BYTES_ASIDE / u64::try_from(self.lanes.len().max(1)).unwrap_or(1)
    }

    fn lane_mut(&mut self, lane: u16) -> Option<&mut LaneWork> {
        self.lanes.iter_mut().find(|work| work.seen.lane == lane)
    }

    /// Step 2: moves what fell due into the line.
    async fn promote<S: Session>(
        &mut self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let due = self.lanes.iter().filter(|lane| lane.seen.scheduled_due);
        let due: Vec<i64> = due.map(|lane| i64::from(lane.seen.lane)).collect();
        if !due.is_empty() {
            let limit = self.request.limit.max(1);
            self.moved += lanes::promote(session, statements, &due, limit).await?;
        }
        Ok(())
    }

    /// Decides what each lane gives.
    fn hand_out(&mut self) {
        let (share, mut left) = (self.share(), self.room());
        let mut first = true;
        for lane in &mut self.lanes {
            let waiting: Vec<Candidate> = lane.waiting.iter().map(|w| w.candidate).collect();
            lane.chosen = hand_out(&lane.line.runnable, &waiting, share, &mut left, first);
            first = false;
        }
    }

    /// Gives back the lanes that gave nothing.
    async fn leave<S: Session>(
        &self,
        session: &mut S,
        statements: &Statements,
    ) -> Result<(), Failure<S::Error>> {
        let left: Vec<Left> = self
            .lanes
            .iter()
            .filter(|lane| lane.chosen.is_empty() && lane.left_out.is_none())
            .map(|lane| Left {
                lane: i64::from(lane.seen.lane),
                turn: lane.was_cut_off().then_some(lane.seen.turn),
            })
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        lanes::leave(session, statements, &left).await
    }

    fn finish(mut self) -> Claim {
        let (kept, left): (Vec<_>, Vec<_>) = self
            .lanes
            .into_iter()
            .partition(|lane| !lane.chosen.is_empty());
        let read_on = kept.iter().filter(|lane| lane.left_out.is_some());
        let next_due = left
            .iter()
            .chain(read_on)
            .filter_map(|lane| lane.seen.next_due)
            .chain(self.next_due)
            .min();
        let entries = kept
            .iter()
            .flat_map(|lane| &lane.chosen)
            .filter_map(|candidate| self.whole.remove(&candidate.position))
            .collect();
        Claim {
            lanes: kept
                .into_iter()
                .filter(|lane| lane.left_out.is_none())
                .map(lease_of)
                .collect(),
            entries,
            moved: self.moved,
            next_due: next_due.map(lanes::from_now),
            leased_elsewhere: self.leased_elsewhere,
        }
    }
}

fn lease_of(lane: LaneWork) -> LaneLease {
    LaneLease {
        careful: lane.seen.careful,
        token: LaneToken {
            lane: lane.lane(),
            epoch: lane.seen.epoch,
            holder: lane.seen.holder,
        },
    }
}
