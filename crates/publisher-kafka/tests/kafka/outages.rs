//! Brokers that are away, slow or without the topic spend no attempt, and are waited for (F3).

use std::time::Duration;

use futures_util::{FutureExt, future::join_all};
use outbox_message::Topic;
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_kafka::KafkaPublisher;
use rdkafka::types::RDKafkaRespErr::{
    RD_KAFKA_RESP_ERR_NO_ERROR as NO_ERROR,
    RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED as FORBIDDEN,
    RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART as UNKNOWN_TOPIC,
};
use tokio::time::timeout;

use crate::{
    cluster::Cluster,
    publishing::{confirm, fail, message, numbered, publish},
};

#[tokio::test]
async fn f3_brokers_that_are_down_are_unavailable_with_the_reason_until_they_are_up() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("message_timeout=2");
    let run = numbered("t", "k", 3);
    confirm(&publisher, &run[..1]).await;
    cluster.down();
    for _ in 0..2 {
        let failure = fail(&publisher, &run[1..]).await;
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
        assert!(failure.text.contains(&cluster.server()), "{failure}");
        assert!(failure.text.contains("Connect"), "{failure}");
    }
    for checked in [
        publisher.reach().await,
        publisher.check(&run[0].topic).await,
    ] {
        let failure = checked.unwrap_err();
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    }
    cluster.up();
    let patient = cluster.publisher("");
    confirm(&patient, &run[1..]).await;
    confirm(&patient, &run[..1]).await;
    patient.reach().await.unwrap();
    assert_eq!(cluster.texts(), ["k:1", "k:2", "k:3", "k:1"]);
}

#[tokio::test]
async fn f3_a_refused_connection_says_what_to_do() {
    let cluster = Cluster::new();
    let url = format!("kafka://{}/?message_timeout=1", cluster.server());
    cluster.down();
    let publisher = KafkaPublisher::new(&url).unwrap();
    let asked = publisher.reach().await.unwrap_err();
    let sent = fail(&publisher, &[message("t", "k", "x")]).await;
    for failure in [asked, sent] {
        let advice = "start the broker, or correct the URL";
        assert!(failure.text.ends_with(advice), "{failure}");
    }
}

#[tokio::test]
async fn f3_a_record_that_waits_for_a_broker_goes_out_when_it_is_up() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    let run = numbered("t", "k", 2);
    confirm(&publisher, &run[..1]).await;
    cluster.down();
    let ((), ()) = tokio::join!(confirm(&publisher, &run[1..]), async { cluster.up() });
    assert_eq!(cluster.texts(), ["k:1", "k:2"]);
}

#[tokio::test]
async fn f3_a_missing_topic_is_named_and_used_when_it_is_there() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    let topic = Topic::new("t").unwrap();
    cluster.topic_error("t", UNKNOWN_TOPIC);
    for _ in 0..2 {
        let failure = fail(&publisher, &numbered("t", "k", 2)).await;
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
        assert!(failure.text.contains("topic t does not exist"), "{failure}");
        let failure = publisher.check(&topic).await.unwrap_err();
        assert!(failure.text.contains("topic t does not exist"), "{failure}");
    }
    // It is about this topic alone.
    cluster.create("u", 1);
    confirm(&publisher, &numbered("u", "k", 1)).await;
    cluster.topic_error("t", NO_ERROR);
    publisher.check(&topic).await.unwrap();
    let ended = async { while publish(&publisher, &numbered("t", "k", 2)).await.confirmed < 2 {} };
    timeout(Duration::from_secs(30), ended).await.unwrap();
    assert_eq!(cluster.texts(), ["k:1", "k:2"]);
}

#[tokio::test]
async fn f3_a_topic_that_is_removed_is_missing_and_used_again_when_it_is_back() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    confirm(&publisher, &numbered("t", "k", 2)).await;
    cluster.topic_error("t", UNKNOWN_TOPIC);
    cluster.refuse(&[UNKNOWN_TOPIC]);
    for _ in 0..2 {
        let failure = fail(&publisher, &[message("t", "k", "k:3")]).await;
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
        assert!(failure.text.contains("topic t does not exist"), "{failure}");
    }
    cluster.topic_error("t", NO_ERROR);
    let publishing = async {
        let run = [message("t", "k", "k:3")];
        while publish(&publisher, &run).await.confirmed < 1 {}
    };
    timeout(Duration::from_secs(30), publishing).await.unwrap();
    assert_eq!(cluster.texts(), ["k:1", "k:2", "k:3"]);
}

#[tokio::test]
async fn f3_a_topic_that_may_not_be_written_to_is_unavailable() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    confirm(&publisher, &numbered("t", "k", 1)).await;
    cluster.refuse(&[FORBIDDEN]);
    let failure = fail(&publisher, &numbered("t", "k", 1)).await;
    assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
    assert!(failure.text.contains("permit Write"), "{failure}");
}

#[tokio::test]
async fn a_check_makes_no_topic() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    for _ in 0..2 {
        let failure = publisher.check(&Topic::new("unheard-of").unwrap()).await;
        let failure = failure.unwrap_err();
        assert!(
            failure.text.contains("unheard-of does not exist"),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn d2_the_fate_of_every_record_of_a_call_is_known_within_two_message_timeouts() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("message_timeout=4");
    confirm(&publisher, &[message("t", "k", "k:0")]).await;
    cluster.slow(Duration::from_secs(1));
    let ended = publish(&publisher, &numbered("t", "k", 20)).await;
    let failure = ended.failure.unwrap();
    assert_eq!(failure.kind, PublishErrorKind::Interrupted, "{failure:?}");
    assert!(ended.confirmed >= 1, "{failure:?}");
    // What was not confirmed was not handed over.
    cluster.slow(Duration::ZERO);
    confirm(&publisher, &[message("t", "k", "after")]).await;
    assert_eq!(cluster.texts().len(), 1 + ended.confirmed + 1);
}

#[tokio::test]
async fn o11_a_record_of_a_dropped_call_is_never_behind_a_later_one_of_its_key() {
    const KEYS: usize = 20;
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    confirm(&publisher, &[message("t", "k", "first")]).await;
    cluster.down();
    let runs: Vec<_> = (0..KEYS)
        .map(|n| numbered("t", &format!("key-{n}"), 3))
        .collect();
    for run in &runs {
        // It was handed over and nobody waits for it any more.
        assert!(publish(&publisher, run).now_or_never().is_none());
    }
    cluster.up();
    for ended in join_all(runs.iter().map(|run| publish(&publisher, run))).await {
        assert!(ended.failure.is_none(), "{ended:?}");
    }
    let texts = cluster.texts();
    for run in &runs {
        let of_key: Vec<_> = run
            .iter()
            .map(|it| String::from_utf8_lossy(&it.payload))
            .collect();
        let arrived: Vec<_> = texts
            .iter()
            .filter(|text| of_key.contains(&text.as_str().into()))
            .collect();
        assert_eq!(arrived, [&of_key[0], &of_key[0], &of_key[1], &of_key[2]]);
    }
}
