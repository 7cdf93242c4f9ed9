//! Receivers that take their time, or hang up: an outage, that no message pays for.

use std::{fs, process::Command};

use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_http::{HttpConfig, HttpPublisher};

use super::{
    TIMEOUT, assert_unavailable, config, fail, impatient, message, publish, publish_run, receiver,
};
use crate::receiver::Step;

fn drip(text: &str) -> Step {
    Step::Drip(text.as_bytes().to_vec())
}

fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

#[tokio::test]
async fn f3_a_receiver_without_an_answer_in_time_is_unavailable_and_used_again() {
    let scripts: [&[Step]; 6] = [
        // Never an answer.
        &[Step::Wait],
        // The beginning of one.
        &[send("HTTP/1.1 20"), Step::Wait],
        &[send("HTTP/1.1 200 OK\r\ncontent-le"), Step::Wait],
        // Headers that come slowly and do not end.
        &[send("HTTP/1.1 200 OK\r\nx: "), drip("y")],
        // An answer that is about to come.
        &[drip("HTTP/1.1 102 Processing\r\n\r\n")],
        &[drip("\r\n")],
    ];
    for script in scripts {
        let receiver = receiver().await;
        let publisher = impatient(&receiver);
        // A client may find what comes to be no answer, and try once more.
        receiver.script(script);
        receiver.script(script);
        let failure = fail(&publisher, &message("a")).await;
        assert_unavailable(&failure, &["http://127.0.0.1:"]);
        for _ in receiver.seen().len()..2 {
            fail(&publisher, &message("a")).await;
        }
        publish(&publisher, &message("b")).await.unwrap();
        assert_eq!(receiver.accepted().len(), 1);
    }
}

#[tokio::test]
async fn f3_an_answer_that_is_cut_off_is_none() {
    for text in [
        "",
        "H",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n",
    ] {
        let receiver = receiver().await;
        let publisher = impatient(&receiver);
        for _ in 0..2 {
            receiver.script([send(text), Step::Close]);
        }
        let failure = fail(&publisher, &message("a")).await;
        assert_unavailable(&failure, &["was lost before it answered"]);
        // Once more at once, since it may have been an idle connection, and then it is the relay's turn.
        assert_eq!(receiver.seen().len(), 2, "{text}");
        publish(&publisher, &message("a")).await.unwrap();
    }
}

#[tokio::test]
async fn d1_a_connection_that_ends_before_the_answer_costs_nothing_but_a_duplicate() {
    let receiver = receiver().await;
    let publisher = impatient(&receiver);
    receiver.script([Step::Close]);
    publish(&publisher, &message("a")).await.unwrap();
    let seen = receiver.seen();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].header("webhook-id"), seen[1].header("webhook-id"));
    assert_ne!(seen[0].connection, seen[1].connection);
}

#[tokio::test]
async fn f3_a_port_where_nobody_listens_is_unavailable_with_what_to_do() {
    let mut receiver = receiver().await;
    let publisher = impatient(&receiver);
    receiver.kill().await;
    let failure = fail(&publisher, &message("a")).await;
    assert_unavailable(
        &failure,
        &["nothing listens at http://127.0.0.1:", "start the receiver"],
    );
    receiver.start_again().await;
    publish(&publisher, &message("a")).await.unwrap();
}

#[tokio::test]
async fn d1_what_was_confirmed_of_a_run_is_told_before_a_relay_drops_the_call() {
    let receiver = receiver().await;
    let publisher = impatient(&receiver);
    receiver.script([send("HTTP/1.1 204 x\r\n\r\n")]);
    receiver.script([Step::Wait]);
    let ended = publish_run(&publisher, &["a", "b", "c"].map(message)).await;
    assert_eq!(ended.confirmed, 1);
    // The rest is given back: what time is left says nothing about the second message.
    let failure = ended.failure.unwrap();
    assert_eq!(failure.kind, PublishErrorKind::Interrupted, "{failure:?}");
    assert_eq!(receiver.seen().len(), 2);
}

/// A named pipe that nobody writes to is read for ever, like a file on a network disk whose server is gone.
#[tokio::test]
async fn f3_a_file_that_cannot_be_read_in_time_is_an_outage_and_no_call_without_end() {
    let receiver = receiver().await;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("headers");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let publisher = HttpPublisher::with_config(HttpConfig {
        timeout: TIMEOUT,
        headers_file: Some(pipe.clone()),
        ..config(&receiver, "")
    })
    .unwrap();
    let sent = fail(&publisher, &message("a")).await;
    let asked = publisher.check(&message("a").topic).await.unwrap_err();
    for failure in [sent, asked] {
        assert_unavailable(&failure, &["no request to http://127.0.0.1:", "not read"]);
    }
    assert_eq!(receiver.seen().len(), 0);
    // What still reads is let go.
    drop(fs::File::create(&pipe).unwrap());
}
