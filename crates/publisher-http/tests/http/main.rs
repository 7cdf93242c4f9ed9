//! What only HTTP does: receivers that misbehave, addresses that are not public, statuses, signatures, files.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod addresses;
mod answers;
mod asking;
#[path = "../support/certificates.rs"]
mod certificates;
mod doubts;
#[path = "../support/receiver.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod receiver;
mod requests;
mod silence;
mod tls;

use std::{slice, time::Duration};

use outbox_message::{Delivery, Lane, LaneToken, Message, Position};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};
use outbox_publisher_http::{HttpConfig, HttpPublisher};
use receiver::{Receiver, Rules};

/// How long a request may take here: long for a receiver on this machine, short for a test.
const TIMEOUT: Duration = Duration::from_millis(400);

async fn receiver() -> Receiver {
    Receiver::start(Rules::default()).await
}

/// A publisher to a receiver, with more parameters.
fn publisher(receiver: &Receiver, more: &str) -> HttpPublisher {
    HttpPublisher::with_config(config(receiver, more)).unwrap()
}

/// The same that has little patience.
fn impatient(receiver: &Receiver) -> HttpPublisher {
    let config = HttpConfig {
        timeout: TIMEOUT,
        ..config(receiver, "")
    };
    HttpPublisher::with_config(config).unwrap()
}

fn config(receiver: &Receiver, more: &str) -> HttpConfig {
    let port = receiver.port();
    let url = format!("http://127.0.0.1:{port}/hooks?t=7#allow_private=true{more}");
    HttpConfig::from_url(&url).unwrap()
}

fn message(text: &str) -> Message {
    Message::new("orders", text.as_bytes().to_vec()).unwrap()
}

async fn publish_run(publisher: &HttpPublisher, messages: &[Message]) -> Published {
    let lane = Lane(1);
    let token = LaneToken {
        lane,
        epoch: 1,
        holder: "test".into(),
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
    let destination = publisher.destination(&messages[0].topic).into_owned();
    let run = Run {
        destination: &destination,
        token: &token,
        messages: &deliveries,
    };
    publisher.publish(run).await
}

/// Publishes a message, and says how it failed if it did.
async fn publish(publisher: &HttpPublisher, message: &Message) -> Result<(), PublishError> {
    let ended = publish_run(publisher, slice::from_ref(message)).await;
    match ended.failure {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// The failure of a message that cannot be published.
async fn fail(publisher: &HttpPublisher, message: &Message) -> PublishError {
    publish(publisher, message).await.unwrap_err()
}

#[track_caller]
fn assert_unavailable(failure: &PublishError, words: &[&str]) {
    assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    for word in words {
        assert!(failure.text.contains(word), "{word:?} is not in {failure}");
    }
    let shown = format!("{failure} {failure:?}");
    assert!(!shown.contains("t=7"), "it shows the query: {shown}");
}
