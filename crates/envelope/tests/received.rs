//! The verdict on poison where the reference's vectors say little: which cause is given, where, and for which occurrence;
//! and records of what is poison.

use outbox_envelope::{
    DeadLetter, DeadLetterReason, Envelope, MAX_DEPTH, MAX_INTEGER_DIGITS, Malformed, Poison,
    Received,
};

fn poison(raw: &str) -> Option<Poison> {
    Envelope::poison(raw)
}

fn wrong(pointer: &'static str, expected: &'static str) -> Poison {
    Poison::WrongType { pointer, expected }
}

const TEXT: &str = "a string";
const INTEGER: &str = "an integer of 64 bits";
const OBJECT: &str = "an object";

#[test]
fn every_member_that_the_format_knows_has_its_type_or_is_null() {
    let members = [
        ("trace_id", TEXT),
        ("data", OBJECT),
        ("meta", OBJECT),
        ("attempts", INTEGER),
        ("dead_letter", OBJECT),
        ("meta/id", TEXT),
        ("meta/queue", TEXT),
        ("meta/lang", TEXT),
        ("meta/schema_version", INTEGER),
        ("meta/created_at", INTEGER),
        ("dead_letter/reason", TEXT),
        ("dead_letter/error", TEXT),
        ("dead_letter/exception", TEXT),
        ("dead_letter/failed_at", INTEGER),
        ("dead_letter/original_queue", TEXT),
        ("dead_letter/attempts", INTEGER),
        ("dead_letter/lang", TEXT),
    ];
    let values = [
        ("null", ""),
        ("\"\"", TEXT),
        ("{}", OBJECT),
        ("-9223372036854775808", INTEGER),
        ("9223372036854775808", "none"),
        ("1.0", "none"),
        ("1e0", "none"),
        ("true", "none"),
        ("[]", "none"),
    ];
    for (path, expected) in members {
        for (value, kind) in values {
            let member = match path.split_once('/') {
                Some((outer, inner)) => format!("\"{outer}\":{{\"{inner}\":{value}}}"),
                None => format!("\"{path}\":{value}"),
            };
            let found = poison(&format!("{{\"job\":\"urn:x\",{member}}}"));
            if kind.is_empty() || kind == expected {
                assert_eq!(found, None, "{member}");
                continue;
            }
            let Some(Poison::WrongType {
                pointer,
                expected: named,
            }) = found
            else {
                panic!("{member}: {found:?}");
            };
            assert_eq!(
                (pointer, named),
                (format!("/{path}").as_str(), expected),
                "{member}"
            );
        }
    }
}

#[test]
fn of_a_repeated_member_each_occurrence_is_judged_and_the_last_counts() {
    for (raw, expected) in [
        (
            r#"{"job":"urn:x","attempts":"0","attempts":0}"#,
            Some(wrong("/attempts", INTEGER)),
        ),
        (
            r#"{"job":"urn:x","meta":{"id":7,"id":"a"}}"#,
            Some(wrong("/meta/id", TEXT)),
        ),
        (
            r#"{"job":"urn:x","meta":{"id":7},"meta":{}}"#,
            Some(wrong("/meta/id", TEXT)),
        ),
        (
            r#"{"job":"urn:x","data":{"a":[1e400],"a":1}}"#,
            Some(Poison::BeyondDouble { offset: 28 }),
        ),
        (r#"{"job":7,"job":"urn:x"}"#, None),
        (r#"{"job":"urn:x","job":7}"#, Some(Poison::NoIdentity)),
        (
            r#"{"job":"urn:x","job":" ","urn":7}"#,
            Some(Poison::NoIdentity),
        ),
    ] {
        assert_eq!(poison(raw), expected, "{raw}");
    }
    let repeated = br#"{"job":"a","urn":"b","data":{"x":1},"job":"","meta":{"id":"m","queue":"q"},
        "data":{"y" : 2},"meta":{"id":"n"},"attempts":1,"attempts":null}"#;
    let received = Received::read(repeated).unwrap();
    assert_eq!((&*received.urn, received.data), ("b", "{\"y\" : 2}"));
    assert_eq!((received.id.as_deref(), received.queue), (Some("n"), None));
    assert_eq!((received.attempts, received.schema_version), (0, None));
}

#[test]
fn what_the_format_does_not_know_may_be_anything_but_malformed() {
    for unknown in ["1e400", "[true]", "{\"a\":{}}", "\"\"", "null"] {
        let raw = format!(
            r#"{{"job":"urn:x","Data":{unknown},"meta":{{"x":{unknown}}},"dead_letter":{{"x":{unknown}}}}}"#
        );
        assert_eq!(poison(&raw), None, "{raw}");
    }
    for unknown in ["01", "nul", "\"\\ud800\"", "[1,]", "{\"a\" 1}", "NaN", ""] {
        let raw = format!(r#"{{"job":"urn:x","x":{unknown}}}"#);
        assert!(matches!(poison(&raw), Some(Poison::Malformed(_))), "{raw}");
    }
}

#[test]
fn a_cause_says_what_is_wrong_and_repeats_no_value() {
    let text = |raw| poison(raw).expect("it is poison").to_string();
    assert_eq!(
        text(r#"{"job":"urn:x","attempts":"secret"}"#),
        "/attempts is not an integer of 64 bits"
    );
    assert_eq!(
        text("{}"),
        "neither job nor urn is a string with something in it"
    );
    assert_eq!(text(" null "), text("{}"));
    assert_eq!(
        poison("{\"job\":secret}"),
        Some(Poison::Malformed(Malformed::clone(
            &Envelope::decode_lenient("{\"job\":secret}").unwrap_err()
        )))
    );
    assert_eq!(text("secret"), "the envelope is malformed");
}

#[test]
fn what_is_received_is_borrowed_but_for_strings_with_escapes() {
    let raw = br#"{"job":"urn:x","trace_id":"a\u0062","meta":{"id":"m","schema_version":2}}"#;
    let received = Received::read(raw).unwrap();
    let borrowed = |text: &std::borrow::Cow<'_, str>| matches!(text, std::borrow::Cow::Borrowed(_));
    assert!(borrowed(&received.urn) && borrowed(received.id.as_ref().unwrap()));
    assert_eq!(received.trace.as_deref(), Some("ab"));
    assert_eq!((received.schema_version, received.data), (Some(2), "null"));
}

fn deep(depth: usize) -> String {
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    format!("{{\"job\":\"urn:x\",\"data\":{{\"a\":{open}{close}}}}}")
}

#[test]
fn every_body_has_a_verdict_and_a_record_that_keeps_it_however_deep_large_or_binary() {
    let dead_letter = DeadLetter::new(DeadLetterReason::Poison, "q", 0, 0);
    let block = r#""dead_letter":{"reason":"poison","error":null,"exception":null,"failed_at":0,"original_queue":"q","attempts":0,"lang":"rust"}}"#;

    let deepest = deep(MAX_DEPTH - 2);
    assert_eq!(poison(&deepest), None);
    let spliced = format!("{},{block}", deepest.strip_suffix('}').unwrap());
    assert_eq!(dead_letter.record(&deepest), spliced);

    for too_deep in [
        deep(MAX_DEPTH - 1),
        deep(100_000),
        "[".repeat(100_000),
        "{\"a\":".repeat(100_000),
    ] {
        assert!(matches!(poison(&too_deep), Some(Poison::Malformed(_))));
        let escaped = too_deep.replace('"', "\\\"");
        let wrapped = format!("{{\"raw\":\"{escaped}\",{block}");
        assert!(dead_letter.record(&too_deep) == wrapped);
    }
    for (digits, is_poison) in [(300, false), (400, true), (MAX_INTEGER_DIGITS + 1, true)] {
        let raw = format!(r#"{{"job":"urn:x","data":{{"a":{}}}}}"#, "9".repeat(digits));
        assert_eq!(poison(&raw).is_some(), is_poison, "{digits}");
    }
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert!(matches!(
        Envelope::poison(&binary),
        Some(Poison::Malformed(Malformed { offset: 128, .. }))
    ));
    assert!(dead_letter.record(&binary).starts_with("{\"raw\":\"AAECAw"));
}

#[test]
fn a_large_body_of_nothing_but_nested_repetitions_is_read_in_one_pass() {
    // Each object drops its first member; were the rest moved at each level, this would move 8 GiB.
    let large = "x".repeat(8 << 20);
    let raw = format!(
        "{{\"job\":\"urn:x\",\"data\":{}\"{large}\"{}}}",
        "{\"a\":0,\"a\":".repeat(MAX_DEPTH - 1),
        "}".repeat(MAX_DEPTH - 1)
    );
    let kept = format!(
        "{}\"{large}\"{}",
        "{\"a\":".repeat(MAX_DEPTH - 1),
        "}".repeat(MAX_DEPTH - 1)
    );
    let data = Envelope::decode(&raw).unwrap().data();
    // The two outermost levels are kept as members, and the rest as text; a difference would be too long to print.
    assert!(data == kept);
    assert_eq!(poison(&raw), None);
}
