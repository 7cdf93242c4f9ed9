//! What was saved is what is handed out, byte for byte (C2, C3), through failures and retries too (case 32).

use outbox_message::{Headers, MAX_HEADERS_BYTES, MAX_PAYLOAD_BYTES, Message, PartitionKey};
use outbox_store::{AfterDeath, Due, OutboxOperator, Outcome, Save, clean_error};

use crate::{
    Harness,
    scene::{Scene, all_dead, message, secs},
    taken::{dead, retry, retry_in_place},
};

/// C2, case 32: any byte string survives as a payload.
pub async fn case32_any_payload_survives<H: Harness>() {
    let s = Scene::<H>::new().await;
    let payloads: [Vec<u8>; 6] = [
        Vec::new(),
        vec![b'x'],
        vec![0],
        vec![0xFF, 0xFE, 0x00, 0xC3],
        (0..=255).collect(),
        vec![0xA5; 1024 * 1024],
    ];
    let messages: Vec<_> = payloads
        .iter()
        .map(|payload| message("k", payload.clone()))
        .collect();
    s.put_all(&messages).await;
    let taken = s.claim().await;
    let got: Vec<_> = taken.deliveries().map(|d| d.message.clone()).collect();
    assert!(got == messages, "payloads came back changed");
}

/// C2, P4, case 32: the largest payload survives, and a claim takes it although it is over the claim's limit.
pub async fn case32_a_payload_of_64_mib_survives<H: Harness>() {
    let s = Scene::<H>::new().await;
    let big = message("k", vec![0x5A_u8; MAX_PAYLOAD_BYTES]);
    s.put(&big).await;
    let taken = s.claim().await;
    let got = taken.deliveries().next().expect("it is handed out");
    assert!(got.message == big, "the payload came back changed");
}

/// C2: headers keep order and repetition, line feeds and any text; the content type stays.
pub async fn c2_headers_keep_order_repetition_and_any_text<H: Harness>() {
    let s = Scene::<H>::new().await;
    let message = message("k", "a")
        .with_header("b", "1")
        .and_then(|m| m.with_header("a", "line\nfeed \"quoted\" \\ \t"))
        .and_then(|m| m.with_header("b", "žluťoučký 🐎"))
        .and_then(|m| m.with_header("empty", ""))
        .and_then(|m| m.with_content_type("application/json; charset=utf-8"))
        .expect("the parts keep the limits");
    s.put(&message).await;
    let taken = s.claim().await;
    assert_eq!(taken.of("a").message, message);
}

/// C2: the absence of key, headers and content type survives as well.
pub async fn c2_a_bare_message_stays_bare<H: Harness>() {
    let s = Scene::<H>::new().await;
    let bare = Message::new("bare", "a").expect("the topic keeps the limits");
    s.put(&bare).await;
    assert_eq!(s.claim().await.of("a").message, bare);
}

/// C4: every part at exactly its limit is stored and comes back.
pub async fn c4_parts_at_their_limits_are_stored<H: Harness>() {
    let s = Scene::<H>::new().await;
    let longest = Message::new("t".repeat(255), "a")
        .and_then(|m| m.with_id("i".repeat(255)))
        .and_then(|m| m.with_key("é".repeat(512)))
        .and_then(|m| m.with_header("n".repeat(255), "v".repeat(64 * 1024 - 255)))
        .and_then(|m| m.with_content_type("c".repeat(255)))
        .expect("the parts keep the limits");
    s.put(&longest).await;
    assert_eq!(s.claim().await.of("a").message, longest);
}

/// C2, C4: headers of the full 64 KiB are stored and come back whatever they cost in the store's own encoding: in the line, for later,
/// and after a retry of a message without a key.
pub async fn c4_headers_are_stored_whatever_their_characters<H: Harness>() {
    let s = Scene::<H>::new().await;
    // What JSON writes longest: very many pairs, of which each byte is escaped, and control characters.
    let pairs = || {
        let pair = ("\"".to_owned(), String::new());
        Headers::from_pairs(vec![pair; MAX_HEADERS_BYTES])
    };
    let control = || Headers::from_pairs([("n", "\u{1}".repeat(MAX_HEADERS_BYTES - 1))]);
    for headers in [pairs(), control()] {
        let headers = headers.expect("they keep the limits");
        assert_eq!(headers.bytes(), MAX_HEADERS_BYTES);
        let message = Message {
            headers,
            ..message(None::<&str>, "a")
        };
        s.put(&message).await;
        let taken = s.claim().await;
        assert!(taken.of("a").message == message, "the headers changed");
        s.settle(&taken, &[("a", retry(10))]).await;
        s.advance(secs(10)).await;
        let taken = s.claim().await;
        assert!(taken.of("a").message == message, "the headers changed");
        s.publish(&taken).await;
        let later = Save {
            due: Some(Due::After(secs(10))),
            ..Save::from(&message)
        };
        s.try_save(later).await;
        s.advance(secs(10)).await;
        let taken = s.claim().await;
        assert!(taken.of("a").message == message, "the headers changed");
        s.publish(&taken).await;
    }
}

/// Case 32: a key of 1,024 bytes round-trips through a failure, a retry and a death that holds it.
pub async fn case32_the_longest_key_survives_failure_and_retry<H: Harness>() {
    let s = Scene::<H>::new().await;
    let key = "k".repeat(PartitionKey::MAX_BYTES);
    s.save(&key, "a").await;
    s.save(&key, "b").await;
    let taken = s.claim().await;
    s.settle_all(&taken, &[("a", retry(10))], &Outcome::Release)
        .await;
    assert!(s.claim().await.is_empty());
    s.advance(secs(10)).await;
    let taken = s.claim().await;
    assert_eq!(taken.payloads(), ["a", "b"]);
    s.settle_all(&taken, &[("a", dead(AfterDeath::Hold))], &Outcome::Release)
        .await;
    let redriven = s.store().redrive(&all_dead()).await;
    assert_eq!(redriven.expect("the store redrives").count, 1);
    assert_eq!(s.drain().await, ["a", "b"]);
}

/// C3: id, headers and payload stay the same over a retry, a crash and a redrive.
pub async fn c3_a_message_stays_itself_over_retry_crash_and_redrive<H: Harness>() {
    let s = Scene::<H>::new().await;
    let original = message("k", "a")
        .with_header("traceparent", "00-1")
        .expect("the header keeps the limits");
    s.put(&original).await;

    let taken = s.claim().await;
    s.settle(&taken, &[("a", retry_in_place())]).await;
    let again = s.claim().await;
    assert_eq!(again.of("a").message, original);

    s.crash(again).await;
    let after_crash = s.claim().await;
    assert_eq!(after_crash.of("a").message, original);

    s.settle(&after_crash, &[("a", dead(AfterDeath::Skip))])
        .await;
    s.store()
        .redrive(&all_dead())
        .await
        .expect("the store redrives");
    let redriven = s.claim().await;
    assert_eq!(redriven.of("a").message, original);
}

/// C3: ids of plain saves are not compared: two messages may share one.
pub async fn c3_a_plain_save_does_not_look_at_ids<H: Harness>() {
    let s = Scene::<H>::new().await;
    for payload in ["a", "b"] {
        let message = message("k", payload).with_id("same").expect("it is short");
        s.put(&message).await;
    }
    assert_eq!(s.drain().await, ["a", "b"]);
}

/// Case 32, F7: no error text can break its own recording.
pub async fn case32_an_error_text_with_nul_is_recorded<H: Harness>() {
    let s = Scene::<H>::new().await;
    s.save("k", "a").await;
    let raw = format!("bad \0 \u{1b}[31m '; -- {}", "é".repeat(3_000));
    let taken = s.claim().await;
    let outcome = Outcome::Dead {
        reason: outbox_store::DeathReason::Permanent,
        error: clean_error(&raw),
        after: AfterDeath::Skip,
        notice: None,
    };
    s.settle_all(&taken, &[("a", outcome)], &Outcome::Release)
        .await;
    let letters = s.dead().await;
    assert_eq!(letters[0].error, clean_error(&raw));
    assert_eq!(letters[0].reason, "permanent");
}
