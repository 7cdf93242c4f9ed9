//! What BabelQueue's package gave up on goes back, and its handlers get it again as it was.

use std::collections::BTreeMap;

use outbox::{
    Message, Redriving,
    message::Topic,
    publisher::{Choice, DeadQueues, Redrive, Step},
    rabbitmq::RabbitMqPublisher,
    redis::RedisPublisher,
};
use outbox_test_servers::{RabbitMq, Redis};

use crate::{
    babelqueue::{Consumer, Seen, fresh, publish},
    envelopes::plain,
    rabbitmq,
};

/// Redrives all that is there, and says how many that were.
async fn redrive(broker: &dyn DeadQueues, queue: &str) -> usize {
    let dead = Topic::new(format!("{queue}.dlq")).unwrap();
    let mut redrive = Redrive::open(broker, &dead).await.unwrap();
    let mut redriven = 0;
    loop {
        let step = redrive.step(|letter| {
            let message = Redriving::default().message(letter).unwrap();
            Choice::Publish(message.into())
        });
        match step.await.unwrap() {
            Step::End => break,
            step => assert!(matches!(step, Step::Redriven), "{step:?}"),
        }
        redriven += 1;
    }
    redrive.close().await.unwrap();
    redriven
}

/// One dies, the package records that, and it is handled after all.
async fn dies_and_is_handled(url: &str, broker: &dyn DeadQueues, expected: fn(&Message) -> Seen) {
    let queue = fresh("orders");
    let message = plain(&queue);
    let message = message.with_header("traceparent", "00-1-2-01").unwrap();
    publish(url, &queue, std::slice::from_ref(&message));
    let failing = Consumer {
        fail_below: BTreeMap::from([(message.id.to_string(), 3)]),
        ..Consumer::default()
    };
    assert_eq!(failing.consume(url, &[&queue]).len(), 3);

    assert_eq!(redrive(broker, &queue).await, 1);
    assert_eq!(redrive(broker, &queue).await, 0);
    let seen = Consumer::default().consume(url, &[&queue]);
    assert_eq!(seen, [expected(&message)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_babelqueue_gave_up_on_returns_from_a_redis_list_with_its_headers() {
    let server = Redis::shared().unwrap();
    let broker = RedisPublisher::new(server.url()).unwrap();
    dies_and_is_handled(server.url(), &broker, Seen::of).await;
}

/// On RabbitMQ the package drops headers when a message fails the first time.
fn without_trace(message: &Message) -> Seen {
    let mut seen = rabbitmq::seen(message);
    seen.headers.remove("traceparent");
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn what_babelqueue_gave_up_on_returns_from_a_queue_of_rabbitmq() {
    let server = RabbitMq::shared().unwrap();
    let broker = RabbitMqPublisher::new(server.url()).unwrap();
    dies_and_is_handled(server.url(), &broker, without_trace).await;
}
