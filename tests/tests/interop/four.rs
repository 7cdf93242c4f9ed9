//! One outbox, four brokers: what was saved is what the consumers of each read, byte for byte, in the order of each key. The
//! envelopes are those of several languages.

use std::sync::Arc;

use outbox::{
    Message,
    kafka::KafkaPublisher,
    nats::NatsPublisher,
    publisher::{Publisher, Router, TopicPattern},
    rabbitmq::RabbitMqPublisher,
    redis::RedisPublisher,
};
use outbox_test_servers::{Kafka, Nats, RabbitMq, Redis};

use crate::{
    babelqueue::{Consumer, Seen, fresh},
    envelopes::envelopes,
    jetstream, kafka,
    programs::Bytes,
    read::{Arrival, Read, judge},
    stand::Stand,
};

/// What is compared on every broker.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrived {
    topic: String,
    id: String,
    body: Bytes,
}

impl Arrival for Arrived {
    fn id(&self) -> &str {
        &self.id
    }
}

impl From<&Message> for Arrived {
    fn from(message: &Message) -> Self {
        Self {
            topic: message.topic.to_string(),
            id: message.id.to_string(),
            body: Bytes(message.payload.to_vec()),
        }
    }
}

impl From<Seen> for Arrived {
    fn from(
        Seen {
            queue, id, body, ..
        }: Seen,
    ) -> Self {
        let topic = queue;
        Self { topic, id, body }
    }
}

impl From<Read> for Arrived {
    fn from(
        Read {
            place, id, body, ..
        }: Read,
    ) -> Self {
        let topic = place;
        Self { topic, id, body }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_four_brokers_consumers_read_is_what_one_outbox_saved() {
    let [redis, rabbitmq] = [Redis::shared(), RabbitMq::shared()].map(Result::unwrap);
    let [nats, kafka] = [Nats::shared(), Kafka::shared()].map(Result::unwrap);
    let topics = ["redis", "rabbitmq", "nats", "kafka"].map(fresh);
    let [to_redis, to_rabbitmq, to_nats, to_kafka] = topics.each_ref().map(String::as_str);
    let (stream, subjects) = (fresh("FOUR"), fresh("four"));
    let nats_url = format!(
        "{}?stream={stream}&subject={subjects}.{{topic}}&create_stream=true",
        nats.url()
    );
    let rabbitmq_url = format!("{}?declare=true", rabbitmq.url());
    Kafka::create_topic_at(kafka.url(), to_kafka, 3).unwrap();

    let publishers: [(&str, Arc<dyn Publisher>); 4] = [
        (
            to_redis,
            Arc::new(RedisPublisher::new(redis.url()).unwrap()),
        ),
        (
            to_rabbitmq,
            Arc::new(RabbitMqPublisher::new(&rabbitmq_url).unwrap()),
        ),
        (to_nats, Arc::new(NatsPublisher::new(&nats_url).unwrap())),
        (
            to_kafka,
            Arc::new(KafkaPublisher::new(kafka.url()).unwrap()),
        ),
    ];
    let router = publishers
        .into_iter()
        .fold(Router::new(), |router, (topic, publisher)| {
            router.route(topic.parse::<TopicPattern>().unwrap(), publisher)
        });

    let stand = Stand::new().await;
    let of_topics = topics.each_ref().map(|topic| envelopes(topic, 4));
    let rounds = 0..of_topics[0].len();
    let saved: Vec<_> = rounds
        .flat_map(|round| of_topics.each_ref().map(|messages| messages[round].clone()))
        .collect();
    stand.save(&saved).await;
    stand.publish(router).await;

    let consumer = Consumer::default();
    let seen = [
        consumer.consume(redis.url(), &[to_redis]),
        consumer.consume(rabbitmq.url(), &[to_rabbitmq]),
    ];
    let of_nats = jetstream::consume(nats.url(), &stream, &format!("{subjects}.>"));
    let of_nats = of_nats.into_iter().map(|read| {
        let topic = read.place.strip_prefix(&subjects).unwrap();
        let place = topic.trim_start_matches('.').to_owned();
        Read { place, ..read }
    });
    let of_kafka = kafka::consume(kafka.url(), of_topics[3].len(), &[to_kafka]);
    let arrived: Vec<Arrived> = seen
        .into_iter()
        .flatten()
        .map(Arrived::from)
        .chain(of_nats.chain(of_kafka).map(Arrived::from))
        .collect();
    judge(&saved, |message| message.into(), &arrived);
}
