//! Dead letters on the wire: what is published of a message that a relay gives up on, in the form that BabelQueue's consumers and tools read. That it is
//! saved with the death is the store's; the way back is in `redrive`.

use std::{
    str::FromStr,
    time::{SystemTime, UNIX_EPOCH},
};

use outbox_engine::{Death, DeathNotices};
use outbox_envelope::{DeadLetter, DeadLetterReason};
use outbox_message::{ContentType, InvalidMessage, Message, MessageId, Topic};
use outbox_store::BoxError;
use thiserror::Error;

use crate::redrive::{DEAD_LETTER_CONTENT_TYPE, DEAD_LETTER_OF, OF_DEAD_LETTERS, without};

/// The placeholder for the topic of the message that died.
const TOPIC: &str = "{topic}";

/// Publishes a dead letter of each message that a relay gives up on, to a topic such as `orders.dlq` for messages of `orders`.
///
/// The dead letter is saved in the transaction that records the death, so that there is one for each recorded death, and then published like any message, at
/// least once. It does not take the place of the letter that the store keeps, by which `outbox dead` redrives and discards: who redrives one of the two leaves
/// the other.
///
/// Its payload is the dead one's: an envelope with the block `dead_letter` and its other bytes untouched, anything else in an object around it
/// ([`annotate`](outbox_envelope::DeadLetter::annotate)). The block has the last error, which may show what a broker answered, the counted attempts, and
/// as `exception` the kind of death, such as `exhausted`. Key and headers are kept; `outbox-dead-letter-of` says of which message it
/// is and `outbox-dead-letter-content-type` how that is read, if it said so, unless there is no room for them. Its own id is fresh.
///
/// A message of a dead-letter topic that dies has none, so that they do not follow each other without end.
///
/// ```
/// use std::sync::Arc;
/// use outbox::{DeadLetters, RelayConfig};
///
/// let letters: DeadLetters = "{topic}.dlq".parse()?;
/// let config = RelayConfig { notices: Some(Arc::new(letters)), ..RelayConfig::default() };
/// # let _ = config;
/// # Ok::<(), outbox::InvalidDeadLetterTopic>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetters {
    before: String,
    /// What follows the topic; `None` for one topic for all.
    after: Option<String>,
}

impl Default for DeadLetters {
    /// To `{topic}.dlq`, as the consumers of BabelQueue do.
    fn default() -> Self {
        Self {
            before: String::new(),
            after: Some(".dlq".to_owned()),
        }
    }
}

/// Why a text does not say where dead letters go.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidDeadLetterTopic {
    /// They would go where the message itself goes.
    #[error("dead letters cannot go to the topic of the message itself; write {{topic}}.dlq")]
    Itself,
    /// A brace that is not of the one placeholder there is.
    #[error("a brace is only part of {{topic}}, which stands for the topic, once")]
    Brace,
    /// It makes no topic.
    #[error("dead letters cannot go there")]
    Topic(#[source] InvalidMessage),
}

impl FromStr for DeadLetters {
    type Err = InvalidDeadLetterTopic;

    /// Reads a topic, in which `{topic}` stands for that of the message that died.
    fn from_str(text: &str) -> Result<Self, InvalidDeadLetterTopic> {
        let (before, after) = match text.split_once(TOPIC) {
            None => (text, None),
            Some((before, after)) => (before, Some(after)),
        };
        if before.is_empty() && after == Some("") {
            return Err(InvalidDeadLetterTopic::Itself);
        }
        if [before, after.unwrap_or_default()]
            .concat()
            .contains(['{', '}'])
        {
            return Err(InvalidDeadLetterTopic::Brace);
        }
        let letters = Self {
            before: before.to_owned(),
            after: after.map(str::to_owned),
        };
        letters.of("t").map_err(InvalidDeadLetterTopic::Topic)?;
        Ok(letters)
    }
}

impl DeadLetters {
    /// Where dead letters of a topic go.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if that is too long for a topic.
    pub fn topic(&self, of: &Topic) -> Result<Topic, InvalidMessage> {
        self.of(of.as_str())
    }

    fn of(&self, topic: &str) -> Result<Topic, InvalidMessage> {
        match &self.after {
            None => Topic::new(&self.before),
            Some(after) => Topic::new([&self.before, topic, after].concat()),
        }
    }

    /// Whether dead letters go to this topic.
    pub fn is_dead_letter_topic(&self, topic: &Topic) -> bool {
        let topic = topic.as_str();
        match &self.after {
            None => topic == self.before,
            Some(after) => {
                let inner = topic.strip_prefix(&*self.before);
                let inner = inner.and_then(|rest| rest.strip_suffix(&**after));
                inner.is_some_and(|inner| !inner.is_empty())
            }
        }
    }

    /// The dead letter of a death at this time.
    fn letter(&self, death: &Death<'_>, failed_at: i64) -> Result<Option<Message>, BoxError> {
        let died = &death.delivery.message;
        if self.is_dead_letter_topic(&died.topic) {
            return Ok(None);
        }
        let (queue, attempts) = (died.topic.as_str(), i64::from(death.attempts));
        let mut block = DeadLetter::new(DeadLetterReason::Failed, queue, attempts, failed_at);
        block.error = Some(death.error);
        block.exception = Some(death.reason.as_str());
        // A message may have been the dead letter of another, and have come back by a tool that leaves its headers.
        let mut headers = without(&died.headers, &OF_DEAD_LETTERS);
        // A message whose headers are full has its dead letter without these.
        let _ = headers.push(DEAD_LETTER_OF, died.id.as_str());
        if let Some(content_type) = &died.content_type {
            let _ = headers.push(DEAD_LETTER_CONTENT_TYPE, content_type.as_str());
        }
        Ok(Some(Message {
            id: MessageId::generate(),
            topic: self.topic(&died.topic)?,
            key: died.key.clone(),
            headers,
            content_type: Some(ContentType::new("application/json")?),
            payload: block.annotate(&died.payload).into(),
        }))
    }
}

impl DeathNotices for DeadLetters {
    fn notice(&self, death: &Death<'_>) -> Result<Option<Message>, BoxError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
        self.letter(death, now)
    }
}

#[cfg(test)]
mod tests {
    use outbox_message::{Delivery, Lane, Position};
    use outbox_store::DeathReason;

    use super::*;

    fn letter_of(message: Message) -> Option<Message> {
        let delivery = Delivery {
            lane: Lane(0),
            position: Position(1),
            attempts: 5,
            tries: 6,
            starts: 0,
            message,
        };
        let death = Death::new(&delivery, DeathReason::Exhausted, "refused");
        DeadLetters::default().letter(&death, 7).unwrap()
    }

    #[test]
    fn an_envelope_keeps_its_bytes_and_gets_the_block() {
        let raw = r#"{"job":"urn:a", "data":{"n":1e400},"attempts":0}"#;
        let message = Message::new("orders", raw).unwrap();
        let message = message
            .with_key("k")
            .and_then(|it| it.with_header("a", "1"));
        let message = message.unwrap();
        let letter = letter_of(message.clone()).unwrap();
        assert_eq!(letter.topic.as_str(), "orders.dlq");
        assert_eq!(letter.key, message.key);
        assert_ne!(letter.id, message.id);
        let headers: Vec<_> = letter.headers.iter().collect();
        assert_eq!(headers, [("a", "1"), (DEAD_LETTER_OF, message.id.as_str())]);
        let block = r#","dead_letter":{"reason":"failed","error":"refused","exception":"exhausted","failed_at":7,"original_queue":"orders","attempts":6,"lang":"rust"}}"#;
        let expected = [raw.strip_suffix('}').unwrap(), block].concat();
        assert_eq!(String::from_utf8_lossy(&letter.payload), expected);
    }

    #[test]
    fn what_is_no_envelope_comes_back_out_of_its_dead_letter_byte_for_byte() {
        for raw in [&b"\0\xFF"[..], b"", b"[1]", b"plain"] {
            let letter = letter_of(Message::new("orders", raw.to_vec()).unwrap()).unwrap();
            let back = outbox_envelope::redrive(&letter.payload).unwrap();
            assert_eq!(&back.payload[..], raw);
            assert_eq!(back.original_queue.as_deref(), Some("orders"));
        }
    }

    #[test]
    fn a_redriven_dead_letter_is_the_message_that_died() {
        for content_type in [None, Some("text/csv")] {
            let mut died = Message::new("orders", "7,acme").unwrap();
            died = died.with_id("orig-1").unwrap();
            died = died.with_header("tenant", "acme").unwrap();
            died.content_type = content_type.map(|of| ContentType::new(of).unwrap());
            for of in ["outbox-dead-letter-of", "tenant"] {
                // What a tool left there of an earlier death does not stand for this one.
                let died = died.clone().with_header(of, "earlier").unwrap();
                let notice = letter_of(died.clone()).unwrap();
                let letter = outbox_publisher::Letter {
                    id: Some(notice.id),
                    headers: notice.headers,
                    content_type: notice.content_type,
                    payload: notice.payload,
                    ..outbox_publisher::Letter::default()
                };
                let only = crate::Redriving {
                    id: Some("orig-1".to_owned()),
                    ..crate::Redriving::default()
                };
                let expected = Message {
                    headers: without(&died.headers, &OF_DEAD_LETTERS),
                    ..died
                };
                assert_eq!(only.message(&letter), Ok(expected));
            }
        }
    }

    #[test]
    fn s16_a_dead_letter_that_dies_has_no_dead_letter() {
        assert_eq!(letter_of(Message::new("orders.dlq", "x").unwrap()), None);
        assert!(letter_of(Message::new(".dlq", "x").unwrap()).is_some());
        let one: DeadLetters = "graveyard".parse().unwrap();
        assert!(one.is_dead_letter_topic(&"graveyard".parse().unwrap()));
        assert!(!one.is_dead_letter_topic(&"orders".parse().unwrap()));
    }

    #[test]
    fn a_place_that_is_the_messages_own_or_no_topic_is_refused() {
        let refused = |text: &str| text.parse::<DeadLetters>().unwrap_err();
        assert_eq!(refused("{topic}"), InvalidDeadLetterTopic::Itself);
        for text in ["{topic}.{topic}", "{key}.dlq", "{topic}.dlq}"] {
            assert_eq!(refused(text), InvalidDeadLetterTopic::Brace, "{text}");
        }
        for text in ["", "a\n{topic}"] {
            let refused = refused(text);
            assert!(
                matches!(refused, InvalidDeadLetterTopic::Topic(_)),
                "{text}"
            );
        }
        let long: Topic = "x".repeat(252).parse().unwrap();
        assert!(DeadLetters::default().topic(&long).is_err());
    }
}
