//! A message as its columns stand in a row, decoded outside of the statement, so that a bad row fails alone (contract F7).

use bytes::Bytes;
use outbox_message::{
    ContentType, Headers, Lane, Lanes, Message, MessageId, OrderingKey, PartitionKey, Topic,
};

/// The parts of a message as they stand in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMessage {
    /// The lane it stands in.
    pub lane: Lane,
    /// The id.
    pub id: Bytes,
    /// The topic.
    pub topic: Bytes,
    /// The key within the topic, if it has one.
    pub key: Option<Bytes>,
    /// The headers as [`encode_headers`] gives them.
    pub headers: Option<Bytes>,
    /// The content type, if it has one.
    pub content_type: Option<Bytes>,
    /// The payload.
    pub payload: Bytes,
}

impl RawMessage {
    /// The ordering key, if there is one, it can be read, and among `lanes` lanes it belongs to this one.
    pub fn ordering_key(&self, lanes: Lanes) -> Option<OrderingKey> {
        any_key(&self.topic, self.key.as_deref()).filter(|key| key.lane(lanes) == self.lane)
    }

    /// Reads the message.
    ///
    /// # Errors
    ///
    /// What is wrong with the row: a part that cannot be read or breaks its limits, or a key that among `lanes` lanes belongs to another.
    pub fn decode(self, lanes: Lanes) -> Result<Message, String> {
        let message = Message {
            id: MessageId::new(text("id", &self.id)?).map_err(|e| e.to_string())?,
            topic: Topic::new(text("topic", &self.topic)?).map_err(|e| e.to_string())?,
            key: match &self.key {
                None => None,
                Some(key) => Some(PartitionKey::new(text("key", key)?).map_err(|e| e.to_string())?),
            },
            headers: match &self.headers {
                None => Headers::new(),
                Some(json) => decode_headers(json)?,
            },
            content_type: match &self.content_type {
                None => None,
                Some(kind) => {
                    Some(ContentType::new(text("content type", kind)?).map_err(|e| e.to_string())?)
                }
            },
            payload: self.payload,
        };
        match message.ordering_key() {
            Some(key) if key.lane(lanes) != self.lane => Err(format!(
                "the row is in lane {}, its key belongs to lane {}",
                self.lane,
                key.lane(lanes)
            )),
            _ => Ok(message),
        }
    }
}

/// The ordering key that stands in these columns, if it can be read, whatever lane it sits in.
pub fn any_key(topic: &[u8], key: Option<&[u8]>) -> Option<OrderingKey> {
    Some(OrderingKey {
        topic: Topic::new(std::str::from_utf8(topic).ok()?).ok()?,
        key: PartitionKey::new(std::str::from_utf8(key?).ok()?).ok()?,
    })
}

fn text<'a>(part: &str, bytes: &'a [u8]) -> Result<&'a str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("{part} is not UTF-8: {error}"))
}

/// Reads headers as [`encode_headers`] gives them; any white space between is fine.
///
/// # Errors
///
/// What is wrong with the text: it is no such JSON, or breaks a limit of headers.
pub fn decode_headers(json: &[u8]) -> Result<Headers, String> {
    let pairs: Vec<(String, String)> = serde_json::from_slice(json)
        .map_err(|error| format!("headers are not a JSON array of [name, value] pairs: {error}"))?;
    Headers::from_pairs(pairs).map_err(|error| error.to_string())
}

/// Headers as stored: a JSON array of [name, value] pairs, or NULL for none.
pub fn encode_headers(headers: &Headers) -> Option<String> {
    (!headers.is_empty())
        .then(|| serde_json::to_string(headers.pairs()).expect("texts are always JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: Lanes = Lanes::new(64).expect("64 is not zero");

    fn raw() -> RawMessage {
        let key = OrderingKey {
            topic: Topic::new("orders").unwrap(),
            key: PartitionKey::new("a").unwrap(),
        };
        RawMessage {
            lane: key.lane(LANES),
            id: Bytes::from_static(b"id-1"),
            topic: Bytes::from_static(b"orders"),
            key: Some(Bytes::from_static(b"a")),
            headers: Some(Bytes::from_static(br#"[["b","1"],["a","2\n"],["b","3"]]"#)),
            content_type: Some(Bytes::from_static(b"text/plain")),
            payload: Bytes::from_static(&[0, 255, 0]),
        }
    }

    #[test]
    fn c2_a_row_reads_back_as_the_message_that_was_stored() {
        let message = raw().decode(LANES).unwrap();
        assert_eq!(&message.payload[..], [0, 255, 0]);
        assert_eq!(
            message.headers.iter().collect::<Vec<_>>(),
            [("b", "1"), ("a", "2\n"), ("b", "3")]
        );
        let stored = encode_headers(&message.headers).unwrap();
        assert_eq!(stored.as_bytes(), raw().headers.unwrap());
        assert_eq!(encode_headers(&Headers::new()), None);
    }

    #[test]
    fn f7_what_cannot_be_read_is_named() {
        let broken = |change: fn(&mut RawMessage)| {
            let mut row = raw();
            change(&mut row);
            row.decode(LANES).unwrap_err()
        };
        assert!(
            broken(|row| row.topic = Bytes::from_static(&[0xFF])).starts_with("topic is not UTF-8")
        );
        assert!(broken(|row| row.id = Bytes::new()).starts_with("message id is empty"));
        assert!(
            broken(|row| row.headers = Some(Bytes::from_static(b"{}")))
                .starts_with("headers are not")
        );
        assert!(
            broken(|row| row.headers = Some(Bytes::from_static(br#"[["",""]]"#)))
                .contains("header name")
        );
        assert!(broken(|row| row.lane = Lane(row.lane.0 ^ 1)).contains("belongs to lane"));
    }

    #[test]
    fn a_key_in_a_wrong_lane_is_no_ordering_key() {
        let mut row = raw();
        assert!(row.ordering_key(LANES).is_some());
        row.lane = Lane(row.lane.0 ^ 1);
        assert_eq!(row.ordering_key(LANES), None);
        assert!(any_key(&row.topic, row.key.as_deref()).is_some());
        row.key = None;
        assert_eq!(any_key(&row.topic, row.key.as_deref()), None);
    }
}
