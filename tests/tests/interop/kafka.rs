//! A client in Python that is not made of librdkafka reads topics of Kafka.

use std::collections::BTreeMap;

use outbox::kafka::KafkaPublisher;
use outbox_test_servers::Kafka;
use serde::Deserialize;

use crate::{
    babelqueue::fresh,
    envelopes::envelopes,
    others::others,
    programs::python,
    read::{Read, judge},
    stand::Stand,
};

/// A record as it was read.
#[derive(Debug, Deserialize)]
struct Record {
    #[serde(flatten)]
    read: Read,
    /// Its partition is the one that a client in Java chooses for its key.
    is_where_java_puts_it: bool,
}

/// Reads so many records, and those that come behind them.
pub(crate) fn consume(url: &str, count: usize, topics: &[&str]) -> Vec<Read> {
    let server = url.strip_prefix("kafka://").unwrap();
    let count = count.to_string();
    let words: Vec<_> = [server, &count]
        .into_iter()
        .chain(topics.iter().copied())
        .collect();
    let records: Vec<Record> = python("kafka_consumer.py", &words);
    let misplaced = records.iter().find(|record| !record.is_where_java_puts_it);
    assert!(misplaced.is_none(), "{misplaced:?}");
    records.into_iter().map(|record| record.read).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_python_reads_from_topics_what_was_saved_keys_headers_and_times_too() {
    let (server, stand) = (Kafka::shared().unwrap(), Stand::new().await);
    let topics = [fresh("orders"), fresh("payments")];
    for (topic, partitions) in topics.iter().zip([5, 1]) {
        Kafka::create_topic_at(server.url(), topic, partitions).unwrap();
    }
    let saved: Vec<_> = topics
        .iter()
        .flat_map(|topic| envelopes(topic, 3).into_iter().chain(others(topic, 2)))
        .collect();
    stand.save(&saved).await;
    stand
        .publish(KafkaPublisher::new(server.url()).unwrap())
        .await;

    let topics = topics.each_ref().map(String::as_str);
    let mut read = consume(server.url(), saved.len(), &topics);
    let expected: BTreeMap<_, _> = saved
        .iter()
        .map(|message| (message.id.to_string(), Read::of(message)))
        .collect();
    // What is no envelope has the time at which it was published, after the first one was made.
    let begin = Read::of(&saved[0]).timestamp;
    for read in &mut read {
        if expected[&read.id].timestamp.is_none() {
            assert!(read.timestamp.take() >= begin, "{read:?}");
        }
    }
    judge(&saved, Read::of, &read);
}

/// The order of what was saved holds in each partition, however many topics and keys there are, also when the relay stops in
/// between.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_in_parts_is_read_in_order() {
    let (server, stand) = (Kafka::shared().unwrap(), Stand::new().await);
    let topic = fresh("parts");
    Kafka::create_topic_at(server.url(), &topic, 3).unwrap();
    let saved = envelopes(&topic, 20);
    for part in saved.chunks(100) {
        stand.save(part).await;
        stand
            .publish(KafkaPublisher::new(server.url()).unwrap())
            .await;
    }
    let read = consume(server.url(), saved.len(), &[&topic]);
    judge(&saved, Read::of, &read);
}
