//! A message that makes the broker close the channel.

use futures_util::future::join_all;
use outbox_publisher::PublishErrorKind;

use crate::{
    broker::{self, Consumer, MAX_PAYLOAD, unique},
    publishing::{assert_error, confirm, message, publish, publisher},
};

#[tokio::test(flavor = "multi_thread")]
async fn f5_a_channel_that_one_message_closes_judges_that_message_and_confirms_the_others() {
    const AT_ONCE: usize = 100;
    let queue = unique("closing");
    let mut consumer = Consumer::new(&broker::url());
    consumer.declare(&queue).await;
    let publisher = publisher("");
    for round in 0..5 {
        let calls = (0..AT_ONCE).map(|number| {
            let publisher = publisher.clone();
            let is_large = number == AT_ONCE / 2;
            let length = if is_large { MAX_PAYLOAD + 1 } else { 10 };
            let message = message(&queue, vec![b'x'; length]);
            async move {
                let verdict = publish(&publisher, std::slice::from_ref(&message)).await;
                (is_large, verdict)
            }
        });
        for (is_large, verdict) in join_all(calls).await {
            if is_large {
                let error = verdict.failure.unwrap();
                assert_error(
                    &error,
                    PublishErrorKind::TooLarge,
                    &[&MAX_PAYLOAD.to_string()],
                );
            } else {
                assert_eq!(verdict.confirmed, 1, "round {round}: {:?}", verdict.failure);
            }
        }
    }
    confirm(&publisher, &message(&queue, "after")).await;
    let taken = consumer.take_payloads(&queue).await;
    assert!(taken.len() > 5 * (AT_ONCE - 1));
    assert!(taken.iter().all(|payload| payload.len() <= 10));
}
