//! What a stored message says, in the parts of a message.

use outbox_message::{ContentType, MessageId};
use outbox_publisher::Letter;

use super::requests::Stored;

/// What the names of headers begin with that are for the server, or of it.
const SERVERS: &str = "Nats-";
/// The header of the id.
const ID: &str = "Nats-Msg-Id";

pub(super) fn of(stored: Stored) -> Letter {
    let mut letter = Letter {
        payload: stored.payload.into(),
        ..Letter::default()
    };
    match pairs(&stored.headers) {
        Some(pairs) => take(&mut letter, pairs),
        None => letter.unkept = Some("its headers, which are no text".to_owned()),
    }
    letter
}

fn take(letter: &mut Letter, pairs: Vec<(&str, &str)>) {
    for (name, value) in pairs {
        if name.eq_ignore_ascii_case(ID) {
            letter.id = MessageId::new(value).ok();
        }
        if name == "content-type" {
            letter.content_type = ContentType::new(value).ok();
        }
        let is_the_servers = name
            .get(..SERVERS.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(SERVERS));
        if !is_the_servers && let Err(error) = letter.headers.push(name, value) {
            letter.unkept = Some(format!("its header {name}: {error}"));
        }
    }
}

/// The pairs of a block, as clients read them: lines, behind a first that says what it is.
fn pairs(block: &[u8]) -> Option<Vec<(&str, &str)>> {
    let block = str::from_utf8(block).ok()?;
    let lines = block.split("\r\n").skip(1).filter(|line| !line.is_empty());
    let pair = |line| {
        let (name, value) = str::split_once(line, ':')?;
        Some((name, value.trim()))
    };
    lines.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(headers: &str) -> Letter {
        of(Stored {
            headers: headers.as_bytes().to_vec(),
            ..Stored::default()
        })
    }

    #[test]
    fn headers_are_kept_without_those_of_the_server() {
        let letter = letter(
            "NATS/1.0\r\nb: 1\r\nNats-Msg-Id: m-1\r\nNats-Expected-Stream: S\r\na: x:y \r\nb:\r\ncontent-type: text/csv\r\n\r\n",
        );
        let pairs: Vec<_> = letter.headers.iter().collect();
        let expected = [
            ("b", "1"),
            ("a", "x:y"),
            ("b", ""),
            ("content-type", "text/csv"),
        ];
        assert_eq!(pairs, expected);
        assert_eq!(letter.id.unwrap().as_str(), "m-1");
        assert_eq!(letter.content_type.unwrap().as_str(), "text/csv");
        assert_eq!(letter.unkept, None);
    }

    #[test]
    fn a_message_may_have_no_headers_and_some_cannot_be_kept() {
        assert_eq!(letter(""), Letter::default());
        assert!(letter("NATS/1.0\r\nno pair\r\n").unkept.is_some());
        let binary = of(Stored {
            headers: b"NATS/1.0\r\na: \xFF\r\n\r\n".to_vec(),
            ..Stored::default()
        });
        assert!(binary.unkept.is_some());
    }
}
