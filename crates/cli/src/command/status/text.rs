//! The status as tables for people.

use outbox::store::Status;

use super::retrying;
use crate::table::{numbers, short, shown, span, table};

pub(super) fn text(status: &Status) -> String {
    let mut parts = vec![summary(status)];
    if !status.blocked_keys.is_empty() {
        parts.push(blocked(status));
    }
    if !status.circuits.is_empty() {
        let mut rows = table(["down", "relay", "for", "next probe", "last error"]);
        for circuit in &status.circuits {
            rows.add_row([
                shown(&circuit.destination),
                shown(&circuit.relay),
                span(circuit.open_for),
                span(circuit.next_probe),
                short(&circuit.error, 60),
            ]);
        }
        parts.push(rows.trim_fmt());
    }
    if !status.topics.is_empty() {
        let mut rows = table(["topic", "pending", "dead"]);
        numbers(&mut rows, &[1, 2]);
        for topic in &status.topics {
            rows.add_row([
                shown(&topic.topic),
                topic.pending.to_string(),
                topic.dead.to_string(),
            ]);
        }
        parts.push(rows.trim_fmt());
    }
    if !status.lanes.is_empty() {
        parts.push(lanes(status));
    }
    parts.join("\n\n")
}

fn summary(status: &Status) -> String {
    let mut rows = table(["state", "messages", ""]);
    numbers(&mut rows, &[1]);
    let oldest = status
        .oldest_ready
        .map_or(String::new(), |age| format!("the oldest for {}", span(age)));
    let next = status.next_due.map_or(String::new(), |due| {
        format!("the next one falls due in {}", span(due))
    });
    for (state, messages, note) in [
        ("pending", status.pending(), next),
        ("  ready", status.ready, oldest),
        ("  waiting for a retry", retrying(status), String::new()),
        ("  held by a dead letter", status.held, String::new()),
        ("  scheduled for later", status.later, String::new()),
        ("dead", status.dead, String::new()),
    ] {
        rows.add_row([state.to_owned(), messages.to_string(), note]);
    }
    rows.trim_fmt()
}

fn blocked(status: &Status) -> String {
    let mut rows = table([
        "blocked key",
        "topic",
        "reason",
        "next try",
        "set aside",
        "last error",
    ]);
    numbers(&mut rows, &[4]);
    for key in &status.blocked_keys {
        rows.add_row([
            short(&key.key, 40),
            short(&key.topic, 40),
            key.reason.as_str().to_owned(),
            key.next_try.map_or_else(
                || "never by itself".to_owned(),
                |due| format!("in {}", span(due)),
            ),
            key.waiting.to_string(),
            short(key.error.as_deref().unwrap_or(""), 60),
        ]);
    }
    let more = status
        .blocked
        .saturating_sub(rows.row_count().try_into().unwrap_or(u64::MAX));
    match more {
        0 => rows.trim_fmt(),
        more => format!("{}\n... and {more} more", rows.trim_fmt()),
    }
}

fn lanes(status: &Status) -> String {
    let mut rows = table(["lane", "holder", "lease", ""]);
    numbers(&mut rows, &[0]);
    for lane in &status.lanes {
        let note = match (lane.relay.is_some(), lane.careful) {
            (true, 0) if lane.lease.is_zero() => "its holder is gone".to_owned(),
            (_, 0) => String::new(),
            (_, careful) => format!("careful: {careful} more one by one"),
        };
        rows.add_row([
            lane.lane.to_string(),
            lane.relay.as_deref().map_or("nobody".to_owned(), shown),
            span(lane.lease),
            note,
        ]);
    }
    rows.trim_fmt()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_next_due_time_is_no_matter_of_retries_alone() {
        let status = Status {
            scheduled: 1,
            later: 1,
            next_due: Some(Duration::from_mins(5)),
            ..Status::default()
        };
        let text = text(&status);
        let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap();
        assert!(
            row("pending").contains("the next one falls due in 5m"),
            "{text}"
        );
        assert!(row("waiting for a retry").ends_with('0'), "{text}");
    }
}
