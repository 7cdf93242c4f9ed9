//! A broker that takes nothing from publishers: the memory alarm.

use std::time::Duration;

use futures_util::future::join_all;
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_rabbitmq::RabbitMqPublisher;
use tokio::time::timeout;

use crate::{
    broker::{self, Consumer, unique},
    publishing::{assert_error, confirm, message, publish, topic},
};

/// As long as a relay waits by default. Nothing here waits that long if the alarm is noticed.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn case46_a_broker_under_its_memory_alarm_is_unavailable_at_once_and_used_again_when_it_is_over()
 {
    let server = broker::start();
    let queue = unique("alarm");
    let mut consumer = Consumer::new(&server.url());
    consumer.declare(&queue).await;
    let publisher = RabbitMqPublisher::new(&server.url()).unwrap();
    confirm(&publisher, &message(&queue, "before")).await;
    for _ in 0..2 {
        server.set_memory_alarm(true).unwrap();
        // The first of them make the broker block the connection; all in flight then know it.
        for _ in 0..3 {
            let calls = (0..50).map(|_| async {
                let message = message(&queue, "during");
                let call = publish(&publisher, std::slice::from_ref(&message));
                timeout(PUBLISH_TIMEOUT, call)
                    .await
                    .expect("it is told at once")
            });
            for verdict in join_all(calls).await {
                let error = verdict.failure.unwrap();
                assert_error(
                    &error,
                    PublishErrorKind::Unavailable,
                    &["blocks publishers", "alarm"],
                );
            }
        }
        let error = publisher.check(&topic(&queue)).await.unwrap_err();
        assert_error(
            &error,
            PublishErrorKind::Unavailable,
            &["blocks publishers"],
        );
        server.set_memory_alarm(false).unwrap();
        // The broker tells when it is over; until then the same is said.
        while let Some(error) = publish(&publisher, &[message(&queue, "after")])
            .await
            .failure
        {
            assert_error(
                &error,
                PublishErrorKind::Unavailable,
                &["blocks publishers"],
            );
            tokio::task::yield_now().await;
        }
    }
    let taken = consumer.take_payloads(&queue).await;
    let after = taken.iter().filter(|payload| *payload == "after");
    assert_eq!(after.count(), 2);
}
