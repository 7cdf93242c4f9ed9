//! Queues through the default exchange.

use lapin::{
    options::QueueDeclareOptions,
    types::{AMQPValue, FieldTable},
};
use outbox_publisher::{PublishErrorKind, Publisher};

use crate::{
    broker::{self, Consumer, unique},
    publishing::{assert_error, confirm, fail, message, publish, publisher, topic},
};

fn consumer() -> Consumer {
    Consumer::new(&broker::url())
}

#[tokio::test]
async fn f3_a_missing_queue_stops_its_topic_only_and_is_named() {
    let (there, missing) = (unique("there"), unique("missing"));
    let mut consumer = consumer();
    consumer.declare(&there).await;
    let publisher = publisher("");
    let error = fail(&publisher, &message(&missing, "a")).await;
    assert_error(
        &error,
        PublishErrorKind::Unavailable,
        &[&missing, "declare=true"],
    );
    confirm(&publisher, &message(&there, "b")).await;
    assert!(!publisher.has_one_destination());
    let [one, other] =
        [&there, &missing].map(|name| publisher.destination(&topic(name)).into_owned());
    assert_ne!(one, other);
    let error = publisher.check(&topic(&missing)).await.unwrap_err();
    assert_error(&error, PublishErrorKind::Unavailable, &[&missing]);
    publisher.check(&topic(&there)).await.unwrap();
}

#[tokio::test]
async fn a_queue_is_declared_durable_when_told_to_and_again_when_it_is_deleted() {
    let name = unique("declared");
    let mut consumer = consumer();
    let publisher = publisher("declare=true");
    publisher.check(&topic(&name)).await.unwrap();
    for _ in 0..2 {
        confirm(&publisher, &message(&name, "a")).await;
        // Declaring it durable would fail if it were not.
        consumer.declare(&name).await;
        assert_eq!(consumer.take_payloads(&name).await, ["a"]);
        consumer.delete(&name).await;
    }
}

#[tokio::test]
async fn a_queue_that_is_there_is_taken_as_it_is() {
    let name = unique("bounded");
    let mut consumer = consumer();
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongInt(5));
    consumer.declare_with(&name, arguments).await;
    let publisher = publisher("declare=true");
    publisher.check(&topic(&name)).await.unwrap();
    confirm(&publisher, &message(&name, "a")).await;
    assert_eq!(consumer.take_payloads(&name).await, ["a"]);
}

#[tokio::test]
async fn a_queue_that_cannot_be_declared_is_unavailable() {
    let publisher = publisher("declare=true");
    let error = fail(&publisher, &message("amq.reserved", "a")).await;
    assert_error(&error, PublishErrorKind::Unavailable, &["amq.reserved"]);
    // Names of this kind are the broker's own, so the channel was closed, and nothing else.
    let name = unique("after");
    confirm(&publisher, &message(&name, "a")).await;
}

#[tokio::test]
async fn f3_a_full_queue_that_refuses_throttles_its_topic_and_takes_more_when_there_is_room() {
    let name = unique("full");
    let mut consumer = consumer();
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongInt(1));
    arguments.insert(
        "x-overflow".into(),
        AMQPValue::LongString("reject-publish".into()),
    );
    consumer.declare_with(&name, arguments).await;
    let publisher = publisher("");
    let run = [
        message(&name, "a"),
        message(&name, "b"),
        message(&name, "c"),
    ];
    let verdict = publish(&publisher, &run).await;
    assert_eq!(verdict.confirmed, 1);
    assert_error(
        &verdict.failure.unwrap(),
        PublishErrorKind::Throttled,
        &["nack", &name],
    );
    let roomy = unique("roomy");
    consumer.declare(&roomy).await;
    confirm(&publisher, &message(&roomy, "d")).await;
    assert_eq!(consumer.take_payloads(&name).await, ["a"]);
    confirm(&publisher, &run[1]).await;
}

#[tokio::test]
async fn messages_survive_in_a_durable_queue_since_they_are_persistent() {
    let name = unique("persistent");
    let mut consumer = consumer();
    consumer.declare(&name).await;
    confirm(&publisher(""), &message(&name, "a")).await;
    let taken = consumer.take(&name).await;
    assert_eq!(*taken[0].properties.delivery_mode(), Some(2));
}

#[tokio::test]
async fn a_queue_of_another_name_takes_all_topics() {
    let name = unique("all");
    let mut consumer = consumer();
    consumer.declare(&name).await;
    let publisher = publisher(&format!("queue={name}"));
    assert!(publisher.has_one_destination());
    for topic in ["orders", "payments"] {
        confirm(&publisher, &message(topic, topic)).await;
    }
    assert_eq!(consumer.take_payloads(&name).await, ["orders", "payments"]);
}

#[tokio::test]
async fn d1_a_queue_of_one_connection_only_is_unavailable() {
    let name = unique("exclusive");
    let mut consumer = consumer();
    let options = QueueDeclareOptions {
        exclusive: true,
        ..QueueDeclareOptions::default()
    };
    let channel = consumer.channel().await;
    let declared = channel.queue_declare((&*name).into(), options, FieldTable::default());
    declared.await.unwrap();
    let error = publisher("").check(&topic(&name)).await.unwrap_err();
    assert_error(&error, PublishErrorKind::Unavailable, &[&name]);
}
