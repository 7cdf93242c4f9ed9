//! Answers: which confirm, which say when to try again, and which are none.

use std::time::{Duration, SystemTime};

use outbox_publisher::PublishErrorKind::{
    self, Malformed, Rejected, Throttled, TooLarge, Unavailable,
};
use outbox_publisher_http::{HttpConfig, HttpPublisher};

use super::{assert_unavailable, config, fail, message, publish, publish_run, publisher, receiver};
use crate::receiver::Step;

async fn answered(text: &str) -> Result<(), outbox_publisher::PublishError> {
    let receiver = receiver().await;
    receiver.answer(text);
    publish(&publisher(&receiver, ""), &message("a")).await
}

async fn kind_of(status: u16) -> Option<PublishErrorKind> {
    let text = format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n");
    answered(&text).await.err().map(|failure| failure.kind)
}

#[tokio::test]
async fn b1_a_status_from_200_to_299_confirms_and_no_other_does() {
    for status in [200, 201, 202, 203, 204, 205, 206, 226, 299] {
        assert_eq!(kind_of(status).await, None, "{status}");
    }
    for (status, kind) in [
        (300, Unavailable),
        (304, Unavailable),
        (400, Rejected),
        (401, Unavailable),
        (403, Unavailable),
        (404, Unavailable),
        (405, Unavailable),
        (408, Unavailable),
        (409, Rejected),
        (410, Unavailable),
        (413, TooLarge),
        (414, Unavailable),
        (415, Rejected),
        (422, Rejected),
        (425, Unavailable),
        (429, Throttled),
        (431, Unavailable),
        (500, Unavailable),
        (502, Unavailable),
        (503, Unavailable),
        (504, Unavailable),
        (599, Unavailable),
        (999, Unavailable),
    ] {
        assert_eq!(kind_of(status).await, Some(kind), "{status}");
    }
}

#[tokio::test]
async fn f4_a_receiver_says_when_to_try_again() {
    let delay = async |status: u16, value: &str| {
        let head = format!("HTTP/1.1 {status} x\r\nretry-after: {value}\r\n");
        let text =
            format!("{head}date: Sun, 06 Nov 1994 08:49:37 GMT\r\ncontent-length: 0\r\n\r\n");
        answered(&text).await.unwrap_err().retry_after
    };
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for status in [429, 503] {
        assert_eq!(delay(status, "17").await, seconds(17));
        assert_eq!(
            delay(status, "Sun, 06 Nov 1994 08:50:37 GMT").await,
            seconds(60)
        );
        assert_eq!(
            delay(status, "Sun, 06 Nov 1994 08:00:00 GMT").await,
            seconds(0)
        );
        let absurd = delay(status, "99999999999999999999999999").await.unwrap();
        assert_eq!(absurd, Duration::from_hours(366 * 24));
        for nothing in ["soon", "-1", "1.5", ""] {
            assert_eq!(delay(status, nothing).await, None, "{nothing}");
        }
    }
    // Without the receiver's clock, this one counts.
    let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_mins(10));
    let text = format!("HTTP/1.1 503 x\r\nretry-after: {later}\r\ncontent-length: 0\r\n\r\n");
    let delay = answered(&text).await.unwrap_err().retry_after.unwrap();
    let expected = Duration::from_mins(8)..=Duration::from_mins(10);
    assert!(expected.contains(&delay), "{delay:?}");
}

#[tokio::test]
async fn f5_a_status_that_the_user_calls_permanent_kills_at_once() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "&permanent=400,422");
    for (status, kind) in [(422, Malformed), (409, Rejected)] {
        let refused = message("a").with_header("x-refuse", status.to_string());
        let failure = fail(&publisher, &refused.unwrap()).await;
        assert_eq!(failure.kind, kind, "{failure:?}");
    }
}

#[tokio::test]
async fn f5_what_is_too_long_is_dead_at_once_only_if_the_message_made_it_so() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "");
    let long = message("a").with_header("x-refuse", "431").unwrap();
    let failure = fail(&publisher, &long).await;
    assert_eq!(failure.kind, TooLarge, "{failure:?}");
    let keyed = HttpConfig {
        url: format!("http://127.0.0.1:{}/in/{{key}}", receiver.port()),
        ..config(&receiver, "")
    };
    let keyed = HttpPublisher::with_config(keyed).unwrap();
    receiver.answer("HTTP/1.1 414 x\r\ncontent-length: 0\r\n\r\n");
    let failure = fail(&keyed, &message("a")).await;
    assert_eq!(failure.kind, Malformed, "{failure:?}");
}

#[tokio::test]
async fn redirects_are_not_followed_wherever_they_lead() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "");
    for location in [
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.1:1/",
        "/hooks?t=7",
        "//evil.example/",
    ] {
        let text = format!("HTTP/1.1 307 x\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        receiver.answer(&text);
        let failure = fail(&publisher, &message("a")).await;
        assert_unavailable(&failure, &["307", "redirects are not followed", "/hooks"]);
        assert!(!failure.text.contains("meta-data"), "{failure}");
    }
    // Nothing was sent a second time: a loop never begins.
    assert_eq!(receiver.seen().len(), 4);
}

#[tokio::test]
async fn informational_answers_are_passed_over() {
    let informational =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    let confirmed = format!("{informational}HTTP/1.1 204 x\r\n\r\n");
    answered(&confirmed).await.unwrap();
    let refused = format!("{informational}HTTP/1.1 422 x\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(answered(&refused).await.unwrap_err().kind, Rejected);
}

#[tokio::test]
async fn http_1_0_confirms_and_closes() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "");
    for text in ["a", "b"] {
        let answer = b"HTTP/1.0 200 OK\r\n\r\ntaken".to_vec();
        receiver.script([Step::Send(answer), Step::Close]);
        publish(&publisher, &message(text)).await.unwrap();
    }
    assert_eq!(receiver.connections(), 2);
}

#[tokio::test]
async fn connections_are_used_again_and_made_again_when_they_were_closed() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "");
    let run = ["a", "b", "c"].map(message);
    assert_eq!(publish_run(&publisher, &run).await.confirmed, 3);
    assert_eq!(receiver.connections(), 1);
    // It says that it closes, and closes without a word: neither hurts the message behind it.
    let closing = b"HTTP/1.1 200 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_vec();
    receiver.script([Step::Send(closing), Step::Close]);
    let silently = b"HTTP/1.1 200 x\r\ncontent-length: 0\r\n\r\n".to_vec();
    receiver.script([Step::Send(silently), Step::Close]);
    assert_eq!(publish_run(&publisher, &run).await.confirmed, 3);
    assert_eq!(receiver.connections(), 3);
}

#[tokio::test]
async fn b1_the_status_decides_whatever_becomes_of_the_body() {
    let scripts: [&[Step]; 6] = [
        // Less than it says, and the end.
        &[
            send("HTTP/1.1 200 x\r\ncontent-length: 100\r\n\r\nshort"),
            Step::Close,
        ],
        // Less than it says, and nothing more.
        &[
            send("HTTP/1.1 200 x\r\ncontent-length: 100\r\n\r\nshort"),
            Step::Wait,
        ],
        // More than it says.
        &[send(
            "HTTP/1.1 200 x\r\ncontent-length: 1\r\n\r\nlonger than that",
        )],
        // Without an end.
        &[
            send("HTTP/1.1 200 x\r\ncontent-length: 99999999999\r\n\r\n"),
            Step::Drip(vec![b'x'; 4_096]),
        ],
        &[send("HTTP/1.1 200 x\r\n\r\n"), Step::Drip(b"x".to_vec())],
        // In pieces that are none.
        &[
            send("HTTP/1.1 200 x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
            Step::Wait,
        ],
    ];
    for script in scripts {
        let receiver = receiver().await;
        let publisher = publisher(&receiver, "");
        receiver.script(script);
        publish(&publisher, &message("a")).await.unwrap();
        receiver.script(script.iter().map(refusing).collect::<Vec<_>>());
        let failure = fail(&publisher, &message("b")).await;
        assert_eq!(failure.kind, Rejected, "{failure:?}");
        // Nothing of it is taken for the answer to the next.
        publish(&publisher, &message("c")).await.unwrap();
        assert_eq!(receiver.accepted().len(), 1);
    }
}

#[tokio::test]
async fn b1_what_comes_behind_an_answer_confirms_nothing() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "");
    let smuggled =
        "HTTP/1.1 422 x\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 x\r\ncontent-length: 0\r\n\r\n";
    receiver.answer(smuggled);
    receiver.answer("HTTP/1.1 409 x\r\ncontent-length: 0\r\n\r\n");
    for _ in 0..2 {
        let failure = fail(&publisher, &message("a")).await;
        assert_eq!(failure.kind, Rejected, "{failure:?}");
    }
}

#[tokio::test]
async fn b1_what_is_no_answer_confirms_nothing() {
    for text in [
        "220 mail.example ESMTP\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 2OO OK\r\n\r\n",
        "HTTP/1.1 200\0OK\r\n\r\n",
        "HTTP/1.1 200 x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "HTTP/1.1 200 x\r\ncontent-length: -1\r\n\r\n",
        "\r\n\r\n\r\n\x16\x03\x01",
        "<html>",
    ] {
        let failure = answered_twice(text).await;
        assert_unavailable(&failure, &["127.0.0.1"]);
    }
    let endless = format!("HTTP/1.1 200 x\r\nx: {}", "x".repeat(1_000_000));
    assert_unavailable(&answered_twice(&endless).await, &[]);
    let many = "x: y\r\n".repeat(10_000);
    let failure = answered_twice(&format!("HTTP/1.1 200 x\r\n{many}\r\n")).await;
    assert_unavailable(&failure, &[]);
}

/// The same answer and the end, if need be a second time.
async fn answered_twice(text: &str) -> outbox_publisher::PublishError {
    let receiver = receiver().await;
    for _ in 0..2 {
        receiver.script([send(text), Step::Close]);
    }
    fail(&publisher(&receiver, ""), &message("a")).await
}

#[tokio::test]
async fn errors_show_an_answer_only_if_they_are_told_to_and_never_a_secret() {
    let refused =
        "HTTP/1.1 422 x\r\ncontent-length: 35\r\n\r\nno total in\n {\"a payload\": \"hunter2\"}";
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "hunter2\n").unwrap();
    let text = async |more: &str| {
        let receiver = receiver().await;
        receiver.answer(refused);
        let more = format!("{more}&token_file={}", token.display());
        fail(&publisher(&receiver, &more), &message("a")).await.text
    };
    let shown = text("").await;
    assert!(
        !shown.contains("total") && !shown.contains("payload"),
        "{shown}"
    );
    let shown = text("&excerpt=true").await;
    assert!(
        shown.ends_with("no total in {\"a payload\": \"***"),
        "{shown}"
    );
}

#[tokio::test]
async fn no_excerpt_shows_the_query_nor_a_path_that_has_a_name() {
    let receiver = receiver().await;
    let said = "Cannot POST /T0/p%61th-hunter?k=q%75ery-hunter&t=7: no /T0/path-hunter, no query-hunter, no q%75ery-hunter, no total";
    let head = format!("HTTP/1.1 422 x\r\ncontent-length: {}", said.len());
    let url = format!(
        "http://127.0.0.1:{}/T0/p%61th-hunter?k=q%75ery-hunter&t=7",
        receiver.port()
    );
    for (name, shows_path) in [(None, true), (Some("chat".to_owned()), false)] {
        receiver.answer(&format!("{head}\r\n\r\n{said}"));
        let config = HttpConfig {
            url: url.clone(),
            name,
            ..config(&receiver, "&excerpt=true")
        };
        let publisher = HttpPublisher::with_config(config).unwrap();
        let shown = fail(&publisher, &message("a")).await.text;
        assert!(shown.contains("no total"), "{shown}");
        assert!(!shown.contains("ery-hunter"), "{shown}");
        assert!(!shown.contains("t=7"), "{shown}");
        assert_eq!(shown.contains("th-hunter"), shows_path, "{shown}");
    }
}

fn send(text: &str) -> Step {
    Step::Send(text.as_bytes().to_vec())
}

/// The same with a status that refuses.
fn refusing(step: &Step) -> Step {
    match step {
        Step::Send(bytes) => {
            let text = String::from_utf8(bytes.clone()).unwrap();
            send(&text.replace("200", "422"))
        }
        other => other.clone(),
    }
}
