//! The publisher alone: it is given run after run as one claim after the other takes them out of a store in memory, as many at once as
//! a relay gives it. Nothing is settled.

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
        let claims = stream::repeat(&store)
            .then(|store| claim(store))
            .take_while(|runs| std::future::ready(!runs.is_empty()))
            .flat_map(stream::iter);
        let mut confirmed = 0;
        let mut published = Box::pin(
            claims
                .map(|run| publish(&*publisher, run))
                .buffer_unordered(config.concurrency),
        );
        while let Some(count) = published.next().await {
            confirmed += count;
        }
        assert_eq!(confirmed, messages.len());
    })
    .await
}

/// Takes the runs of all lanes that are left.
async fn claim(store: &impl OutboxStore) -> Vec<Claimed> {
    let request = ClaimRequest {
        relay: "bench".into(),
        limit: 2_000,
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

async fn publish(publisher: &dyn Publisher, (token, messages): Claimed) -> usize {
    let destination = publisher.destination(&messages[0].message.topic);
    let run = Run {
        destination: &destination,
        token: &token,
        messages: &messages,
    };
    let published = publisher.publish(run).await;
    assert!(published.failure.is_none(), "{published:?}");
    published.confirmed
}
