//! What the suite of all publishers does not ask, on a real server.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/broker.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod broker;
#[path = "support/gate.rs"]
mod gate;
#[path = "support/publishing.rs"]
mod publishing;
#[path = "support/reader.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod reader;

use std::time::Duration;

use broker::{Broker, TOPIC};
use outbox_message::Message;
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_kafka::KafkaPublisher;
use publishing::{confirm, fail, numbered, publish};
use tokio::time::timeout;

/// Publishes again and again, as a relay does, while no failure counts.
async fn confirm_at_last(publisher: &KafkaPublisher, messages: &[Message]) {
    let publishing = async {
        let mut rest = messages;
        while !rest.is_empty() {
            let ended = publish(publisher, rest).await;
            if let Some(failure) = ended.failure {
                assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
            }
            rest = &rest[ended.confirmed..];
        }
    };
    timeout(Duration::from_mins(1), publishing).await.unwrap();
}

#[tokio::test]
async fn f3_a_missing_topic_is_named_until_somebody_makes_it() {
    let mut broker = Broker::empty();
    let publisher = broker.publisher("");
    let run = numbered(TOPIC, "k", 3);
    for _ in 0..3 {
        let failure = fail(&publisher, &run).await;
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
        assert!(failure.text.contains(TOPIC), "{failure}");
        let checked = publisher.check(&run[0].topic).await.unwrap_err();
        assert_eq!(checked.text, failure.text);
        publisher.reach().await.unwrap();
    }
    broker.create();
    confirm_at_last(&publisher, &run).await;
    publisher.check(&run[0].topic).await.unwrap();
    let texts: Vec<_> = broker.stored().iter().map(reader::Stored::text).collect();
    assert_eq!(texts, ["k:1", "k:2", "k:3"]);
}

#[tokio::test]
async fn a_broker_that_makes_topics_makes_them_only_when_told_to() {
    let broker = Broker::empty();
    let run = numbered(TOPIC, "k", 3);
    for _ in 0..2 {
        fail(&broker.publisher(""), &run).await;
    }
    let publisher = broker.publisher("create_topics=true");
    assert!(publisher.check(&run[0].topic).await.is_err());
    confirm_at_last(&publisher, &run).await;
    publisher.check(&run[0].topic).await.unwrap();
}

#[tokio::test]
async fn f3_a_cluster_that_has_lost_all_it_knew_is_used_again() {
    let mut broker = Broker::start();
    let publisher = broker.publisher("");
    let run = numbered(TOPIC, "k", 6);
    confirm(&publisher, &run[..3]).await;
    broker.server.kill().unwrap();
    broker.server.start_again().unwrap();
    broker.create();
    confirm_at_last(&publisher, &run[3..]).await;
    let texts: Vec<_> = broker.stored().iter().map(reader::Stored::text).collect();
    assert_eq!(texts, ["k:4", "k:5", "k:6"]);
}

#[tokio::test]
async fn f3_a_refused_password_says_so_and_what_nobody_asks_for_is_refused_too() {
    let broker = Broker::start();
    let run = numbered(TOPIC, "k", 1);
    let straight = format!("kafka://shop:secret@127.0.0.1:{}", broker.server.port());
    let straight = KafkaPublisher::new(&straight).unwrap();
    for publisher in [broker.publisher_as("secret", ""), straight] {
        let failures = [
            fail(&publisher, &run).await,
            publisher.check(&run[0].topic).await.unwrap_err(),
            publisher.reach().await.unwrap_err(),
        ];
        for failure in failures {
            assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
            assert!(failure.text.contains("SASL"), "{failure}");
            assert!(!format!("{failure:?}").contains("secret"), "it is shown");
        }
    }
    confirm(&broker.publisher(""), &run).await;
}
