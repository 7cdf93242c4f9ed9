//! What becomes of a message whose handler fails, by how it fails. Each failure rolls back.

use std::time::Duration;

use outbox_engine::{Relay, RelayConfig};
use outbox_inbox::HandlerError;
use outbox_message::MessageId;
use outbox_publisher::Publisher;
use outbox_store::{OutboxOperator, SaveError};

use crate::scene::{Service, config, relay};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn f1_an_error_is_a_counted_failure_and_the_limit_is_the_relays() {
    let service = Service::ending(|_| Err(HandlerError::from(std::fmt::Error)));
    service.deliver("o-1").await;
    for calls in 1..=3 {
        service.drain().await;
        assert_eq!(service.calls().len(), calls);
        service.incoming.advance(10 * SECOND);
    }
    let error = format!("the handler failed: {}", std::fmt::Error);
    assert_eq!(service.death().await, ("exhausted".into(), error, 3));
    assert!(service.database.effects().await.is_empty());
    // Nothing of it was recorded as handled: a redriven letter is handled.
    let mut tx = service.database.store.begin();
    let (id, consumer) = (MessageId::new("o-1").unwrap(), "billing".parse().unwrap());
    assert!(
        !service
            .database
            .store
            .forget(&mut tx, &consumer, &id)
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn f4_an_explicit_time_is_obeyed_counted_or_not() {
    let said = |attempts| {
        let error = HandlerError::new("not now");
        match attempts {
            0 => Err(error.retry_after(3 * SECOND)),
            _ => Err(error.later(5 * SECOND)),
        }
    };
    let service = Service::ending(said);
    service.deliver("o-1").await;
    service.drain().await;
    service.incoming.advance(2 * SECOND);
    service.drain().await;
    assert_eq!(service.calls().len(), 1, "it is not due");
    service.incoming.advance(SECOND);
    service.drain().await;
    assert_eq!(service.calls().len(), 2);
    for calls in 3..10 {
        service.incoming.advance(5 * SECOND);
        service.drain().await;
        assert_eq!(
            service.calls().len(),
            calls,
            "what is not counted has no end"
        );
    }
    assert!(service.dead().await.is_empty());
}

#[tokio::test]
async fn f5_a_permanent_failure_is_a_dead_letter_at_once() {
    let service = Service::ending(|_| Err(HandlerError::new("no such order").permanent()));
    service.deliver("o-1").await;
    assert_eq!(service.drain().await.dead, 1);
    let death = ("permanent".into(), "no such order".into(), 1);
    assert_eq!(service.death().await, death);
}

#[tokio::test(start_paused = true)]
async fn f3_an_unavailable_service_is_probed_for_as_long_as_it_takes_and_counts_nothing() {
    let service = Service::ending(|attempts| {
        let away = HandlerError::new(format!("away, {attempts} failures counted"));
        Err(away.unavailable())
    });
    service.deliver_keyed("o-1", "k").await;
    for _ in 0..10 {
        service.drain().await;
        service.incoming.advance(2 * SECOND);
        tokio::time::advance(2 * SECOND).await;
    }
    assert!(service.calls().len() > 5, "probes go on");
    assert!(service.dead().await.is_empty());
    let status = service.incoming.status().await.unwrap();
    assert_eq!(status.pending(), 1);
    // It was away, and is back.
    let back = service.but_ending(|attempts| {
        assert_eq!(attempts, 0);
        Ok(())
    });
    assert_eq!(back.drain().await.published, 1);
}

#[test]
fn each_topic_is_a_destination_of_its_own() {
    let processor = Service::new().processor();
    let topic = "orders".parse().unwrap();
    assert_eq!(processor.destination(&topic), "handlers of orders");
    assert!(!processor.has_one_destination());
}

#[tokio::test]
async fn f1_a_panic_is_a_counted_failure() {
    let service = Service::ending(|_| panic!("a bug"));
    service.deliver("o-1").await;
    for _ in 0..3 {
        service.drain().await;
        service.incoming.advance(10 * SECOND);
    }
    let error = "the handler panicked: a bug".to_owned();
    assert_eq!(service.death().await, ("exhausted".into(), error, 3));
}

#[tokio::test(start_paused = true)]
async fn f1_a_timeout_is_a_counted_failure_and_lets_go_of_the_transaction() {
    let service = Service::new();
    service.deliver("o-1").await;
    service.hold();
    let handling = tokio::spawn({
        let service = service.clone();
        async move { service.drain().await }
    });
    // The clock of the runtime moves by itself, to the timeout.
    assert_eq!(handling.await.unwrap().retried, 1);
    assert!(service.database.effects().await.is_empty());
    service.open();
    service.incoming.advance(10 * SECOND);
    assert_eq!(service.drain().await.published, 1);
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
}

#[tokio::test]
async fn f3_a_database_that_cannot_be_reached_spends_no_attempt() {
    // It goes away while the handler works, so that first the handler fails.
    let service = Service::new();
    let database = service.database.clone();
    let leaving = service.but_ending(move |_| {
        database.set_away(true);
        Err(HandlerError::new("the connection broke"))
    });
    service.deliver("o-1").await;
    for _ in 0..10 {
        leaving.drain().await;
        service.incoming.advance(10 * SECOND);
    }
    assert!(service.dead().await.is_empty());
    assert_eq!(service.calls().len(), 1, "no transaction was begun again");
    service.database.set_away(false);
    assert_eq!(service.drain().await.published, 1);
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
}

#[tokio::test]
async fn f1_a_commit_that_the_database_refuses_is_a_counted_failure() {
    // The handler ends the transaction, so that there is nothing to commit.
    struct Ending;
    #[async_trait::async_trait]
    impl outbox_inbox::Handler<outbox_store_memory::MemoryTx> for Ending {
        async fn handle(
            &self,
            tx: &mut outbox_store_memory::MemoryTx,
            _: &outbox_message::Delivery,
        ) -> Result<(), HandlerError> {
            tx.rollback();
            Ok(())
        }
    }
    let service = Service::new();
    service.deliver("o-1").await;
    for _ in 0..3 {
        let consumer = "billing".parse().unwrap();
        let processor = outbox_inbox::Processor::new(service.database.clone(), consumer, Ending);
        let relay = relay(service.incoming.clone(), processor, config());
        relay.drain().await.unwrap();
        service.incoming.advance(10 * SECOND);
    }
    let (reason, error, attempts) = service.death().await;
    assert_eq!((reason.as_str(), attempts), ("exhausted", 3), "{error}");
}

#[tokio::test]
async fn f5_a_conflict_with_another_transaction_says_nothing_about_the_message() {
    let service = Service::ending(|_| Err(SaveError::Conflict("deadlock".into()).into()));
    service.deliver("o-1").await;
    let relay = relay(service.incoming.clone(), service.processor(), config());
    let report = relay.flush().await.unwrap();
    assert_eq!((report.released, report.retried, report.dead), (1, 0, 0));
}

#[test]
fn a_timeout_that_does_not_fit_into_the_relays_is_refused() {
    let service = Service::new();
    let processor = service.processor().timeout(10 * SECOND);
    assert_eq!(processor.longest_run(), 1);
    let refused = Relay::with_config(service.incoming.clone(), processor, RelayConfig::default());
    let text = refused.unwrap_err().to_string();
    assert_eq!(
        text,
        "the publisher's longest call (12.5s) must be at most publish_timeout (10s)"
    );
}
