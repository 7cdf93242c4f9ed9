//! The vocabulary of the suite's cases: a store with writers and relays, in which a message is known by its payload.

pub(crate) mod stops;

use std::time::Duration;

use outbox_message::{
    Delivery, Key, Lane, LaneToken, Message, OrderingKey, PartitionKey, Position, Topic,
};
use outbox_store::{
    AfterDeath, Claim, ClaimRequest, DeadFilter, DeadLetter, DeadPage, DeadPayload, Due,
    LaneFilter, LaneSettled, LaneSettlement, OutboxOperator, OutboxStore, OutboxWriter, Outcome,
    Purge, Purged, Save, Saved, Status, Stepped,
};

use crate::{
    Harness,
    taken::{Taken, dead},
};

/// The topic of every message whose case does not say another.
pub(crate) const TOPIC: &str = "orders";

/// How long leases last unless a case says otherwise.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// A whole round of a lease and more.
pub(crate) const PAST_LEASE: Duration = Duration::from_secs(31);

/// So many seconds.
pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What a claim asks for unless a case says otherwise.
pub(crate) fn ask() -> ClaimRequest {
    ClaimRequest {
        relay: "relay".into(),
        limit: 100,
        max_bytes: 16 * 1024 * 1024,
        max_lanes: 8,
        lease: LEASE,
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    }
}

/// A message of [`TOPIC`].
pub(crate) fn message<'k>(key: impl Into<Key<'k>>, payload: impl Into<Vec<u8>>) -> Message {
    Message::new(TOPIC, payload.into())
        .and_then(|message| message.with_key(key))
        .expect("a case's topic and key keep the limits")
}

/// The ordering key of `key` in [`TOPIC`].
pub(crate) fn ordering_key(key: &str) -> OrderingKey {
    OrderingKey {
        topic: Topic::new(TOPIC).expect("the topic keeps the limits"),
        key: PartitionKey::new(key).expect("a case's key keeps the limits"),
    }
}

/// All dead letters, from the first.
pub(crate) fn all_dead() -> DeadPage {
    DeadPage {
        filter: DeadFilter::default(),
        after: None,
        upto: None,
        limit: 1_000,
    }
}

/// A fresh store and what its writers, relays and operators do.
pub(crate) struct Scene<H> {
    pub(crate) harness: H,
}

impl<H: Harness> Scene<H> {
    pub(crate) async fn new() -> Self {
        Self {
            harness: H::start().await,
        }
    }

    /// A store that keeps published messages for this long, if this kind can.
    pub(crate) async fn keeping(retain: Duration) -> Option<Self> {
        let harness = H::start_keeping(retain).await?;
        Some(Self { harness })
    }

    /// A store whose upkeep forgets handled ids after this long, if this kind can.
    pub(crate) async fn keeping_inbox(retain: Duration) -> Option<Self> {
        let harness = H::start_keeping_inbox(retain).await?;
        Some(Self { harness })
    }

    pub(crate) fn store(&self) -> &H::Store {
        self.harness.store()
    }

    /// Saves one message in a transaction of its own.
    pub(crate) async fn save<'k>(&self, key: impl Into<Key<'k>>, payload: &str) -> Position {
        self.put(&message(key, payload)).await
    }

    /// Saves messages of one key in one transaction.
    pub(crate) async fn save_run(&self, key: &str, payloads: &[String]) -> Vec<Position> {
        let messages: Vec<_> = payloads
            .iter()
            .map(|payload| message(key, payload.as_str()))
            .collect();
        self.put_all(&messages).await
    }

    /// Saves a message in a transaction of its own.
    pub(crate) async fn put(&self, message: &Message) -> Position {
        let saved = self.try_save(Save::from(message)).await;
        saved.position().expect("a plain save stores")
    }

    /// Saves messages in one transaction.
    pub(crate) async fn put_all(&self, messages: &[Message]) -> Vec<Position> {
        let all: Vec<_> = messages.iter().map(Save::from).collect();
        let mut tx = self.harness.begin().await;
        let saved = self
            .store()
            .save_all(H::connection(&mut tx), &all)
            .await
            .expect("the saves keep the limits");
        self.harness.commit(tx).await;
        let positions = saved.into_iter().filter_map(Saved::position);
        positions.collect()
    }

    /// Saves a message that falls due after a while.
    pub(crate) async fn schedule<'k>(
        &self,
        key: impl Into<Key<'k>>,
        payload: &str,
        after: Duration,
    ) -> Position {
        let message = message(key, payload);
        let save = Save {
            due: Some(Due::After(after)),
            ..Save::from(&message)
        };
        let saved = self.try_save(save).await;
        saved.position().expect("a scheduled save stores")
    }

    /// Saves in a transaction of its own.
    pub(crate) async fn try_save(&self, save: Save<'_>) -> Saved {
        let mut tx = self.harness.begin().await;
        let saved = self
            .store()
            .save(H::connection(&mut tx), save)
            .await
            .expect("the save keeps the limits");
        self.harness.commit(tx).await;
        saved
    }

    pub(crate) async fn advance(&self, by: Duration) {
        self.harness.advance(by).await;
    }

    /// The lane of a key.
    pub(crate) fn lane(&self, key: &str) -> Lane {
        ordering_key(key).lane(self.store().lanes())
    }

    /// This many keys whose messages share one lane.
    pub(crate) fn keys_together(&self, count: usize) -> Vec<String> {
        let lane = self.lane("k0");
        self.keys_in(lane).take(count).collect()
    }

    /// Keys of a lane, without end.
    pub(crate) fn keys_in(&self, lane: Lane) -> impl Iterator<Item = String> {
        (0_u64..)
            .map(|n| format!("k{n}"))
            .filter(move |key| self.lane(key) == lane)
    }

    /// A key of each lane.
    pub(crate) fn keys_apart(&self) -> Vec<String> {
        let lanes = (0..self.store().lanes().get()).map(Lane);
        lanes
            .map(|lane| self.keys_in(lane).next().expect("every lane has keys"))
            .collect()
    }

    /// Claims as a relay with the usual limits.
    pub(crate) async fn claim(&self) -> Taken {
        self.claim_with(ask()).await
    }

    /// Claims at most this many messages.
    pub(crate) async fn claim_up_to(&self, limit: usize) -> Taken {
        self.claim_with(ClaimRequest { limit, ..ask() }).await
    }

    /// Claims from one lane only.
    pub(crate) async fn claim_lane(&self, lane: Lane) -> Taken {
        self.claim_with(only(lane)).await
    }

    pub(crate) async fn claim_with(&self, request: ClaimRequest) -> Taken {
        let claim = self.try_claim(&request).await;
        Taken::check(claim, &request, self.store().lanes())
    }

    async fn try_claim(&self, request: &ClaimRequest) -> Claim {
        self.store().claim(request).await.expect("the store claims")
    }

    /// Claims until the message with this payload is among what it got; other claims are given back.
    pub(crate) async fn claim_until(&self, payload: &str) -> Taken {
        for _ in 0..1_000 {
            let taken = self.claim().await;
            if taken.payloads().iter().any(|p| p == payload) {
                return taken;
            }
            self.release(&taken).await;
        }
        panic!("{payload} is never handed out");
    }

    /// Settles, and expects one answer for each lane.
    pub(crate) async fn settle_raw(&self, lanes: &[LaneSettlement]) -> Vec<LaneSettled> {
        let settled = self.store().settle(lanes).await.expect("the store settles");
        assert_eq!(settled.len(), lanes.len(), "one answer for each lane");
        settled
    }

    /// Settles some messages of a claim, by payload. A lane is given back if each of its messages is named.
    pub(crate) async fn settle(
        &self,
        taken: &Taken,
        outcomes: &[(&str, Outcome)],
    ) -> Vec<LaneSettled> {
        self.settle_raw(&taken.settlements(outcomes)).await
    }

    /// Settles the whole claim: the named messages as said, all others as `rest`. Asserts that nothing was lost.
    pub(crate) async fn settle_all(
        &self,
        taken: &Taken,
        outcomes: &[(&str, Outcome)],
        rest: &Outcome,
    ) {
        let lanes = taken.settlements_of_all(outcomes, rest);
        for settled in self.settle_raw(&lanes).await {
            assert_eq!(settled, LaneSettled::default(), "the lease was held");
        }
    }

    /// Settles everything of the claim as published.
    pub(crate) async fn publish(&self, taken: &Taken) {
        self.settle_all(taken, &[], &Outcome::Published).await;
    }

    /// Gives everything of the claim back.
    pub(crate) async fn release(&self, taken: &Taken) {
        self.settle_all(taken, &[], &Outcome::Release).await;
    }

    /// Gives the claim's lanes back without a word about any message.
    pub(crate) async fn release_lane(&self, taken: &Taken) {
        let lanes = taken.claim.lanes.iter().map(|lease| LaneSettlement {
            token: lease.token.clone(),
            outcomes: Vec::new(),
            release: true,
        });
        for settled in self.settle_raw(&lanes.collect::<Vec<_>>()).await {
            assert_eq!(settled, LaneSettled::default(), "the lease was held");
        }
    }

    /// Renews every lease of a claim, and says which tokens are lost.
    pub(crate) async fn extend(&self, taken: &Taken) -> Vec<LaneToken> {
        let leases = taken.claim.lanes.iter();
        let tokens: Vec<_> = leases.map(|lease| lease.token.clone()).collect();
        let lost = self.store().extend(&tokens, LEASE).await;
        lost.expect("the store extends")
    }

    /// Records that the only message of a careful claim is about to be handed over.
    pub(crate) async fn start(&self, taken: &Taken) {
        assert!(taken.is_careful());
        let position = taken.positions()[0];
        let started = self.store().starting(taken.token(), position).await;
        assert!(started.expect("the store records"), "the lease is held");
    }

    /// Claims the message with this payload and gives up on it; the rest of the claim is given back.
    pub(crate) async fn kill(&self, payload: &str, after: AfterDeath) -> Taken {
        let taken = self.claim_until(payload).await;
        self.settle_all(&taken, &[(payload, dead(after))], &Outcome::Release)
            .await;
        taken
    }

    /// Redrives all dead letters.
    pub(crate) async fn redrive(&self) -> Stepped {
        let stepped = self.store().redrive(&all_dead()).await;
        stepped.expect("the store redrives")
    }

    /// Drops all dead letters.
    pub(crate) async fn discard(&self) -> Stepped {
        let stepped = self.store().discard(&all_dead()).await;
        stepped.expect("the store discards")
    }

    /// The relay that held the claim vanishes, and its leases run out.
    pub(crate) async fn crash(&self, _taken: Taken) {
        self.advance(PAST_LEASE).await;
    }

    /// The published messages that are kept, by position.
    pub(crate) async fn published(&self) -> Vec<Delivery> {
        self.harness.published().await
    }

    /// Does one step of a purge.
    pub(crate) async fn purge(&self, purge: &Purge) -> Purged {
        let purged = self.store().purge(purge).await;
        purged.expect("the store purges")
    }

    /// Claims and publishes until nothing is ready, and says what went out, in order.
    pub(crate) async fn drain(&self) -> Vec<String> {
        self.drain_with(ask()).await
    }

    pub(crate) async fn drain_with(&self, request: ClaimRequest) -> Vec<String> {
        let mut out = Vec::new();
        for () in rounds() {
            let taken = self.claim_with(request.clone()).await;
            if taken.is_empty() && taken.moved() == 0 {
                break;
            }
            out.extend(taken.payloads());
            self.publish(&taken).await;
        }
        out
    }

    pub(crate) async fn status(&self) -> Status {
        self.store()
            .status()
            .await
            .expect("the store tells its state")
    }

    /// Asserts that nothing is pending, dead, blocked or leased.
    pub(crate) async fn assert_empty(&self) {
        let status = self.status().await;
        let left = Status {
            circuits: status.circuits.clone(),
            // What other programs do to the database is not the store's.
            horizon: status.horizon.clone(),
            ..Status::default()
        };
        assert_eq!(status, left, "the store is empty");
    }

    /// Claims in vain, which ends careful service where nothing is due, and then expects an empty store.
    pub(crate) async fn assert_empty_after_claim(&self) {
        assert!(self.claim().await.is_empty(), "something is left");
        self.assert_empty().await;
    }

    /// All dead letters, with payloads.
    pub(crate) async fn dead(&self) -> Vec<DeadLetter> {
        self.store()
            .dead_letters(&all_dead(), DeadPayload::Include)
            .await
            .expect("the store lists dead letters")
    }
}

/// Rounds of a case that goes on until nothing is left; a store that never comes to rest fails it.
pub(crate) fn rounds() -> impl Iterator<Item = ()> {
    let no_end = std::iter::once_with(|| panic!("the store never comes to rest"));
    std::iter::repeat_n((), 2_000).chain(no_end)
}

/// What a claim of one lane asks for.
pub(crate) fn only(lane: Lane) -> ClaimRequest {
    ClaimRequest {
        lanes: LaneFilter::Only(vec![lane]),
        ..ask()
    }
}

/// `count` payloads: the name and a number each.
pub(crate) fn numbered(name: &str, count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("{name}{n}")).collect()
}
