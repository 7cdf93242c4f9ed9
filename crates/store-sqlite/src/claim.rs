//! The claim: lease lanes, read what can run, set aside what cannot, hand out within the limits.
//!
//! The lanes are first looked at without any lock. Only if something is due a write transaction begins, in which the lanes are leased
//! as they were seen, or else looked at again. Dropping the claim midway rolls the transaction back.

mod choose;
mod line;
mod statements;

use std::sync::Arc;

use outbox_message::{Lane, LaneToken};
use outbox_ordering::{
    line::{LineRead, looks_ahead},
    share::{Candidate, Room, hand_out},
};
use outbox_store::{Claim, ClaimRequest, Entry, LaneLease, StoreError, adapter::any_key};
use sqlx::{SqliteConnection, SqlitePool};

use crate::{
    moves::{set_aside, set_aside_unkeyed},
    row::lane_of,
    schema, transaction,
};

use choose::{Choice, LaneSeen, Seen};
use line::RawKey;
use statements::{DueBlock, DueTopic, Left};

/// The most rows a claim looks at in vain, over all its lanes.
const MOST_LOOKED_AT: usize = 10_000;

const WHAT: &str = "claim messages";

/// Claims for `request`.
pub(crate) async fn claim(pool: &SqlitePool, request: &ClaimRequest) -> Result<Claim, StoreError> {
    let (seen, version) = match peek(pool).await {
        Ok(read) => read,
        Err(error) => return Err(schema::explain(pool, WHAT, error).await),
    };
    schema::require(version)?;
    let choice = seen.choose(request);
    if choice.lease.is_empty() && choice.end_care.is_empty() {
        return Ok(Claim {
            next_due: seen.next_due(&[]),
            leased_elsewhere: choice.leased_elsewhere,
            ..Claim::default()
        });
    }
    let claimed = transaction::write(pool, async |tx| write(tx, request, seen, choice).await).await;
    match claimed {
        Ok(claim) => Ok(claim),
        Err(error) => Err(schema::explain(pool, WHAT, error).await),
    }
}

async fn peek(pool: &SqlitePool) -> Result<(Seen, i64), sqlx::Error> {
    let mut connection = pool.acquire().await?;
    statements::lanes(&mut connection).await
}

async fn write(
    tx: &mut SqliteConnection,
    request: &ClaimRequest,
    seen: Seen,
    choice: Choice,
) -> Result<Claim, sqlx::Error> {
    let mut claiming = Claiming {
        request,
        seen,
        choice,
        now: 0,
        work: Vec::new(),
        moved: 0,
    };
    claiming.lease(tx).await?;
    if claiming.work.is_empty() && !claiming.choice.lease.is_empty() {
        // Another claim was faster. What is seen under the write lock holds.
        (claiming.seen, _) = statements::lanes(tx).await?;
        claiming.choice = claiming.seen.choose(request);
        claiming.lease(tx).await?;
    }
    let mut entries = Vec::new();
    if !claiming.work.is_empty() {
        claiming.promote(tx).await?;
        claiming.read_lines(tx).await?;
        claiming.set_aside(tx).await?;
        claiming.read_waiting(tx).await?;
        claiming.hand_out();
        entries = claiming.load(tx).await?;
        claiming.leave(tx).await?;
    }
    Ok(claiming.finish(entries))
}

/// A claim in the making.
struct Claiming<'a> {
    request: &'a ClaimRequest,
    seen: Seen,
    choice: Choice,
    /// The clock when the lanes were leased.
    now: i64,
    work: Vec<LaneWork>,
    moved: usize,
}

/// A leased lane, and what was found in it.
struct LaneWork {
    seen: LaneSeen,
    epoch: i64,
    careful: bool,
    /// How far the line is known to be of one key, as it was and as it is.
    ahead_before: i64,
    ahead: i64,
    line: LineRead<RawKey>,
    /// Messages in line whose topics are stopped: those whose keys are to be blocked, and those without one.
    stopped: Vec<i64>,
    unkeyed: Vec<i64>,
    /// A key was found to keep the lane to itself.
    busy: bool,
    /// Messages of due keys.
    waiting: Vec<Candidate>,
    chosen: Vec<Candidate>,
}

impl LaneWork {
    fn lane(&self) -> u16 {
        self.seen.lane
    }

    /// The first position, if all that was read is of one ordering key that belongs here, and more may stand behind.
    fn lone_head(&self) -> Option<i64> {
        let ((topic, key), head) = self.line.lone_key()?;
        let key = any_key(topic, Some(key))?;
        (lane_of(&key).0 == self.lane()).then_some(head)
    }

    /// Whether it gave nothing only because the limits were used up; then it keeps its turn.
    fn was_cut_off(&self) -> bool {
        self.chosen.is_empty() && !(self.line.runnable.is_empty() && self.waiting.is_empty())
    }
}

impl Claiming<'_> {
    /// Step 1: leases the chosen lanes, those that are still as they were seen.
    async fn lease(&mut self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        if !self.choice.end_care.is_empty() {
            statements::end_care(tx, &self.choice.end_care).await?;
        }
        if self.choice.lease.is_empty() {
            return Ok(());
        }
        let leased =
            statements::lease(tx, self.request, &self.seen.nonce, &self.choice.lease).await?;
        // In the order of the choice; the statement answers in any.
        for seen in &self.choice.lease {
            let Some(lane) = leased.iter().find(|lane| lane.lane == seen.lane) else {
                continue;
            };
            self.now = lane.now;
            self.work.push(LaneWork {
                seen: seen.clone(),
                epoch: lane.epoch,
                careful: lane.careful,
                ahead_before: lane.ahead,
                ahead: lane.ahead,
                line: LineRead::default(),
                stopped: Vec::new(),
                unkeyed: Vec::new(),
                busy: false,
                waiting: Vec::new(),
                chosen: Vec::new(),
            });
        }
        Ok(())
    }

    /// What the whole claim may hand out; a careful lane gives one message.
    fn room(&self) -> Room {
        let careful = self.work.iter().any(|lane| lane.careful);
        Room {
            messages: if careful {
                1
            } else {
                self.request.limit.max(1)
            },
            bytes: u64::try_from(self.request.max_bytes).unwrap_or(u64::MAX),
        }
    }

    fn share(&self) -> Room {
        self.room().share(self.work.len())
    }

    fn looks(&self) -> usize {
        MOST_LOOKED_AT / self.work.len().max(1)
    }

    /// The lanes that `which` names: a claim has at most two.
    fn lanes(&self, which: impl Fn(&LaneWork) -> bool) -> [Option<u16>; 2] {
        let mut lanes = self
            .work
            .iter()
            .filter(|lane| which(lane))
            .map(LaneWork::lane);
        [lanes.next(), lanes.next()]
    }

    /// Step 2: moves what fell due into the line.
    async fn promote(&mut self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let now = self.now;
        let is_due = |lane: &LaneWork| lane.seen.scheduled.is_some_and(|at| at <= now);
        let lanes = self.lanes(is_due);
        if lanes[0].is_none() {
            return Ok(());
        }
        self.moved += statements::promote(tx, lanes, now, self.request.limit.max(1)).await?;
        for lane in self.work.iter_mut().filter(|lane| is_due(lane)) {
            lane.ahead = 0;
        }
        Ok(())
    }

    /// Step 3: reads the lines, and finds keys that keep a lane to themselves.
    async fn read_lines(&mut self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let (share, looks) = (self.share(), self.looks());
        let lanes: Vec<u16> = self.work.iter().map(LaneWork::lane).collect();
        let mut read = line::read_lines(tx, &lanes, share, looks, self.now).await?;
        for lane in &mut self.work {
            let line = read.remove(&lane.lane()).unwrap_or_default();
            lane.line = line.read;
            lane.stopped = line.stopped;
            lane.unkeyed = line.unkeyed;
            // A careful lane hands out one message anyway.
            let Some(head) = lane.lone_head().filter(|_| !lane.careful) else {
                continue;
            };
            let known = lane.ahead.max(lane.line.last);
            let looks = looks.min(looks_ahead(known - lane.line.last));
            let (ahead, other) = line::look_ahead(tx, lane.lane(), known, head, looks).await?;
            lane.ahead = ahead;
            lane.busy = other;
        }
        Ok(())
    }

    /// Step 4: sets aside the messages of blocked keys, of busy ones, and of stopped topics.
    async fn set_aside(&mut self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let (mut aside, mut stopped, mut unkeyed) = (Vec::new(), Vec::new(), Vec::new());
        let mut busy = Vec::new();
        for lane in &mut self.work {
            stopped.append(&mut lane.stopped);
            unkeyed.append(&mut lane.unkeyed);
            if lane.busy {
                busy.extend(lane.line.runnable.first().map(|head| head.position));
                lane.line.step_aside();
            }
            aside.append(&mut lane.line.blocked);
        }
        if !stopped.is_empty() {
            statements::block_topic(tx, &stopped).await?;
        }
        if !unkeyed.is_empty() {
            set_aside_unkeyed(tx, &unkeyed).await?;
            self.moved += unkeyed.len();
        }
        if !aside.is_empty() {
            set_aside(tx, &aside).await?;
            self.moved += aside.len();
        }
        if !busy.is_empty() {
            statements::block_busy(tx, &busy, self.now).await?;
        }
        Ok(())
    }

    /// Steps 5 and 6: reads what is due of the blocked keys, and removes blocks behind which nothing waits. Those whose topic is stopped wait for that
    /// from now on, whatever they waited for.
    async fn read_waiting(&mut self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let now = self.now;
        let has_due =
            |lane: &LaneWork| lane.busy || lane.seen.blocked.is_some_and(|until| until <= now);
        let lanes = self.lanes(has_due);
        if lanes[0].is_none() {
            return Ok(());
        }
        let share = self.share();
        let due = statements::due_blocks(tx, lanes, now, share.messages.saturating_add(1)).await?;
        let run = (self.request.limit / 4).clamp(1, share.messages);
        let mut runs = Vec::new();
        for lane in &self.work {
            let due = due.iter().filter(|due| due.lane == lane.lane());
            let due: Vec<&DueBlock> = due.filter(|due| due.topic != DueTopic::Stopped).collect();
            let alone = due.iter().filter(|due| due.head.is_some()).count() == 1
                && lane.line.runnable.is_empty()
                && !lane.line.is_cut();
            let run = if alone { share.messages } else { run };
            let frontier = lane.line.frontier();
            let heads = due.iter().filter_map(|due| Some((due.head?, due.topic)));
            let heads = heads.filter(|(head, _)| *head <= frontier);
            runs.extend(heads.take(share.messages).map(|(head, topic)| match topic {
                DueTopic::LetsThrough => (head, frontier, 1),
                _ => (head, frontier, run),
            }));
        }
        if !runs.is_empty() {
            for (lane, candidate) in
                statements::read_waiting(tx, &runs, self.room().messages).await?
            {
                let work = self.work.iter_mut().find(|work| work.lane() == lane);
                if let Some(work) = work {
                    work.waiting.push(candidate);
                }
            }
            for lane in &mut self.work {
                lane.waiting.sort_by_key(|candidate| candidate.position);
            }
        }
        let stopped = due
            .iter()
            .filter(|due| due.head.is_some() && due.topic == DueTopic::Stopped);
        let stopped: Vec<i64> = stopped.map(|due| due.number).collect();
        if !stopped.is_empty() {
            statements::stop_keys(tx, &stopped).await?;
            self.moved += stopped.len();
        }
        let empty = due.iter().filter(|due| due.head.is_none());
        let empty: Vec<i64> = empty.map(|due| due.number).collect();
        if !empty.is_empty() {
            self.moved += statements::delete_empty_blocks(tx, &empty).await?;
            self.moved += empty.len();
        }
        Ok(())
    }

    /// Decides what each lane gives.
    fn hand_out(&mut self) {
        let (share, mut left) = (self.share(), self.room());
        let mut first = true;
        for lane in &mut self.work {
            lane.chosen = hand_out(&lane.line.runnable, &lane.waiting, share, &mut left, first);
            first = false;
        }
    }

    async fn load(&self, tx: &mut SqliteConnection) -> Result<Vec<Entry>, sqlx::Error> {
        let chosen: Vec<Candidate> = self
            .work
            .iter()
            .flat_map(|lane| lane.chosen.iter().copied())
            .collect();
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        statements::load(tx, &chosen).await
    }

    /// Gives back the lanes that gave nothing.
    async fn leave(&self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let left: Vec<Left> = self
            .work
            .iter()
            .filter(|lane| lane.chosen.is_empty() || lane.ahead != lane.ahead_before)
            .map(|lane| Left {
                lane: lane.lane(),
                released: lane.chosen.is_empty(),
                turn: lane.was_cut_off().then_some(lane.seen.turn),
                ahead: lane.ahead,
            })
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        statements::leave_lanes(tx, &left).await
    }

    fn finish(self, entries: Vec<Entry>) -> Claim {
        let lanes: Vec<LaneLease> = self
            .work
            .iter()
            .filter(|lane| !lane.chosen.is_empty())
            .map(|lane| LaneLease {
                token: LaneToken {
                    lane: Lane(lane.lane()),
                    epoch: lane.epoch,
                    holder: Arc::clone(&self.seen.nonce),
                },
                careful: lane.careful,
            })
            .collect();
        let kept: Vec<Lane> = lanes.iter().map(|lane| lane.token.lane).collect();
        Claim {
            next_due: self.seen.next_due(&kept),
            leased_elsewhere: self.choice.leased_elsewhere,
            moved: self.moved,
            lanes,
            entries,
        }
    }
}
