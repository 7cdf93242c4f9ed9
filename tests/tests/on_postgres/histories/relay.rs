//! A relay that keeps the rules and has bad luck: its broker refuses, loses answers and gives up, and it dies in the middle of its work.

use std::{collections::HashSet, sync::Arc, time::Duration};

use outbox::{
    message::{Delivery, LaneToken, OrderingKey},
    store::{
        AfterDeath, Claim, ClaimRequest, DeathReason, Entry, LaneFilter, LaneLease, LaneSettlement,
        OutboxOperator, OutboxStore, Outcome, Settlement, Target,
    },
};
use outbox_ordering::history::What;

use super::{
    World,
    people::{later, pause},
};
use crate::dice::Dice;

const ROUNDS: usize = 30;

/// What a relay says that finds its lease gone.
pub(super) const EARLY: &str = "a lease ended before its time";

/// What a relay asks for.
pub(super) fn asked(name: &str) -> ClaimRequest {
    ClaimRequest {
        relay: name.into(),
        limit: 10,
        max_bytes: 1 << 20,
        max_lanes: 4,
        lease: Duration::from_mins(1),
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    }
}

/// Claims and serves until the writers are done, and some rounds at least.
pub(super) async fn relay<S: OutboxStore + OutboxOperator>(world: Arc<World<S>>, mut dice: Dice) {
    let mut rounds = 0;
    while rounds < ROUNDS || !world.is_over() {
        rounds += 1;
        let request = ClaimRequest {
            limit: 1 + dice.below(12),
            max_bytes: if dice.percent(20) { 30 } else { 1 << 20 },
            max_lanes: 1 + dice.below(8),
            ..asked("relay")
        };
        let claim = world.claim(&request).await;
        for lease in &claim.lanes {
            let serving = Serving::new(&world, lease, &claim);
            serving.serve(&mut dice).await;
        }
        pause(&mut dice).await;
    }
}

/// Publishes all of a claim without any bad luck.
pub(super) async fn publish_all<S: OutboxStore + OutboxOperator>(world: &World<S>, claim: Claim) {
    for lease in &claim.lanes {
        let mut serving = Serving::new(world, lease, &claim);
        for delivery in serving.deliveries.clone() {
            if !serving.may_start(&delivery).await {
                world.expect(false, EARLY);
                break;
            }
            serving.hand_over(&delivery);
            let begun = world.record.now();
            serving.received(&delivery, begun);
            serving.confirmed(&delivery, begun);
        }
        serving.settle(true).await;
    }
}

/// A leased lane in the hands of a relay.
struct Serving<'a, S> {
    world: &'a World<S>,
    token: &'a LaneToken,
    careful: bool,
    deliveries: Vec<Delivery>,
    /// What is known and not settled yet.
    known: Vec<Settlement>,
    /// Keys of which nothing more goes out.
    stopped: HashSet<OrderingKey>,
}

impl<'a, S: OutboxStore + OutboxOperator> Serving<'a, S> {
    fn new(world: &'a World<S>, lease: &'a LaneLease, claim: &Claim) -> Self {
        let deliveries = claim.entries.iter().filter_map(|entry| match entry {
            Entry::Message(delivery) if delivery.lane == lease.token.lane => Some(delivery.clone()),
            _ => None,
        });
        Self {
            world,
            token: &lease.token,
            careful: lease.careful,
            deliveries: deliveries.collect(),
            known: Vec::new(),
            stopped: HashSet::new(),
        }
    }

    async fn serve(mut self, dice: &mut Dice) {
        let deliveries = self.deliveries.clone();
        let dies = dice.percent(10);
        let dies = dies.then(|| dice.below(deliveries.len() + 1));
        let mut left = Vec::new();
        for (n, delivery) in deliveries.iter().enumerate() {
            if dies == Some(n) {
                return self.die(dice).await;
            }
            let key = delivery.ordering_key();
            let stopped = key.as_ref().is_some_and(|key| self.stopped.contains(key));
            let outcome = if stopped || !self.may_start(delivery).await {
                Outcome::Release
            } else {
                self.publish(delivery, dice).await
            };
            if outcome != Outcome::Published {
                self.stopped.extend(key);
            }
            if outcome == Outcome::Release {
                left.push(settlement(delivery, outcome));
            } else if outcome != Outcome::Published {
                self.known.push(settlement(delivery, outcome));
            }
            if dice.percent(15) {
                self.settle(false).await;
            }
            if dice.percent(8) {
                let lease = Duration::from_mins(1);
                let lost = self.world.store.extend(&[self.token.clone()], lease).await;
                self.world.expect(lost.unwrap().is_empty(), EARLY);
            }
        }
        if dies == Some(deliveries.len()) {
            return self.die(dice).await;
        }
        self.known.extend(left);
        let sent = self.settle(true).await;
        if dice.percent(8) {
            let again = self.world.store.settle(&[sent]).await.unwrap();
            self.world
                .expect(again[0].lost, "a release left its token as it was");
        }
    }

    /// Ends as a process does that is killed: its lease runs out. A late settlement may still come, as from one that was only frozen.
    async fn die(mut self, dice: &mut Dice) {
        let (world, token) = (self.world, self.token);
        let begun = world.record.now();
        let lapse = world.shop.schema.sql(
            "UPDATE outbox.lane SET lease_until = clock_timestamp() - interval '1 ms'
             WHERE lane = $1 AND epoch = $2 AND holder = $3",
        );
        let lapsed = sqlx::query(lapse)
            .bind(i16::try_from(token.lane.0).unwrap())
            .bind(token.epoch)
            .bind(&*token.holder)
            .execute(&world.shop.schema.pool);
        let held = lapsed.await.unwrap().rows_affected() == 1;
        world.expect(held, EARLY);
        let token = token.clone();
        world.record.since(begun, What::Lapsed { token });
        if dice.percent(50) {
            pause(dice).await;
            self.settle(true).await;
        }
    }

    /// A careful lane records each start.
    async fn may_start(&self, delivery: &Delivery) -> bool {
        !self.careful
            || self
                .world
                .store
                .starting(self.token, delivery.position)
                .await
                .unwrap()
    }

    async fn publish(&mut self, delivery: &Delivery, dice: &mut Dice) -> Outcome {
        self.hand_over(delivery);
        let begun = self.world.record.now();
        pause(dice).await;
        let roll = dice.below(100);
        match roll {
            0..70 => {
                self.received(delivery, begun);
                self.confirmed(delivery, begun);
                Outcome::Published
            }
            70..80 => Outcome::Retry {
                after: (roll > 73).then(|| later(dice)),
                counted: true,
                error: "refused".to_owned(),
            },
            80..86 => {
                if roll < 83 {
                    self.received(delivery, begun);
                }
                Outcome::Retry {
                    after: Some(Duration::from_millis(5)),
                    counted: false,
                    error: "unavailable".to_owned(),
                }
            }
            86..92 => Outcome::Dead {
                reason: DeathReason::Permanent,
                error: "refused for good".to_owned(),
                after: if roll < 89 {
                    AfterDeath::Skip
                } else {
                    AfterDeath::Hold
                },
                notice: None,
            },
            _ => Outcome::Release,
        }
    }

    fn hand_over(&self, delivery: &Delivery) {
        self.world.record.at_once(What::HandedOver {
            token: self.token.clone(),
            messages: vec![delivery.message.id.to_string()],
        });
    }

    fn received(&self, delivery: &Delivery, begun: i64) {
        let message = delivery.message.id.to_string();
        let mut fates = self.world.fates.lock().unwrap();
        fates.received.insert(message.clone());
        drop(fates);
        let token = Some(self.token.clone());
        let what = What::Received { message, token };
        self.world.record.since(begun, what);
    }

    fn confirmed(&mut self, delivery: &Delivery, begun: i64) {
        let message = delivery.message.id.to_string();
        let token = self.token.clone();
        let what = What::Confirmed { token, message };
        self.world.record.since(begun, what);
        self.known.push(settlement(delivery, Outcome::Published));
    }

    /// Records what is known; with it the lane is given back, or not.
    async fn settle(&mut self, release: bool) -> LaneSettlement {
        let sent = LaneSettlement {
            token: self.token.clone(),
            outcomes: std::mem::take(&mut self.known),
            release,
        };
        if release || !sent.outcomes.is_empty() {
            let settled = self.world.store.settle(std::slice::from_ref(&sent)).await;
            settled.unwrap();
        }
        sent
    }
}

fn settlement(delivery: &Delivery, outcome: Outcome) -> Settlement {
    Settlement {
        target: Target::from(delivery),
        outcome,
    }
}
