//! The publisher alone: it is given what one claim takes out of a store in memory, as many runs at once as a relay gives it. Nothing is
//! settled.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use outbox::{
    Message, RelayConfig,
    message::{Delivery, LaneToken},
    publisher::{Publisher, Run},
    store::{ClaimRequest, Entry, LaneFilter, OutboxStore},
};

use crate::stores;

/// A run and the token that it is published under.
type Claimed = (LaneToken, Vec<Delivery>);

/// The time in which it publishes everything.
pub(crate) async fn timed(publisher: Arc<dyn Publisher>, messages: &[Message]) -> Duration {
    let store = stores::memory(messages).await;
    let config = RelayConfig::default();
    stores::timed(async {
        let runs = claim(&store, messages.len()).await;
        let calls = stream::iter(runs).map(|run| publish(&*publisher, run, config.batch));
        let confirmed = calls.buffer_unordered(config.concurrency);
        let confirmed: usize = confirmed.fold(0, async |sum, count| sum + count).await;
        assert_eq!(confirmed, messages.len());
    })
    .await
}

/// Takes all there is.
async fn claim(store: &impl OutboxStore, limit: usize) -> Vec<Claimed> {
    let request = ClaimRequest {
        relay: "bench".into(),
        limit,
        max_bytes: 64 << 20,
        max_lanes: usize::from(store.lanes().get()),
        lease: Duration::from_mins(10),
        lanes: LaneFilter::All,
    };
    let claim = store.claim(&request).await.unwrap();
    let token = |lane| {
        let mut leases = claim.lanes.iter();
        let lease = leases.find(|lease| lease.token.lane == lane).unwrap();
        lease.token.clone()
    };
    let mut runs: Vec<Claimed> = Vec::new();
    let mut places = HashMap::new();
    for entry in claim.entries {
        let Entry::Message(delivery) = entry else {
            panic!("all messages are readable");
        };
        let key = delivery.ordering_key();
        let place = key.and_then(|key| match places.entry(key) {
            std::collections::hash_map::Entry::Occupied(place) => Some(*place.get()),
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(runs.len());
                None
            }
        });
        match place {
            Some(place) => runs[place].1.push(delivery),
            None => runs.push((token(delivery.lane), vec![delivery])),
        }
    }
    runs
}

/// Publishes what there is of one key, in parts as large as a relay's.
async fn publish(publisher: &dyn Publisher, (token, messages): Claimed, most: usize) -> usize {
    let destination = publisher.destination(&messages[0].message.topic);
    for messages in messages.chunks(most) {
        let run = Run {
            destination: &destination,
            token: &token,
            messages,
        };
        let published = publisher.publish(run).await;
        assert!(published.failure.is_none(), "{published:?}");
    }
    messages.len()
}
