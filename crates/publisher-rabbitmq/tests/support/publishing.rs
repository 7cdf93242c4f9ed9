//! Publishing as a relay does, without one.

use outbox_message::{Delivery, Lane, LaneToken, Message, Position, Topic};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};
use outbox_publisher_rabbitmq::RabbitMqPublisher;

use crate::broker;

/// A publisher to the shared server.
pub(crate) fn publisher(query: &str) -> RabbitMqPublisher {
    let url = broker::url();
    RabbitMqPublisher::new(&format!("{url}?{query}")).unwrap()
}

pub(crate) fn topic(text: &str) -> Topic {
    Topic::new(text).unwrap()
}

pub(crate) fn message(topic: &str, payload: impl Into<Vec<u8>>) -> Message {
    Message::new(topic, payload.into()).unwrap()
}

pub(crate) async fn publish(publisher: &RabbitMqPublisher, messages: &[Message]) -> Published {
    let lane = Lane(0);
    let token = LaneToken {
        lane,
        epoch: 1,
        holder: "h".into(),
    };
    let deliveries: Vec<_> = (1..)
        .zip(messages)
        .map(|(position, message)| Delivery {
            lane,
            position: Position(position),
            attempts: 0,
            tries: 0,
            starts: 0,
            message: message.clone(),
        })
        .collect();
    let destination = publisher.destination(&messages[0].topic);
    let run = Run {
        destination: &destination,
        token: &token,
        messages: &deliveries,
    };
    publisher.publish(run).await
}

/// Publishes one message that has to be confirmed.
pub(crate) async fn confirm(publisher: &RabbitMqPublisher, message: &Message) {
    let verdict = publish(publisher, std::slice::from_ref(message)).await;
    assert_eq!(verdict.confirmed, 1, "{:?}", verdict.failure);
}

/// Publishes one message that has to fail.
pub(crate) async fn fail(publisher: &RabbitMqPublisher, message: &Message) -> PublishError {
    let verdict = publish(publisher, std::slice::from_ref(message)).await;
    assert_eq!(verdict.confirmed, 0);
    verdict.failure.unwrap()
}

/// The error is of this kind, and its text names all of these.
#[track_caller]
pub(crate) fn assert_error(error: &PublishError, kind: PublishErrorKind, names: &[&str]) {
    assert_eq!(error.kind, kind, "{error:?}");
    for name in names {
        assert!(error.text.contains(name), "{name} is not in: {error}");
    }
}
