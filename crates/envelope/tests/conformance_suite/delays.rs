//! The sections about how brokers are told that a message is to wait, and about the keys of Redis.

use std::time::Duration;

use outbox_envelope::{
    Envelope,
    projection::{
        kafka::retry::{NoTier, Parked, Tiers},
        redis as lists, sqs as queues,
    },
    settlement,
};
use serde_json::{Value, json};

use crate::suite::{Suite, Verdict, at, equal, integer, items, members, parse, text};

fn millis(value: &Value) -> Result<Duration, String> {
    let millis = value.as_u64().ok_or("a delay is no integer")?;
    Ok(Duration::from_millis(millis))
}

fn seconds(case: &Value, pointer: &str) -> Result<Duration, String> {
    let seconds = at(case, pointer)?.as_f64().ok_or("a time is no number")?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn tiers(case: &Value) -> Result<Tiers, String> {
    let tiers: Result<Vec<_>, _> = items(case, "/retry_tiers_ms").map(millis).collect();
    Tiers::new(tiers?).map_err(|error| error.to_string())
}

pub(crate) fn kafka_delayed(_: &Suite, case: &Value) -> Verdict {
    let delay = millis(at(case, "/delay_ms")?)?;
    let parked = tiers(case)?.delayed(text(case, "/work_topic")?, delay);
    parked_as(parked, case)
}

pub(crate) fn kafka_retried(suite: &Suite, case: &Value) -> Verdict {
    kafka_again(suite, case, "/attempts")
}

pub(crate) fn kafka_attempted(suite: &Suite, case: &Value) -> Verdict {
    kafka_again(suite, case, "/attempts_before")
}

fn kafka_again(suite: &Suite, case: &Value, attempts: &str) -> Verdict {
    let attempts = integer(case, attempts)?;
    let parked = tiers(case)?.retried(text(case, "/work_topic")?, attempts);
    if parked.is_ok() {
        let body = suite.file("fixtures/order-created.json")?;
        let body = settlement::retried(&body, attempts + 1).map_err(|error| error.to_string())?;
        let expected = integer(case, "/expect/body_attempts")?;
        equal("attempts", integer(&parse(&body)?, "/attempts")?, expected)?;
    }
    parked_as(parked, case)
}

fn parked_as(parked: Result<Parked, NoTier>, case: &Value) -> Verdict {
    let rejected = at(case, "/expect")? == "reject";
    equal("rejected", parked.is_err(), rejected)?;
    let Ok(parked) = parked else {
        return Ok(());
    };
    equal("tier", parked.tier, millis(at(case, "/expect/tier_ms")?)?)?;
    if case.pointer("/expect/topic").is_some() {
        equal("topic", &*parked.topic, text(case, "/expect/topic")?)?;
    }
    let header = |name: &str| {
        let mut headers = parked.headers.iter();
        let found = headers.find(|(known, _)| *known == name);
        found.map(|(_, value)| json!(value))
    };
    for (name, expected) in members(case, "/expect/headers") {
        equal(name, header(name), Some(expected.clone()))?;
    }
    Ok(())
}

pub(crate) fn kafka_default_tiers(_: &Suite, case: &Value) -> Verdict {
    let expected: Result<Vec<_>, _> = items(case, "/expect").map(millis).collect();
    equal("tiers", Tiers::default().as_slice(), &*expected?)
}

pub(crate) fn sqs_delayed(_: &Suite, case: &Value) -> Verdict {
    let kind = match text(case, "/queue_type")? {
        "standard" => queues::Kind::Standard,
        "fifo" => queues::Kind::Fifo,
        other => return Err(format!("unknown kind {other}")),
    };
    let delay = queues::delay(kind, seconds(case, "/delay_seconds")?).ok();
    let expected = case.pointer("/expect/delay_seconds_attribute");
    equal("delay", delay, expected.and_then(Value::as_u64))
}

pub(crate) fn sqs_released(_: &Suite, case: &Value) -> Verdict {
    let timeout = queues::visibility(seconds(case, "/delay_seconds")?);
    let expected = integer(case, "/expect/visibility_timeout")?;
    equal("timeout", i64::try_from(timeout), Ok(expected))
}

pub(crate) fn redis_delayed(_: &Suite, case: &Value) -> Verdict {
    let score = lists::laravel::due_at(seconds(case, "/now")?, seconds(case, "/delay")?);
    equal(
        "score",
        i64::try_from(score),
        Ok(integer(case, "/expect_score")?),
    )
}

pub(crate) fn redis_keys(_: &Suite, case: &Value) -> Verdict {
    let keys = lists::laravel::keys(text(case, "/key_prefix")?, text(case, "/queue")?);
    let keys = json!({
        "ready": keys.ready,
        "delayed": keys.delayed,
        "reserved": keys.reserved,
        "notify": keys.notify,
    });
    equal("keys", &keys, at(case, "/expect")?)
}

pub(crate) fn redis_element(suite: &Suite, case: &Value) -> Verdict {
    let raw = suite.file(text(case, "/envelope_file")?)?;
    let message = Envelope::message_from_raw(&raw).map_err(|error| error.to_string())?;
    let message = message.ok_or("the fixture is no envelope")?;
    let element = lists::frame(&message).map_err(|error| error.to_string())?;
    equal("element", &*element, &*raw)
}
