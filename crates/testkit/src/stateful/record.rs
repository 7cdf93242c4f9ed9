//! The history as the checker of `outbox-ordering` wants it. Everything happens at one instant of the model's clock, in the
//! order of the list.

use std::collections::HashMap;

use outbox_message::{LaneToken, OrderingKey, Position};
use outbox_ordering::{
    AfterDeath,
    history::{Event, Line, What, check},
};

/// What happened so far. `now` is always the model's time.
#[derive(Debug, Default)]
pub(super) struct Record {
    events: Vec<Event<OrderingKey, String, LaneToken>>,
    /// Messages that were redriven to the tail and not met since: where their event stands, whose position is not known yet.
    at_tail: HashMap<String, usize>,
}

impl Record {
    pub(super) fn saved(
        &mut self,
        now: u64,
        id: &str,
        key: Option<OrderingKey>,
        position: Position,
        scheduled: bool,
    ) {
        let line = if scheduled { Line::Later } else { Line::AtOnce };
        let what = What::Saved {
            message: id.to_owned(),
            key,
            position: position.0,
            line,
        };
        self.push(now, what);
    }

    pub(super) fn committed(&mut self, now: u64, ids: &[String]) {
        for id in ids {
            let message = id.clone();
            self.push(now, What::Committed { message });
        }
    }

    pub(super) fn claimed(
        &mut self,
        now: u64,
        token: &LaneToken,
        lease_end: u64,
        messages: Vec<(i64, String)>,
    ) {
        for (position, id) in &messages {
            let Some(event) = self.at_tail.remove(id) else {
                continue;
            };
            if let What::Redriven { position: tail, .. } = &mut self.events[event].what {
                *tail = *position;
            }
        }
        let what = What::Claimed {
            token: token.clone(),
            lease_end: instant(lease_end),
            messages,
        };
        self.push(now, what);
    }

    pub(super) fn renewed(&mut self, now: u64, token: &LaneToken, lease_end: u64) {
        let (token, lease_end) = (token.clone(), instant(lease_end));
        self.push(now, What::Renewed { token, lease_end });
    }

    pub(super) fn released(&mut self, now: u64, token: &LaneToken) {
        let token = token.clone();
        self.push(now, What::Released { token });
    }

    pub(super) fn lapsed(&mut self, now: u64, token: &LaneToken) {
        let token = token.clone();
        self.push(now, What::Lapsed { token });
    }

    pub(super) fn handed_over(&mut self, now: u64, token: &LaneToken, id: &str) {
        let what = What::HandedOver {
            token: token.clone(),
            messages: vec![id.to_owned()],
        };
        self.push(now, what);
    }

    pub(super) fn received(&mut self, now: u64, token: &LaneToken, id: &str) {
        let what = What::Received {
            message: id.to_owned(),
            token: Some(token.clone()),
        };
        self.push(now, what);
    }

    pub(super) fn confirmed(&mut self, now: u64, token: &LaneToken, id: &str) {
        let (token, message) = (token.clone(), id.to_owned());
        self.push(now, What::Confirmed { token, message });
    }

    pub(super) fn failed(&mut self, now: u64, token: &LaneToken, id: &str) {
        let (token, message) = (token.clone(), id.to_owned());
        self.push(now, What::Failed { token, message });
    }

    pub(super) fn died(&mut self, now: u64, id: &str, after: AfterDeath) {
        let message = id.to_owned();
        self.push(now, What::Died { message, after });
    }

    /// `kept` is the position it keeps; without it, it goes to the tail.
    pub(super) fn redriven(&mut self, now: u64, id: &str, kept: Option<Position>) {
        if kept.is_none() {
            self.at_tail.insert(id.to_owned(), self.events.len());
        }
        let what = What::Redriven {
            message: id.to_owned(),
            position: kept.map_or(i64::MAX, |position| position.0),
        };
        self.push(now, what);
    }

    pub(super) fn discarded(&mut self, now: u64, id: &str) {
        let message = id.to_owned();
        self.push(now, What::Discarded { message });
    }

    /// Panics if the history breaks a rule.
    pub(super) fn judge(&self) {
        let violations = check(&self.events);
        let told: Vec<_> = violations.iter().map(ToString::to_string).collect();
        assert!(told.is_empty(), "{}\n{:#?}", told.join("\n"), self.events);
    }

    fn push(&mut self, now: u64, what: What<OrderingKey, String, LaneToken>) {
        self.events.push(Event::at(instant(now), what));
    }
}

fn instant(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}
