//! Plans as the server explains them after it ran them, and what is not to be in one.

use serde_json::Value;

/// What a statement may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed {
    /// How many rows a step of its plan may take, read in vain included. `None` if it counts or lists everything, for people.
    pub(crate) rows: Option<f64>,
    /// How many rows may be sorted.
    pub(crate) sorted: f64,
}

/// The tables that grow with the number of messages, and what is kept of them; and the lanes, which are few, but change so often that a snapshot which
/// somebody holds makes them many.
const GROWING: [&str; 7] = [
    "lane",
    "message",
    "waiting",
    "scheduled",
    "blocked_key",
    "dead",
    "saved_id",
];

fn grows(table: &str) -> bool {
    GROWING.contains(&table) || table.starts_with("published")
}

/// What a plan does that is not allowed. The plan has the rows that were really taken: estimates cannot hide a walk over a table.
pub(crate) fn faults(explained: &str, allowed: Allowed) -> Vec<String> {
    let explained: Value = serde_json::from_str(explained).unwrap();
    let mut faults = Vec::new();
    judge(&explained[0]["Plan"], allowed, &mut faults);
    faults
}

/// How many blocks of tables and indexes a statement touched.
pub(crate) fn touched(explained: &str) -> f64 {
    let explained: Value = serde_json::from_str(explained).unwrap();
    let plan = &explained[0]["Plan"];
    number(plan, "Shared Hit Blocks") + number(plan, "Shared Read Blocks")
}

/// How often a plan looked into a table: the loops of the step that did so most.
pub(crate) fn looks(explained: &str, table: &str) -> u64 {
    fn most(step: &Value, table: &str) -> u64 {
        let loops = step["Actual Loops"].as_u64().unwrap_or_default();
        let here = if step["Relation Name"] == table {
            loops
        } else {
            0
        };
        let below = step["Plans"].as_array().map_or(&[][..], Vec::as_slice);
        below
            .iter()
            .map(|step| most(step, table))
            .fold(here, u64::max)
    }
    let explained: Value = serde_json::from_str(explained).unwrap();
    most(&explained[0]["Plan"], table)
}

fn judge(step: &Value, allowed: Allowed, faults: &mut Vec<String>) {
    let kind = step["Node Type"].as_str().unwrap();
    let table = step["Relation Name"].as_str().unwrap_or_default();
    let name = format!(
        "{kind} {table} {}",
        step["Alias"].as_str().unwrap_or_default()
    );
    if kind == "Seq Scan" && grows(table) {
        faults.push(format!("{name}: reads the table from end to end"));
    }
    let below = step["Plans"].as_array().map_or(&[][..], Vec::as_slice);
    if kind.ends_with("Sort") {
        let sorted = below.iter().map(rows).sum::<f64>();
        if sorted > allowed.sorted {
            faults.push(format!("{name}: sorts {sorted} rows"));
        }
    }
    let taken = rows(step) + in_vain(step);
    if allowed.rows.is_some_and(|most| taken > most) {
        faults.push(format!("{name}: takes {taken} rows"));
    }
    for step in below {
        judge(step, allowed, faults);
    }
}

fn number(step: &Value, name: &str) -> f64 {
    step[name].as_f64().unwrap_or_default()
}

/// The rows that a step gave, over all its loops.
fn rows(step: &Value) -> f64 {
    number(step, "Actual Rows") * number(step, "Actual Loops")
}

/// The rows that it took and dropped.
fn in_vain(step: &Value) -> f64 {
    let dropped = [
        "Rows Removed by Filter",
        "Rows Removed by Join Filter",
        "Rows Removed by Index Recheck",
    ];
    let dropped = dropped.iter().map(|name| number(step, name));
    dropped.sum::<f64>() * number(step, "Actual Loops")
}
