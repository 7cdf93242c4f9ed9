//! Exchanges, and messages that come back from them.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::future::join_all;
use lapin::{
    ExchangeKind,
    options::{ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions},
    types::FieldTable,
};
use outbox_publisher::{PublishErrorKind, Publisher};

use crate::{
    broker::{self, Consumer, unique},
    publishing::{assert_error, confirm, fail, message, publish, publisher, topic},
};

/// An exchange of which a queue takes what is routed by this pattern.
struct Exchange {
    name: String,
    queue: String,
    consumer: Consumer,
}

impl Exchange {
    async fn new(pattern: &str) -> Self {
        let mut exchange = Self {
            name: unique("exchange"),
            queue: unique("bound"),
            consumer: Consumer::new(&broker::url()),
        };
        exchange.consumer.declare(&exchange.queue).await;
        exchange.declare().await;
        let channel = exchange.consumer.channel().await;
        let bound = channel.queue_bind(
            (&*exchange.queue).into(),
            (&*exchange.name).into(),
            pattern.into(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        bound.await.unwrap();
        exchange
    }

    async fn declare(&mut self) {
        let channel = self.consumer.channel().await;
        let declared = channel.exchange_declare(
            (&*self.name).into(),
            ExchangeKind::Topic,
            ExchangeDeclareOptions::default(),
            FieldTable::default(),
        );
        declared.await.unwrap();
    }

    async fn delete(&mut self) {
        let channel = self.consumer.channel().await;
        let deleted =
            channel.exchange_delete((&*self.name).into(), ExchangeDeleteOptions::default());
        deleted.await.unwrap();
    }

    async fn take(&mut self) -> Vec<String> {
        self.consumer.take_payloads(&self.queue).await
    }
}

#[tokio::test]
async fn case23_what_nobody_takes_is_unroutable_and_what_somebody_takes_is_confirmed() {
    let mut exchange = Exchange::new("*.eu").await;
    let publisher = publisher(&format!(
        "exchange={}&routing_key={{topic}}.{{key}}",
        exchange.name
    ));
    assert!(publisher.has_one_destination());
    let to = |key, payload: &str| message("orders", payload).with_key(key).unwrap();
    confirm(&publisher, &to("eu", "a")).await;
    let error = fail(&publisher, &to("us", "b")).await;
    assert_error(
        &error,
        PublishErrorKind::Unroutable,
        &[&exchange.name, "orders.us"],
    );
    let verdict = publish(&publisher, &[to("us", "c"), to("us", "d")]).await;
    assert_eq!(verdict.confirmed, 0);
    confirm(&publisher, &to("eu", "e")).await;
    assert_eq!(exchange.take().await, ["a", "e"]);
}

/// The broker tells on what comes back one by one, and on what was taken in heaps; the client gives what came back to any of them.
#[tokio::test(flavor = "multi_thread")]
async fn d1_f5_of_many_at_once_exactly_those_that_come_back_are_unroutable() {
    const ROUNDS: u32 = 20;
    const AT_ONCE: u32 = 300;
    let mut exchange = Exchange::new("taken.#").await;
    let publisher = publisher(&format!("exchange={}", exchange.name));
    let mut confirmed = BTreeSet::new();
    for round in 0..ROUNDS {
        let calls = (0..AT_ONCE).map(|number| {
            let publisher = publisher.clone();
            let topic = if (number + round) % 3 == 0 {
                "lost"
            } else {
                "taken"
            };
            let message = message(topic, format!("{round}-{number}"));
            async move {
                let verdict = publish(&publisher, std::slice::from_ref(&message)).await;
                (topic, message, verdict)
            }
        });
        for (topic, message, verdict) in join_all(calls).await {
            if topic == "taken" {
                assert_eq!(verdict.confirmed, 1, "{:?}", verdict.failure);
                confirmed.insert(String::from_utf8(message.payload.to_vec()).unwrap());
            } else {
                let error = verdict.failure.expect("nobody takes it");
                assert_error(&error, PublishErrorKind::Unroutable, &["lost"]);
            }
        }
    }
    let taken: BTreeSet<_> = exchange.take().await.into_iter().collect();
    assert_eq!(taken, confirmed);
}

#[tokio::test(flavor = "multi_thread")]
async fn f3_a_missing_exchange_stops_what_is_published_to_it_and_nothing_else() {
    let mut exchange = Exchange::new("#").await;
    let missing = unique("missing");
    let publisher = Arc::new(publisher("exchange={topic}&routing_key=r"));
    assert!(!publisher.has_one_destination());
    for round in 0..10 {
        let calls = (0..50).map(|number| {
            let publisher = Arc::clone(&publisher);
            let to = if number % 2 == 0 {
                &missing
            } else {
                &exchange.name
            };
            let message = message(to, format!("{round}-{number}"));
            async move { publish(&publisher, std::slice::from_ref(&message)).await }
        });
        for (number, verdict) in join_all(calls).await.into_iter().enumerate() {
            if number % 2 == 0 {
                let error = verdict.failure.unwrap();
                assert_error(
                    &error,
                    PublishErrorKind::Unavailable,
                    &[&missing, "exchange="],
                );
            } else {
                assert_eq!(verdict.confirmed, 1, "{:?}", verdict.failure);
            }
        }
    }
    assert_eq!(exchange.take().await.len(), 250);
    let error = publisher.check(&topic(&missing)).await.unwrap_err();
    assert_error(&error, PublishErrorKind::Unavailable, &[&missing]);
    publisher.check(&topic(&exchange.name)).await.unwrap();
}

#[tokio::test]
async fn f3_an_exchange_that_is_deleted_is_used_again_when_it_is_back() {
    let mut exchange = Exchange::new("#").await;
    let publisher = publisher(&format!("exchange={}", exchange.name));
    confirm(&publisher, &message("t", "a")).await;
    exchange.delete().await;
    let error = fail(&publisher, &message("t", "b")).await;
    assert_error(&error, PublishErrorKind::Unavailable, &[&exchange.name]);
    exchange.declare().await;
    let error = fail(&publisher, &message("t", "b")).await;
    assert_error(&error, PublishErrorKind::Unroutable, &[&exchange.name]);
}
