//! What a receiver gets to see of a request.

use base64::{Engine, prelude::BASE64_STANDARD};
use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Publisher};
use outbox_publisher_http::{HttpConfig, HttpPublisher, Secret};

use super::{assert_unavailable, config, fail, message, publish, publisher, receiver};
use crate::receiver::Seen;

fn names(seen: &Seen) -> Vec<&str> {
    let mut names: Vec<_> = seen.headers.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_webhook_is_a_post_of_the_payload_and_no_more_headers_than_it_takes() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "");
    publish(&publisher, &message("a\0b")).await.unwrap();
    let seen = &receiver.accepted()[0];
    assert_eq!((&*seen.method, &*seen.target), ("POST", "/hooks?t=7"));
    assert_eq!(seen.body, b"a\0b");
    let expected = [
        "accept",
        "content-length",
        "host",
        "user-agent",
        "webhook-id",
    ];
    assert_eq!(names(seen), expected);
    assert!(seen.header("user-agent").unwrap().starts_with("outbox/"));
}

#[tokio::test]
async fn the_topic_and_the_key_stay_inside_their_part_of_the_path() {
    let receiver = receiver().await;
    let config = HttpConfig {
        url: format!(
            "http://127.0.0.1:{}/in/{{topic}}/{{key}}?i={{id}}",
            receiver.port()
        ),
        ..config(&receiver, "")
    };
    let publisher = HttpPublisher::with_config(config).unwrap();
    for (topic, key, target) in [
        ("orders.created", "7", "/in/orders.created/7?i=m"),
        (
            "a/../../b",
            "c?d=e#f",
            "/in/a%2F..%2F..%2Fb/c%3Fd%3De%23f?i=m",
        ),
        (
            "http://evil.example",
            "é\n",
            "/in/http%3A%2F%2Fevil.example/%C3%A9%0A?i=m",
        ),
    ] {
        let message = Message::new(topic, "x").unwrap().with_id("m").unwrap();
        let message = message.with_key(key).unwrap();
        publish(&publisher, &message).await.unwrap();
        let seen = receiver.accepted().pop().unwrap();
        assert_eq!(seen.target, target);
        let host = format!("127.0.0.1:{}", receiver.port());
        assert_eq!(seen.header("host"), Some(&*host));
    }
    let upwards = Message::new("..", "x").unwrap();
    assert_eq!(
        fail(&publisher, &upwards).await.kind,
        PublishErrorKind::Malformed
    );
    assert!(!publisher.has_one_destination());
    let shown = publisher.destination(&upwards.topic).into_owned();
    assert!(shown.ends_with("/in/../{key}"), "{shown}");
}

#[tokio::test]
async fn nothing_that_a_message_brings_becomes_a_header_of_its_own() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "&mode=cloudevents-binary&source=/shop");
    let hostile = "a\r\nx-evil: 1\r\n\r\n";
    for message in [
        message("x").with_header("n", hostile).unwrap(),
        message("x").with_header("content-length", "0").unwrap(),
        message("x")
            .with_header("Transfer-Encoding", "chunked")
            .unwrap(),
        message("x").with_header("ce-id", "1").unwrap(),
        message("x").with_id(hostile.trim()).unwrap(),
        message("x").with_key(hostile).unwrap(),
        message("x").with_content_type("a/b\r\nx-evil: 1").unwrap(),
    ] {
        let failure = fail(&publisher, &message).await;
        assert_eq!(failure.kind, PublishErrorKind::Malformed, "{failure:?}");
        assert!(!failure.text.contains("x-evil"), "{failure}");
    }
    assert!(receiver.seen().is_empty());
}

#[tokio::test]
async fn no_header_of_a_message_becomes_one_that_is_ours_where_an_underscore_is_a_hyphen() {
    let receiver = receiver().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("h");
    std::fs::write(&path, "x-api-key: ours\nX_HTTP_Method: PUT\n").unwrap();
    let publisher = publisher(&receiver, &format!("&headers_file={}", path.display()));
    for name in [
        "content_length",
        "Webhook_Id",
        "webhook_signature",
        "X_Forwarded-For",
        "x-real-ip",
        "Proxy",
        "X_Original_URL",
        "x-rewrite-url",
        "x-http_method-override",
        "x-method-override",
    ] {
        let hostile = message("x").with_header(name, "evil").unwrap();
        let failure = fail(&publisher, &hostile).await;
        assert_eq!(failure.kind, PublishErrorKind::Malformed, "{name}");
    }
    let hostile = message("x")
        .with_header("X_Api_Key", "evil")
        .and_then(|it| it.with_header("x-http-method", "evil"))
        .and_then(|it| it.with_header("content_type", "evil/evil"))
        .and_then(|it| it.with_header("x_own", "mine"))
        .and_then(|it| it.with_content_type("text/plain"));
    publish(&publisher, &hostile.unwrap()).await.unwrap();
    let seen = &receiver.accepted()[0];
    assert!(
        !seen.headers.iter().any(|(_, value)| value.contains("evil")),
        "{seen:?}"
    );
    assert_eq!(seen.header("x-api-key"), Some("ours"));
    assert_eq!(seen.header("x_own"), Some("mine"));
}

#[tokio::test]
async fn a_request_has_one_content_type() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "");
    let own = message("x").with_header("Content-Type", "a/b").unwrap();
    publish(&publisher, &own).await.unwrap();
    assert_eq!(receiver.accepted()[0].header("content-type"), Some("a/b"));
    for name in ["content-type", "content_type"] {
        let two = own.clone().with_header(name, "c/d").unwrap();
        let failure = fail(&publisher, &two).await;
        assert_eq!(failure.kind, PublishErrorKind::Malformed, "{failure:?}");
    }
    assert_eq!(receiver.seen().len(), 1);
}

/// Verifies as receivers do, with what they have: the headers, the body, the secret.
fn verifies(seen: &Seen, secret: &[u8]) -> bool {
    use hmac::{Hmac, KeyInit, Mac};
    let (id, timestamp) = (
        seen.header("webhook-id").unwrap(),
        seen.header("webhook-timestamp").unwrap(),
    );
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret).unwrap();
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(&seen.body);
    let expected = format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()));
    let mut signatures = seen.header("webhook-signature").unwrap().split(' ');
    signatures.any(|signature| signature == expected)
}

#[tokio::test]
async fn a_receiver_verifies_a_message_with_the_old_secret_and_with_the_new_one() {
    let receiver = receiver().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets");
    let text = |key: u8| format!("whsec_{}", BASE64_STANDARD.encode([key; 32]));
    std::fs::write(&path, format!("{}\n{}\n", text(1), text(2))).unwrap();
    let own: Secret = text(3).parse().unwrap();
    for mode in ["", "&mode=cloudevents-structured&source=/shop"] {
        let more = format!("{mode}&secret_file={}", path.display());
        let mut config = config(&receiver, &more);
        config.secrets.push(own.clone());
        let publisher = HttpPublisher::with_config(config).unwrap();
        publish(&publisher, &message("{\"a\": 1}")).await.unwrap();
        let seen = receiver.accepted().pop().unwrap();
        for key in 1..=3 {
            assert!(verifies(&seen, &[key; 32]), "{key}");
        }
        assert!(!verifies(&seen, &[4; 32]));
    }
}

#[tokio::test]
async fn f3_a_file_that_cannot_be_used_is_named_and_read_again_when_it_is_there() {
    let receiver = receiver().await;
    let folder = tempfile::tempdir().unwrap();
    let (secrets, headers) = (folder.path().join("s"), folder.path().join("h"));
    let more = format!(
        "&secret_file={}&headers_file={}",
        secrets.display(),
        headers.display()
    );
    let publisher = publisher(&receiver, &more);
    let failure = fail(&publisher, &message("a")).await;
    assert_unavailable(
        &failure,
        &["headers_file names", &headers.display().to_string()],
    );
    std::fs::write(&headers, "x-api-key: hunter2\nx-b: 1\n").unwrap();
    std::fs::write(&secrets, "hunter2\n").unwrap();
    let failure = fail(&publisher, &message("a")).await;
    assert_unavailable(&failure, &["secret_file names", "line 1"]);
    assert!(!failure.text.contains("hunter2"), "{failure}");
    std::fs::write(&secrets, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
    publish(&publisher, &message("a")).await.unwrap();
    let seen = &receiver.accepted()[0];
    assert_eq!(seen.header("x-api-key"), Some("hunter2"));
    assert!(seen.header("webhook-signature").is_some());
}

#[tokio::test]
async fn f3_a_token_that_was_renewed_is_used_after_a_refusal() {
    let receiver = receiver().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "old").unwrap();
    let publisher = publisher(&receiver, &format!("&token_file={}", path.display()));
    receiver.answer("HTTP/1.1 401 x\r\ncontent-length: 0\r\n\r\n");
    std::fs::write(&path, "old").unwrap();
    let failure = fail(&publisher, &message("a")).await;
    assert_unavailable(&failure, &["refuses the credentials"]);
    std::fs::write(&path, "new").unwrap();
    publish(&publisher, &message("a")).await.unwrap();
    let tokens: Vec<_> = receiver
        .seen()
        .iter()
        .map(|seen| seen.header("authorization").unwrap().to_owned())
        .collect();
    assert_eq!(tokens, ["Bearer old", "Bearer new"]);
}

#[tokio::test]
async fn an_envelope_is_shown_in_headers_and_sent_as_it_is() {
    let receiver = receiver().await;
    let publisher = publisher(&receiver, "");
    let payload = r#"{"job":"urn:babel:orders:created","trace_id":"t-1","data":{"id":7},"meta":{"id":"i-1","queue":"orders","lang":"rust","schema_version":1,"created_at":1522900584000},"attempts":0}"#;
    let message = message(payload)
        .with_content_type("application/json")
        .unwrap();
    publish(&publisher, &message).await.unwrap();
    let seen = &receiver.accepted()[0];
    assert_eq!(seen.text(), payload);
    for (name, value) in [
        ("bq-job", "urn:babel:orders:created"),
        ("bq-trace-id", "t-1"),
        ("bq-message-id", "i-1"),
        ("bq-schema-version", "1"),
        ("bq-source-lang", "rust"),
        ("bq-attempts", "0"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
}

#[test]
fn a_destination_has_no_query_and_no_secret() {
    let topic = Topic::new("orders").unwrap();
    let publisher =
        HttpPublisher::new("https://u:hunter2@shop.example/hooks?token=hunter2").unwrap();
    assert!(publisher.has_one_destination());
    assert_eq!(
        publisher.destination(&topic),
        "https://shop.example:443/hooks"
    );
    assert!(!format!("{publisher:?}").contains("hunter2"));
}
