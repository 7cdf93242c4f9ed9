//! Which dead letters of a broker go back, to where, and as what. Leaves out reading and removing them, which is the
//! [`Redrive`](outbox_publisher::Redrive)'s.

use outbox_envelope::{DecodeError, Redriven, redrive};
use outbox_message::{Headers, InvalidMessage, Message, MessageId, Topic};
use outbox_publisher::Letter;
use thiserror::Error;

/// What marks a replay for consumers: effects that reach outside are not to be repeated.
const REPLAY_BYPASS: &str = "bq-replay-bypass";

/// How dead letters of a broker go back; the default takes all, each to where it came from.
///
/// The message has the id, the key and the headers of the dead letter. Its payload is that of the dead letter without the
/// block `dead_letter` and with 0 attempts, and what was wrapped because it is no envelope is itself again. Its topic is
/// [`to`](Self::to), or else `dead_letter.original_queue`, `meta.queue`, or what the broker itself says.
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
    /// Only the dead letter of this id: `meta.id`, or the broker's.
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
    /// They have the header `bq-replay-bypass`, with the value 1 unless it is there.
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
    /// The header for a replay does not fit beside its headers.
    #[error("it has no room for the header of a replay")]
    NoRoom(#[source] InvalidMessage),
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
                let topic = self.topic(redriven.source.as_deref(), letter)?;
                let id = redriven.id.and_then(|id| MessageId::new(id).ok());
                let is_envelope = redriven.urn.is_some();
                let mut message = letter.message(topic, redriven.payload.into());
                message.id = id.unwrap_or(message.id);
                if !is_envelope {
                    unwrap(&mut message);
                }
                message
            }
            // The broker moved it here by itself, as it was.
            Err(_) if letter.source.is_some() => {
                letter.message(self.topic(None, letter)?, letter.payload.clone())
            }
            Err(error) => return Err(LeftInPlace::Unreadable(error)),
        };
        if self.bypass == Bypass::Marked && message.headers.get(REPLAY_BYPASS).is_none() {
            let pushed = message.headers.push(REPLAY_BYPASS, "1");
            pushed.map_err(LeftInPlace::NoRoom)?;
        }
        Ok(message)
    }

    fn select(&self, letter: &Letter, redriven: Option<&Redriven<'_>>) -> Result<(), LeftInPlace> {
        let own = redriven.and_then(|redriven| redriven.id.as_deref());
        let id = own.or(letter.id.as_ref().map(MessageId::as_str));
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

    fn topic(&self, said: Option<&str>, letter: &Letter) -> Result<Topic, LeftInPlace> {
        if let Some(to) = &self.to {
            return Ok(to.clone());
        }
        match said.filter(|said| !said.is_empty()) {
            Some(said) => Topic::new(said).map_err(LeftInPlace::InvalidSource),
            None => letter.source.clone().ok_or(LeftInPlace::NoSource),
        }
    }
}

/// Takes off what brokers show of a wrapper, which says nothing about what was in it.
fn unwrap(message: &mut Message) {
    const SHOWN: [&str; 2] = ["bq-message-id", "content-type"];
    message.content_type = None;
    let own = message.headers.iter();
    let own = own.filter(|(name, _)| !SHOWN.contains(name));
    message.headers = Headers::from_pairs(own).expect("fewer of what was within the limits");
}

#[cfg(test)]
mod tests {
    use outbox_envelope::{DeadLetter, DeadLetterReason};
    use outbox_message::ContentType;

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
        let moved = Letter {
            source: Some(topic("moved")),
            ..bare
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
        assert_eq!(once.get(REPLAY_BYPASS), Some("1"));
        letter.headers = once.clone();
        assert_eq!(marked.message(&letter).unwrap().headers, once);
        let plain = Redriving::default().message(&dead(ENVELOPE)).unwrap();
        assert_eq!(plain.headers.get(REPLAY_BYPASS), None);
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
