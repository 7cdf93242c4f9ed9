//! What an entry of a stream says, in the fields that `entry.rs` gives it.

use outbox_message::{ContentType, Headers, InvalidMessage, MessageId, PartitionKey};
use outbox_publisher::Letter;
use redis::Value;

/// The names and values of an entry.
pub(super) type Fields = Vec<(String, Vec<u8>)>;

/// The id and the fields of the only entry in an answer, if there is one; no answer of a stream is `None`.
#[expect(
    clippy::option_option,
    reason = "no entry is one thing, no answer of a stream another"
)]
pub(super) fn entry(answer: Value) -> Option<Option<(String, Fields)>> {
    let entries: Vec<(String, Fields)> = redis::from_redis_value(answer).ok()?;
    Some(entries.into_iter().next())
}

/// Reads the fields of an entry. The topic is that of the dead-letter queue, and is left out.
pub(super) fn letter(fields: Fields) -> Letter {
    let mut letter = Letter::default();
    let mut has_payload = false;
    for (name, value) in fields {
        if name == "payload" {
            letter.payload = value.into();
            has_payload = true;
        } else if let Err(problem) = take(&mut letter, &name, value) {
            letter.unkept = Some(format!("its field {name}: {problem}"));
        }
    }
    if !has_payload {
        letter.unkept = Some("its field payload: there is none".to_owned());
    }
    letter
}

fn take(letter: &mut Letter, name: &str, value: Vec<u8>) -> Result<(), String> {
    let value = String::from_utf8(value).map_err(|_| "it is no text".to_owned())?;
    let invalid = |error: InvalidMessage| error.to_string();
    match name {
        "id" => letter.id = Some(MessageId::new(value).map_err(invalid)?),
        "topic" => {}
        "key" => letter.key = Some(PartitionKey::new(value).map_err(invalid)?),
        "content_type" => {
            letter.content_type = Some(ContentType::new(value).map_err(invalid)?);
        }
        "headers" => {
            let pairs: Vec<(String, String)> = serde_json::from_str(&value)
                .map_err(|_| "it is no JSON array of names and values".to_owned())?;
            letter.headers = Headers::from_pairs(pairs).map_err(invalid)?;
        }
        _ => return Err("a message has no place for it".to_owned()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn an_entry_has_all_parts_of_a_message() {
        let letter = letter(fields(&[
            ("id", "m-1"),
            ("topic", "orders.dlq"),
            ("key", "7"),
            ("content_type", "text/plain"),
            ("headers", r#"[["b","1"],["a",""],["b","2"]]"#),
            ("payload", "x"),
        ]));
        assert_eq!(letter.unkept, None);
        assert_eq!(letter.id.unwrap().as_str(), "m-1");
        assert_eq!(letter.key.unwrap().as_str(), "7");
        assert_eq!(letter.content_type.unwrap().as_str(), "text/plain");
        let headers: Vec<_> = letter.headers.iter().collect();
        assert_eq!(headers, [("b", "1"), ("a", ""), ("b", "2")]);
        assert_eq!(letter.payload, "x");
    }

    #[test]
    fn what_could_not_be_published_as_it_is_is_named() {
        for (pairs, named) in [
            (vec![("id", "m-1")], "payload"),
            (vec![("payload", "x"), ("colour", "red")], "colour"),
            (vec![("payload", "x"), ("headers", "{}")], "headers"),
            (vec![("payload", "x"), ("key", "")], "key"),
        ] {
            let unkept = letter(fields(&pairs)).unkept.unwrap();
            assert!(unkept.contains(named), "{unkept}");
        }
    }
}
