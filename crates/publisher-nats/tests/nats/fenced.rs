//! The fence: what a relay sends after it lost its lease is refused when the next one has published to its subject.

use futures_util::future::join_all;
use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Published, Publisher};
use outbox_publisher_nats::NatsPublisher;
use serde_json::json;
use tokio::task::JoinHandle;

use super::{assert_unavailable, message, publish_under};
use crate::stream::{PASSWORD, TestStream};

fn publisher(stream: &TestStream, fence: bool) -> NatsPublisher {
    stream.publisher(&format!("&stream={}&fence={fence}", stream.name))
}

/// A publisher that does not go through the proxy, as another relay's would not.
fn beside_the_proxy(stream: &TestStream, fence: bool) -> NatsPublisher {
    let port = stream.client().server_info().port;
    let through = format!(":{}?", stream.proxy.port());
    let url = stream
        .url("nats", PASSWORD)
        .replace(&through, &format!(":{port}?"));
    let name = &stream.name;
    let url = format!("{url}subject={name}.{{topic}}.{{key}}&stream={name}&fence={fence}");
    NatsPublisher::new(&url).unwrap()
}

/// A run that takes a while, and a message that comes after it.
fn long_run() -> (Vec<Message>, Message) {
    let run = (0..3_000).map(|n| message("t", "k", &format!("old:{n}")));
    (run.collect(), message("t", "k", "new"))
}

/// An old holder in the middle of a run: a message of it is in the stream, and the confirmation is held up on its way.
async fn held_up(
    stream: &mut TestStream,
    publisher: &NatsPublisher,
    run: &[Message],
) -> JoinHandle<Published> {
    let (publisher, run) = (publisher.clone(), run.to_vec());
    let call = tokio::spawn(async move { publish_under(&publisher, 6, &run).await });
    while stream.info().await["state"]["last_seq"] == 0 {}
    stream.proxy.hold_answers(true);
    call
}

/// The old holder's lease ends meanwhile. The new one has given up on all that it did not find confirmed, and publishes what
/// comes after. Then the old one is told, and hands over the next message of its run: late. Says what comes last in the stream,
/// and how the old run ended.
async fn late_hand_over(fence: bool) -> (String, Published) {
    let mut stream = TestStream::new().await;
    let (old, new) = (publisher(&stream, fence), beside_the_proxy(&stream, fence));
    let (run, after) = long_run();
    let call = held_up(&mut stream, &old, &run).await;
    let ended = publish_under(&new, 7, &[after]).await;
    assert_eq!(ended.confirmed, 1, "{:?}", ended.failure);
    assert!(
        !call.is_finished(),
        "the run must be long enough to be held up"
    );
    stream.proxy.hold_answers(false);
    let ended = call.await.unwrap();
    (stream.texts().await.pop().unwrap(), ended)
}

#[tokio::test(flavor = "multi_thread")]
async fn o11_without_a_fence_a_late_hand_over_arrives_after_a_later_message() {
    let (last, ended) = late_hand_over(false).await;
    assert!(
        last.starts_with("old:"),
        "the gap that a fence closes: {last}"
    );
    assert!(ended.failure.is_none(), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn o11_with_a_fence_a_late_hand_over_is_refused() {
    let (last, ended) = late_hand_over(true).await;
    assert_eq!(last, "new");
    assert_unavailable(
        &ended.failure.unwrap(),
        &["a later lease", "its epoch is 7, ours 6"],
    );
}

#[tokio::test]
async fn o11_a_holder_that_begins_after_a_later_one_publishes_nothing() {
    let mut stream = TestStream::new().await;
    let publisher = publisher(&stream, true);
    let ended = publish_under(&publisher, 7, &[message("t", "k", "new")]).await;
    assert_eq!(ended.confirmed, 1, "{:?}", ended.failure);
    let late = publish_under(&publisher, 6, &[message("t", "k", "old")]).await;
    assert_unavailable(&late.failure.unwrap(), &["a later lease"]);
    // It is the key that has a later lease, not the others of its lane.
    let other = publish_under(&publisher, 6, &[message("t", "other", "other")]).await;
    assert_eq!(other.confirmed, 1, "{:?}", other.failure);
    assert_eq!(stream.texts().await, ["new", "other"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d1_after_a_lost_confirmation_the_next_holder_finds_duplicates_and_goes_on() {
    let mut stream = TestStream::new().await;
    let (old, new) = (publisher(&stream, true), beside_the_proxy(&stream, true));
    let (mut run, after) = long_run();
    let call = held_up(&mut stream, &old, &run).await;
    stream.proxy.cut();
    let ended = call.await.unwrap();
    let confirmed = ended.confirmed;
    assert_unavailable(&ended.failure.unwrap(), &["was lost"]);
    run.truncate(confirmed + 20);
    run.push(after);
    let ended = publish_under(&new, 7, &run[confirmed..]).await;
    assert!(ended.failure.is_none(), "{ended:?}");
    let expected: Vec<_> = run
        .iter()
        .map(|one| String::from_utf8(one.payload.to_vec()).unwrap())
        .collect();
    assert_eq!(stream.texts().await, expected);
}

#[tokio::test]
async fn keys_in_between_and_a_first_message_are_no_obstacle() {
    let mut stream = TestStream::new().await;
    let publisher = publisher(&stream, true);
    for round in 1..=3 {
        let keys = (0..20).map(|key| {
            let run = [0, 1, 2].map(|n| message("t", &format!("k{key}"), &format!("{round}.{n}")));
            let publisher = publisher.clone();
            async move { publish_under(&publisher, round, &run).await }
        });
        for ended in join_all(keys).await {
            assert_eq!(ended.confirmed, 3, "{:?}", ended.failure);
        }
    }
    let stored = stream.stored().await;
    assert_eq!(stored.len(), 180);
    for key in 0..20 {
        let of_key = stored
            .iter()
            .filter(|one| one.subject.ends_with(&format!(".k{key}")));
        let texts: Vec<_> = of_key.map(crate::stream::Stored::text).collect();
        assert_eq!(
            texts,
            [
                "1.0", "1.1", "1.2", "2.0", "2.1", "2.2", "3.0", "3.1", "3.2"
            ]
        );
    }
    assert_eq!(stored[0].header("Outbox-Fence"), Some("3.1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_a_stranger_is_looked_at_and_passed_over() {
    let mut stream = TestStream::new().await;
    let publisher = publisher(&stream, true);
    let (run, _) = long_run();
    let call = held_up(&mut stream, &publisher, &run[..2_000]).await;
    let subject = format!("{}.t.k", stream.name);
    let answer = stream
        .client()
        .request(subject, "stranger".into())
        .await
        .unwrap();
    assert!(answer.payload.starts_with(b"{\"stream\""), "{answer:?}");
    stream.proxy.hold_answers(false);
    let ended = call.await.unwrap();
    assert!(ended.failure.is_none(), "{:?}", ended.failure);
    assert_eq!(stream.info().await["state"]["messages"], 2_001);
}

#[tokio::test]
async fn messages_without_a_key_are_not_fenced() {
    let mut stream = TestStream::new().await;
    let publisher = publisher(&stream, true);
    let calls = (0..20).map(|n| {
        let publisher = publisher.clone();
        async move { publish_under(&publisher, 20 - n, &[Message::new("t", "x").unwrap()]).await }
    });
    for ended in join_all(calls).await {
        assert_eq!(ended.confirmed, 1, "{:?}", ended.failure);
    }
    let stored = stream.stored().await;
    assert_eq!(stored.len(), 20);
    assert_eq!(stored[0].header("Outbox-Fence"), None);
}

#[tokio::test]
async fn a_refusal_that_is_not_the_fences_is_told_apart() {
    let stream = TestStream::new().await;
    let publisher = publisher(&stream, true);
    let own = message("t", "k", "x")
        .with_header("Nats-Expected-Last-Sequence", "1000000")
        .unwrap();
    let ended = publish_under(&publisher, 1, &[own]).await;
    let failure = ended.failure.unwrap();
    assert_eq!(failure.kind, PublishErrorKind::Rejected, "{failure:?}");
}

#[tokio::test]
async fn a_fence_makes_its_stream_and_tells_of_one_where_it_does_not_hold() {
    let mut stream = TestStream::new().await;
    stream.remove().await;
    let name = stream.name.clone();
    let publisher = stream.publisher(&format!("&stream={name}&fence=true&create_stream=true"));
    let ended = publish_under(&publisher, 1, &[message("t", "k", "a")]).await;
    assert_eq!(ended.confirmed, 1, "{:?}", ended.failure);
    let topic = Topic::new("t").unwrap();
    publisher.check(&topic).await.unwrap();
    stream.remove().await;
    stream.create(json!({"retention": "workqueue"})).await;
    let checked = publisher.check(&topic).await.unwrap_err();
    assert_unavailable(&checked, &[&name, "retention must be limits"]);
}
