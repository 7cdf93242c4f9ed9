//! The store and its model, and what each operation does to both: writers, operators and time here, relays in `relay.rs`.

use std::{collections::HashSet, time::Duration};

use outbox_message::{Lane, Message, OrderingKey, Position};
use outbox_ordering::{
    Model,
    model::{Fault, Tx},
    state::State,
};
use outbox_store::{
    ClaimRequest, DeadPage, DeadPayload, Due, LaneFilter, OutboxOperator, OutboxStore,
    OutboxWriter, Save,
};

use super::{
    op::{Ask, End, NewMessage, Op, Relays},
    record::Record,
    relay::HeldLane,
    stops::{TOPICS, number},
};
use crate::{
    Harness,
    scene::{Scene, all_dead, ask, ordering_key},
};

/// One step of time. Everything that ends, ends half a step beside the grid, and a history takes far less real time than that,
/// so a store that goes by a running clock behaves as one whose clock stands still.
pub(super) const STEP_MS: u64 = 1_000_000;

/// How far a running clock may be off.
const SLACK_MS: u64 = 400_000;

pub(super) struct World<H: Harness> {
    pub(super) scene: Scene<H>,
    pub(super) relays: Relays,
    keys: Vec<OrderingKey>,
    pub(super) model: Model<OrderingKey, String>,
    pub(super) record: Record,
    open: Vec<Open<H>>,
    pub(super) held: Vec<HeldLane>,
    saved: u64,
}

/// A transaction that is open in both.
struct Open<H: Harness> {
    tx: H::Transaction,
    model: Tx,
    ids: Vec<String>,
}

impl<H: Harness> World<H> {
    pub(super) async fn new(relays: Relays, key_count: usize) -> Self {
        let scene = Scene::<H>::new().await;
        let lanes = scene.store().lanes();
        let model = Model::new(
            move |key: &OrderingKey| u32::from(key.lane(lanes).0),
            SLACK_MS,
        );
        let mut names = scene.keys_together(5);
        names.extend(scene.keys_apart().into_iter().take(4).skip(1));
        let mut keys: Vec<_> = names.iter().map(|key| ordering_key(key)).collect();
        // Some of another topic, in the same lanes.
        for nth in [1, 3, 6] {
            keys[nth] = scene
                .other_keys_beside(&names[nth])
                .nth(nth)
                .expect("every lane has keys");
        }
        keys.truncate(key_count);
        Self {
            scene,
            relays,
            keys,
            model,
            record: Record::default(),
            open: Vec::new(),
            held: Vec::new(),
            saved: 0,
        }
    }

    pub(super) async fn step(&mut self, op: &Op) {
        match op {
            Op::Save { messages, end } => self.save(messages, *end).await,
            Op::Close { commit } => self.close(*commit).await,
            Op::Claim(ask) => {
                self.claim(self.request(ask)).await;
            }
            Op::ReadOn { ask, lanes } => {
                let recent = lanes.iter().filter_map(|lane| self.recent(*lane));
                let mut lanes: Vec<_> = recent.collect();
                // Of the leases of one lane the last one asked for: else it could not be told which of them got something.
                lanes.sort_unstable();
                lanes.reverse();
                let mut met = HashSet::new();
                lanes.retain(|lane| met.insert(self.held[*lane].token.lane));
                let request = self.request(ask);
                self.claim_and_read_on(request, &lanes).await;
            }
            Op::Serve { ask, replies } => {
                let first = self.held.len();
                self.claim(self.request(ask)).await;
                for lane in first..self.held.len() {
                    self.publish(lane, replies).await;
                }
                let all: Vec<_> = (first..self.held.len()).collect();
                self.settle(&all, true).await;
            }
            Op::Publish { lane, replies } => {
                if let Some(lane) = self.recent(*lane) {
                    self.publish(lane, replies).await;
                }
            }
            Op::Settle { lane, two, whole } => {
                let chosen = [self.recent(*lane), self.recent(*lane + 1).filter(|_| *two)];
                let mut lanes: Vec<_> = chosen.into_iter().flatten().collect();
                lanes.dedup();
                self.settle(&lanes, *whole).await;
            }
            Op::SettleAgain { lane } => {
                if let Some(lane) = self.recent(*lane)
                    && let Some(last) = self.held[lane].last.clone()
                {
                    self.send(vec![(lane, last)]).await;
                }
            }
            Op::Extend { lane } => {
                if let Some(lane) = self.recent(*lane) {
                    self.extend(lane).await;
                }
            }
            Op::Advance { steps } => self.advance(*steps).await,
            Op::Redrive { limit } => self.redrive(*limit).await,
            Op::Discard { limit } => self.discard(*limit).await,
            Op::RetryNow { key } => {
                let key = self.keys[key % self.keys.len()].clone();
                let retried = self.scene.store().retry_now(&key).await;
                retried.expect("the store answers");
                self.model.retry_now(&key);
            }
            Op::Stop { topic, stop } => self.stop(*topic, *stop).await,
        }
    }

    fn request(&self, asked: &Ask) -> ClaimRequest {
        let lanes = asked.only.map_or(LaneFilter::All, |lane| {
            let lane = Lane(lane % self.scene.store().lanes().get());
            LaneFilter::Only(vec![lane, self.scene.lane("k0")])
        });
        ClaimRequest {
            limit: asked.limit,
            max_bytes: asked.max_bytes,
            max_lanes: asked.max_lanes,
            lanes,
            ..ask()
        }
    }

    /// Ends everything well: all is published or dead, then all dead letters are redriven and published, and nothing is left.
    pub(super) async fn finish(mut self) {
        while !self.open.is_empty() {
            self.close(true).await;
        }
        self.compare().await;
        self.end_stops().await;
        self.advance(20).await;
        self.drain().await;
        self.compare().await;
        self.redrive(1_000).await;
        self.drain().await;
        let pending = self.model.messages().find(|m| m.state.is_pending());
        assert!(pending.is_none(), "left behind: {pending:?}");
        self.scene.assert_empty_after_claim().await;
        if self.relays == Relays::Lawful {
            self.record.judge();
        }
    }

    async fn save(&mut self, messages: &[NewMessage], end: End) {
        let mut open = Open {
            tx: self.scene.harness.begin().await,
            model: self.model.begin(),
            ids: Vec::new(),
        };
        let now = self.model.now();
        for new in messages {
            self.saved += 1;
            let id = format!("m{}", self.saved);
            let key = new.key.map(|key| &self.keys[key % self.keys.len()]);
            let message = message(key, vec![b'x'; new.bytes], &id);
            let after = new.due.map(|steps| steps * STEP_MS + STEP_MS / 2);
            let save = Save {
                due: after.map(|ms| Due::After(Duration::from_millis(ms))),
                ..Save::from(&message)
            };
            let writer = self.scene.store();
            let saved = writer.save(H::connection(&mut open.tx), save).await;
            let position = saved
                .expect("the save keeps the limits")
                .position()
                .expect("a plain save stores");
            let (key, due) = (message.ordering_key(), after.map(|ms| now + ms));
            let scheduled = due.is_some();
            self.record
                .saved(now, &id, key.clone(), position, scheduled);
            let topic = number(&message.topic);
            self.model
                .save_in(open.model, topic, position.0, id.clone(), key, due);
            open.ids.push(id);
        }
        let can_wait = H::CAPABILITIES.concurrent_writers && H::CAPABILITIES.claims_beside_writers;
        match end {
            End::Open if can_wait && self.open.len() < 3 => self.open.push(open),
            End::Rollback => self.end(open, false).await,
            End::Commit | End::Open => self.end(open, true).await,
        }
    }

    async fn close(&mut self, commit: bool) {
        if !self.open.is_empty() {
            let open = self.open.remove(0);
            self.end(open, commit).await;
        }
    }

    async fn end(&mut self, open: Open<H>, commit: bool) {
        if commit {
            self.scene.harness.commit(open.tx).await;
            self.model.commit(open.model);
            self.record.committed(self.model.now(), &open.ids);
        } else {
            self.scene.harness.rollback(open.tx).await;
            self.model.rollback(open.model);
        }
    }

    async fn advance(&mut self, steps: u64) {
        let by = steps * STEP_MS;
        self.scene.advance(Duration::from_millis(by)).await;
        self.model.advance(by);
        let now = self.model.now();
        for held in &mut self.held {
            if !held.over && !held.lapsed && held.until <= now {
                held.lapsed = true;
                self.record.lapsed(now, &held.token);
            }
        }
    }

    /// The first dead letters, as position and id.
    async fn first_dead(&self, page: &DeadPage) -> Vec<(Position, String)> {
        let listed = self.scene.store().dead_letters(page, DeadPayload::Omit);
        let letters = listed.await.expect("the store lists dead letters");
        letters.into_iter().map(|l| (l.position, l.id)).collect()
    }

    async fn redrive(&mut self, limit: usize) {
        let page = DeadPage {
            limit,
            ..all_dead()
        };
        let letters = self.first_dead(&page).await;
        let stepped = self.scene.store().redrive(&page).await;
        let stepped = stepped.expect("the store redrives");
        assert_eq!(stepped.count, letters.len());
        let mut out_of_order = 0;
        for (position, id) in letters {
            let letter = self.model.message(position.0).cloned();
            let key = letter.and_then(|letter| letter.key);
            let block = key.as_ref().and_then(|key| self.model.block(key));
            let keeps = block.is_some_and(|b| b.until.is_none() && b.position == position.0);
            out_of_order += usize::from(key.is_some() && !keeps);
            judged(self.model.redrive(position.0));
            // A redrive resets the tries, which alone tell a settlement sent again from the first one of the message's new life.
            for held in &mut self.held {
                held.last
                    .take_if(|last| last.outcomes.iter().any(|s| s.target.position == position));
            }
            let now = self.model.now();
            self.record
                .redriven(now, &id, Some(position).filter(|_| keeps));
        }
        assert_eq!(stepped.out_of_order, out_of_order);
    }

    async fn discard(&mut self, limit: usize) {
        let page = DeadPage {
            limit,
            ..all_dead()
        };
        let letters = self.first_dead(&page).await;
        let stepped = self.scene.store().discard(&page).await;
        assert_eq!(stepped.expect("the store discards").count, letters.len());
        for (position, id) in letters {
            judged(self.model.discard(position.0));
            self.record.discarded(self.model.now(), &id);
        }
    }

    /// Compares what the store has with what the model says.
    async fn compare(&self) {
        let status = self.scene.status().await;
        let pending = self.model.messages().filter(|m| m.state.is_pending());
        assert_eq!(status.pending(), count(pending), "pending messages");
        let mut dead: Vec<_> = self
            .model
            .messages()
            .filter(|m| m.state == State::Dead)
            .map(|m| (m.position, m.id.clone(), m.attempts, m.tries))
            .collect();
        dead.sort_unstable();
        let letters = self.scene.dead().await.into_iter();
        let letters: Vec<_> = letters
            .map(|l| (Some(l.position.0), l.id, l.attempts, l.tries))
            .collect();
        assert_eq!(letters, dead, "dead letters");
    }
}

/// A message of a key, or of a topic.
fn message(key: Result<&OrderingKey, usize>, payload: Vec<u8>, id: &str) -> Message {
    let (topic, key) = match key {
        Ok(key) => (key.topic.as_str(), Some(key.key.clone())),
        Err(topic) => (TOPICS[topic], None),
    };
    let message = Message::new(topic, payload).and_then(|message| message.with_key(key));
    let message = message.and_then(|message| message.with_id(id));
    message.expect("its parts keep the limits")
}

#[track_caller]
pub(super) fn judged<T>(verdict: Result<T, Fault>) -> T {
    verdict.unwrap_or_else(|fault| panic!("the model objects: {fault}"))
}

pub(super) fn count(items: impl Iterator) -> u64 {
    u64::try_from(items.count()).expect("a history is short")
}
