//! What only NATS does: streams that are missing, full or made, connections, logins, and the fence. On real servers.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "../support/stream.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod stream;

mod connections;
mod fenced;
mod logins;
mod streams;

use outbox_message::{Delivery, Lane, LaneToken, Message, Position};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};
use outbox_publisher_nats::NatsPublisher;

fn message(topic: &str, key: &str, text: &str) -> Message {
    let message = Message::new(topic, text.to_owned()).unwrap();
    message.with_key(key).unwrap()
}

/// Publishes a run under a lease of this epoch.
async fn publish_under(publisher: &NatsPublisher, epoch: i64, messages: &[Message]) -> Published {
    let token = LaneToken {
        lane: Lane(3),
        epoch,
        holder: format!("holder-{epoch}").into(),
    };
    let deliveries: Vec<_> = (1..)
        .zip(messages)
        .map(|(position, message)| Delivery {
            lane: Lane(3),
            position: Position(position),
            attempts: 0,
            tries: 0,
            starts: 0,
            message: message.clone(),
        })
        .collect();
    let destination = publisher.destination(&messages[0].topic).into_owned();
    let run = Run {
        destination: &destination,
        token: &token,
        messages: &deliveries,
    };
    publisher.publish(run).await
}

async fn publish(publisher: &NatsPublisher, messages: &[Message]) -> Published {
    publish_under(publisher, 1, messages).await
}

/// Publishes what nothing hinders.
async fn confirm(publisher: &NatsPublisher, message: &Message) {
    let ended = publish(publisher, std::slice::from_ref(message)).await;
    assert_eq!(ended.confirmed, 1, "{:?}", ended.failure);
}

/// Publishes what must fail, and says how.
async fn fail(publisher: &NatsPublisher, message: &Message) -> PublishError {
    let ended = publish(publisher, std::slice::from_ref(message)).await;
    assert_eq!(ended.confirmed, 0, "it confirms what must fail");
    ended.failure.unwrap()
}

#[track_caller]
fn assert_unavailable(failure: &PublishError, named: &[&str]) {
    assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    for named in named {
        assert!(
            failure.text.contains(named),
            "{named:?} is not in: {failure}"
        );
    }
}
