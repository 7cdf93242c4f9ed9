//! One effect for each id, whatever comes twice and whatever comes at once.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use outbox_engine::RelayConfig;
use outbox_inbox::Incoming;
use outbox_message::Topic;
use outbox_publisher::{Published, Publisher, Router, Run};
use outbox_store::AfterDeath;

use crate::scene::{PAID, Service, config, relay};

#[tokio::test]
async fn a_message_that_is_delivered_twice_has_its_effect_once() {
    let service = Service::new();
    service.deliver("o-1").await;
    service.deliver("o-1").await;
    assert_eq!(service.drain().await.published, 2);
    assert_eq!(service.calls(), ["o-1"]);
    assert_eq!(service.database.effects().await, ["o-1 is paid"]);
}

#[tokio::test]
async fn a_delivery_without_a_usable_id_is_handled_each_time() {
    let service = Service::new();
    let body = format!(r#"{{"job":"{PAID}","data":{{"order":"o-1"}}}}"#);
    for delivery in [
        Incoming::new("orders", body.clone()),
        Incoming::new("orders", body.clone()).id(""),
        Incoming::new("orders", body).id("i".repeat(256)),
    ] {
        service.take(delivery).await;
    }
    assert_eq!(service.drain().await.published, 3);
    assert_eq!(service.database.effects().await, ["o-1 is paid"; 3]);
}

#[tokio::test]
async fn two_deliveries_of_one_id_at_the_same_time_run_the_handler_once() {
    let one = Service::new();
    let other = one.elsewhere();
    one.deliver("o-1").await;
    one.hold();
    let first = tokio::spawn({
        let one = one.clone();
        async move { one.drain().await }
    });
    one.called().await;
    other.deliver("o-1").await;
    let second = relay(other.incoming.clone(), other.processor(), config());
    let second = tokio::spawn(async move { second.drain().await.unwrap() });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!second.is_finished(), "it waits for the first");
    one.open();
    assert_eq!(first.await.unwrap().published, 1);
    assert_eq!(second.await.unwrap().published, 1);
    assert_eq!(one.calls(), ["o-1"]);
    assert_eq!(one.database.effects().await, ["o-1 is paid"]);
}

#[tokio::test]
async fn o5_o9_messages_of_a_key_are_handled_in_order_and_a_death_holds_or_skips() {
    for (after_death, effects) in [
        (AfterDeath::Skip, &["c is paid", "b is paid"][..]),
        (AfterDeath::Hold, &["c is paid"][..]),
    ] {
        let service = Service::ending(|_| Ok(()));
        let body = |order: &str, urn: &str| {
            format!(r#"{{"job":"{urn}","data":{{"order":"{order}"}},"meta":{{"id":"{order}"}}}}"#)
        };
        let (first, second) = (body("a", "urn:none"), body("b", PAID));
        for body in [first, second] {
            service.take(Incoming::new("orders", body).key("k")).await;
        }
        service.deliver_keyed("c", "other").await;
        let config = RelayConfig {
            after_death,
            ..config()
        };
        for _ in 0..4 {
            let relay = relay(
                service.incoming.clone(),
                service.processor(),
                config.clone(),
            );
            relay.drain().await.unwrap();
            service.incoming.advance(Duration::from_secs(10));
        }
        assert_eq!(service.death().await.1, "no handler for urn:none");
        assert_eq!(service.database.effects().await, effects, "{after_death:?}");
    }
}

#[tokio::test]
async fn an_id_that_was_handled_is_no_handled_id_of_another_consumer() {
    let service = Service::new();
    service.deliver("o-1").await;
    service.drain().await;
    service.deliver("o-1").await;
    let shipping = outbox_inbox::Processor::new(
        service.database.clone(),
        "shipping".parse().unwrap(),
        service.dispatcher(),
    );
    let shipping = relay(service.incoming.clone(), shipping, config());
    assert_eq!(shipping.drain().await.unwrap().published, 1);
    assert_eq!(service.calls(), ["o-1", "o-1"]);
}

/// Notes how many messages each call has.
#[derive(Debug)]
struct Noting<P> {
    processor: P,
    runs: Arc<Mutex<Vec<usize>>>,
}

#[async_trait]
impl<P: Publisher> Publisher for Noting<P> {
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        self.processor.destination(topic)
    }

    fn longest_run(&self) -> usize {
        self.processor.longest_run()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        self.runs.lock().unwrap().push(run.messages.len());
        self.processor.publish(run).await
    }
}

#[tokio::test]
async fn each_message_of_a_key_has_a_call_and_its_time_for_itself() {
    let service = Service::new();
    let orders: Vec<String> = (0..40).map(|number| format!("o-{number}")).collect();
    for order in &orders {
        service.deliver_keyed(order, "k").await;
    }
    let runs = Arc::<Mutex<Vec<usize>>>::default();
    let noting = Noting {
        processor: service.processor(),
        runs: Arc::clone(&runs),
    };
    // Through a router too.
    let router = Router::new().route("*".parse().unwrap(), Arc::new(noting));
    let relay = relay(service.incoming.clone(), router, config());
    assert_eq!(relay.drain().await.unwrap().published, 40);
    assert_eq!(*runs.lock().unwrap(), [1; 40]);
    assert_eq!(service.calls(), orders);
}
