//! The status as tables for people.

use outbox::store::{Horizon, Status};

use super::retrying;
use crate::{
    command::topics,
    table::{count, numbers, short, shown, span, table},
};

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
    parts.extend(topics::text(status));
    if !status.lanes.is_empty() {
        parts.push(lanes(status));
    }
    if let Some(held) = &status.horizon {
        parts.push(horizon(held));
    }
    parts.join("\n\n")
}

/// Who keeps the server from cleaning up, in one sentence.
fn horizon(horizon: &Horizon) -> String {
    let mut who = format!("the {} {}", horizon.holder.as_str(), shown(&horizon.name));
    let known: Vec<String> = [
        horizon
            .application
            .as_deref()
            .map(|name| format!("application {}", shown(name))),
        horizon
            .role
            .as_deref()
            .map(|role| format!("role {}", shown(role))),
        horizon.state.as_deref().map(shown),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !known.is_empty() {
        who = format!("{who} ({})", known.join(", "));
    }
    let since = horizon
        .open_for
        .map_or(String::new(), |open| format!(" for {}", span(open)));
    format!(
        "{who} keeps the server from cleaning up deleted rows{since}, {} back; end it if that was not meant",
        count(horizon.transactions, "transaction")
    )
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
        ("  of paused topics", status.paused, String::new()),
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

    use outbox::store::HorizonHolder;

    use super::*;

    #[test]
    fn whoever_holds_the_horizon_is_named_as_far_as_it_is_known() {
        let held = Horizon {
            holder: HorizonHolder::Session,
            name: "4711".to_owned(),
            application: Some("report".to_owned()),
            role: Some("analyst".to_owned()),
            state: Some("idle in transaction".to_owned()),
            open_for: Some(Duration::from_mins(90)),
            transactions: 120_000,
        };
        assert_eq!(
            horizon(&held),
            "the session 4711 (application report, role analyst, idle in transaction) keeps the server from \
             cleaning up deleted rows for 1h 30m, 120000 transactions back; end it if that was not meant"
        );
        let slot = Horizon {
            holder: HorizonHolder::ReplicationSlot,
            name: "standby".to_owned(),
            application: None,
            role: None,
            state: None,
            open_for: None,
            transactions: 120_000,
        };
        assert_eq!(
            horizon(&slot),
            "the replication slot standby keeps the server from cleaning up deleted rows, 120000 transactions back; \
             end it if that was not meant"
        );
    }

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
