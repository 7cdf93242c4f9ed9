//! A broker that its operator stops and starts again while much is in flight.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use futures_util::future::join_all;
use outbox_publisher::PublishErrorKind;
use outbox_publisher_rabbitmq::RabbitMqPublisher;
use tokio::task::yield_now;

use crate::{
    broker::{self, Consumer, unique},
    publishing::{message, publish},
};

const KEYS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn d1_f3_a_broker_that_is_stopped_and_started_judges_nothing_and_loses_nothing() {
    let mut server = broker::start();
    let queue = unique("restarted");
    Consumer::new(&server.url()).declare(&queue).await;
    let publisher = RabbitMqPublisher::new(&server.url()).unwrap();
    let (confirmed, stop) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
    let keys = (0..KEYS).map(|key| {
        let (publisher, queue) = (publisher.clone(), queue.clone());
        let (confirmed, stop) = (Arc::clone(&confirmed), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut sent = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let payload = format!("{key}-{}", sent.len());
                let message = message(&queue, &*payload);
                while let Some(error) = publish(&publisher, std::slice::from_ref(&message))
                    .await
                    .failure
                {
                    let kinds = [PublishErrorKind::Unavailable, PublishErrorKind::Interrupted];
                    assert!(kinds.contains(&error.kind), "{error:?}");
                    yield_now().await;
                }
                sent.push(payload);
                confirmed.fetch_add(1, Ordering::Relaxed);
            }
            sent
        })
    });
    let keys: Vec<_> = keys.collect();
    let more = async || {
        let before = confirmed.load(Ordering::Relaxed);
        while confirmed.load(Ordering::Relaxed) < before + 20 * KEYS {
            assert!(keys.iter().all(|key| !key.is_finished()), "a key gave up");
            yield_now().await;
        }
    };
    more().await;
    tokio::task::block_in_place(|| {
        server.stop().unwrap();
        server.start_again().unwrap();
    });
    more().await;
    stop.store(true, Ordering::Relaxed);
    let sent = join_all(keys).await.into_iter().flat_map(Result::unwrap);
    let sent: BTreeSet<_> = sent.collect();
    let taken = Consumer::new(&server.url()).take_payloads(&queue).await;
    let taken: BTreeSet<_> = taken.into_iter().collect();
    assert_eq!(sent.difference(&taken).count(), 0);
}
