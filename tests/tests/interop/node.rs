//! Clients in JavaScript read queues of RabbitMQ and streams of Redis.

use outbox::{Message, rabbitmq::RabbitMqPublisher, redis::RedisPublisher};
use outbox_test_servers::{RabbitMq, Redis};

use crate::{
    babelqueue::fresh,
    envelopes::envelopes,
    others::others,
    programs::node,
    read::{Read, judge},
    stand::Stand,
};

/// Messages of every kind for a topic.
fn messages(topic: &str) -> Vec<Message> {
    let mut messages = envelopes(topic, 3);
    messages.extend(others(topic, 2));
    messages
}

/// What RabbitMQ calls what other brokers carry in headers of the contract.
fn on_rabbitmq(name: &str) -> &str {
    match name {
        "bq-job" => "type",
        "bq-trace-id" => "correlation-id",
        "bq-schema-version" => "x-schema-version",
        "bq-source-lang" => "x-source-lang",
        "bq-attempts" => "x-attempts",
        name => name,
    }
}

/// Headers of RabbitMQ have no order, but for the values of one.
fn sorted(mut headers: Vec<(String, String)>) -> Vec<(String, String)> {
    headers.sort_by(|(one, _), (other, _)| one.cmp(other));
    headers
}

/// What is to be read on RabbitMQ, which carries neither the key nor a time.
fn of_a_queue(message: &Message) -> Read {
    let read = Read::of(message);
    let is_envelope = read.timestamp.is_some();
    let headers = read.headers.into_iter();
    let mut headers: Vec<_> = headers
        .map(|(name, value)| (on_rabbitmq(&name).to_owned(), value))
        .collect();
    if is_envelope {
        let more = [
            ("app-id", "babelqueue"),
            ("content-encoding", "utf-8"),
            ("content-type", "application/json"),
        ];
        headers.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
    Read {
        key: None,
        headers: sorted(headers),
        timestamp: None,
        ..read
    }
}

/// What is to be read of a stream of Redis, which knows nothing of envelopes.
fn of_a_stream(message: &Message) -> Read {
    let content_type = message.content_type.iter();
    let content_type = content_type.map(|kind| ("content-type".to_owned(), kind.to_string()));
    let own = message.headers.iter();
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Read {
        headers: content_type.chain(own).collect(),
        timestamp: None,
        ..Read::of(message)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_javascript_reads_from_a_queue_of_rabbitmq_what_was_saved() {
    let (server, stand) = (RabbitMq::shared().unwrap(), Stand::new().await);
    let queue = fresh("žluté 🐎");
    let saved = messages(&queue);
    stand.save(&saved).await;
    let url = format!("{}?declare=true", server.url());
    stand.publish(RabbitMqPublisher::new(&url).unwrap()).await;

    let read: Vec<Read> = node("rabbitmq_consumer.js", &[server.url(), &queue]);
    let read: Vec<_> = read
        .into_iter()
        .map(|read| Read {
            headers: sorted(read.headers),
            ..read
        })
        .collect();
    judge(&saved, of_a_queue, &read);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_javascript_reads_from_a_stream_of_redis_what_was_saved() {
    let (server, stand) = (Redis::shared().unwrap(), Stand::new().await);
    let stream = fresh("žluté 🐎");
    let saved = messages(&stream);
    stand.save(&saved).await;
    let url = format!("{}/?layout=stream", server.url());
    stand.publish(RedisPublisher::new(&url).unwrap()).await;

    let read: Vec<Read> = node("redis_stream.js", &[server.url(), &stream]);
    judge(&saved, of_a_stream, &read);
}
