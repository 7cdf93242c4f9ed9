//! Failures that may be the message's or the receiver's: others decide (contract F1, F3).

use outbox_message::Message;
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_http::{HttpConfig, HttpPublisher};

use super::{config, fail, impatient, message, publish, publisher, receiver};
use crate::receiver::{Receiver, Rules, Step};

/// How a message fails that the receiver answers like this, and what others see meanwhile.
async fn kinds(script: &[Step]) -> [PublishErrorKind; 4] {
    kinds_at("/hooks?t=7", script).await
}

/// The same with another path.
async fn kinds_at(path: &str, script: &[Step]) -> [PublishErrorKind; 4] {
    let receiver = receiver().await;
    let config = HttpConfig {
        url: format!("http://127.0.0.1:{}{path}", receiver.port()),
        ..config(&receiver, "")
    };
    let publisher = HttpPublisher::with_config(config).unwrap();
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
    message: &Message,
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

fn answering(status: u16) -> [Step; 1] {
    let text = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
    [Step::Send(text.into_bytes())]
}

#[tokio::test]
async fn f1_a_message_that_alone_is_answered_as_by_a_proxy_is_counted_and_an_outage_is_not() {
    use PublishErrorKind::{Unavailable, Unknown};
    for status in [408, 502, 504] {
        assert_eq!(
            kinds(&answering(status)).await,
            [Unavailable, Unavailable, Unknown, Unavailable],
            "{status}"
        );
    }
    for status in [425, 503] {
        assert_eq!(
            kinds(&answering(status)).await,
            [Unavailable; 4],
            "{status}"
        );
    }
}

#[tokio::test]
async fn f1_a_place_that_is_missing_for_one_message_alone_is_counted_if_the_message_names_it() {
    use PublishErrorKind::{Unavailable, Unknown};
    for status in [404, 410] {
        for path in ["/in/{key}", "/in?k={id}"] {
            assert_eq!(
                kinds_at(path, &answering(status)).await,
                [Unavailable, Unavailable, Unknown, Unavailable],
                "{status} {path}"
            );
        }
        for path in ["/in", "/in/{topic}"] {
            assert_eq!(
                kinds_at(path, &answering(status)).await,
                [Unavailable; 4],
                "{status} {path}"
            );
        }
    }
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
