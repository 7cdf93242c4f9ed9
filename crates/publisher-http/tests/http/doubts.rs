//! Failures that may be the message's or the receiver's: others decide (contract F1, F3).

use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_http::HttpPublisher;

use super::{fail, impatient, message, publish, publisher, receiver};
use crate::receiver::{Receiver, Rules, Step};

/// How a message fails that the receiver answers like this, and what others see meanwhile.
async fn kinds(script: &[Step]) -> [PublishErrorKind; 4] {
    let receiver = receiver().await;
    let publisher = impatient(&receiver);
    let poison = message("poison");
    let first = kind(&receiver, &publisher, &poison, script).await;
    let again = kind(&receiver, &publisher, &poison, script).await;
    publish(&publisher, &message("a")).await.unwrap();
    let blamed = kind(&receiver, &publisher, &poison, script).await;
    let in_an_outage = kind(&receiver, &publisher, &poison, script).await;
    [first, again, blamed, in_an_outage]
}

async fn kind(
    receiver: &Receiver,
    publisher: &HttpPublisher,
    message: &outbox_message::Message,
    script: &[Step],
) -> PublishErrorKind {
    let before = receiver.seen().len();
    receiver.script(script);
    receiver.script(script);
    let failure = fail(publisher, message).await;
    // A status is asked for once, a lost connection twice; the rest of the script is for nobody.
    for _ in receiver.seen().len()..before + 2 {
        let _ = publisher.reach().await;
    }
    failure.kind
}

#[tokio::test]
async fn f1_a_message_that_alone_is_answered_500_is_counted_and_an_outage_is_not() {
    use PublishErrorKind::{Unavailable, Unknown};
    let answer = b"HTTP/1.1 500 x\r\ncontent-length: 0\r\n\r\n".to_vec();
    let script = [Step::Send(answer)];
    assert_eq!(
        kinds(&script).await,
        [Unavailable, Unavailable, Unknown, Unavailable]
    );
}

#[tokio::test]
async fn f1_a_message_at_which_the_receiver_hangs_up_is_counted_and_an_outage_is_not() {
    use PublishErrorKind::{Unavailable, Unknown};
    assert_eq!(
        kinds(&[Step::Close]).await,
        [Unavailable, Unavailable, Unknown, Unavailable]
    );
}

#[tokio::test]
async fn f1_a_message_without_an_answer_while_others_have_one_is_counted_at_once() {
    let receiver = receiver().await;
    let publisher = impatient(&receiver);
    receiver.script([Step::Wait]);
    let stuck = {
        let publisher = publisher.clone();
        tokio::spawn(async move { fail(&publisher, &message("poison")).await })
    };
    while receiver.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    publish(&publisher, &message("a")).await.unwrap();
    let failure = stuck.await.unwrap();
    assert_eq!(failure.kind, PublishErrorKind::Unknown, "{failure:?}");
    assert!(
        failure.text.contains("while it took other messages"),
        "{failure}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn f1_a_message_that_is_too_large_for_a_receiver_that_hangs_up_does_not_stay_for_ever() {
    let rules = Rules {
        longest: Some(1_000),
        is_abrupt: true,
        ..Rules::default()
    };
    let receiver = Receiver::start(rules).await;
    let publisher = publisher(&receiver, "");
    let large = message(&"x".repeat(8 * 1024 * 1024));
    let mut doubts = 0;
    for _ in 0..20 {
        // What it answered is heard or not: the connection may be gone before.
        match fail(&publisher, &large).await.kind {
            PublishErrorKind::Unavailable => doubts += 1,
            kind => assert!(
                matches!(kind, PublishErrorKind::TooLarge | PublishErrorKind::Unknown),
                "{kind:?}"
            ),
        }
        publish(&publisher, &message("a")).await.unwrap();
    }
    assert!(doubts <= 1, "{doubts}");
}
