//! The scripted publisher does what it is told, and its record says what happened.

use std::time::Duration;

use outbox_message::{Delivery, Lane, LaneToken, Message, Position, Topic};
use outbox_publisher::{PublishErrorKind, Published, Publisher, Run};
use outbox_testkit::{Reply, ScriptedPublisher};

fn delivery(id: &str) -> Delivery {
    Delivery {
        lane: Lane(0),
        position: Position(1),
        attempts: 0,
        tries: 0,
        starts: 0,
        message: Message::new("t", "")
            .and_then(|message| message.with_id(id))
            .expect("topic and id are short"),
    }
}

async fn publish(publisher: &ScriptedPublisher, ids: &[&str]) -> Published {
    let messages: Vec<_> = ids.iter().copied().map(delivery).collect();
    let token = LaneToken {
        lane: Lane(0),
        epoch: 1,
        holder: "h".into(),
    };
    let topic = Topic::new("t").expect("it is short");
    let destination = publisher.destination(&topic);
    publisher
        .publish(Run {
            destination: &destination,
            token: &token,
            messages: &messages,
        })
        .await
}

#[tokio::test]
async fn a_run_ends_at_the_first_message_that_is_not_confirmed() {
    let publisher = ScriptedPublisher::new();
    publisher.on("b", [Reply::Fail(PublishErrorKind::Rejected)]);
    let answer = publish(&publisher, &["a", "b", "c"]).await;
    assert_eq!(answer.confirmed, 1);
    assert_eq!(answer.failure.unwrap().kind, PublishErrorKind::Rejected);
    assert_eq!((publisher.times("b"), publisher.times("c")), (1, 0));
    assert_eq!(publish(&publisher, &["b", "c"]).await.confirmed, 2);
    assert_eq!(publisher.confirmed(), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_lost_answer_leaves_the_message_with_the_broker() {
    let publisher = ScriptedPublisher::new();
    publisher.on("a", [Reply::Lose(PublishErrorKind::Unavailable)]);
    assert_eq!(publish(&publisher, &["a"]).await.confirmed, 0);
    assert_eq!(publish(&publisher, &["a"]).await.confirmed, 1);
    assert_eq!(publisher.received(), ["a", "a"]);
    assert_eq!(publisher.confirmed(), ["a"]);
}

#[tokio::test]
async fn a_held_message_waits_until_it_is_let_go() {
    let publisher = ScriptedPublisher::new();
    publisher.hold("a");
    let waiting = tokio::spawn({
        let publisher = publisher.clone();
        async move { publish(&publisher, &["a"]).await.confirmed }
    });
    publisher.begun(1).await;
    assert_eq!(publish(&publisher, &["b"]).await.confirmed, 1);
    assert_eq!(publisher.most_in_flight(), 2);
    assert_eq!(publisher.confirmed(), ["b"]);
    publisher.let_go("a");
    assert_eq!(waiting.await.unwrap(), 1);
    assert_eq!(publisher.confirmed(), ["b", "a"]);
}

#[tokio::test(start_paused = true)]
async fn a_publish_that_is_dropped_is_recorded_as_abandoned() {
    let publisher = ScriptedPublisher::new();
    publisher.on("a", [Reply::Hang]);
    publisher.on("b", [Reply::Late(Duration::from_secs(3))]);
    let limit = Duration::from_secs(10);
    let hung = tokio::time::timeout(limit, publish(&publisher, &["a"])).await;
    assert!(hung.is_err());
    let late = tokio::time::timeout(limit, publish(&publisher, &["b"])).await;
    assert_eq!(late.unwrap().confirmed, 1);
    let handed = publisher.handed();
    assert!(handed[0].abandoned && handed[0].reply.is_none());
    assert!(!handed[1].abandoned);
}

#[tokio::test]
async fn a_scripted_panic_is_recorded_as_abandoned() {
    let publisher = ScriptedPublisher::new();
    publisher.on("a", [Reply::Panic]);
    let panicking = tokio::spawn({
        let publisher = publisher.clone();
        async move { publish(&publisher, &["a"]).await.confirmed }
    });
    assert!(panicking.await.unwrap_err().is_panic());
    assert!(publisher.handed()[0].abandoned);
}

#[tokio::test]
async fn a_destination_that_is_down_fails_everything_until_it_is_up() {
    let publisher = ScriptedPublisher::new().route("t", "north");
    publisher.down("north", PublishErrorKind::Unavailable);
    assert_eq!(publish(&publisher, &["a"]).await.confirmed, 0);
    publisher.up("north");
    assert_eq!(publish(&publisher, &["a"]).await.confirmed, 1);
}

#[tokio::test]
async fn chance_strikes_the_same_hand_overs_for_the_same_seed() {
    let struck = async |seed| {
        let publisher = ScriptedPublisher::new();
        publisher.chance(seed, 30, Reply::Fail(PublishErrorKind::Rejected));
        let mut struck = Vec::new();
        for _ in 0..200 {
            struck.push(publish(&publisher, &["a"]).await.confirmed == 0);
        }
        struck
    };
    let first = struck(7).await;
    assert_eq!(first, struck(7).await);
    assert_ne!(first, struck(8).await);
    let count = first.iter().filter(|s| **s).count();
    assert!((30..90).contains(&count), "{count} of 200 struck");
}
