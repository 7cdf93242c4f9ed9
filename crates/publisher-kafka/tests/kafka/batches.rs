//! A broker refuses a batch as a whole, and only one record of it may be at fault (F5, O5).

use futures_util::future::join_all;
use outbox_publisher::PublishErrorKind;
use rdkafka::types::RDKafkaRespErr::{
    RD_KAFKA_RESP_ERR_INVALID_RECORD as INVALID_RECORD,
    RD_KAFKA_RESP_ERR_INVALID_REQUEST as INVALID_REQUEST,
    RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE as TOO_LARGE,
    RD_KAFKA_RESP_ERR_POLICY_VIOLATION as POLICY_VIOLATION,
};

use crate::{
    cluster::Cluster,
    publishing::{confirm, fail, message, numbered, publish},
};

#[tokio::test]
async fn f5_a_record_is_judged_only_when_it_was_refused_by_itself() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    confirm(&publisher, &[message("t", "k", "first")]).await;
    // One refusal is of a batch: what is sent again by itself is taken.
    cluster.refuse(&[TOO_LARGE]);
    confirm(&publisher, &[message("t", "k", "second")]).await;
    assert_eq!(cluster.texts(), ["first", "second"]);
    for (error, kind) in [
        (TOO_LARGE, PublishErrorKind::TooLarge),
        (INVALID_RECORD, PublishErrorKind::Rejected),
        (POLICY_VIOLATION, PublishErrorKind::Rejected),
        (INVALID_REQUEST, PublishErrorKind::Unknown),
    ] {
        cluster.refuse(&[error, error]);
        let failure = fail(&publisher, &[message("t", "k", "x")]).await;
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert!(failure.text.ends_with("topic t"), "{failure}");
        let source = failure.source.unwrap().to_string();
        assert!(source.contains("Broker: "), "{source}");
    }
    assert_eq!(cluster.texts(), ["first", "second"]);
}

#[tokio::test]
async fn f5_no_neighbor_of_a_refused_record_is_judged() {
    const KEYS: usize = 20;
    let cluster = Cluster::new();
    // They wait for each other, and so go out as one batch.
    let publisher = cluster.publisher("message_timeout=30&linger_ms=300");
    confirm(&publisher, &[message("t", "warm", "up")]).await;
    cluster.refuse(&[INVALID_RECORD]);
    let runs: Vec<_> = (0..KEYS)
        .map(|n| [message("t", &format!("key-{n}"), "x")])
        .collect();
    for ended in join_all(runs.iter().map(|run| publish(&publisher, run))).await {
        assert!(ended.failure.is_none(), "{ended:?}");
    }
    assert_eq!(cluster.texts().len(), 1 + KEYS);
}

#[tokio::test]
async fn case5_what_stands_behind_a_record_that_is_too_large_is_not_sent() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    let run = numbered("t", "k", 3);
    cluster.refuse(&[TOO_LARGE, TOO_LARGE]);
    let failure = fail(&publisher, &run).await;
    assert_eq!(failure.kind, PublishErrorKind::TooLarge, "{failure:?}");
    confirm(&publisher, &[message("t", "other", "later")]).await;
    assert_eq!(cluster.texts(), ["later"]);
    // It is dead, and its key goes on.
    confirm(&publisher, &run[1..]).await;
    assert_eq!(cluster.texts(), ["later", "k:2", "k:3"]);
}

#[tokio::test]
async fn o5_a_refusal_in_the_middle_of_a_run_keeps_what_is_before_it() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    confirm(&publisher, &[message("t", "k", "k:0")]).await;
    let mut run = numbered("t", "k", 4);
    // More than the client takes, so that nobody else decides.
    run[2].payload = vec![b'x'; 100_000_001].into();
    let ended = publish(&publisher, &run).await;
    let failure = ended.failure.unwrap();
    assert_eq!(
        (ended.confirmed, failure.kind),
        (2, PublishErrorKind::TooLarge),
        "{failure:?}"
    );
    assert_eq!(cluster.texts(), ["k:0", "k:1", "k:2"]);
}
