//! A process that ends at any point: before the handler's commit, between it and the settlement, and when its answer is lost.

use std::{sync::Arc, time::Duration};

use outbox_testkit::{Call, FaultyStore};

use crate::scene::{Service, config, relay};

/// Longer than a lease.
const A_LEASE: Duration = Duration::from_secs(31);

#[tokio::test]
async fn d1_a_crash_between_the_commit_and_the_settlement_is_caught_by_once() {
    let service = Service::new();
    service.deliver("o-1").await;
    let store = FaultyStore::new(Arc::new(service.incoming.clone()));
    store.hold(Call::Settle);
    let crashing = relay(store.clone(), service.processor(), config());
    let crashing = tokio::spawn(async move { crashing.drain().await });
    store.begun(Call::Settle, 1).await;
    crashing.abort();
    assert!(crashing.await.unwrap_err().is_cancelled());
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);

    service.incoming.advance(A_LEASE);
    assert_eq!(service.drain().await.published, 1);
    assert_eq!(service.calls(), ["o-1"], "the handler was not asked again");
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
}

#[tokio::test]
async fn d1_a_settlement_that_fails_for_longer_than_the_lease_repeats_no_effect() {
    let service = Service::new();
    service.deliver("o-1").await;
    let store = FaultyStore::new(Arc::new(service.incoming.clone()));
    store.fail(Call::Settle, usize::MAX);
    let failing = relay(store, service.processor(), config());
    let failing = tokio::spawn(async move { failing.drain().await });
    service.called().await;
    failing.abort();
    assert!(failing.await.is_err());
    service.incoming.advance(A_LEASE);
    service.drain().await;
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
    assert!(service.dead().await.is_empty());
}

#[tokio::test]
async fn d1_a_crash_in_the_handler_leaves_nothing_and_the_next_one_handles() {
    let service = Service::new();
    service.deliver("o-1").await;
    service.hold();
    let crashing = relay(service.incoming.clone(), service.processor(), config());
    let crashing = tokio::spawn(async move { crashing.drain().await });
    service.called().await;
    crashing.abort();
    assert!(crashing.await.unwrap_err().is_cancelled());
    assert!(service.database.effects().await.is_empty());

    service.open();
    service.incoming.advance(A_LEASE);
    assert_eq!(service.drain().await.published, 1);
    assert_eq!(service.calls(), ["o-1", "o-1"]);
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
}
