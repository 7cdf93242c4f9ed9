//! A message as a record of Kafka.

use outbox_envelope::projection;
use outbox_message::{Message, PartitionKey};
use rdkafka::{
    message::{Header, OwnedHeaders},
    producer::BaseRecord,
};
use tokio::sync::oneshot::Sender;

use crate::client::Verdict;

/// What is sent back when the fate of a record is known.
pub(crate) type Opaque = Box<Sender<Verdict>>;

/// The record of a message in a topic of Kafka: its payload, its key if it has one, its headers, and the time at which an envelope was made.
pub(crate) fn of<'a>(
    message: &'a Message,
    topic: &'a str,
    opaque: Opaque,
) -> BaseRecord<'a, str, [u8], Opaque> {
    let record = projection::kafka::record(message);
    let headers = OwnedHeaders::new_with_capacity(record.headers.len());
    let headers = record
        .headers
        .iter()
        .fold(headers, |headers, (key, value)| {
            let value = Some(value.as_bytes());
            headers.insert(Header { key, value })
        });
    BaseRecord {
        topic,
        partition: None,
        payload: Some(&message.payload),
        key: message.key.as_ref().map(PartitionKey::as_str),
        // There is no time before 1970 on Kafka; without one it is that of producing.
        timestamp: record.timestamp.filter(|time| *time > 0),
        headers: Some(headers),
        delivery_opaque: opaque,
    }
}

#[cfg(test)]
mod tests {
    use rdkafka::message::Headers;

    use super::*;

    fn parts(message: &Message) -> (Option<String>, Option<i64>, Vec<(String, String)>) {
        let (told, _) = tokio::sync::oneshot::channel();
        let record = of(message, "t", Box::new(told));
        assert_eq!(record.payload, Some(&*message.payload));
        let headers = record.headers.unwrap();
        let text = |header: Header<'_, &[u8]>| {
            let value = String::from_utf8(header.value.unwrap().to_vec()).unwrap();
            (header.key.to_owned(), value)
        };
        let headers = headers.as_borrowed().iter().map(text).collect();
        (record.key.map(str::to_owned), record.timestamp, headers)
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn an_envelope_has_the_headers_of_the_contract_and_its_own_time() {
        let body = r#"{"job":"urn:babel:orders:created","trace_id":"8a3c","data":{"id": 7},"meta":{"id":"m-7","queue":"orders","lang":"rust","schema_version":1,"created_at":1760000000123},"attempts":0}"#;
        let message = Message::new("orders", body)
            .unwrap()
            .with_id("m-7")
            .unwrap();
        let message = message.with_header("tenant", "acme").unwrap();
        let message = message.with_header("bq-job", "mine").unwrap();
        let expected = pairs(&[
            ("bq-job", "urn:babel:orders:created"),
            ("bq-trace-id", "8a3c"),
            ("bq-message-id", "m-7"),
            ("bq-schema-version", "1"),
            ("bq-source-lang", "rust"),
            ("bq-attempts", "0"),
            ("tenant", "acme"),
        ]);
        assert_eq!(parts(&message), (None, Some(1_760_000_000_123), expected));
    }

    #[test]
    fn c2_c3_another_message_has_its_id_its_type_and_its_own_headers_in_their_order() {
        let message = Message::new("orders", "7,acme").unwrap();
        let message = message.with_id("m-1").unwrap().with_key("k").unwrap();
        let message = message.with_content_type("text/csv").unwrap();
        let message = message.with_header("b", "é\n").unwrap();
        let message = message.with_header("a", "").unwrap();
        let message = message.with_header("b", "2").unwrap();
        let expected = pairs(&[
            ("bq-message-id", "m-1"),
            ("content-type", "text/csv"),
            ("b", "é\n"),
            ("a", ""),
            ("b", "2"),
        ]);
        assert_eq!(parts(&message), (Some("k".into()), None, expected));
    }

    #[test]
    fn c2_an_empty_payload_is_an_empty_value_and_no_tombstone() {
        let message = Message::new("orders", "").unwrap();
        let (told, _) = tokio::sync::oneshot::channel();
        assert_eq!(of(&message, "t", Box::new(told)).payload, Some(&[][..]));
    }
}
