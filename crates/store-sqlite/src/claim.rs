//! The claim: lease lanes, read what can run, set aside what cannot, hand out within the limits.
//!
//! The lanes are first looked at without any lock. Only if something is due a write transaction begins, in which the lanes are leased
//! as they were seen, or else looked at again. Dropping the claim midway rolls the transaction back.

mod choose;
mod line;
mod read_on;
mod statements;
mod work;

use std::sync::Arc;

use outbox_message::{Lane, LaneToken};
use outbox_ordering::{
    line::looks_ahead,
    share::{Candidate, Room, hand_out},
};
use outbox_store::{Claim, ClaimRequest, Entry, LaneLease, StoreError};
use sqlx::{SqliteConnection, SqlitePool};

use crate::{
    moves::{set_aside, set_aside_unkeyed},
    schema, transaction,
};

use choose::{Choice, Seen};
use read_on::LeftOut;
use statements::{DueBlock, DueTopic, Left};
use work::LaneWork;

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
    if choice.is_empty() {
        let asked = 0..request.read_on.len();
        return Ok(Claim {
            next_due: seen.next_due(&[], &read_on::lanes_of(request, asked)),
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
    claiming.hold(tx).await?;
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
                epoch: lane.epoch,
                careful: lane.careful,
                ahead_before: lane.ahead,
                ahead: lane.ahead,
                ..LaneWork::new(seen.clone())
            });
        }
        Ok(())
    }

    /// Takes in the lanes that are read on, those that are held as the request says. Nothing of them is read beside a careful lane.
    async fn hold(&mut self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        if self.choice.read_on.is_empty() || self.work.iter().any(|lane| lane.careful) {
            return Ok(());
        }
        let (held, now) = statements::hold(tx, self.request, &self.choice.read_on).await?;
        self.now = self.now.max(now);
        for (at, seen) in &self.choice.read_on {
            if held.contains(at) {
                self.work.push(LaneWork {
                    read_on: Some(*at),
                    ..LaneWork::new(seen.clone())
                });
            }
        }
        Ok(())
    }

    fn left_out(&self) -> LeftOut {
        let places = self.work.iter().filter_map(|lane| lane.read_on);
        LeftOut::of(places.map(|at| &self.request.read_on[at]))
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

    /// The lanes that `which` names.
    fn lanes(&self, which: impl Fn(&LaneWork) -> bool) -> Vec<u16> {
        let lanes = self.work.iter().filter(|lane| which(lane));
        lanes.map(LaneWork::lane).collect()
    }

    /// Step 2: moves what fell due into the line.
    async fn promote(&mut self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let now = self.now;
        let is_due = |lane: &LaneWork| lane.seen.scheduled.is_some_and(|at| at <= now);
        let lanes = self.lanes(is_due);
        if lanes.is_empty() {
            return Ok(());
        }
        self.moved += statements::promote(tx, &lanes, now, self.request.limit.max(1)).await?;
        for lane in self.work.iter_mut().filter(|lane| is_due(lane)) {
            lane.ahead = 0;
        }
        Ok(())
    }

    /// Step 3: reads the lines, and finds keys that keep a lane to themselves.
    async fn read_lines(&mut self, tx: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        let (share, looks) = (self.share(), self.looks());
        let lanes: Vec<u16> = self.work.iter().map(LaneWork::lane).collect();
        let mut read =
            line::read_lines(tx, &lanes, share, looks, self.now, &self.left_out()).await?;
        for lane in &mut self.work {
            let line = read.remove(&lane.lane()).unwrap_or_default();
            lane.line = line.read;
            lane.stopped = line.stopped;
            lane.unkeyed = line.unkeyed;
            // A careful lane hands out one message anyway.
            let Some(head) = line.lone_head.filter(|_| !lane.careful) else {
                continue;
            };
            let known = lane.ahead.max(lane.line.last);
            let looks = looks.min(looks_ahead(known - lane.line.last));
            let (ahead, other) = line::look_ahead(tx, lane.lane(), known, head, looks).await?;
            lane.busy = other;
            // In a lane that is read on others are left out, so nothing is known of its line.
            if lane.read_on.is_none() {
                lane.ahead = ahead;
            }
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
        if lanes.is_empty() {
            return Ok(());
        }
        let share = self.share();
        let left_out = self.left_out();
        let most = share.messages.saturating_add(1);
        let due = statements::due_blocks(tx, &lanes, now, most, &left_out).await?;
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
            let most = self.room().messages;
            for (lane, candidate) in statements::read_waiting(tx, &runs, most, &left_out).await? {
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
            .filter(|lane| lane.read_on.is_none())
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
            .filter(|lane| !lane.chosen.is_empty() && lane.read_on.is_none())
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
        let read_on = self.work.iter().filter_map(|lane| lane.read_on);
        let read_on = read_on::lanes_of(self.request, read_on);
        Claim {
            next_due: self.seen.next_due(&kept, &read_on),
            leased_elsewhere: self.choice.leased_elsewhere,
            moved: self.moved,
            lanes,
            entries,
        }
    }
}
