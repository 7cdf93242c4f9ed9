//! What a record carries, and which partition it goes to.

use outbox_message::Message;
use outbox_publisher::Publisher;
use outbox_publisher_kafka::KafkaPublisher;

use crate::{
    cluster::Cluster,
    publishing::{confirm, message},
};

#[tokio::test]
async fn an_envelope_is_shown_in_headers_and_in_its_time_and_its_bytes_are_not_touched() {
    let cluster = Cluster::new();
    let body = r#"{"job":"urn:babel:orders:created","trace_id":"8a3c","data":{"id": 7},"meta":{"id":"m-7","queue":"t","lang":"rust","schema_version":1,"created_at":1760000000123},"attempts":0}"#;
    let envelope = Message::new("t", body).unwrap().with_id("m-7").unwrap();
    let envelope = envelope.with_header("tenant", "acme").unwrap();
    confirm(&cluster.publisher(""), &[envelope]).await;
    let stored = &cluster.stored("t", 0)[0];
    assert_eq!(stored.text(), body);
    assert_eq!(stored.key, None);
    assert_eq!(stored.timestamp, 1_760_000_000_123);
    let names: Vec<_> = stored.headers.iter().map(|(name, _)| &**name).collect();
    let expected = [
        "bq-job",
        "bq-trace-id",
        "bq-message-id",
        "bq-schema-version",
        "bq-source-lang",
        "bq-attempts",
        "tenant",
    ];
    assert_eq!(names, expected);
    assert_eq!(stored.header("bq-message-id"), Some("m-7"));
}

#[tokio::test]
async fn a_key_has_the_partition_that_a_java_client_gives_it() {
    const PARTITIONS: i32 = 17;
    let cluster = Cluster::new();
    cluster.create("wide", PARTITIONS);
    let publisher = cluster.publisher("");
    // Hashes of Kafka's own tests of its partitioner.
    for (key, hash) in [
        ("21", -973_932_308_i32),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        (
            "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8",
            -58_897_971,
        ),
        ("abc", 479_470_107),
    ] {
        confirm(&publisher, &[message("wide", key, key)]).await;
        let partition = (hash & i32::MAX) % PARTITIONS;
        let stored = cluster.stored("wide", partition);
        assert!(
            stored.iter().any(|it| it.key.as_deref() == Some(key)),
            "{key}"
        );
    }
}

#[tokio::test]
async fn topics_go_where_the_url_says() {
    let cluster = Cluster::new();
    cluster.create("shop.t", 1);
    let url = |path: &str| format!("kafka://{}/{path}", cluster.server());
    let each = KafkaPublisher::new(&url("shop.{topic}")).unwrap();
    let one = KafkaPublisher::new(&url("t")).unwrap();
    let message = message("t", "k", "x");
    let address = url("");
    let address = address.trim_end_matches('/');
    assert_eq!(
        each.destination(&message.topic),
        format!("{address} shop.t")
    );
    assert!(!each.has_one_destination());
    assert_eq!(one.destination(&message.topic), address);
    assert!(one.has_one_destination());
    confirm(&each, std::slice::from_ref(&message)).await;
    assert_eq!(
        (cluster.stored("shop.t", 0).len(), cluster.texts().len()),
        (1, 0)
    );
    confirm(&one, &[message]).await;
    assert_eq!(
        (cluster.stored("shop.t", 0).len(), cluster.texts().len()),
        (1, 1)
    );
}

#[tokio::test]
async fn a_topic_whose_name_no_broker_takes_is_malformed() {
    let cluster = Cluster::new();
    let publisher = cluster.publisher("");
    let failure = crate::publishing::fail(&publisher, &[message("a b", "k", "x")]).await;
    assert_eq!(
        failure.kind,
        outbox_publisher::PublishErrorKind::Malformed,
        "{failure:?}"
    );
    assert!(failure.text.contains("\"a b\""), "{failure}");
}
