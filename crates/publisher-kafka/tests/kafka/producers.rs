//! The numbering of an idempotent producer: what it mends by itself, and when a new producer takes over.

use outbox_publisher::PublishErrorKind;
use rdkafka::types::RDKafkaRespErr::{
    RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS as NOT_ENOUGH_REPLICAS,
    RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER as OUT_OF_ORDER,
    RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID as UNKNOWN_PRODUCER,
};

use crate::{
    cluster::Cluster,
    publishing::{confirm, fail, numbered},
};

#[tokio::test]
async fn a_fatal_error_of_the_producer_makes_a_new_one() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    let run = numbered("t", "k", 4);
    for first in [0, 2] {
        confirm(&publisher, &run[first..=first]).await;
        cluster.refuse(&[OUT_OF_ORDER]);
        let failure = fail(&publisher, &run[first + 1..first + 2]).await;
        assert_eq!(failure.kind, PublishErrorKind::Unavailable, "{failure:?}");
        assert!(failure.text.contains("it is replaced"), "{failure}");
        confirm(&publisher, &run[first + 1..first + 2]).await;
    }
    assert_eq!(cluster.texts(), ["k:1", "k:2", "k:3", "k:4"]);
}

#[tokio::test]
async fn what_the_producer_mends_by_itself_is_not_seen() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    let run = numbered("t", "k", 3);
    cluster.refuse(&[NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS]);
    confirm(&publisher, &run[..1]).await;
    cluster.refuse(&[UNKNOWN_PRODUCER]);
    confirm(&publisher, &run[1..]).await;
    assert_eq!(cluster.texts(), ["k:1", "k:2", "k:3"]);
}
