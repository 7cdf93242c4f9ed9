//! The publisher alone: it is given what large claims take out of a store in memory, as many runs at once as a relay gives it.
//! What the store itself takes is not counted, as a bare loop has no store either.

use std::{
    collections::{BTreeMap, HashMap, hash_map},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream};
use outbox::{
    Message, RelayConfig,
    message::{Delivery, Lane},
    publisher::{Publisher, Run},
    store::{
        Claim, ClaimRequest, Entry, LaneFilter, LaneSettlement, OutboxStore, Outcome, Settlement,
        Target,
    },
};

use crate::stores;

/// The time that its calls take, of their first to their last in each claim.
pub(crate) async fn timed(
    publisher: Arc<dyn Publisher>,
    messages: &[Message],
    under_way: usize,
) -> Duration {
    let store = stores::memory(messages).await;
    let request = ClaimRequest {
        relay: "bench".into(),
        limit: messages.len(),
        max_bytes: 64 << 20,
        max_lanes: usize::from(store.lanes().get()),
        lease: Duration::from_mins(10),
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    };
    let mut time = Duration::ZERO;
    let mut confirmed = 0;
    while confirmed < messages.len() {
        let claim = store.claim(&request).await.unwrap();
        let runs = stream::iter(runs(&claim));
        let calls = runs.map(|run| publish(&*publisher, &claim, run));
        let counts = calls.buffer_unordered(under_way);
        time += stores::timed(async {
            confirmed += counts.fold(0, async |sum, count| sum + count).await;
        })
        .await;
        store.settle(&published(&claim)).await.unwrap();
    }
    time
}

fn deliveries(claim: &Claim) -> impl Iterator<Item = &Delivery> {
    claim.entries.iter().map(|entry| match entry {
        Entry::Message(delivery) => delivery,
        Entry::Unreadable(row) => panic!("all messages are readable: {row:?}"),
    })
}

/// The messages of each key, and each message without a key.
fn runs(claim: &Claim) -> Vec<Vec<Delivery>> {
    let mut runs: Vec<Vec<Delivery>> = Vec::new();
    let mut places: HashMap<_, usize> = HashMap::new();
    for delivery in deliveries(claim) {
        if let Some(key) = delivery.ordering_key() {
            match places.entry(key) {
                hash_map::Entry::Occupied(place) => {
                    runs[*place.get()].push(delivery.clone());
                    continue;
                }
                hash_map::Entry::Vacant(place) => {
                    place.insert(runs.len());
                }
            }
        }
        runs.push(vec![delivery.clone()]);
    }
    runs
}

/// Publishes what there is of one key, in parts as large as a relay's.
async fn publish(publisher: &dyn Publisher, claim: &Claim, messages: Vec<Delivery>) -> usize {
    let of_lane = |lane: Lane| claim.lanes.iter().find(move |it| it.token.lane == lane);
    let token = &of_lane(messages[0].lane).unwrap().token;
    let destination = publisher.destination(&messages[0].message.topic);
    for messages in messages.chunks(RelayConfig::default().batch) {
        let run = Run {
            destination: &destination,
            token,
            messages,
        };
        let done = publisher.publish(run).await;
        assert!(done.failure.is_none(), "{done:?}");
    }
    messages.len()
}

/// Everything of a claim was published, and its lanes are given back.
fn published(claim: &Claim) -> Vec<LaneSettlement> {
    let mut outcomes: BTreeMap<_, Vec<Settlement>> = BTreeMap::new();
    for delivery in deliveries(claim) {
        outcomes.entry(delivery.lane).or_default().push(Settlement {
            target: Target::from(delivery),
            outcome: Outcome::Published,
        });
    }
    let lanes = claim.lanes.iter().map(|lane| LaneSettlement {
        token: lane.token.clone(),
        outcomes: outcomes.remove(&lane.token.lane).unwrap_or_default(),
        release: true,
    });
    lanes.collect()
}
