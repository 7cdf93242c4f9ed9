//! What a delivery says, in the parts of a message. Whatever cannot be said in them is named.

use lapin::{
    BasicProperties,
    message::Delivery,
    types::{AMQPValue, FieldTable, ShortString},
};
use outbox_envelope::projection;
use outbox_message::{ContentType, Headers, MessageId, Topic};
use outbox_publisher::{Letter, Template};

use crate::outgoing::CONTRACT_HEADERS;

/// Where the broker says that it was dead-lettered, and how often it was delivered.
const BOOKKEEPING: [&str; 3] = ["x-death", "x-delivery-count", "x-opt-deaths"];
const BOOKKEEPING_PREFIXES: [&str; 2] = ["x-first-death-", "x-last-death-"];

/// Reads a delivery of a broker whose queues are named after topics by `queue`.
pub(super) fn of(delivery: Delivery, queue: &Template) -> Letter {
    let Delivery {
        properties, data, ..
    } = delivery;
    let text = |text: &Option<ShortString>| text.as_ref().map(ToString::to_string);
    let died_in = properties.headers().as_ref().and_then(died_in);
    let mut letter = Letter {
        id: text(properties.message_id()).and_then(|id| MessageId::new(id).ok()),
        content_type: text(properties.content_type()).and_then(|of| ContentType::new(of).ok()),
        payload: data.into(),
        is_moved: died_in.is_some(),
        source: died_in.and_then(|name| topic_of(queue, &name)),
        ..Letter::default()
    };
    let is_envelope = is_envelope(&letter);
    let table = properties.headers().as_ref();
    match table.map_or(Ok(Headers::new()), |table| headers(table, is_envelope)) {
        Ok(headers) => letter.headers = headers,
        Err(problem) => letter.unkept = Some(problem),
    }
    if let Some(property) = unkept(&properties, is_envelope) {
        letter.unkept = Some(format!("its property {property}"));
    }
    letter
}

/// A property that matters to whoever handles it, and that would not be there any more. Of an envelope most are made anew.
fn unkept(properties: &BasicProperties, is_envelope: bool) -> Option<&'static str> {
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
    (!is_envelope).then_some(name)
}

fn is_envelope(letter: &Letter) -> bool {
    let topic = Topic::new("any").expect("it is a topic");
    let message = letter.message(topic, letter.payload.clone());
    projection::of(&message).is_some()
}

/// The queue that it first died in, if the broker itself moved it.
fn died_in(headers: &FieldTable) -> Option<String> {
    let headers = headers.inner();
    match (headers.get("x-first-death-queue"), headers.get("x-death")) {
        (Some(queue), _) => text(queue),
        (None, Some(AMQPValue::FieldArray(deaths))) => match deaths.as_slice().last()? {
            AMQPValue::FieldTable(death) => text(death.inner().get("queue")?),
            _ => None,
        },
        _ => None,
    }
}

/// The topic that gives this name to a queue, if one does: what is published again gets its name by the template once more.
fn topic_of(queue: &Template, name: &str) -> Option<Topic> {
    const TOPIC: char = '\0';
    let filled = queue.fill(|_| TOPIC.to_string());
    let (before, after) = filled.split_once(TOPIC)?;
    let topic = name.strip_prefix(before)?.strip_suffix(after)?;
    let topic = Topic::new(topic).ok()?;
    (queue.of_topic(&topic) == name).then_some(topic)
}

fn headers(table: &FieldTable, is_envelope: bool) -> Result<Headers, String> {
    let mut headers = Headers::new();
    for (name, value) in table.inner() {
        let name = name.as_str();
        let is_the_brokers = BOOKKEEPING.contains(&name)
            || BOOKKEEPING_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix));
        // Numbers of the contract, which an envelope has anew.
        let is_made_anew = is_envelope && CONTRACT_HEADERS.contains(&name) && text(value).is_none();
        if is_the_brokers || is_made_anew {
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

/// A text. A number or a truth value is none: published again it would be of another type, which consumers and routes by headers tell apart.
fn text(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => Some(str::from_utf8(text.as_bytes()).ok()?.to_owned()),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        _ => None,
    }
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
        of(delivery, &Template::topic())
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
        assert_eq!(pairs, [("tags", "a"), ("tags", "b"), ("tenant", "acme"),]);
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
    fn the_source_is_the_topic_that_gives_its_queue_its_name() {
        let source = |template: &str, queue: &str| {
            let topic = topic_of(&template.parse().unwrap(), queue);
            topic.map(|topic| topic.to_string())
        };
        let mail = Some("mail".to_owned());
        assert_eq!(source("{topic}", "mail"), mail);
        assert_eq!(source("app.{topic}", "app.mail"), mail);
        assert_eq!(source("app.{topic}.q", "app.mail.q"), mail);
        for (template, queue) in [
            ("app.{topic}", "mail"),
            ("app.{topic}", "app."),
            ("a{topic}a", "a"),
            ("{topic}.{topic}", "mail.mail"),
            ("jobs", "jobs"),
        ] {
            assert_eq!(source(template, queue), None, "{template} {queue}");
        }
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
            (with(AMQPValue::LongInt(-3)), "header h"),
            (with(AMQPValue::Boolean(true)), "header h"),
            (named.clone(), "type"),
            (asks, "reply_to"),
        ] {
            let unkept = letter(properties, "x").unkept.unwrap();
            assert!(unkept.contains(shown), "{unkept}");
        }
        let envelope = r#"{"job":"urn:a","trace_id":"t","data":{},"meta":{"id":"m","schema_version":1},"attempts":0}"#;
        assert_eq!(letter(named, envelope).unkept, None);
        let number = |name| {
            let number = table(vec![(name, AMQPValue::LongInt(3))]);
            BasicProperties::default().with_headers(number)
        };
        let anew = letter(number("x-attempts"), envelope);
        assert_eq!((anew.unkept, anew.headers.is_empty()), (None, true));
        for (name, payload) in [("tries", envelope), ("x-attempts", "x")] {
            let unkept = letter(number(name), payload).unkept.unwrap();
            assert!(unkept.contains("which is no text"), "{unkept}");
        }
    }
}
