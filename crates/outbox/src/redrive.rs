//! Which dead letters of a broker go back, to where, and as what. Leaves out reading and removing them, which is the
//! [`Redrive`](outbox_publisher::Redrive)'s.

use outbox_envelope::{DecodeError, Redriven, redrive};
use outbox_message::{ContentType, Headers, InvalidMessage, Message, MessageId, Topic};
use outbox_publisher::Letter;
use outbox_store::adapter::replay_headers;
use thiserror::Error;

/// The header of a dead letter that names the message it is of: its payload says so only of an envelope.
pub(crate) const DEAD_LETTER_OF: &str = "outbox-dead-letter-of";

/// The header of a dead letter that has the content type of the message it is of.
pub(crate) const DEAD_LETTER_CONTENT_TYPE: &str = "outbox-dead-letter-content-type";

/// What a relay's dead letter has beside the headers of its message.
pub(crate) const OF_DEAD_LETTERS: [&str; 2] = [DEAD_LETTER_OF, DEAD_LETTER_CONTENT_TYPE];

/// What brokers show of a wrapper, which says nothing about what was in it.
const SHOWN: [&str; 2] = ["bq-message-id", "content-type"];

/// How dead letters of a broker go back; the default takes all, each to where it came from.
///
/// The message has the id, the key and the headers of the dead letter. Its payload is that of the dead letter without the
/// block `dead_letter` and with 0 attempts, and what was wrapped because it is no envelope is itself again, with the id and the
/// content type that it had where the dead letter has them in headers of its own. Its topic is [`to`](Self::to), or else
/// `dead_letter.original_queue`, what the broker itself says, or, if the broker did not move it, `meta.queue`.
///
/// ```
/// use outbox::{Redriving, publisher::Letter};
///
/// let dead = r#"{"job":"urn:a","data":{},"attempts":3,"dead_letter":{"reason":"failed","original_queue":"orders"}}"#;
/// let letter = Letter { payload: dead.into(), ..Letter::default() };
/// let message = Redriving::default().message(&letter)?;
/// assert_eq!(message.topic.as_str(), "orders");
/// assert_eq!(message.payload, r#"{"job":"urn:a","data":{},"attempts":0}"#);
/// # Ok::<(), outbox::LeftInPlace>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redriving {
    /// Where all go, whatever they say themselves.
    pub to: Option<Topic>,
    /// Whether messages get the header `bq-replay-bypass: 1`, by which consumers leave out what reaches outside.
    pub bypass: Bypass,
    /// Only the dead letter of this id: `meta.id`, or else that of the message it is of, or the broker's.
    pub id: Option<String>,
    /// Only those of this URN.
    pub urn: Option<String>,
    /// Only those of this reason, such as `failed` or `unknown_urn`.
    pub reason: Option<String>,
}

/// Whether consumers are told to leave out effects that reach outside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bypass {
    /// They are handled as any other.
    #[default]
    No,
    /// They have the header `bq-replay-bypass`, with the value 1 unless one is there that is not empty.
    Marked,
}

/// Why a dead letter stays where it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LeftInPlace {
    /// It is not one of those that were asked for.
    #[error("it was not asked for")]
    NotSelected,
    /// It is no envelope, and nothing else says where it came from.
    #[error("it is no envelope")]
    Unreadable(#[source] DecodeError),
    /// Neither it nor the broker says where it came from.
    #[error("nothing says where it came from; say it")]
    NoSource,
    /// Where it came from is no topic.
    #[error("where it came from is no topic")]
    InvalidSource(#[source] InvalidMessage),
    /// It would return to the queue that it is in.
    #[error("it would return to the queue that it is in; say another topic")]
    Itself,
    /// The header for a replay does not fit beside its headers.
    #[error("it has no room for the header of a replay")]
    NoRoom,
    /// Something of it could not be published again as it is.
    #[error("{0} could not be published as it is")]
    Unkept(String),
}

impl Redriving {
    /// The message to publish in place of a dead letter.
    ///
    /// # Errors
    ///
    /// [`LeftInPlace`] if the dead letter is to stay where it is.
    pub fn message(&self, letter: &Letter) -> Result<Message, LeftInPlace> {
        let redriven = redrive(&letter.payload);
        self.select(letter, redriven.as_ref().ok())?;
        if let Some(unkept) = &letter.unkept {
            return Err(LeftInPlace::Unkept(unkept.clone()));
        }
        let mut message = match redriven {
            Ok(redriven) => {
                let topic = self.topic(Some(&redriven), letter)?;
                let is_envelope = redriven.urn.is_some();
                let mut message = letter.message(topic, redriven.payload.into());
                restore(&mut message, is_envelope);
                let id = redriven.id.and_then(|id| MessageId::new(id).ok());
                message.id = id.unwrap_or(message.id);
                message
            }
            // The broker moved it here by itself, as it was.
            Err(_) if letter.is_moved => {
                letter.message(self.topic(None, letter)?, letter.payload.clone())
            }
            Err(error) => return Err(LeftInPlace::Unreadable(error)),
        };
        if letter.queue.as_ref() == Some(&message.topic) {
            return Err(LeftInPlace::Itself);
        }
        if self.bypass == Bypass::Marked {
            message.headers = replay_headers(message.headers).ok_or(LeftInPlace::NoRoom)?;
        }
        Ok(message)
    }

    fn select(&self, letter: &Letter, redriven: Option<&Redriven<'_>>) -> Result<(), LeftInPlace> {
        let own = redriven.and_then(|redriven| redriven.id.as_deref());
        let of = letter.headers.get(DEAD_LETTER_OF);
        let id = own.or(of).or(letter.id.as_ref().map(MessageId::as_str));
        let urn = redriven.and_then(|redriven| redriven.urn.as_deref());
        let reason = redriven.and_then(|redriven| redriven.reason.as_deref());
        let wanted = [(&self.id, id), (&self.urn, urn), (&self.reason, reason)];
        let is_wanted = |(wanted, has): (&Option<String>, Option<&str>)| {
            wanted.is_none() || wanted.as_deref() == has
        };
        if wanted.into_iter().all(is_wanted) {
            Ok(())
        } else {
            Err(LeftInPlace::NotSelected)
        }
    }

    fn topic(
        &self,
        redriven: Option<&Redriven<'_>>,
        letter: &Letter,
    ) -> Result<Topic, LeftInPlace> {
        if let Some(to) = &self.to {
            return Ok(to.clone());
        }
        let died_in = redriven.and_then(|redriven| redriven.original_queue.as_deref());
        // A message that several queues got died in one of them, which is not always the one that it was published to.
        let published_to = redriven.filter(|_| !letter.is_moved);
        let published_to = published_to.and_then(|redriven| redriven.queue.as_deref());
        let moved_from = letter.source.as_ref().map(Topic::as_str);
        let said = [died_in, moved_from, published_to].into_iter().flatten();
        let said = said.into_iter().find(|said| !said.is_empty());
        Topic::new(said.ok_or(LeftInPlace::NoSource)?).map_err(LeftInPlace::InvalidSource)
    }
}

/// Gives a message the id and the content type that its dead letter has in headers of its own, and takes off what is only the dead letter's.
fn restore(message: &mut Message, is_envelope: bool) {
    let id = message.headers.get(DEAD_LETTER_OF);
    let id = id.and_then(|id| MessageId::new(id).ok());
    let content_type = message.headers.get(DEAD_LETTER_CONTENT_TYPE);
    let content_type = content_type.and_then(|of| ContentType::new(of).ok());
    message.headers = without(&message.headers, &OF_DEAD_LETTERS);
    if !is_envelope {
        message.content_type = None;
        message.headers = without(&message.headers, &SHOWN);
    }
    message.id = id.unwrap_or_else(|| message.id.clone());
    message.content_type = content_type.or(message.content_type.take());
}

/// The headers of other names than these.
pub(crate) fn without(headers: &Headers, names: &[&str]) -> Headers {
    let others = headers.iter().filter(|(name, _)| !names.contains(name));
    Headers::from_pairs(others).expect("fewer of what was within the limits")
}

#[cfg(test)]
mod tests {
    use outbox_envelope::{DeadLetter, DeadLetterReason};
    use outbox_message::ContentType;
    use outbox_store::REPLAY_HEADER;

    use super::*;

    const ENVELOPE: &str = r#"{"job":"urn:a", "trace_id":"t","data":{"n":1},"meta":{"id":"m-1","queue":"orders","schema_version":1},"attempts":0}"#;

    fn dead(raw: &str) -> Letter {
        let block = DeadLetter::new(DeadLetterReason::Failed, "orders.eu", 3, 1);
        Letter {
            payload: block.annotate(raw).into(),
            headers: Headers::from_pairs([("tenant", "acme")]).unwrap(),
            content_type: Some(ContentType::new("application/json").unwrap()),
            ..Letter::default()
        }
    }

    fn topic(text: &str) -> Topic {
        Topic::new(text).unwrap()
    }

    #[test]
    fn a_message_has_the_id_the_headers_and_the_bytes_that_it_had() {
        let message = Redriving::default().message(&dead(ENVELOPE)).unwrap();
        assert_eq!(message.payload, ENVELOPE);
        assert_eq!(
            (message.id.as_str(), message.topic.as_str()),
            ("m-1", "orders.eu")
        );
        assert_eq!(
            message.headers.pairs(),
            [("tenant".to_owned(), "acme".to_owned())]
        );
        assert!(message.content_type.is_some());
    }

    #[test]
    fn it_goes_where_it_is_sent_or_where_it_came_from() {
        let to = Redriving {
            to: Some(topic("sandbox")),
            ..Redriving::default()
        };
        assert_eq!(to.message(&dead(ENVELOPE)).unwrap().topic, topic("sandbox"));
        let bare = |text: &str| Letter {
            payload: text.to_owned().into(),
            ..Letter::default()
        };
        let message = Redriving::default().message(&bare(ENVELOPE)).unwrap();
        assert_eq!(message.topic, topic("orders"));
        let nowhere = bare(r#"{"job":"urn:a"}"#);
        assert_eq!(
            Redriving::default().message(&nowhere),
            Err(LeftInPlace::NoSource)
        );
        let moved = Letter {
            source: Some(topic("moved")),
            ..nowhere
        };
        assert_eq!(
            Redriving::default().message(&moved).unwrap().topic,
            topic("moved")
        );
    }

    #[test]
    fn the_queue_it_died_in_goes_before_the_one_it_was_published_to() {
        let moved = Letter {
            payload: ENVELOPE.into(),
            is_moved: true,
            source: Some(topic("billing")),
            ..Letter::default()
        };
        let to = |letter: &Letter| Redriving::default().message(letter).unwrap().topic;
        assert_eq!(to(&moved), topic("billing"));
        let of_no_topic = Letter {
            source: None,
            ..moved
        };
        let left = Redriving::default().message(&of_no_topic);
        assert_eq!(left, Err(LeftInPlace::NoSource));
        let recorded = Letter {
            payload: dead(ENVELOPE).payload,
            ..of_no_topic
        };
        assert_eq!(to(&recorded), topic("orders.eu"));
    }

    #[test]
    fn what_would_return_to_the_queue_it_is_in_stays() {
        let letter = Letter {
            queue: Some(topic("orders.eu")),
            ..dead(ENVELOPE)
        };
        let left = Redriving::default().message(&letter);
        assert_eq!(left, Err(LeftInPlace::Itself));
        let elsewhere = Redriving {
            to: Some(topic("sandbox")),
            ..Redriving::default()
        };
        assert!(elsewhere.message(&letter).is_ok());
    }

    #[test]
    fn what_is_no_envelope_goes_only_if_something_says_where_it_came_from() {
        let wrapped = Redriving::default().message(&dead("7,acme")).unwrap();
        assert_eq!(
            (&*wrapped.payload, wrapped.topic.as_str()),
            (&b"7,acme"[..], "orders.eu")
        );
        assert_eq!(wrapped.content_type, None);
        let bare = Letter {
            payload: "7,acme".into(),
            content_type: Some(ContentType::new("text/csv").unwrap()),
            ..Letter::default()
        };
        let left = Redriving::default().message(&bare).unwrap_err();
        assert!(matches!(left, LeftInPlace::Unreadable(_)));
        let from_elsewhere = Letter {
            is_moved: true,
            ..bare
        };
        let left = Redriving::default().message(&from_elsewhere);
        assert_eq!(left, Err(LeftInPlace::NoSource));
        let to = Redriving {
            to: Some(topic("sandbox")),
            ..Redriving::default()
        };
        assert!(to.message(&from_elsewhere).is_ok());
        let moved = Letter {
            source: Some(topic("moved")),
            ..from_elsewhere
        };
        let message = Redriving::default().message(&moved).unwrap();
        assert_eq!(
            (&*message.payload, message.topic.as_str()),
            (&b"7,acme"[..], "moved")
        );
        assert_eq!(message.content_type.unwrap().as_str(), "text/csv");
    }

    #[test]
    fn the_mark_of_a_replay_stands_there_once() {
        let marked = Redriving {
            bypass: Bypass::Marked,
            ..Redriving::default()
        };
        let mut letter = dead(ENVELOPE);
        let once = marked.message(&letter).unwrap().headers;
        assert_eq!(once.get(REPLAY_HEADER), Some("1"));
        letter.headers = once.clone();
        assert_eq!(marked.message(&letter).unwrap().headers, once);
        letter.headers = Headers::from_pairs([(REPLAY_HEADER, ""), ("tenant", "acme")]).unwrap();
        assert_eq!(marked.message(&letter).unwrap().headers, once);
        let plain = Redriving::default().message(&dead(ENVELOPE)).unwrap();
        assert_eq!(plain.headers.get(REPLAY_HEADER), None);
    }

    #[test]
    fn only_what_was_asked_for_goes() {
        let by = |change: fn(&mut Redriving, String)| {
            move |text: &str| {
                let mut redriving = Redriving::default();
                change(&mut redriving, text.to_owned());
                redriving.message(&dead(ENVELOPE)).is_ok()
            }
        };
        let id = by(|redriving, text| redriving.id = Some(text));
        assert_eq!((id("m-1"), id("m-2")), (true, false));
        let urn = by(|redriving, text| redriving.urn = Some(text));
        assert_eq!((urn("urn:a"), urn("urn:b")), (true, false));
        let reason = by(|redriving, text| redriving.reason = Some(text));
        assert_eq!((reason("failed"), reason("unknown_urn")), (true, false));
        let unkept = Letter {
            unkept: Some("its property reply_to".to_owned()),
            ..dead(ENVELOPE)
        };
        let left = Redriving::default().message(&unkept).unwrap_err();
        assert_eq!(
            left.to_string(),
            "its property reply_to could not be published as it is"
        );
    }
}
