//! What holds for every envelope: what is written is read back, and no input makes reading panic or overflow a stack.

use outbox_envelope::{
    DeadLetter, DeadLetterReason, DecodeError, Envelope, EnvelopeError, MAX_DEPTH, Poison, Received,
};
use proptest::{collection::vec, prelude::*};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;
use uuid::Uuid;

/// JSON as an application may have it, in the order in which it gives it.
#[derive(Debug, Clone)]
enum Tree {
    Null,
    Bool(bool),
    Integer(i64),
    Wide(u128),
    Narrow(i128),
    Double(f64),
    Text(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => value.serialize(serializer),
            Self::Integer(value) => value.serialize(serializer),
            Self::Wide(value) => value.serialize(serializer),
            Self::Narrow(value) => value.serialize(serializer),
            Self::Double(value) => value.serialize(serializer),
            Self::Text(value) => value.serialize(serializer),
            Self::Array(items) => items.serialize(serializer),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

fn object(of: impl Strategy<Value = Tree>) -> impl Strategy<Value = Vec<(String, Tree)>> {
    vec((prop_oneof!["[a-c]", any::<String>()], of), 0..6)
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::Bool),
        any::<i64>().prop_map(Tree::Integer),
        any::<u128>().prop_map(Tree::Wide),
        any::<i128>().prop_map(Tree::Narrow),
        any::<u64>()
            .prop_map(f64::from_bits)
            .prop_filter("finite", |double| double.is_finite())
            .prop_map(Tree::Double),
        any::<String>().prop_map(Tree::Text),
        "[\0-\u{20}\"\\\\/\u{7f}\u{2028}😀]{0,8}".prop_map(Tree::Text),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Tree::Array),
            object(inner).prop_map(Tree::Object)
        ]
    })
}

fn data() -> impl Strategy<Value = Tree> {
    object(tree()).prop_map(Tree::Object)
}

fn make(data: &Tree) -> Envelope {
    Envelope::make_at(0, || Uuid::from_u128(7), "urn:x", data, None)
        .expect("an object makes an envelope")
}

fn nested(depth: usize) -> String {
    format!(
        "{{\"job\":\"urn:x\",\"data\":{}{}}}",
        "[".repeat(depth),
        "]".repeat(depth)
    )
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded_to_the_same_envelope(data in data()) {
        let envelope = make(&data);
        let encoded = envelope.encode().unwrap();
        let decoded = Envelope::decode(&encoded).unwrap();
        prop_assert_eq!(&decoded, &envelope);
        prop_assert_eq!(decoded.encode().unwrap(), encoded);
        prop_assert!(decoded.accepts());
    }

    #[test]
    fn what_is_encoded_is_json_to_others_with_the_same_strings_and_doubles(text in any::<String>(), double in any::<u64>()) {
        let double = f64::from_bits(double);
        prop_assume!(double.is_finite());
        let data = Tree::Object(vec![(text.clone(), Tree::Array(vec![Tree::Text(text.clone()), Tree::Double(double)]))]);
        let encoded = make(&data).encode().unwrap();
        let frame: std::collections::BTreeMap<String, Box<RawValue>> = serde_json::from_str(&encoded).unwrap();
        let read: std::collections::BTreeMap<String, (String, Box<RawValue>)> = serde_json::from_str(frame["data"].get()).unwrap();
        prop_assert_eq!(&read[&text].0, &text);
        // Parsed by the standard library: serde_json rounds less exactly without one of its optional features.
        prop_assert_eq!(read[&text].1.get().parse::<f64>().unwrap().to_bits(), double.to_bits());
    }

    #[test]
    fn random_bytes_are_never_more_than_an_error(raw in vec(any::<u8>(), 0..200)) {
        prop_assert!(Envelope::poison(&raw).is_some() || Envelope::decode(&raw).is_ok());
        prop_assert!(Envelope::message_from_raw(&raw).unwrap().is_none());
    }

    #[test]
    fn a_damaged_envelope_is_an_error_or_can_be_encoded(data in data(), at in any::<prop::sample::Index>(), splice in "[\\[\\]{}\",:\\\\u0-9a-f.eE+-]{0,4}", cut in 0..4_usize) {
        let mut raw = make(&data).encode().unwrap().into_bytes();
        let at = at.index(raw.len());
        let end = raw.len().min(at + cut);
        raw.splice(at..end, splice.bytes());
        match Received::read(&raw) {
            Ok(received) => {
                let envelope = Envelope::decode(&raw).unwrap();
                prop_assert_eq!(Some(&*received.urn), envelope.urn());
                prop_assert_eq!(received.trace.as_deref(), envelope.trace());
                prop_assert_eq!(received.id.as_deref(), envelope.id());
                prop_assert_eq!(received.attempts, envelope.attempts());
            }
            Err(Poison::Malformed(malformed)) => {
                prop_assert_eq!(Envelope::decode(&raw), Err(DecodeError::Malformed(malformed)));
            }
            Err(_) => {}
        }
        let dead_letter = DeadLetter::new(DeadLetterReason::Poison, "q", 0, 0);
        let record = dead_letter.record(&raw);
        prop_assert!(Envelope::decode_lenient(&record).is_ok(), "{}", record);
        if let Ok(envelope) = Envelope::decode(&raw) {
            let encoded = envelope.encode().unwrap();
            prop_assert_eq!(Envelope::decode(&encoded).unwrap(), envelope);
        }
    }
}

#[test]
fn nesting_beyond_the_limit_is_an_error_however_deep() {
    assert!(Envelope::decode(nested(MAX_DEPTH - 1)).is_ok());
    for depth in [MAX_DEPTH, 100_000] {
        assert!(
            matches!(
                Envelope::decode(nested(depth)),
                Err(DecodeError::Malformed(_))
            ),
            "{depth}"
        );
    }
    assert!(matches!(
        Envelope::decode("[".repeat(100_000)),
        Err(DecodeError::Malformed(_))
    ));
    assert!(matches!(
        Envelope::decode("{\"a\":".repeat(100_000)),
        Err(DecodeError::Malformed(_))
    ));
}

#[test]
fn what_can_be_made_can_be_decoded_at_the_limit_of_nesting_too() {
    let raw = |depth: usize| {
        RawValue::from_string(format!("{}{}", "[".repeat(depth), "]".repeat(depth))).unwrap()
    };
    let data = |depth| std::collections::BTreeMap::from([("a", raw(depth))]);
    let deepest = Envelope::make("urn:x", &data(MAX_DEPTH - 2))
        .unwrap()
        .meta("ext", &raw(MAX_DEPTH - 2))
        .unwrap();
    assert_eq!(
        Envelope::decode(deepest.encode().unwrap()).unwrap(),
        deepest
    );
    assert!(matches!(
        Envelope::make("urn:x", &data(MAX_DEPTH - 1)),
        Err(EnvelopeError::Serialize { part: "data", .. })
    ));
    assert!(matches!(
        deepest.meta("other", &raw(MAX_DEPTH - 1)),
        Err(EnvelopeError::Serialize { part: "meta", .. })
    ));
}
