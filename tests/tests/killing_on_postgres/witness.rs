//! A broker that all relays of a test reach. It notes what it receives, and who must not be publishing at that moment: a
//! second holder of a key (O3), or a relay whose lane was leased anew since (D2).

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use outbox::{
    message::{Lane, OrderingKey, Topic},
    publisher::{Published, Publisher, Run},
};
use tokio::{sync::Notify, time::sleep};

/// Half of what a run takes: before the broker has it, and until it confirms it.
const HALF: Duration = Duration::from_millis(1);

/// A broker; a clone shares what it noted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Witness(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    holders: HashMap<OrderingKey, Arc<str>>,
    epochs: HashMap<Lane, i64>,
    known: HashSet<String>,
    first: Vec<String>,
    duplicates: usize,
    faults: Vec<String>,
}

impl Witness {
    /// The ids that were received, each once, in the order in which they first came.
    pub(crate) fn first(&self) -> Vec<String> {
        self.lock().first.clone()
    }

    /// How many messages have come.
    pub(crate) fn count(&self) -> usize {
        self.lock().first.len()
    }

    /// How often a message came that had come before.
    pub(crate) fn duplicates(&self) -> usize {
        self.lock().duplicates
    }

    /// What nobody may do and somebody did.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.lock().faults.clone()
    }

    /// Completes when so many messages have come.
    pub(crate) async fn has(&self, count: usize) {
        loop {
            let changed = self.0.changed.notified();
            if self.count() >= count {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn begin(&mut self, run: Run<'_>) -> Option<OrderingKey> {
        let token = run.token;
        let newest = self.epochs.entry(token.lane).or_insert(token.epoch);
        if token.epoch < *newest {
            let fault = format!("epoch {} of {} after {newest}", token.epoch, token.lane);
            self.faults.push(fault);
        }
        *newest = token.epoch.max(*newest);
        let key = run.messages[0].ordering_key()?;
        let holder = Arc::clone(&token.holder);
        if let Some(other) = self.holders.insert(key.clone(), holder) {
            let fault = format!("{key:?} is held by {other} and {}", token.holder);
            self.faults.push(fault);
        }
        Some(key)
    }

    fn receive(&mut self, run: Run<'_>) {
        for delivery in run.messages {
            let id = delivery.message.id.to_string();
            if self.known.insert(id.clone()) {
                self.first.push(id);
            } else {
                self.duplicates += 1;
            }
        }
    }
}

/// A run in flight, until it is dropped.
struct Flight<'a>(&'a Witness, Option<OrderingKey>);

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if let Some(key) = &self.1 {
            self.0.lock().holders.remove(key);
        }
    }
}

#[async_trait]
impl Publisher for Witness {
    fn destination<'a>(&'a self, _: &'a Topic) -> Cow<'a, str> {
        "witness".into()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let key = self.lock().begin(run);
        let _flight = Flight(self, key);
        sleep(HALF).await;
        self.lock().receive(run);
        self.0.changed.notify_waiters();
        // Whoever is cut off here has sent what it does not know of.
        sleep(HALF).await;
        Published::all(run)
    }
}

mod tests {
    use outbox::message::{Delivery, LaneToken, Position};

    use super::*;
    use crate::place::{lane, message};

    fn token(epoch: i64, holder: &str) -> LaneToken {
        LaneToken {
            lane: lane("k"),
            epoch,
            holder: holder.into(),
        }
    }

    #[tokio::test]
    async fn the_witness_sees_a_second_holder_an_old_lease_and_a_duplicate() {
        let witness = Witness::default();
        let messages = [Delivery {
            lane: lane("k"),
            position: Position(1),
            attempts: 0,
            tries: 0,
            starts: 0,
            message: message("k", "k/1"),
        }];
        let publish = async |token: LaneToken| {
            let run = Run {
                destination: "witness",
                token: &token,
                messages: &messages,
            };
            assert_eq!(witness.publish(run).await.confirmed, 1);
        };
        publish(token(1, "one")).await;
        publish(token(2, "two")).await;
        assert_eq!((witness.faults().len(), witness.duplicates()), (0, 1));
        publish(token(1, "one")).await;
        assert_eq!(witness.faults().len(), 1, "{:?}", witness.faults());
        tokio::join!(publish(token(3, "one")), publish(token(3, "two")));
        assert_eq!(witness.faults().len(), 2, "{:?}", witness.faults());
        assert_eq!(witness.first(), ["k/1"]);
    }
}
