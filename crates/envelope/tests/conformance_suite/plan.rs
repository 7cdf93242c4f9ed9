//! Which cases the suite has, which check each of them gets, and which are not carried.

use serde_json::Value;

use crate::{
    bindings, core, delays, gate, inbox, payload, poison, retries, settling,
    suite::{Suite, Verdict},
    tracing,
};

type Check = fn(&Suite, &Value) -> Verdict;

/// What happens with a case.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plan {
    Check(Check),
    /// Why not.
    NotCarried(&'static str),
}

/// A case of the suite.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    pub(crate) section: &'a str,
    /// `core`, or a binding.
    pub(crate) scope: &'a str,
    pub(crate) id: String,
    /// What the suite says of it.
    pub(crate) input: &'a Value,
    pub(crate) plan: Plan,
}

/// The bindings that this crate carries all or a part of, as the suite calls them.
pub(crate) const BINDINGS: [&str; 8] = [
    "amqp", "artemis", "asb", "kafka", "otel", "pulsar", "redis", "sqs",
];

/// The members of the manifest that are no sections.
const NO_SECTIONS: [&str; 5] = [
    "schema_version",
    "conformance_version",
    "sections",
    "exceptions",
    "description",
];

/// The cases that stand in a section itself, not in a group of it.
const OWN: &str = "";

const REDIS: &str = "it takes a consumer of Redis lists and a live Redis; this toolkit publishes to them and has none";

/// Every section, and group of a section, of version 1.8.0.
const PLANS: &[(&str, &str, Plan)] = &[
    ("cases", OWN, Plan::Check(core::decoded)),
    ("roundtrip", OWN, Plan::Check(core::reencoded)),
    ("data_shape", OWN, Plan::Check(core::shape_of_data)),
    ("forbidden_keys", OWN, Plan::Check(core::forbidden)),
    ("extension_write", OWN, Plan::Check(core::extended)),
    ("encode_reject", OWN, Plan::Check(core::refused)),
    ("trim", OWN, Plan::Check(core::trimmed)),
    ("job_type", OWN, Plan::Check(core::identified)),
    ("identity_verdict", OWN, Plan::Check(poison::verdict)),
    ("poison_dlq", OWN, Plan::Check(poison::record)),
    ("idempotency", "dedup_key", Plan::Check(inbox::key)),
    ("idempotency", "sequences", Plan::Check(inbox::sequence)),
    ("payload_schema", OWN, Plan::Check(payload::checked)),
    (
        "payload_schema_unicode",
        OWN,
        Plan::Check(payload::checked_unicode),
    ),
    ("retry_backoff", OWN, Plan::Check(retries::waited)),
    ("kafka", "property_projection", Plan::Check(bindings::kafka)),
    (
        "kafka",
        "attempts_reconciliation",
        Plan::Check(bindings::kafka_attempts),
    ),
    ("kafka", "schema_version_gate", Plan::Check(gate::kafka)),
    ("kafka_poison", OWN, Plan::Check(poison::kafka_verdict)),
    ("backoff", OWN, Plan::Check(delays::kafka_delayed)),
    (
        "backoff",
        "retry_republish",
        Plan::Check(delays::kafka_retried),
    ),
    (
        "backoff",
        "topic_names",
        Plan::Check(bindings::kafka_retry_topic),
    ),
    (
        "backoff",
        "retry_attempt_tier",
        Plan::Check(delays::kafka_attempted),
    ),
    (
        "backoff",
        "default_tiers",
        Plan::Check(delays::kafka_default_tiers),
    ),
    (
        "pulsar",
        "property_projection",
        Plan::Check(bindings::pulsar),
    ),
    (
        "pulsar",
        "attempts_reconciliation",
        Plan::Check(bindings::pulsar_attempts),
    ),
    ("pulsar", "schema_version_gate", Plan::Check(gate::pulsar)),
    (
        "pulsar_exhaustion",
        OWN,
        Plan::Check(settling::pulsar_exhausted),
    ),
    (
        "version_gate_pulsar",
        OWN,
        Plan::Check(settling::gated_pulsar),
    ),
    ("sqs", "attribute_projection", Plan::Check(bindings::sqs)),
    (
        "sqs",
        "attempts_reconciliation",
        Plan::Check(bindings::sqs_attempts),
    ),
    ("sqs", "schema_version_gate", Plan::Check(gate::sqs)),
    ("delay", OWN, Plan::Check(delays::sqs_delayed)),
    (
        "delay",
        "release_visibility",
        Plan::Check(delays::sqs_released),
    ),
    ("version_gate_sqs", OWN, Plan::Check(settling::gated_sqs)),
    (
        "asb",
        "property_projection",
        Plan::Check(bindings::azure_service_bus),
    ),
    (
        "asb",
        "attempts_reconciliation",
        Plan::Check(bindings::azure_service_bus_attempts),
    ),
    ("asb", "schema_version_gate", Plan::Check(gate::asb)),
    ("version_gate_asb", OWN, Plan::Check(settling::gated_asb)),
    (
        "artemis",
        "property_projection",
        Plan::Check(bindings::artemis),
    ),
    (
        "artemis",
        "attempts_reconciliation",
        Plan::Check(bindings::artemis_attempts),
    ),
    ("artemis", "schema_version_gate", Plan::Check(gate::artemis)),
    (
        "version_gate_artemis",
        OWN,
        Plan::Check(settling::gated_artemis),
    ),
    (
        "rabbitmq",
        "property_projection",
        Plan::Check(bindings::rabbitmq),
    ),
    (
        "redis",
        "payload_identity",
        Plan::Check(delays::redis_element),
    ),
    ("redis_delay", OWN, Plan::Check(delays::redis_delayed)),
    ("redis_layout", OWN, Plan::Check(delays::redis_keys)),
    ("redis_layout", "delayed_score", Plan::NotCarried(REDIS)),
    ("redis_layout", "migrate", Plan::NotCarried(REDIS)),
    ("redis_layout", "reserve", Plan::NotCarried(REDIS)),
    ("redis_layout", "pcall_poison", Plan::NotCarried(REDIS)),
    ("redis_layout", "release", Plan::NotCarried(REDIS)),
    ("redis_layout", "processing_sweep", Plan::NotCarried(REDIS)),
    ("redis_layout", "processing_token", Plan::NotCarried(REDIS)),
    ("redis_layout", "late_ack", Plan::NotCarried(REDIS)),
    ("redis_layout", "identical_copies", Plan::NotCarried(REDIS)),
    ("redis_layout", "retry_after_null", Plan::NotCarried(REDIS)),
    ("redis_layout", "lrem_count", Plan::NotCarried(REDIS)),
    ("redis_layout", "malformed_member", Plan::NotCarried(REDIS)),
    ("redis_layout", "orphan", Plan::NotCarried(REDIS)),
    (
        "redis_layout",
        "legacy_release_gate",
        Plan::NotCarried(REDIS),
    ),
    ("redis_layout", "legacy_dlq_gate", Plan::NotCarried(REDIS)),
    ("traceparent", OWN, Plan::Check(tracing::extracted)),
];

/// Every case of the suite in the order of its sections.
///
/// # Errors
///
/// What is listed nowhere, or listed and not there.
pub(crate) fn cases(manifest: &Value) -> Result<Vec<Case<'_>>, String> {
    let members = manifest.as_object().ok_or("the manifest is no object")?;
    let scopes = members
        .get("sections")
        .and_then(Value::as_object)
        .ok_or("the manifest names no sections")?;
    let mut cases = Vec::new();
    let mut seen = Vec::new();
    for (name, section) in members {
        if NO_SECTIONS.contains(&name.as_str()) {
            continue;
        }
        let scope = scopes
            .get(name)
            .and_then(|entry| entry.pointer("/scope")?.as_str())
            .ok_or_else(|| format!("section {name} has no scope"))?;
        for (group, id, input) in cases_of(name, section) {
            let plan = PLANS
                .iter()
                .find(|(section, known, _)| *section == name && *known == group);
            let (section, group, plan) =
                plan.ok_or_else(|| format!("section {name}, group {group:?} is not known"))?;
            seen.push((*section, *group));
            cases.push(Case {
                section: name,
                scope,
                id,
                input,
                plan: *plan,
            });
        }
    }
    if let Some(missing) = scopes.keys().find(|name| !members.contains_key(*name)) {
        return Err(format!("section {missing} is named and not there"));
    }
    let gone = PLANS
        .iter()
        .find(|(section, group, _)| !seen.contains(&(*section, *group)));
    match gone {
        Some((section, group, _)) => Err(format!("section {section}, group {group:?} has no case")),
        None => Ok(cases),
    }
}

/// The cases of a section: the group, the id by the rules of the suite's schema of results, and the case.
fn cases_of<'a>(name: &str, section: &'a Value) -> Vec<(&'a str, String, &'a Value)> {
    let named = |case: &Value| {
        case.pointer("/name")
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let own = |cases: &'a Vec<Value>| {
        let cases = cases.iter().enumerate();
        let cases = cases.map(|(place, case)| {
            let id = named(case).unwrap_or_else(|| format!("{name}#{place}"));
            (OWN, id, case)
        });
        cases.collect::<Vec<_>>()
    };
    if let Some(cases) = section.as_array() {
        return own(cases);
    }
    let mut found = Vec::new();
    for (group, value) in section.as_object().into_iter().flatten() {
        match (group.as_str(), value) {
            ("description" | "schema", _) => {}
            ("cases", Value::Array(cases)) => found.extend(own(cases)),
            (_, Value::Object(members)) => match members.get("cases") {
                Some(Value::Array(cases)) => {
                    for (place, case) in cases.iter().enumerate() {
                        let id = named(case).unwrap_or_else(|| place.to_string());
                        found.push((group, format!("{group}/{id}"), case));
                    }
                }
                _ => found.push((group, group.clone(), value)),
            },
            _ => {}
        }
    }
    found
}

/// A manifest with one case in every section and group.
fn smallest() -> Value {
    let mut manifest = serde_json::json!({"sections": {}});
    for (section, group, _) in PLANS {
        manifest["sections"][section] = serde_json::json!({"scope": "core"});
        let cases = serde_json::json!([{"name": "a"}]);
        if *group == OWN {
            manifest[section]["cases"] = cases;
        } else {
            manifest[section][group]["cases"] = cases;
        }
    }
    manifest
}

#[test]
fn conformance_sections_and_groups_that_are_unknown_or_gone_are_errors() {
    let complete = smallest();
    assert_eq!(cases(&complete).map(|cases| cases.len()), Ok(PLANS.len()));

    let mut unknown = complete.clone();
    unknown["new"] = serde_json::json!({"cases": [{"name": "a"}]});
    assert_eq!(
        cases(&unknown).err().as_deref(),
        Some("section new has no scope")
    );
    unknown["sections"]["new"] = serde_json::json!({"scope": "core"});
    assert_eq!(
        cases(&unknown).err().as_deref(),
        Some("section new, group \"\" is not known")
    );

    let mut group = complete.clone();
    group["kafka"]["new"] = serde_json::json!({"cases": [{"name": "a"}]});
    assert_eq!(
        cases(&group).err().as_deref(),
        Some("section kafka, group \"new\" is not known")
    );

    let mut named = complete.clone();
    named["sections"]["new"] = serde_json::json!({"scope": "core"});
    assert_eq!(
        cases(&named).err().as_deref(),
        Some("section new is named and not there")
    );

    let mut empty = complete;
    empty["trim"]["cases"] = serde_json::json!([]);
    assert_eq!(
        cases(&empty).err().as_deref(),
        Some("section trim, group \"\" has no case")
    );
}
