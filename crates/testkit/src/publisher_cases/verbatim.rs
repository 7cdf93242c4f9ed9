//! What was saved is what a consumer gets: bytes, headers, content type, key and id (B3, C2, C3, case 32). What a broker cannot carry
//! is refused, never changed.

use outbox_message::{Headers, MAX_HEADERS_BYTES, MAX_PAYLOAD_BYTES, Message, PartitionKey};
use outbox_publisher::PublishErrorKind;

use crate::{HeaderSupport, PublisherHarness, Received, publisher_scene::Scene};

/// Whether a message has to arrive, or may be refused instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Must {
    Arrive,
    ArriveOrBeRefused,
}

impl Must {
    fn arrive_if(certain: bool) -> Self {
        if certain {
            Self::Arrive
        } else {
            Self::ArriveOrBeRefused
        }
    }
}

/// Publishes the message, and says what a consumer gets. `None` if it was refused for good, as a message may be that the broker cannot carry.
async fn sent<H: PublisherHarness>(message: &Message, must: Must) -> Option<Received> {
    let mut s = Scene::<H>::new().await;
    // It was made for another destination of this kind, whose topic may be another.
    let message = Message {
        topic: s.harness.topic(),
        ..message.clone()
    };
    let published = s.client.publish(std::slice::from_ref(&message)).await;
    let mut arrived = s.arrived().await.0;
    let Some(failure) = published.failure else {
        assert_eq!(arrived.len(), 1, "it was confirmed");
        return arrived.pop();
    };
    let permanent = matches!(
        failure.kind,
        PublishErrorKind::Malformed | PublishErrorKind::TooLarge
    );
    assert!(
        must == Must::ArriveOrBeRefused && permanent,
        "it must {must:?}: {failure:?}"
    );
    assert_eq!(arrived, [], "it was refused");
    // It was the message, not the publisher.
    s.client.publish_all(&s.client.one("k", 1)).await;
    None
}

/// A message of the harness's topic.
async fn message<H: PublisherHarness>(key: Option<&str>, payload: impl Into<Vec<u8>>) -> Message {
    Scene::<H>::new().await.client.message(key, payload)
}

/// C2, case 32: any byte string arrives as it is.
pub async fn case32_any_payload_arrives_as_it_is<H: PublisherHarness>() {
    let text = "{\"plain\": [1, 2]}".as_bytes().to_vec();
    let long = vec![b'x'; H::CAPABILITIES.max_payload.min(64 * 1024)];
    let payloads: [(Vec<u8>, bool); 8] = [
        (text, true),
        (long, true),
        (Vec::new(), H::CAPABILITIES.any_payload),
        (vec![b'x'], true),
        (vec![0], H::CAPABILITIES.any_payload),
        (b" \r\n\ttext\r\n \n".to_vec(), H::CAPABILITIES.any_payload),
        (vec![0xFF, 0xFE, 0x00, 0xC3], H::CAPABILITIES.any_payload),
        ((0..=255).collect(), H::CAPABILITIES.any_payload),
    ];
    for (payload, certain) in payloads {
        let message = message::<H>(Some("k"), payload.clone()).await;
        let Some(received) = sent::<H>(&message, Must::arrive_if(certain)).await else {
            continue;
        };
        assert!(
            received.payload == payload,
            "{} came as {}",
            payload.escape_ascii(),
            received.payload.escape_ascii()
        );
    }
}

/// C2, case 32: the same in one run, in its order.
pub async fn case32_payloads_of_a_run_arrive_as_they_are<H: PublisherHarness>() {
    if !H::CAPABILITIES.any_payload {
        return;
    }
    let mut s = Scene::<H>::new().await;
    let payloads: [&[u8]; 6] = [b"a", b"", b"\0", b"\xFF\xFE", b"\r\n", b"z"];
    let run: Vec<_> = payloads
        .iter()
        .map(|payload| s.client.message(Some("k"), *payload))
        .collect();
    s.client.publish_all(&run).await;
    let arrived = s.arrived().await.0;
    let got: Vec<_> = arrived.iter().map(|it| &*it.payload).collect();
    assert_eq!(got, payloads);
}

/// C2, case 32: the longest payload that the server takes, as far as a store keeps it, arrives.
pub async fn case32_the_longest_payload_arrives<H: PublisherHarness>() {
    let longest = H::CAPABILITIES.max_payload.min(MAX_PAYLOAD_BYTES);
    let payload: Vec<u8> = (0..=250_u8).cycle().take(longest).collect();
    let text = vec![b'x'; longest];
    let payload = if H::CAPABILITIES.any_payload {
        payload
    } else {
        text
    };
    let message = message::<H>(Some("k"), payload).await;
    let received = sent::<H>(&message, Must::Arrive).await.expect("it arrives");
    assert!(received.payload == message.payload, "it came changed");
}

/// F5, case 32: a payload of 64 MiB arrives, or is too large for the broker; it is no reason to stop for those beside it.
pub async fn case32_a_payload_of_64_mib_arrives_or_is_too_large<H: PublisherHarness>() {
    if H::CAPABILITIES.max_payload >= MAX_PAYLOAD_BYTES {
        return;
    }
    let mut s = Scene::<H>::new().await;
    s.client.publish_all(&s.client.one("k", 1)).await;
    let large = s.client.message(Some("k"), vec![b'x'; MAX_PAYLOAD_BYTES]);
    let failure = s.client.fail(&[large]).await;
    assert_eq!(failure.kind, PublishErrorKind::TooLarge, "{failure:?}");
    s.client.publish_all(&s.client.one("k", 2)).await;
    assert_eq!(s.arrived().await.texts(), ["k:1", "k:2"]);
}

/// C3, B3: the id arrives, whatever it is, and again with the same message.
pub async fn c3_the_id_arrives_with_the_message<H: PublisherHarness>() {
    if !H::CAPABILITIES.ids {
        return;
    }
    let long = "i".repeat(255);
    let ids = [
        ("0192f3a1-7c1e-7b6a-9a5e-3f1f0c9d2b11", true),
        ("order-1042/created", true),
        (&*long, true),
        ("with space", false),
        ("žluťoučký 🐎", false),
    ];
    for (id, certain) in ids {
        let message = message::<H>(Some("k"), "a").await;
        let message = message.with_id(id).expect("the id keeps the limits");
        let received = sent::<H>(&message, Must::arrive_if(certain)).await;
        let Some(received) = received else { continue };
        assert_eq!(received.id.as_deref(), Some(id));
    }
    // A broker may drop the second.
    let mut s = Scene::<H>::new().await;
    let again = s.client.one("k", 1);
    s.client.publish_all(&again).await;
    s.client.publish_all(&again).await;
    for received in s.arrived().await.0 {
        assert_eq!(received.id.as_deref(), Some(again[0].id.as_str()));
    }
}

/// C2: the content type arrives, and none where there was none.
pub async fn c2_the_content_type_arrives<H: PublisherHarness>() {
    if !H::CAPABILITIES.content_types {
        return;
    }
    let bare = message::<H>(Some("k"), "a").await;
    let received = sent::<H>(&bare, Must::Arrive).await;
    assert_eq!(received.and_then(|it| it.content_type), None);
    let longest = "c".repeat(255);
    for content_type in ["application/json; charset=utf-8", "text/plain", &longest] {
        let typed = bare.clone().with_content_type(content_type);
        let typed = typed.expect("it keeps the limits");
        let received = sent::<H>(&typed, Must::Arrive).await.expect("it arrives");
        assert_eq!(received.content_type.as_deref(), Some(content_type));
    }
}

/// C2: the key arrives, and none where there was none.
pub async fn c2_the_key_arrives<H: PublisherHarness>() {
    if !H::CAPABILITIES.keys {
        return;
    }
    for key in [Some("order-1042"), None] {
        let message = message::<H>(key, "a").await;
        let received = sent::<H>(&message, Must::Arrive).await.expect("it arrives");
        assert_eq!(received.key.as_deref(), key);
    }
}

/// C2, C4: keys that a broker's names may not take arrive as they are, or the message is refused.
pub async fn c2_no_key_is_changed<H: PublisherHarness>() {
    let longest = "k".repeat(PartitionKey::MAX_BYTES);
    for key in [
        "a.b",
        "*",
        "a.>",
        "#",
        "with space",
        "line\nfeed",
        "{hash}tag",
        "%s/../:@",
        "žluťoučký 🐎",
        &longest,
    ] {
        let message = message::<H>(Some(key), "a").await;
        let Some(received) = sent::<H>(&message, Must::ArriveOrBeRefused).await else {
            continue;
        };
        assert_eq!(received.payload, b"a");
        if H::CAPABILITIES.keys {
            assert_eq!(received.key.as_deref(), Some(key));
        }
    }
}

/// C2: headers arrive with their order and repetition, as far as the broker carries them; what it cannot carry is refused.
pub async fn c2_headers_arrive_or_the_message_is_refused<H: PublisherHarness>() {
    let support = H::CAPABILITIES.headers;
    let lists: [(&[(&str, &str)], HeaderSupport); 4] = [
        (&[("traceparent", "00-0af7-b7ad-01")], HeaderSupport::Names),
        (&[("b", "1"), ("a", "2"), ("c", "3")], HeaderSupport::Names),
        (&[("a", "2"), ("a", "1"), ("a", "2")], HeaderSupport::Values),
        (
            &[("b", "1"), ("a", "2"), ("b", "3"), ("a", "1")],
            HeaderSupport::Values,
        ),
    ];
    for (pairs, needed) in lists {
        let must = Must::arrive_if(support >= needed || support == HeaderSupport::None);
        headers_arrive::<H>(pairs, must).await;
    }
}

/// C2: no value of a header is changed: line feeds, other controls, text that is not ASCII, spaces at the ends, nothing at all.
pub async fn c2_no_text_of_a_header_is_changed<H: PublisherHarness>() {
    let certain = H::CAPABILITIES.any_header_text || H::CAPABILITIES.headers == HeaderSupport::None;
    for value in [
        "line\nfeed",
        "carriage\r\nreturn",
        "\u{1}\u{7f}\t",
        "žluťoučký 🐎",
        " spaces ",
        "\"quoted\" \\ back, comma; semicolon: colon",
        "",
    ] {
        headers_arrive::<H>(&[("n", value)], Must::arrive_if(certain)).await;
    }
}

/// C2: no name of a header is changed; many and long ones are not cut.
pub async fn c2_no_name_of_a_header_is_changed<H: PublisherHarness>() {
    let longest = "n".repeat(Headers::MAX_NAME_BYTES);
    for name in [
        "X-Mixed-Case",
        "x_under.score",
        "with space",
        "a:b",
        "ž",
        "🐎",
        &longest,
    ] {
        headers_arrive::<H>(&[(name, "v")], Must::ArriveOrBeRefused).await;
    }
    let large = "v".repeat(MAX_HEADERS_BYTES - 1);
    headers_arrive::<H>(&[("n", &large)], Must::ArriveOrBeRefused).await;
    let many: Vec<_> = (0..1_000).map(|n| format!("n{n:04}")).collect();
    let many: Vec<_> = many.iter().map(|name| (&**name, "v")).collect();
    headers_arrive::<H>(&many, Must::ArriveOrBeRefused).await;
}

async fn headers_arrive<H: PublisherHarness>(pairs: &[(&str, &str)], must: Must) {
    let support = H::CAPABILITIES.headers;
    let message = Message {
        headers: Headers::from_pairs(pairs.iter().copied()).expect("they keep the limits"),
        ..message::<H>(Some("k"), "a").await
    };
    let Some(received) = sent::<H>(&message, must).await else {
        return;
    };
    assert_eq!(received.payload, b"a");
    let sent = match support {
        HeaderSupport::None => Vec::new(),
        _ => message.headers.pairs().to_vec(),
    };
    let folded = |mut pairs: Vec<(String, String)>| {
        if H::CAPABILITIES.folded_names {
            for (name, _) in &mut pairs {
                name.make_ascii_lowercase();
            }
        }
        comparable(pairs, support)
    };
    assert!(
        folded(sent.clone()) == folded(received.headers.clone()),
        "{sent:?} came as {:?}",
        received.headers
    );
}

/// The pairs in an order that is the same for what the broker may not tell apart.
fn comparable(mut pairs: Vec<(String, String)>, support: HeaderSupport) -> Vec<(String, String)> {
    if support < HeaderSupport::Pairs {
        // The sort keeps the order of the values of a name.
        pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    }
    pairs
}
