//! Publishing as a relay does it, for tests of one publisher.

use outbox_message::{Delivery, Lane, LaneToken, Message, Position};
use outbox_publisher::{PublishError, Published, Publisher, Run};
use outbox_publisher_kafka::KafkaPublisher;

/// A message of a topic, with a key.
pub(crate) fn message(topic: &str, key: &str, payload: &str) -> Message {
    let message = Message::new(topic, payload.to_owned()).unwrap();
    message.with_key(key).unwrap()
}

/// Messages of one key, told apart by their payloads.
pub(crate) fn numbered(topic: &str, key: &str, count: usize) -> Vec<Message> {
    let message = |n| message(topic, key, &format!("{key}:{n}"));
    (1..=count).map(message).collect()
}

/// Publishes a run.
pub(crate) async fn publish(publisher: &KafkaPublisher, messages: &[Message]) -> Published {
    let lane = Lane(1);
    let token = LaneToken {
        lane,
        epoch: 1,
        holder: "test".into(),
    };
    let delivery = |(position, message): (i64, &Message)| Delivery {
        lane,
        position: Position(position),
        attempts: 0,
        tries: 0,
        starts: 0,
        message: message.clone(),
    };
    let deliveries: Vec<_> = (1..).zip(messages).map(delivery).collect();
    let destination = publisher.destination(&messages[0].topic);
    let run = Run {
        destination: &destination,
        token: &token,
        messages: &deliveries,
    };
    publisher.publish(run).await
}

/// Publishes messages that nothing hinders.
pub(crate) async fn confirm(publisher: &KafkaPublisher, messages: &[Message]) {
    let ended = publish(publisher, messages).await;
    assert!(ended.failure.is_none(), "{ended:?}");
}

/// Publishes messages of which none is confirmed, and says why.
pub(crate) async fn fail(publisher: &KafkaPublisher, messages: &[Message]) -> PublishError {
    let ended = publish(publisher, messages).await;
    assert_eq!(ended.confirmed, 0, "{ended:?}");
    ended.failure.unwrap()
}
