//! Connections that end, that cannot be made, and that are shared.

use futures_util::future::join_all;
use outbox_message::Topic;
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_nats::NatsPublisher;
use outbox_test_servers::Proxy;
use tokio::task::JoinSet;

use super::{assert_unavailable, confirm, fail, message, publish};
use crate::stream::{PASSWORD, TestStream};

#[tokio::test]
async fn o11_what_was_not_sent_when_a_connection_ended_is_never_sent() {
    let mut stream = TestStream::new().await;
    let publisher = stream.publisher("");
    confirm(&publisher, &message("t", "k", "first")).await;
    stream.proxy.stall(true);
    // More than the sockets hold, so that most of it is still with the client.
    let mut calls = JoinSet::new();
    for n in 0..40 {
        let publisher = publisher.clone();
        let one = message("t", &format!("k{n}"), &"x".repeat(1_000_000));
        calls.spawn(async move { publish(&publisher, &[one]).await });
    }
    // Each call hands its message to the client the first time it is polled, on this one thread.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    stream.proxy.cut();
    while let Some(call) = calls.join_next().await {
        let ended = call.unwrap();
        assert_unavailable(&ended.failure.unwrap(), &["was lost"]);
    }
    stream.proxy.stall(false);
    confirm(&publisher, &message("t", "k", "last")).await;
    let texts = stream.texts().await;
    let sent_late = texts.iter().filter(|text| text.len() > 10).count();
    assert_eq!((sent_late, texts.len()), (0, 2));
}

#[tokio::test]
async fn f3_a_lost_connection_fails_everything_in_flight_at_once() {
    let stream = TestStream::new().await;
    let publisher = stream.publisher("");
    confirm(&publisher, &message("t", "k", "first")).await;
    stream.proxy.hold_answers(true);
    let mut calls = JoinSet::new();
    for n in 0..50 {
        let publisher = publisher.clone();
        calls.spawn(async move { fail(&publisher, &message("t", &format!("k{n}"), "x")).await });
    }
    stream.proxy.refuse(true);
    stream.proxy.cut();
    // Nothing but the end of the connection can end these calls: they have no time limit of their own.
    while let Some(call) = calls.join_next().await {
        assert_unavailable(&call.unwrap(), &[]);
    }
    stream.proxy.hold_answers(false);
    stream.proxy.refuse(false);
    confirm(&publisher, &message("t", "k", "last")).await;
}

#[tokio::test]
async fn one_attempt_to_connect_is_made_for_all_who_wait() {
    let stream = TestStream::new().await;
    let publisher = stream.publisher("&connect_timeout=1");
    stream.proxy.stall(true);
    let waiting = (0..30).map(|n| (publisher.clone(), message("t", &format!("k{n}"), "x")));
    let failures =
        join_all(waiting.map(|(publisher, one)| async move { fail(&publisher, &one).await }));
    for failure in failures.await {
        assert_unavailable(&failure, &["did not answer in time"]);
    }
    assert_eq!(stream.proxy.accepted(), 1);
    stream.proxy.stall(false);
    let waiting = (0..30).map(|n| (publisher.clone(), message("t", &format!("k{n}"), "x")));
    join_all(waiting.map(|(publisher, one)| async move { confirm(&publisher, &one).await })).await;
    assert_eq!(stream.proxy.accepted(), 2);
}

#[tokio::test]
async fn b4_an_attempt_that_is_dropped_is_taken_over_by_another() {
    let stream = TestStream::new().await;
    let publisher = stream.publisher("");
    stream.proxy.stall(true);
    let (first, second) = (publisher.clone(), publisher.clone());
    let dropped = tokio::spawn(async move { publish(&first, &[message("t", "k", "a")]).await });
    while stream.proxy.accepted() == 0 {
        tokio::task::yield_now().await;
    }
    let waiting = tokio::spawn(async move { publish(&second, &[message("t", "k", "b")]).await });
    tokio::task::yield_now().await;
    dropped.abort();
    stream.proxy.stall(false);
    assert_eq!(waiting.await.unwrap().confirmed, 1);
}

#[tokio::test]
async fn another_server_is_tried_when_one_is_away() {
    let mut stream = TestStream::new().await;
    let away = Proxy::start(1).unwrap();
    away.refuse(true);
    let url = stream
        .url("nats", PASSWORD)
        .replace("@127", &format!("@127.0.0.1:{},127", away.port()));
    let publisher = NatsPublisher::new(&format!("{url}subject={}.{{topic}}", stream.name)).unwrap();
    let topic = Topic::new("t").unwrap();
    assert_eq!(
        publisher.destination(&topic),
        format!(
            "nats://127.0.0.1:{},127.0.0.1:{} {}.t",
            away.port(),
            stream.proxy.port(),
            stream.name
        )
    );
    confirm(&publisher, &message("t", "k", "a")).await;
    assert_eq!(stream.texts().await, ["a"]);
}

#[tokio::test]
async fn f3_a_file_that_cannot_be_used_is_named() {
    let stream = TestStream::new().await;
    let topic = Topic::new("t").unwrap();
    let url = format!("tls://127.0.0.1:{}?", stream.proxy.port());
    for parameter in ["ca", "creds", "nkey"] {
        let publisher = NatsPublisher::new(&format!("{url}{parameter}=/nowhere/file")).unwrap();
        let failure = publisher.check(&topic).await.unwrap_err();
        assert_unavailable(&failure, &["a file that the URL"]);
        let source = failure.source.unwrap().to_string();
        assert!(source.contains("/nowhere/file"), "{source}");
    }
}

#[tokio::test]
async fn topics_are_one_destination_only_if_they_share_a_subject() {
    let publisher =
        |subject| NatsPublisher::new(&format!("nats://u:p@h?subject={subject}")).unwrap();
    let topic = Topic::new("t").unwrap();
    let shared = publisher("events.{key}");
    assert!(shared.has_one_destination());
    assert_eq!(shared.destination(&topic), "nats://h:4222");
    let own = publisher("events.{topic}.{key}");
    assert!(!own.has_one_destination());
    assert_eq!(own.destination(&topic), "nats://h:4222 events.t.{key}");
}

#[tokio::test]
async fn f5_what_a_server_takes_is_known_before_it_is_sent() {
    let mut options = TestStream::options();
    options.max_payload = Some(10_000);
    let mut stream = TestStream::alone_with(options).await;
    let publisher = stream.publisher("");
    let large = message("t", "k", &"x".repeat(9_990));
    let failure = fail(&publisher, &large).await;
    assert_eq!(failure.kind, PublishErrorKind::TooLarge, "{failure:?}");
    assert!(failure.text.contains("10000 bytes"), "{failure}");
    confirm(&publisher, &message("t", "k", &"x".repeat(9_000))).await;
    assert_eq!(stream.stored().await.len(), 1);
}
