//! The claim: which lanes are leased, and how the claim's limits are shared among them. What a leased lane gives is in `claim/lane.rs`.

mod lane;

use std::{sync::Arc, time::Duration};

use outbox_message::{Lane, LaneToken, Position};
use outbox_store::{Claim, ClaimRequest, ReadOn};

use crate::{
    clock::{millis, until},
    state::{Holder, State},
    stops::SET_ASIDE,
};

/// How many rows a claim promotes, and how many of blocked keys it looks at, so that its cost has a bound.
const MOST_ROWS_MOVED: usize = 10_000;

/// The most lanes a claim leases, so that a relay that dies holds up few; a quarter of the lanes of a small store.
const MOST_LANES: usize = 8;

/// One claim in the making.
struct Claiming<'a> {
    state: &'a mut State,
    now: i64,
    request: &'a ClaimRequest,
    /// The random part of the token.
    drawn: &'a Arc<str>,
    /// What each lane may give.
    share: Room,
    /// What all lanes together may still give.
    left: Room,
    promotions_left: usize,
    looks_left: usize,
    claim: Claim,
}

/// Room for messages.
#[derive(Clone, Copy)]
struct Room {
    messages: usize,
    bytes: usize,
}

impl State {
    /// Claims for `request`; `drawn` is the random part of the token.
    pub(crate) fn claim(&mut self, now: i64, request: &ClaimRequest, drawn: &Arc<str>) -> Claim {
        let leased_elsewhere = self.all_lanes().any(|lane| {
            request.lanes.allows(lane) && self.lane(lane).is_leased(now) && self.has_due(lane, now)
        });
        self.end_care_of_idle_lanes(now, request);
        let lanes = self.choose_lanes(now, request);
        let read_on = self.choose_read_on(now, request, &lanes);
        let all = Room {
            messages: request.limit.max(1),
            bytes: request.max_bytes,
        };
        let mut claiming = Claiming {
            now,
            request,
            drawn,
            share: Room {
                messages: all.messages.div_ceil((lanes.len() + read_on.len()).max(1)),
                bytes: all.bytes / (lanes.len() + read_on.len()).max(1),
            },
            left: all,
            promotions_left: MOST_ROWS_MOVED,
            looks_left: MOST_ROWS_MOVED,
            claim: Claim::default(),
            state: self,
        };
        for lane in lanes {
            if claiming.left.messages > 0 {
                claiming.lane(lane);
            }
        }
        for held in &read_on {
            if claiming.left.messages > 0 {
                claiming.read_on(held);
            }
        }
        let read_on: Vec<Lane> = read_on.iter().map(|held| held.token.lane).collect();
        Claim {
            next_due: claiming.state.next_due(now, &read_on),
            leased_elsewhere,
            ..claiming.claim
        }
    }

    /// Step 1: the free lanes that have something due, least recently served first. A lane that needs care is served alone,
    /// when its turn comes.
    fn choose_lanes(&self, now: i64, request: &ClaimRequest) -> Vec<Lane> {
        let mut free: Vec<Lane> = self
            .all_lanes()
            .filter(|lane| request.lanes.allows(*lane))
            .filter(|lane| !self.lane(*lane).is_leased(now) && self.has_due(*lane, now))
            .collect();
        free.sort_by_key(|lane| (self.lane(*lane).turn, *lane));
        let needs_care = |lane: &Lane| self.lane(*lane).needs_care(now);
        if free.first().is_some_and(needs_care) {
            free.truncate(1);
            return free;
        }
        free.retain(|lane| !needs_care(lane));
        let most = (self.lanes.len() / 4).clamp(1, MOST_LANES);
        // A lane that could not get a single message is left to others.
        free.truncate(request.max_lanes.max(1).min(most).min(request.limit.max(1)));
        free
    }

    /// The lanes that may be read on: those that are held as the relay says. While a lane is served carefully nothing else is handed out.
    fn choose_read_on<'a>(
        &self,
        now: i64,
        request: &'a ClaimRequest,
        leased: &[Lane],
    ) -> Vec<&'a ReadOn> {
        if leased.iter().any(|lane| self.lane(*lane).needs_care(now)) {
            return Vec::new();
        }
        let read_on = request.read_on.iter();
        let may = |held: &&ReadOn| {
            self.holds(&held.token) && {
                let lane = self.lane(held.token.lane);
                lane.is_leased(now) && lane.careful == 0
            }
        };
        read_on.filter(may).collect()
    }

    /// Leases a lane. If its last holder vanished it is served with care from now on.
    fn lease(
        &mut self,
        lane: Lane,
        now: i64,
        request: &ClaimRequest,
        drawn: &Arc<str>,
    ) -> LaneToken {
        let lapsed = self.lane(lane).has_lapsed(now);
        let row = self.lane_mut(lane);
        if lapsed {
            row.careful = u64::try_from(request.limit.max(1)).unwrap_or(u64::MAX);
        }
        row.epoch += 1;
        row.lease_until = now.saturating_add(millis(request.lease).max(1));
        row.holder = Some(Holder {
            drawn: Arc::clone(drawn),
            relay: Arc::clone(&request.relay),
        });
        LaneToken {
            lane,
            epoch: row.epoch,
            holder: Arc::clone(drawn),
        }
    }

    /// Care ends when nothing of the lane is due, and a lease that ran out on a holder ends with it.
    fn end_care_of_idle_lanes(&mut self, now: i64, request: &ClaimRequest) {
        for lane in self.all_lanes() {
            if request.lanes.allows(lane)
                && self.lane(lane).needs_care(now)
                && !self.lane(lane).is_leased(now)
                && !self.has_due(lane, now)
            {
                let row = self.lane_mut(lane);
                row.release();
                row.careful = 0;
            }
        }
    }

    fn has_due(&self, lane: Lane, now: i64) -> bool {
        let first = (lane, i64::MIN, Position(i64::MIN));
        let last = (lane, now, Position(i64::MAX));
        self.line.of(lane).next().is_some()
            || self.scheduled.range(first..=last).next().is_some()
            || self.blocks.due(lane, now).next().is_some()
    }

    /// How long until something falls due in a lane that nobody holds, or that was read on.
    fn next_due(&self, now: i64, read_on: &[Lane]) -> Option<Duration> {
        self.all_lanes()
            .filter(|lane| read_on.contains(lane) || !self.lane(*lane).is_leased(now))
            .filter_map(|lane| self.next_due_of(lane, now))
            .min()
            .map(|due| until(due, now))
    }

    /// When the next scheduled message or retry of a lane falls due that is not due yet.
    pub(crate) fn next_due_of(&self, lane: Lane, now: i64) -> Option<i64> {
        let after = (lane, now.saturating_add(1), Position(i64::MIN));
        let end = (lane, i64::MAX, Position(i64::MAX));
        let scheduled = self.scheduled.range(after..=end).next();
        let scheduled = scheduled.map(|((_, due, _), _)| *due);
        let scheduled = scheduled.filter(|due| *due != SET_ASIDE);
        scheduled
            .into_iter()
            .chain(self.blocks.next_due(lane, now))
            .min()
    }
}
