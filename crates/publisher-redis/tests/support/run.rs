//! Runs for a publisher, without a relay.

use outbox_message::{Delivery, Lane, LaneToken, Message, Position};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};

pub(crate) fn message(topic: &str, payload: impl Into<Vec<u8>>) -> Message {
    Message::new(topic, payload.into()).unwrap()
}

/// Messages with the payloads `1`, `2`, ...
pub(crate) fn numbered(topic: &str, numbers: std::ops::RangeInclusive<u32>) -> Vec<Message> {
    numbers
        .map(|number| message(topic, number.to_string()))
        .collect()
}

pub(crate) async fn publish(publisher: &dyn Publisher, messages: &[Message]) -> Published {
    let deliveries: Vec<Delivery> = messages
        .iter()
        .map(|message| Delivery {
            lane: Lane(0),
            position: Position(1),
            attempts: 0,
            tries: 0,
            starts: 0,
            message: message.clone(),
        })
        .collect();
    let destination = publisher.destination(&messages[0].topic);
    publisher
        .publish(Run {
            destination: &destination,
            token: &LaneToken {
                lane: Lane(0),
                epoch: 1,
                holder: "h".into(),
            },
            messages: &deliveries,
        })
        .await
}

pub(crate) async fn publish_all(publisher: &dyn Publisher, messages: &[Message]) {
    let outcome = publish(publisher, messages).await;
    assert!(outcome.failure.is_none(), "{outcome:?}");
    assert_eq!(outcome.confirmed, messages.len());
}

/// Publishes until it works, as a relay does. Nothing but an outage may stand in the way.
pub(crate) async fn publish_until_it_works(publisher: &dyn Publisher, messages: &[Message]) {
    let mut confirmed = 0;
    while confirmed < messages.len() {
        let outcome = publish(publisher, &messages[confirmed..]).await;
        confirmed += outcome.confirmed;
        if let Some(failure) = outcome.failure {
            assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
        }
    }
}

/// Publishes what must fail after so many messages.
pub(crate) async fn fail_after(
    publisher: &dyn Publisher,
    messages: &[Message],
    confirmed: usize,
) -> PublishError {
    let outcome = publish(publisher, messages).await;
    assert_eq!(outcome.confirmed, confirmed, "{outcome:?}");
    outcome.failure.unwrap()
}

/// Publishes what must fail with an outage whose text has this in it.
pub(crate) async fn unavailable(publisher: &dyn Publisher, messages: &[Message], shown: &str) {
    let failure = fail_after(publisher, messages, 0).await;
    assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    assert!(failure.text.contains(shown), "{failure}");
}
