//! Arguments for each statement, as a store gives them: of a claim of 100 messages, a settlement of as many, a page of dead letters.

use crate::backlog::Samples;

/// An argument as SQL: its type, and a literal.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub(crate) kind: &'static str,
    pub(crate) literal: String,
}

fn argument(kind: &'static str, literal: impl Into<String>) -> Argument {
    let literal = literal.into();
    Argument { kind, literal }
}

fn int(value: i64) -> Argument {
    argument("bigint", value.to_string())
}

fn flag(value: bool) -> Argument {
    argument("boolean", value.to_string())
}

fn text(value: &str) -> Argument {
    argument("text", format!("'{value}'"))
}

fn null() -> Argument {
    argument("text", "NULL")
}

fn ints(array: impl Into<String>) -> Argument {
    argument("bigint[]", array)
}

fn texts(array: impl Into<String>) -> Argument {
    argument("text[]", array)
}

/// As many times the same as a sample has rows.
fn each(kind: &'static str, element: &str, value: &str) -> Argument {
    argument(kind, format!("array_fill({value}::{element}, '{{100}}')"))
}

/// The lanes of a claim.
fn lanes() -> Argument {
    ints("'{0,1,2,3,4,5,6,7}'")
}

/// As many times the same as a claim has lanes.
fn of_lanes(kind: &'static str, element: &str, value: &str) -> Argument {
    argument(kind, format!("array_fill({value}::{element}, '{{8}}')"))
}

/// The arguments of the statement with this name. One that is not known here is a new one, whose plan would not be looked at.
#[rustfmt::skip]
pub(crate) fn of(name: &str, samples: &Samples, version: i64) -> Vec<Argument> {
    let Samples { line, waiting, dead, one } = samples;
    let ids = |from: &str| texts(from);
    match name {
        "schema_exists" | "schema_lock" | "schema_server" | "schema_version"
        | "add_partitions" | "heal_floors" | "upkeep_done" | "upkeep_lock" | "upkeep_turn"
        | "status_blocked" | "status_lanes" | "status_moment" | "status_stopped" | "status_topics" | "end_stops" | "dead_oldest" => vec![],
        // Claims.
        "lease" => vec![int(version), int(-1), int(8), text("relay"), int(30_000), int(100), int(1_000), int(2_000), int(0)],
        "promote" => vec![lanes(), int(100)],
        "read_line" => vec![ints(format!("'{{{},1,2,3,4,5,6,7}}'", one.0)), int(13), int(16 << 20), int(0), int(10_000)],
        "look_line" => vec![
            lanes(), of_lanes("bigint[]", "bigint", "0"), int(13), int(1_250), ints(&line.positions), texts(&waiting.topics), texts(&waiting.keys),
        ],
        "read_on" => vec![lanes(), of_lanes("bigint[]", "bigint", "0"), of_lanes("text[]", "text", "'holder'")],
        "look_ahead" => vec![ints(format!("'{{{}}}'", one.0)), ints(format!("'{{{}}}'", one.1)), texts("'{orders}'"), texts("'{one}'"), int(10_000)],
        "read_waiting" => vec![
            lanes(), of_lanes("bigint[]", "bigint", "9e18"), of_lanes("boolean[]", "boolean", "false"), int(100), int(32),
            ints(&waiting.positions), texts(&line.topics), texts(&line.keys),
        ],
        "set_aside" | "set_aside_topics" => vec![ints(&line.lanes), ints(&line.positions)],
        "block_busy" => vec![ints(&line.lanes), texts(&line.topics), texts(&line.keys), ints(&line.positions)],
        "delete_empty_blocks" | "free_keys" | "stop_keys" => vec![texts(&waiting.topics), texts(&waiting.keys)],
        "load" => vec![ints(&line.lanes), ints(&line.positions), texts(&waiting.topics), texts(&waiting.keys), ints(&waiting.positions)],
        "leave_lanes" => vec![lanes(), of_lanes("bigint[]", "bigint", "NULL")],
        // Settlements.
        "fence" | "fence_keep" => vec![
            lanes(), of_lanes("bigint[]", "bigint", "0"), of_lanes("text[]", "text", "'holder'"), of_lanes("boolean[]", "boolean", "true"),
            ints(&line.lanes), ints(&line.positions), ids(&line.ids),
        ],
        "confirmed_elsewhere" | "confirmed_elsewhere_keep" => vec![
            ints(&waiting.lanes), ints(&waiting.positions), ids(&waiting.ids), texts(&waiting.topics), texts(&waiting.keys),
        ],
        "count_failures" => vec![
            ints(&line.lanes), ints(&line.positions), each("bigint[]", "bigint", "0"), texts(&line.topics), texts(&line.keys),
            each("boolean[]", "boolean", "true"), each("text[]", "text", "'refused'"),
        ],
        "schedule" => vec![ints(&line.lanes), ints(&line.positions), each("bigint[]", "bigint", "1000")],
        "bury" => vec![
            ints(&line.lanes), ints(&line.positions), texts(&line.topics), texts(&line.keys),
            each("text[]", "text", "'attempts'"), each("text[]", "text", "'hold'"),
        ],
        "block_keys" => vec![ints(&line.lanes), texts(&line.topics), texts(&line.keys), ints(&line.positions), each("bigint[]", "bigint", "1000")],
        "complete_care" => vec![lanes(), of_lanes("bigint[]", "bigint", "1")],
        "take_marks_back" => vec![ints(&line.lanes), ints(&line.positions), each("text[]", "text", "'gone'")],
        // Leases.
        "extend" => vec![lanes(), of_lanes("bigint[]", "bigint", "0"), of_lanes("text[]", "text", "'holder'"), int(30_000)],
        "start_mark" => vec![int(one.0), int(0), text("holder"), int(one.1)],
        "circuit_open" => vec![text("broker"), text("relay"), int(1_000), text("away")],
        "circuit_closed" => vec![text("broker"), text("relay")],
        // Stopped topics.
        "ended_topics" => vec![int(100)],
        "free_lanes" => vec![texts("'{away,over}'"), lanes(), int(0), int(1_000)],
        "let_through" => vec![text("away"), int(5)],
        "pause_topic" => vec![text("away"), argument("bigint", "NULL")],
        "probe_lane" | "resume_topic" => vec![text("away")],
        "start_topics" => vec![texts("'{away,orders}'")],
        "stop_topics" => vec![texts("'{away,orders}'"), text("broker"), text("relay"), int(30_000), text("refused")],
        // Saves.
        "lock_order" => vec![texts(&line.topics), texts(&line.keys)],
        "save" => vec![int(one.0), text("new"), text("orders"), text("one"), null(), null(), argument("bytea", "''")],
        "save_and_notify" => vec![int(one.0), text("new"), text("orders"), text("one"), null(), null(), argument("bytea", "''"), text("outbox")],
        "save_all" => vec![
            ints(&line.lanes), ids(&line.ids), texts(&line.topics), texts(&line.keys), each("text[]", "text", "NULL"), each("text[]", "text", "NULL"),
            each("bytea[]", "bytea", "''"), each("bigint[]", "bigint", "1000"), each("bigint[]", "bigint", "NULL"), each("bigint[]", "bigint", "NULL"),
            flag(false), text("outbox"),
        ],
        "save_now" => vec![
            ints(&line.lanes), ids(&line.ids), texts(&line.topics), texts(&line.keys), each("text[]", "text", "NULL"), each("text[]", "text", "NULL"),
            each("bytea[]", "bytea", "''"), flag(false), text("outbox"),
        ],
        // The inbox.
        "inbox_once" | "inbox_forget" => vec![text("billing"), text("handled-1")],
        // Upkeep, status.
        "forget_circuits" | "forget_ids" | "status_circuits" => vec![int(1_000)],
        "forget_published" | "inbox_count" | "inbox_purge" | "purge_published" | "purge_count" | "status_horizon" => vec![int(1_000), int(1_000)],
        "drop_partitions" => vec![int(1_000), int(16)],
        // Operators.
        "audit_note" => vec![text("command"), text("redrive"), text("ann"), text("{}"), int(1)],
        "audit_page" => vec![int(i64::MAX), int(100)],
        // Some days before and some after: the first of what is published on the second day, and the eighth message.
        "replay" => vec![ints("'{1577836800080000}'"), ints("'{8}'"), texts("'{[]}'")],
        "replay_page" => vec![
            int(1_577_923_200_000_000), int(0), argument("bigint", "NULL"), int(i64::MAX), int(5_000), text("published-1"), null(), null(),
        ],
        "lock_lanes" => vec![lanes()],
        "dead_letters" => vec![ints(&dead.positions), flag(true)],
        "redrive" | "discard" => vec![ints(&dead.positions)],
        "retry_now" => vec![text("orders"), text("waiting-1")],
        "dead_count_all" => vec![null(), null(), null(), null(), argument("bigint", "NULL")],
        "dead_count_id" => vec![text("dead-1"), null(), null(), null(), argument("bigint", "NULL")],
        "dead_count_key" => vec![null(), text("orders"), text("dead-1"), null(), argument("bigint", "NULL")],
        "dead_page_all" => vec![null(), null(), null(), int(0), int(i64::MAX), int(100), null(), argument("bigint", "NULL")],
        "dead_page_id" => vec![text("dead-1"), null(), null(), int(0), int(i64::MAX), int(100), null(), argument("bigint", "NULL")],
        "dead_page_key" => vec![null(), text("orders"), text("dead-1"), int(0), int(i64::MAX), int(100), null(), argument("bigint", "NULL")],
        _ => panic!("{name} has no arguments here: what it costs is not known"),
    }
}
