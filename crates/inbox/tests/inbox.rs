//! `Inbox` on its own, and what a delivery becomes: ids, keys, limits, and bytes that are kept.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

use outbox_inbox::{Inbox, Incoming, Intake, IntakeError, Once};
use outbox_message::MessageId;
use outbox_store::{Consumer, REPLAY_HEADER, SaveError, Saved};
use outbox_store_memory::MemoryStore;

fn consumer() -> Consumer {
    "billing".parse().unwrap()
}

#[tokio::test]
async fn an_id_is_the_first_once_and_after_a_rollback_again() {
    let store = MemoryStore::new();
    let (inbox, consumer) = (Inbox::new(store.clone()), consumer());
    let id = MessageId::new("m-1").unwrap();
    let mut tx = store.begin();
    let first = inbox.once(&mut tx, &consumer, &id).await.unwrap();
    let again = inbox.once(&mut tx, &consumer, "m-1").await.unwrap();
    assert_eq!((first, again), (Once::First, Once::Duplicate));
    tx.rollback();

    let mut tx = store.begin();
    let first = inbox.once(&mut tx, &consumer, Some("m-1")).await.unwrap();
    assert_eq!(first, Once::First);
    tx.commit();

    let mut tx = store.begin();
    let again = inbox.once(&mut tx, &consumer, Some(&id)).await.unwrap();
    assert!(again.is_duplicate());
    assert!(inbox.forget(&mut tx, &consumer, &id).await.unwrap());
    let forgotten = inbox.once(&mut tx, &consumer, &id).await.unwrap();
    assert_eq!(forgotten, Once::First);
}

#[tokio::test]
async fn a_missing_or_unusable_id_fails_open_and_says_so() {
    let store = MemoryStore::new();
    let (inbox, consumer) = (Inbox::new(store.clone()), consumer());
    let mut tx = store.begin();
    let long = "i".repeat(256);
    for id in [None, Some(""), Some("a\0b"), Some(&*long)] {
        for _ in 0..2 {
            let once = inbox.once(&mut tx, &consumer, id).await.unwrap();
            assert_eq!(once, Once::WithoutId, "{id:?}");
        }
    }
}

#[tokio::test]
async fn without_an_open_transaction_it_is_refused() {
    let store = MemoryStore::new();
    let mut tx = store.begin();
    tx.commit();
    let refused = Inbox::new(store).once(&mut tx, &consumer(), "m-1").await;
    assert!(matches!(refused, Err(SaveError::NoTransaction { .. })));
}

#[test]
fn the_id_is_the_envelopes_or_the_one_that_the_broker_shows_or_a_fresh_one() {
    let id = |body: &'static str, shown: Option<&str>| {
        let incoming = Incoming::new("orders", body);
        let incoming = match shown {
            Some(shown) => incoming.id(shown),
            None => incoming,
        };
        incoming.into_message().unwrap().id.to_string()
    };
    let envelope = r#"{"job":"urn:x","meta":{"id":"own"}}"#;
    let without = r#"{"job":"urn:x","meta":{"id":""}}"#;
    let poison = r#"{"job":"urn:x","meta":{"id":"own"},"attempts":"x"}"#;
    assert_eq!(id(envelope, None), "own");
    assert_eq!(id(envelope, Some("shown")), "own");
    assert_eq!(id(without, Some("shown")), "shown");
    assert_eq!(id(poison, Some("shown")), "shown");
    assert_eq!(id("not json", Some("shown")), "shown");
    let in_header = |body: &'static str| {
        let incoming = Incoming::new("orders", body).header("bq-message-id", "header");
        incoming.into_message().unwrap().id.to_string()
    };
    assert_eq!(in_header("not json"), "header");
    assert_eq!(in_header(envelope), "own");
    assert_ne!(id("not json", None), id("not json", None));
    assert_ne!(id("not json", Some("")), id("not json", Some("")));
}

#[test]
fn c2_everything_that_came_is_in_the_message_byte_for_byte() {
    let bytes = b"\xff\x00{not json".to_vec();
    let message = Incoming::new("orders", bytes.clone())
        .id("m-1")
        .key("k")
        .header("a", "1")
        .header("a", "2")
        .content_type("text/plain")
        .into_message()
        .unwrap();
    assert_eq!(message.payload, bytes);
    assert_eq!(message.key.unwrap().as_str(), "k");
    let headers: Vec<_> = message.headers.iter().collect();
    assert_eq!(headers, [("a", "1"), ("a", "2")]);
    assert_eq!(message.content_type.unwrap().as_str(), "text/plain");
    let unkeyed = Incoming::new("orders", "").key("").into_message().unwrap();
    assert_eq!(unkeyed.key, None);
}

#[tokio::test]
async fn c4_what_can_never_be_saved_is_told_apart_from_what_was_not() {
    let store = MemoryStore::new();
    let intake = Intake::new(store.clone());
    for incoming in [
        Incoming::new("", "x"),
        Incoming::new("orders", "x").key("k".repeat(2_000)),
        Incoming::new("orders", "x").header("a", "\0"),
        Incoming::new("orders", vec![0; outbox_message::MAX_PAYLOAD_BYTES + 1]),
    ] {
        let refused = intake.take(incoming).await;
        assert!(
            matches!(refused, Err(IntakeError::Invalid(_))),
            "{refused:?}"
        );
    }
    let mut tx = store.begin();
    assert!(
        outbox_testkit::saved(&store, &mut tx)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_second_delivery_is_saved_again_only_if_it_is_a_replay() {
    let store = MemoryStore::new();
    let intake = Intake::new(store.clone());
    let delivery = Incoming::new("orders", "x").id("m-1");
    let take = async |delivery: Incoming| intake.take(delivery).await.unwrap();
    assert!(matches!(take(delivery.clone()).await, Saved::New(_)));
    assert_eq!(take(delivery.clone()).await, Saved::Duplicate);
    let replay = delivery.clone().header(REPLAY_HEADER, "1");
    assert!(matches!(take(replay).await, Saved::New(_)));

    let mut tx = store.begin();
    let again = intake.save(&mut tx, delivery).await.unwrap();
    assert_eq!(again, Saved::Duplicate);
}
