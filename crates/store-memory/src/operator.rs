//! The operator side: dead letters are listed, made pending again or dropped, a waiting key is made due, topics are paused, and what is kept is purged.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::{OrderingKey, Position, Topic};
use outbox_store::{
    Action, AuditLine, AuditPage, Command, DeadFilter, DeadLetter, DeadPage, DeadPayload,
    OutboxOperator, Purge, PurgeMode, Purged, Replay, ReplayMode, Replayed, Status, Stepped,
    StoreError,
};

use crate::{
    MemoryStore,
    blocks::{Block, Reason},
    clock::until,
    state::{DeadRow, Row, State},
};

#[async_trait]
impl OutboxOperator for MemoryStore {
    async fn status(&self) -> Result<Status, StoreError> {
        Ok(self.with(|state| state.status(state.clock.now_ms())))
    }

    async fn count_dead(&self, filter: &DeadFilter) -> Result<(u64, Option<Position>), StoreError> {
        Ok(self.with(|state| {
            let now = state.clock.now_ms();
            let all = state.dead.iter();
            let all = all.filter(|(_, dead)| matches(filter, dead, now));
            all.fold((0, None), |(count, _), (at, _)| (count + 1, Some(*at)))
        }))
    }

    async fn dead_letters(
        &self,
        page: &DeadPage,
        payload: DeadPayload,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(self.with(|state| {
            let letters = state.page(page);
            let letters = letters.map(|(at, dead)| letter(at, dead, payload));
            letters.collect()
        }))
    }

    async fn redrive(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        Ok(self.with_hint(|state| {
            let stepped = state.step(page, State::redrive);
            self.note(state, Action::Redrive, stepped.count);
            stepped
        }))
    }

    async fn discard(&self, page: &DeadPage) -> Result<Stepped, StoreError> {
        Ok(self.with_hint(|state| {
            let stepped = state.step(page, State::discard);
            self.note(state, Action::Discard, stepped.count);
            stepped
        }))
    }

    async fn retry_now(&self, key: &OrderingKey) -> Result<bool, StoreError> {
        Ok(self.with_hint(|state| {
            let retried = state.retry_now(key);
            self.note(state, Action::RetryNow, usize::from(retried));
            retried
        }))
    }

    async fn pause(&self, topic: &Topic, time: Option<Duration>) -> Result<(), StoreError> {
        self.with(|state| {
            state.stops.pause(topic, time, state.clock.now_ms());
            self.note(state, Action::Pause, 1);
        });
        Ok(())
    }

    async fn resume(&self, topic: &Topic) -> Result<bool, StoreError> {
        Ok(self.with_hint(|state| {
            let ended = state.stops.end(topic, state.clock.now_ms());
            self.note(state, Action::Resume, usize::from(ended));
            ended
        }))
    }

    async fn purge(&self, purge: &Purge) -> Result<Purged, StoreError> {
        self.with(|state| {
            let purged = state.purge(purge)?;
            if purge.mode == PurgeMode::Delete {
                self.note(state, Action::Purge, rows(&purged));
            }
            Ok(purged)
        })
    }

    async fn replay(&self, replay: &Replay) -> Result<Replayed, StoreError> {
        Ok(self.with_hint(|state| {
            let replayed = state.replay(replay);
            if replay.mode == ReplayMode::Save {
                self.note(state, Action::Replay, replayed.count);
            }
            replayed
        }))
    }

    fn audited(&self, command: &Command) -> Arc<dyn OutboxOperator> {
        Arc::new(self.on_behalf(command))
    }

    async fn audit(&self, page: &AuditPage) -> Result<Vec<AuditLine>, StoreError> {
        Ok(self.with(|state| state.audit.list(page)))
    }
}

/// Whether a redriven message kept its place before the later ones of its key.
#[derive(PartialEq, Eq)]
enum Order {
    Kept,
    Lost,
}

impl State {
    fn purge(&mut self, purge: &Purge) -> Result<Purged, StoreError> {
        let Purge {
            older_than,
            inbox_older_than,
            limit,
            mode,
        } = *purge;
        let now = self.clock.now_ms();
        let inbox = match (inbox_older_than, mode) {
            (None, _) => 0,
            (Some(age), PurgeMode::Delete) => {
                self.check_dead_letters(now, age)?;
                self.inbox.purge(now, age, limit)
            }
            (Some(age), PurgeMode::Count) => {
                self.check_dead_letters(now, age)?;
                self.inbox.count(now, age, limit)
            }
        };
        let (published, ids) = match mode {
            PurgeMode::Delete => (
                self.published.purge(now, older_than, limit),
                self.saved_ids.forget(now, limit),
            ),
            PurgeMode::Count => (
                self.published.count(now, older_than, limit),
                self.saved_ids.count_forgettable(now, limit),
            ),
        };
        let count = |rows| u64::try_from(rows).unwrap_or(u64::MAX);
        Ok(Purged {
            published: count(published),
            ids: count(ids),
            inbox: count(inbox),
            partitions: 0,
            more: published >= limit || ids >= limit || inbox >= limit,
        })
    }

    fn page(&self, page: &DeadPage) -> impl Iterator<Item = (Position, &DeadRow)> {
        let after = page
            .after
            .map_or(i64::MIN, |after| after.0.saturating_add(1));
        let upto = page.upto.unwrap_or(Position(i64::MAX));
        let now = self.clock.now_ms();
        self.dead
            .range(Position(after)..)
            .take_while(move |(at, _)| **at <= upto)
            .filter(move |(_, dead)| matches(&page.filter, dead, now))
            .take(page.limit)
            .map(|(at, dead)| (*at, dead))
    }

    fn step(
        &mut self,
        page: &DeadPage,
        each: fn(&mut Self, Position, DeadRow) -> Order,
    ) -> Stepped {
        let positions: Vec<Position> = self.page(page).map(|(at, _)| at).collect();
        let mut stepped = Stepped::default();
        for position in positions {
            if let Some(dead) = self.dead.remove(&position) {
                let order = each(self, position, dead);
                stepped.count += 1;
                stepped.out_of_order += usize::from(order == Order::Lost);
                stepped.last = Some(position);
            }
        }
        stepped
    }

    /// A dead letter that holds its key keeps its position and goes first; every other joins the line at its tail (O9).
    fn redrive(&mut self, position: Position, dead: DeadRow) -> Order {
        let mut row = Row {
            attempts: 0,
            tries: 0,
            last_error: None,
            ..dead.row
        };
        row.heal_lane();
        if let Some((key, block)) = self.held_by(position, &row) {
            let block = Block {
                reason: Reason::Retry,
                until: self.clock.now_ms(),
                ..block
            };
            self.set_aside(block.lane, position, row);
            self.blocks.set(key, block);
            return Order::Kept;
        }
        let order = if row.message.key.is_some() {
            Order::Lost
        } else {
            Order::Kept
        };
        let position = self.draw_position();
        let lane = self.lane_of(row.key.as_ref(), position);
        self.line.insert(lane, position, row);
        order
    }

    fn discard(&mut self, position: Position, DeadRow { row, .. }: DeadRow) -> Order {
        if let Some((key, block)) = self.held_by(position, &row) {
            // No longer held, so that it goes on like any key whose head is gone.
            let reason = Reason::Busy;
            self.blocks.set(key.clone(), Block { reason, ..block });
            self.go_on(&key, self.clock.now_ms());
        }
        Order::Kept
    }

    /// The key that this dead letter holds, with its block.
    fn held_by(&self, position: Position, row: &Row) -> Option<(OrderingKey, Block)> {
        let key = row.key.clone()?;
        let block = self.blocks.get(&key)?;
        let held = block.reason == Reason::Dead && block.position == position;
        held.then_some((key, block))
    }

    fn retry_now(&mut self, key: &OrderingKey) -> bool {
        let block = self.blocks.get(key);
        let Some(block) = block.filter(|block| block.reason == Reason::Retry) else {
            return false;
        };
        let until = self.clock.now_ms().min(block.until);
        self.blocks.set(key.clone(), Block { until, ..block });
        true
    }
}

fn matches(filter: &DeadFilter, dead: &DeadRow, now: i64) -> bool {
    let message = &dead.row.message;
    let key = message.key.as_ref().map(AsRef::as_ref);
    filter.id.as_ref().is_none_or(|id| *id == message.id)
        && filter
            .topic
            .as_deref()
            .is_none_or(|topic| topic == message.topic.as_str())
        && filter
            .key
            .as_deref()
            .is_none_or(|wanted| key == Some(wanted))
        && filter
            .reason
            .is_none_or(|reason| reason.as_str() == dead.reason)
        && filter
            .older_than
            .is_none_or(|age| until(now, dead.died_at) >= age)
}

/// How many rows a purge removed.
fn rows(purged: &Purged) -> usize {
    let rows = purged.published + purged.ids + purged.inbox;
    usize::try_from(rows).unwrap_or(usize::MAX)
}

fn letter(position: Position, dead: &DeadRow, payload: DeadPayload) -> DeadLetter {
    let message = &dead.row.message;
    DeadLetter {
        position,
        id: message.id.to_string(),
        topic: message.topic.to_string(),
        key: message.key.as_ref().map(ToString::to_string),
        headers: json_pairs(message.headers.iter()),
        content_type: message.content_type.as_ref().map(ToString::to_string),
        payload: (payload == DeadPayload::Include).then(|| message.payload.to_vec()),
        payload_len: u64::try_from(message.payload.len()).unwrap_or(u64::MAX),
        attempts: dead.row.attempts,
        tries: dead.row.tries,
        reason: dead.reason.to_owned(),
        error: dead.error.clone(),
        after: dead.after,
        saved_at_ms: dead.row.saved_at,
        died_at_ms: dead.died_at,
    }
}

/// The headers as the SQL stores keep them: a JSON array of [name, value] pairs.
fn json_pairs<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = pairs.map(|(name, value)| format!("[{},{}]", json_text(name), json_text(value)));
    format!("[{}]", pairs.collect::<Vec<_>>().join(","))
}

fn json_text(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            c if c < ' ' => json.extend(format!("\\u{:04x}", u32::from(c)).chars()),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_shown_as_json_pairs() {
        assert_eq!(json_pairs(std::iter::empty()), "[]");
        let pairs = [("a", "1"), ("a", "say \"\\\" \u{1}\n"), ("ü", "")];
        assert_eq!(
            json_pairs(pairs.into_iter()),
            r#"[["a","1"],["a","say \"\\\" \u0001\n"],["ü",""]]"#
        );
    }
}
