//! BabelQueue's consumers on queues of RabbitMQ.

use std::collections::BTreeMap;

use lapin::{BasicProperties, Connection, ConnectionProperties, options::BasicGetOptions};
use outbox::{Message, envelope::projection, rabbitmq::RabbitMqPublisher};
use outbox_test_servers::{RabbitMq, Shared};

use crate::{
    babelqueue::{Consumer, Seen, fresh, publish},
    envelopes::{envelopes, no_envelopes, plain, tried},
    read::judge,
    stand::Stand,
};

fn server() -> Shared {
    RabbitMq::shared().unwrap()
}

fn publisher(server: &Shared) -> RabbitMqPublisher {
    RabbitMqPublisher::new(&format!("{}?declare=true", server.url())).unwrap()
}

/// Takes what is in a queue: the properties and the payload of each message.
async fn take(server: &Shared, queue: &str) -> Vec<(BasicProperties, Vec<u8>)> {
    let connection = Connection::connect(server.url(), ConnectionProperties::default());
    let connection = connection.await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let mut taken = Vec::new();
    let next = || channel.basic_get(queue.into(), BasicGetOptions { no_ack: true });
    while let Some(message) = next().await.unwrap() {
        taken.push((message.delivery.properties, message.delivery.data));
    }
    taken
}

/// What a handler is to be given on RabbitMQ: the contract's headers stand in the same table, and are texts to it.
pub(crate) fn seen(message: &Message) -> Seen {
    let seen = Seen::of(message);
    let view = projection::of(message).unwrap();
    let contract = [
        ("x-schema-version", view.schema_version.to_string()),
        ("x-source-lang", view.source_lang.unwrap().into_owned()),
        ("x-attempts", seen.attempts.to_string()),
    ];
    let contract = contract.map(|(name, value)| (name.to_owned(), value));
    Seen {
        headers: seen.headers.into_iter().chain(contract).collect(),
        ..seen
    }
}

/// The same when it comes back: BabelQueue publishes it anew, without the headers that were beside the envelope.
fn again(seen: Seen) -> Seen {
    let seen = seen.again();
    let attempts = ("x-attempts".to_owned(), seen.attempts.to_string());
    let contract = seen.headers.into_iter();
    let contract = contract.filter(|(name, _)| name.starts_with("x-s"));
    Seen {
        headers: contract.chain([attempts]).collect(),
        replay: false,
        ..seen
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn c2_o11_babelqueue_reads_from_rabbitmq_what_was_saved() {
    let (server, stand) = (server(), Stand::new().await);
    let queues = [fresh("orders"), fresh("žluté 🐎")];
    let saved: Vec<_> = queues
        .iter()
        .flat_map(|queue| envelopes(queue, 3))
        .collect();
    stand.save(&saved).await;
    stand.publish(publisher(&server)).await;

    let queues = queues.each_ref().map(String::as_str);
    let found = Consumer::default().consume(server.url(), &queues);
    judge(&saved, seen, &found);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_on_rabbitmq_has_the_properties_that_babelqueue_would_give_it() {
    let (server, stand) = (server(), Stand::new().await);
    let (queue, theirs) = (fresh("orders"), fresh("theirs"));
    // Of one key, so that the order in the queue is that of saving.
    let saved: Vec<_> = envelopes(&queue, 1)
        .into_iter()
        .map(|message| message.with_key("one").unwrap())
        .collect();
    stand.save(&saved).await;
    stand.publish(publisher(&server)).await;
    publish(server.url(), &theirs, &saved);

    let (ours, theirs) = (take(&server, &queue).await, take(&server, &theirs).await);
    assert_eq!((ours.len(), theirs.len()), (saved.len(), saved.len()));
    for ((ours, payload), (theirs, body)) in ours.iter().zip(&theirs) {
        assert_eq!(
            payload.escape_ascii().to_string(),
            body.escape_ascii().to_string()
        );
        assert_eq!(ours, theirs);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_in_babelqueue_comes_back_from_rabbitmq_with_one_attempt_more() {
    let (server, stand) = (server(), Stand::new().await);
    let queue = fresh("orders");
    let saved = [
        plain(&queue)
            .with_header("traceparent", "00-1-2-01")
            .unwrap(),
        plain(&queue),
        tried(&queue),
    ]
    .map(|message| message.with_key("one").unwrap());
    stand.save(&saved).await;
    stand.publish(publisher(&server)).await;

    let id = |n: usize| saved[n].id.to_string();
    let consumer = Consumer {
        fail_below: BTreeMap::from([(id(0), 2), (id(1), 1), (id(2), 3)]),
        ..Consumer::default()
    };
    let found = consumer.consume(server.url(), &[&queue]);
    let [failing, recovering, tried] = saved.each_ref().map(seen);
    let deliveries = [
        failing.clone(),
        recovering.clone(),
        tried.clone(),
        again(failing.clone()),
        again(recovering),
        again(again(failing)),
    ];
    assert_eq!(found, deliveries);

    // The third delivery of a message is its last.
    let dead = Consumer::default().consume(server.url(), &[&format!("{queue}.dlq")]);
    tried.assert_dead(&dead);
}

/// Of this `docs/interop.md` warns.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_envelope_on_rabbitmq_is_given_to_no_handler_of_babelqueue() {
    let (server, stand) = (server(), Stand::new().await);
    let queue = fresh("orders");
    let saved = no_envelopes(&queue);
    stand.save(&saved).await;
    stand.publish(publisher(&server)).await;

    let seen = Consumer::default().consume(server.url(), &[&queue]);
    assert_eq!(seen, []);
    let dead = take(&server, &format!("{queue}.dlq")).await;
    assert_eq!(dead.len(), saved.len());
}
