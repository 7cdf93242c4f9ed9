//! Bodies that nobody sends in good faith: nested 100,000 deep, binary, of very many members. Each gets a verdict of every kind and
//! keeps its bytes on the way to a dead-letter queue and back, and nothing panics. Huge ones are in `huge.rs`.

use outbox_envelope::{
    DeadLetter, DeadLetterReason, Envelope, Poison, projection, redrive,
    schema::{InvalidData, Schema},
    settlement::retried,
};
use outbox_message::Message;

const DEPTH: usize = 100_000;

fn dead_letter() -> DeadLetter<'static> {
    DeadLetter::new(DeadLetterReason::Failed, "orders", 3, 1_749_132_730_000)
}

/// Asks everything that can be asked of bytes. Whether they are poison.
#[track_caller]
fn judge(raw: &[u8]) -> Option<Poison> {
    let poison = Envelope::poison(raw);
    let decoded = Envelope::decode(raw);
    if poison.is_none() {
        assert!(decoded.is_ok(), "what is not poison can be decoded");
    }
    let accepted = decoded.is_ok_and(|envelope| envelope.accepts());
    let message = Envelope::message_from_raw(raw).expect("the queue is a topic");
    assert_eq!(message.is_some(), accepted);
    let message = Message::new("orders", raw.to_vec()).expect("any bytes are a payload");
    let _ = projection::of(&message);
    let _ = projection::redis::frame(&message.with_header("a", "b").expect("it is a header"));
    let _ = retried(raw, 1);
    keeps_bytes(raw);
    poison
}

/// To a dead-letter queue and back.
#[track_caller]
fn keeps_bytes(raw: &[u8]) {
    let dead = dead_letter().annotate(raw);
    let again = redrive(dead.as_bytes())
        .expect("it can be redriven")
        .payload;
    match redrive(raw) {
        // An envelope has no attempts then; it is compared with one that had none.
        Ok(reset) if reset.urn.is_some() => assert!(again == reset.payload),
        _ => assert!(again == raw),
    }
}

#[test]
fn bodies_of_any_depth_have_a_verdict_and_keep_their_bytes() {
    let arrays = "[".repeat(DEPTH) + &"]".repeat(DEPTH);
    let objects = "{\"a\":".repeat(DEPTH) + "0" + &"}".repeat(DEPTH);
    let bodies = [
        "[".repeat(DEPTH),
        "{\"a\":".repeat(DEPTH),
        arrays.clone(),
        objects.clone(),
        format!(r#"{{"job":"urn:x","data":{objects}}}"#),
        format!(r#"{{"job":"urn:x","data":{{"a":{arrays}}}}}"#),
        format!(r#"{{"job":"urn:x","meta":{{"ext":{arrays}}}}}"#),
        format!(r#"{{"job":"urn:x","dead_letter":{objects}}}"#),
        format!(r#"{{"job":"urn:x","unknown":{arrays}}}"#),
        format!(r#"{{"job":{arrays},"urn":"urn:x"}}"#),
    ];
    for body in bodies {
        let poison = judge(body.as_bytes());
        assert!(
            matches!(poison, Some(Poison::Malformed(_))),
            "{}",
            &body[..30]
        );
    }
    let schema = Schema::parse(r#"{"const":[],"type":"array","items":{"type":"array"}}"#).unwrap();
    assert!(matches!(
        schema.check(&arrays),
        Err(InvalidData::Malformed(_))
    ));
    assert!(Schema::parse(&objects).is_err());
}

#[test]
fn binary_bodies_have_a_verdict_and_keep_their_bytes() {
    for byte in 0..=u8::MAX {
        for raw in [vec![byte], vec![byte; 3], vec![b'{', byte, b'}']] {
            assert!(judge(&raw).is_some(), "{raw:?}");
        }
        // Inside a name, a string and a number: only what is text there can be handled.
        let mut inside = br#"{"job":"urn:?","data":{"a?":1}}"#.to_vec();
        for place in [12, 25] {
            inside[place] = byte;
        }
        let is_text = (b' '..=0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
        assert_eq!(judge(&inside).is_none(), is_text, "{byte}");
        let number = [br#"{"job":"urn:x","n":1"#, &[byte][..], b"}"].concat();
        let poison = judge(&number);
        let is_number = byte.is_ascii_digit() || b" \t\r\n".contains(&byte);
        assert_eq!(poison.is_none(), is_number, "{byte}");
    }
    for raw in [
        &b""[..],
        b"\0",
        b"\xef\xbb\xbf{\"job\":\"urn:x\"}",
        b"\xff\xfe{\0\"\0",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xc0\xaf",
    ] {
        assert!(judge(raw).is_some(), "{raw:?}");
    }
}

#[test]
fn many_members_are_read_and_written_in_their_order() {
    let members: Vec<_> = (0..400_000)
        .map(|place| format!("\"{place}\":{place}"))
        .collect();
    let body = format!(
        "{{\"job\":\"urn:x\",\"data\":{{{}}},\"attempts\":0}}",
        members.join(",")
    );
    assert_eq!(judge(body.as_bytes()), None);
    assert_eq!(Envelope::decode(&body).unwrap().encode().unwrap(), body);

    let repeated = format!(
        "{{\"job\":\"urn:x\",\"data\":{{{}\"b\":0}},\"attempts\":0}}",
        "\"a\":1,".repeat(400_000)
    );
    assert_eq!(judge(repeated.as_bytes()), None);
    assert_eq!(
        Envelope::decode(&repeated).unwrap().data(),
        r#"{"a":1,"b":0}"#
    );
}
