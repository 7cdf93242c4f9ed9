//! What a delivery says, in the parts of a message. Whatever cannot be said in them is named.

use lapin::{
    BasicProperties,
    message::Delivery,
    types::{AMQPValue, FieldTable, ShortString},
};
use outbox_envelope::projection;
use outbox_message::{ContentType, Headers, MessageId, Topic};
use outbox_publisher::Letter;

/// Where the broker says that it was dead-lettered, and how often it was delivered.
const BOOKKEEPING: [&str; 3] = ["x-death", "x-delivery-count", "x-opt-deaths"];
const BOOKKEEPING_PREFIXES: [&str; 2] = ["x-first-death-", "x-last-death-"];

pub(super) fn of(delivery: Delivery) -> Letter {
    let Delivery {
        properties, data, ..
    } = delivery;
    let text = |text: &Option<ShortString>| text.as_ref().map(ToString::to_string);
    let mut letter = Letter {
        id: text(properties.message_id()).and_then(|id| MessageId::new(id).ok()),
        content_type: text(properties.content_type()).and_then(|of| ContentType::new(of).ok()),
        payload: data.into(),
        source: properties.headers().as_ref().and_then(source),
        ..Letter::default()
    };
    match properties
        .headers()
        .as_ref()
        .map_or(Ok(Headers::new()), headers)
    {
        Ok(headers) => letter.headers = headers,
        Err(problem) => letter.unkept = Some(problem),
    }
    if let Some(property) = unkept(&properties, &letter) {
        letter.unkept = Some(format!("its property {property}"));
    }
    letter
}

/// A property that matters to whoever handles it, and that would not be there any more. Of an envelope most are made anew.
fn unkept(properties: &BasicProperties, letter: &Letter) -> Option<&'static str> {
    if properties.reply_to().is_some() {
        return Some("reply_to");
    }
    let named = [
        ("correlation_id", properties.correlation_id()),
        ("type", properties.kind()),
        ("app_id", properties.app_id()),
        ("content_encoding", properties.content_encoding()),
    ];
    let (name, _) = named.into_iter().find(|(_, text)| text.is_some())?;
    let topic = Topic::new("any").expect("it is a topic");
    let message = letter.message(topic, letter.payload.clone());
    let is_envelope = projection::of(&message).is_some();
    (!is_envelope).then_some(name)
}

/// The queue that it first died in, if the broker itself moved it.
fn source(headers: &FieldTable) -> Option<Topic> {
    let headers = headers.inner();
    let queue = match (headers.get("x-first-death-queue"), headers.get("x-death")) {
        (Some(queue), _) => text(queue)?,
        (None, Some(AMQPValue::FieldArray(deaths))) => match deaths.as_slice().last()? {
            AMQPValue::FieldTable(death) => text(death.inner().get("queue")?)?,
            _ => return None,
        },
        _ => return None,
    };
    Topic::new(queue).ok()
}

fn headers(table: &FieldTable) -> Result<Headers, String> {
    let mut headers = Headers::new();
    for (name, value) in table.inner() {
        let name = name.as_str();
        let is_the_brokers = BOOKKEEPING.contains(&name)
            || BOOKKEEPING_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix));
        if is_the_brokers {
            continue;
        }
        let values = match value {
            AMQPValue::FieldArray(values) => values.as_slice(),
            value => std::slice::from_ref(value),
        };
        // The publisher writes a list only of several, so any other list would become something else.
        let is_list = matches!(value, AMQPValue::FieldArray(_));
        if is_list && values.len() < 2 {
            return Err(format!("its header {name}, a list"));
        }
        for value in values {
            let value =
                text(value).ok_or_else(|| format!("its header {name}, which is no text"))?;
            headers
                .push(name, value)
                .map_err(|error| format!("its header {name}: {error}"))?;
        }
    }
    Ok(headers)
}

/// A text, or the text of a number.
fn text(value: &AMQPValue) -> Option<String> {
    Some(match value {
        AMQPValue::LongString(text) => str::from_utf8(text.as_bytes()).ok()?.to_owned(),
        AMQPValue::ShortString(text) => text.to_string(),
        AMQPValue::Boolean(value) => value.to_string(),
        AMQPValue::ShortShortInt(number) => number.to_string(),
        AMQPValue::ShortShortUInt(number) => number.to_string(),
        AMQPValue::ShortInt(number) => number.to_string(),
        AMQPValue::ShortUInt(number) => number.to_string(),
        AMQPValue::LongInt(number) => number.to_string(),
        AMQPValue::LongUInt(number) => number.to_string(),
        AMQPValue::LongLongInt(number) => number.to_string(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(text: &str) -> AMQPValue {
        AMQPValue::LongString(text.into())
    }

    fn letter(properties: BasicProperties, payload: &str) -> Letter {
        let mut delivery = Delivery::mock(
            1,
            "".into(),
            "orders.dlq".into(),
            false,
            payload.as_bytes().to_vec(),
        );
        delivery.properties = properties;
        of(delivery)
    }

    fn table(pairs: Vec<(&str, AMQPValue)>) -> FieldTable {
        let mut table = FieldTable::default();
        for (name, value) in pairs {
            table.insert(name.into(), value);
        }
        table
    }

    #[test]
    fn headers_are_kept_without_those_of_the_broker() {
        let death = table(vec![
            ("queue", long("orders")),
            ("reason", long("rejected")),
        ]);
        let headers = table(vec![
            ("tenant", long("acme")),
            ("tries", AMQPValue::LongInt(-3)),
            (
                "tags",
                AMQPValue::FieldArray(vec![long("a"), long("b")].into()),
            ),
            (
                "x-death",
                AMQPValue::FieldArray(vec![AMQPValue::FieldTable(death)].into()),
            ),
            ("x-last-death-queue", long("orders")),
            ("x-delivery-count", AMQPValue::LongLongInt(1)),
        ]);
        let properties = BasicProperties::default()
            .with_message_id("m-1".into())
            .with_content_type("text/csv".into())
            .with_headers(headers);
        let letter = letter(properties, "7,acme");
        let pairs: Vec<_> = letter.headers.iter().collect();
        assert_eq!(
            pairs,
            [
                ("tags", "a"),
                ("tags", "b"),
                ("tenant", "acme"),
                ("tries", "-3")
            ]
        );
        assert_eq!(letter.source, Some(Topic::new("orders").unwrap()));
        assert_eq!(letter.id, Some(MessageId::new("m-1").unwrap()));
        assert_eq!(
            letter.content_type,
            Some(ContentType::new("text/csv").unwrap())
        );
        assert_eq!(letter.unkept, None);
    }

    #[test]
    fn the_queue_of_the_first_death_is_the_source() {
        let deaths = ["retry", "orders"]
            .map(|queue| AMQPValue::FieldTable(table(vec![("queue", long(queue))])));
        let deaths = AMQPValue::FieldArray(deaths.to_vec().into());
        let of = |pairs| letter(BasicProperties::default().with_headers(table(pairs)), "x").source;
        let orders = Some(Topic::new("orders").unwrap());
        assert_eq!(of(vec![("x-death", deaths.clone())]), orders);
        let first = ("x-first-death-queue", long("first"));
        assert_eq!(
            of(vec![("x-death", deaths), first]),
            Some(Topic::new("first").unwrap())
        );
        assert_eq!(of(vec![]), None);
    }

    #[test]
    fn what_would_be_lost_is_named() {
        let with = |value| BasicProperties::default().with_headers(table(vec![("h", value)]));
        let nested = AMQPValue::FieldTable(FieldTable::default());
        let list = |values: Vec<AMQPValue>| AMQPValue::FieldArray(values.into());
        let named = BasicProperties::default().with_type("order".into());
        let asks = BasicProperties::default().with_reply_to("answers".into());
        for (properties, shown) in [
            (with(nested.clone()), "header h"),
            (with(list(vec![long("a"), nested])), "header h"),
            (with(list(vec![long("a")])), "header h"),
            (with(AMQPValue::Void), "header h"),
            (named.clone(), "type"),
            (asks, "reply_to"),
        ] {
            let unkept = letter(properties, "x").unkept.unwrap();
            assert!(unkept.contains(shown), "{unkept}");
        }
        let envelope = r#"{"job":"urn:a","trace_id":"t","data":{},"meta":{"id":"m","schema_version":1},"attempts":0}"#;
        assert_eq!(letter(named, envelope).unkept, None);
    }
}
