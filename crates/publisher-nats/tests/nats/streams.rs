//! Streams that are missing, made, full, or other ones than was thought; and what consumers find in them.

use futures_util::{StreamExt, future::join_all};
use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_nats::NatsPublisher;
use serde_json::json;

use super::{assert_unavailable, confirm, fail, message, publish};
use crate::stream::{PASSWORD, TestStream};

#[tokio::test]
async fn f3_a_missing_stream_is_unavailable_and_what_is_missing_is_named() {
    let mut stream = TestStream::new().await;
    stream.remove().await;
    let name = stream.name.clone();
    let failure = fail(&stream.publisher(""), &message("t", "k", "a")).await;
    assert_unavailable(
        &failure,
        &["no stream takes", &format!("{name}.t.k"), "create it"],
    );
    let named = stream.publisher(&format!("&stream={name}"));
    let failure = fail(&named, &message("t", "k", "a")).await;
    assert_unavailable(&failure, &[&format!("stream {name}"), "create it"]);
    let checked = named.check(&Topic::new("t").unwrap()).await.unwrap_err();
    assert_unavailable(&checked, &[&name]);
    stream.create(json!({})).await;
    confirm(&named, &message("t", "k", "a")).await;
    assert_eq!(stream.texts().await, ["a"]);
}

#[tokio::test]
async fn a_missing_stream_is_made_when_told_and_made_again_when_it_is_removed() {
    let mut stream = TestStream::new().await;
    stream.remove().await;
    let publisher = stream.publisher(&format!("&stream={}&create_stream=true", stream.name));
    publisher.check(&Topic::new("t").unwrap()).await.unwrap();
    assert!(
        stream.info().await.get("error").is_some(),
        "a check makes nothing"
    );
    let keys: Vec<_> = (0..20)
        .map(|n| message("t", &format!("k{n}"), "a"))
        .collect();
    join_all(keys.iter().map(|one| confirm(&publisher, one))).await;
    assert_eq!(stream.stored().await.len(), 20);
    let config = stream.info().await["config"].clone();
    assert_eq!(config["subjects"], json!([format!("{}.>", stream.name)]));
    assert_eq!(config["storage"], "file");
    assert_eq!(config["retention"], "limits");
    assert_eq!(
        config["duplicate_window"], 120_000_000_000_u64,
        "two minutes, as the page says"
    );
    stream.remove().await;
    confirm(&publisher, &message("t", "k", "b")).await;
    assert_eq!(stream.texts().await, ["b"]);
}

#[tokio::test]
async fn a_stream_of_other_subjects_is_left_as_it_is() {
    let mut stream = TestStream::new().await;
    stream.remove().await;
    let others = format!("{}.other", stream.name);
    stream.create(json!({"subjects": [others]})).await;
    let publisher = stream.publisher(&format!("&stream={}&create_stream=true", stream.name));
    let failure = fail(&publisher, &message("t", "k", "a")).await;
    assert_unavailable(&failure, &["exists and does not take", ".t.k"]);
    let checked = publisher
        .check(&Topic::new("t").unwrap())
        .await
        .unwrap_err();
    assert_unavailable(&checked, &["exists and does not take"]);
    assert_eq!(stream.info().await["config"]["subjects"], json!([others]));
}

#[tokio::test]
async fn a_message_does_not_go_into_another_stream_than_the_named_one() {
    let mut stream = TestStream::new().await;
    let publisher = stream.publisher("&stream=ANOTHER");
    let failure = fail(&publisher, &message("t", "k", "a")).await;
    assert_unavailable(&failure, &["expected stream does not match"]);
    let checked = publisher
        .check(&Topic::new("t").unwrap())
        .await
        .unwrap_err();
    assert_unavailable(&checked, &[&stream.name, "not ANOTHER"]);
    assert!(stream.texts().await.is_empty());
}

#[tokio::test]
async fn c3_a_message_that_comes_again_is_confirmed_and_stored_once() {
    let mut stream = TestStream::new().await;
    let publisher = stream.publisher("");
    let run = [message("t", "k", "a"), message("t", "k", "b")];
    for _ in 0..2 {
        assert_eq!(publish(&publisher, &run).await.confirmed, 2);
    }
    assert_eq!(stream.texts().await, ["a", "b"]);
}

#[tokio::test]
async fn f3_a_full_stream_throttles_and_goes_on_when_there_is_room() {
    let mut stream = TestStream::new().await;
    stream.remove().await;
    stream
        .create(json!({"max_msgs": 2, "discard": "new"}))
        .await;
    let publisher = stream.publisher("");
    let run = ["a", "b", "c"].map(|text| message("t", "k", text));
    let ended = publish(&publisher, &run).await;
    assert_eq!(ended.confirmed, 2);
    let failure = ended.failure.unwrap();
    assert_eq!(failure.kind, PublishErrorKind::Throttled, "{failure:?}");
    assert!(
        failure.text.contains("maximum messages exceeded"),
        "{failure}"
    );
    stream
        .api(&format!("STREAM.PURGE.{}", stream.name), &json!({}))
        .await;
    confirm(&publisher, &run[2]).await;
}

#[tokio::test]
async fn a_full_subject_judges_the_messages_of_its_key_only() {
    let mut stream = TestStream::new().await;
    stream.remove().await;
    let settings =
        json!({"max_msgs_per_subject": 1, "discard": "new", "discard_new_per_subject": true});
    stream.create(settings).await;
    let publisher = stream.publisher("");
    confirm(&publisher, &message("t", "k", "a")).await;
    let failure = fail(&publisher, &message("t", "k", "b")).await;
    assert_eq!(failure.kind, PublishErrorKind::Rejected, "{failure:?}");
    confirm(&publisher, &message("t", "other", "c")).await;
    // Where it is the subject of the whole topic, the topic waits.
    let name = &stream.name;
    let url = format!("{}subject={name}.{{topic}}", stream.url("nats", PASSWORD));
    let of_topic = NatsPublisher::new(&url).unwrap();
    confirm(&of_topic, &message("u", "k", "a")).await;
    let failure = fail(&of_topic, &message("u", "k", "b")).await;
    assert_eq!(failure.kind, PublishErrorKind::Throttled, "{failure:?}");
}

#[tokio::test]
async fn f5_more_than_a_stream_takes_is_too_large() {
    let mut stream = TestStream::new().await;
    stream.remove().await;
    stream.create(json!({"max_msg_size": 1_000})).await;
    let publisher = stream.publisher("");
    let failure = fail(&publisher, &message("t", "k", &"x".repeat(1_001))).await;
    assert_eq!(failure.kind, PublishErrorKind::TooLarge, "{failure:?}");
    confirm(&publisher, &message("t", "k", "x")).await;
}

#[tokio::test]
async fn f3_a_sealed_stream_is_unavailable() {
    let stream = TestStream::new().await;
    let name = &stream.name;
    let sealed =
        json!({"name": name, "subjects": [format!("{name}.>")], "storage": "file", "sealed": true});
    let updated = stream.api(&format!("STREAM.UPDATE.{name}"), &sealed).await;
    assert!(updated.get("error").is_none(), "{updated}");
    let failure = fail(&stream.publisher(""), &message("t", "k", "a")).await;
    assert_unavailable(&failure, &["sealed"]);
}

#[tokio::test]
async fn a_check_tells_of_a_stream_that_confirms_nothing() {
    let mut stream = TestStream::new().await;
    stream.remove().await;
    stream.create(json!({"no_ack": true})).await;
    let checked = stream
        .publisher("")
        .check(&Topic::new("t").unwrap())
        .await
        .unwrap_err();
    assert_unavailable(&checked, &[&stream.name, "no_ack"]);
}

#[tokio::test]
async fn b1_an_answer_of_somebody_else_confirms_nothing() {
    let stream = TestStream::new().await;
    let name = format!("elsewhere-{}", stream.name);
    let mut requests = stream
        .client()
        .subscribe(format!("{name}.>"))
        .await
        .unwrap();
    stream.client().flush().await.unwrap();
    let url = format!("{}subject={name}.{{topic}}", stream.url("nats", PASSWORD));
    let publisher = NatsPublisher::new(&url).unwrap();
    let client = stream.client().clone();
    let answering = async {
        let request = requests.next().await.unwrap();
        let answer = client.publish(request.reply.unwrap(), "{\"ok\":true}".into());
        answer.await.unwrap();
    };
    let one = message("t", "k", "a");
    let (failure, ()) = tokio::join!(fail(&publisher, &one), answering);
    assert_unavailable(&failure, &["is no stream", "subject="]);
}

#[tokio::test]
async fn f1_a_header_of_the_message_that_the_stream_refuses_counts() {
    let stream = TestStream::new().await;
    let publisher = stream.publisher("");
    let rollup = message("t", "k", "a")
        .with_header("Nats-Rollup", "all")
        .unwrap();
    let failure = fail(&publisher, &rollup).await;
    assert_eq!(failure.kind, PublishErrorKind::Rejected, "{failure:?}");
}

#[tokio::test]
async fn a_topic_that_makes_no_subject_is_malformed_and_the_run_stops_there() {
    let mut stream = TestStream::new().await;
    let publisher = stream.publisher("");
    let failure = fail(&publisher, &message("a b", "k", "a")).await;
    assert_eq!(failure.kind, PublishErrorKind::Malformed, "{failure:?}");
    let longest = "\n".repeat(1_024);
    confirm(&publisher, &message("t", &longest, "b")).await;
    assert_eq!(stream.texts().await, ["b"]);
    let template = format!("{}.{}.{{topic}}.{{key}}", stream.name, "x".repeat(1_000));
    let url = format!("{}subject={template}", stream.url("nats", PASSWORD));
    let failure = fail(
        &NatsPublisher::new(&url).unwrap(),
        &message("t", &longest, "c"),
    )
    .await;
    assert_eq!(failure.kind, PublishErrorKind::Malformed, "{failure:?}");
}

#[tokio::test]
async fn an_envelope_is_shown_in_headers_and_its_bytes_are_not_touched() {
    let mut stream = TestStream::new().await;
    let body = r#"{"job":"urn:babel:orders:created","trace_id":"8a3c","data":{"id": 7},"meta":{"id":"m-7","queue":"orders","lang":"rust","schema_version":1,"created_at":1},"attempts":0}"#;
    let envelope = Message::new("orders", body)
        .unwrap()
        .with_id("m-7")
        .unwrap();
    let envelope = envelope
        .with_header("tenant", "acme")
        .unwrap()
        .with_header("bq-job", "mine")
        .unwrap();
    confirm(&stream.publisher(""), &envelope).await;
    let stored = &stream.stored().await[0];
    assert_eq!(stored.text(), body);
    assert_eq!(stored.subject, format!("{}.orders._", stream.name));
    let headers = [
        "Nats-Msg-Id",
        "bq-job",
        "bq-trace-id",
        "bq-message-id",
        "bq-schema-version",
        "bq-source-lang",
        "bq-attempts",
        "tenant",
    ];
    let values = headers.map(|name| stored.header(name).unwrap());
    let expected = [
        "m-7",
        "urn:babel:orders:created",
        "8a3c",
        "m-7",
        "1",
        "rust",
        "0",
        "acme",
    ];
    assert_eq!(values, expected);
    assert_eq!(stored.headers.len(), headers.len());
}
