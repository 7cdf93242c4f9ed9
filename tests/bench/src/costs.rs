//! What a round costs beside its time: statements, commits, WAL, dead rows, processor time, memory.

use serde::Serialize;

use crate::measurement::median;

/// What was used in one round, in all.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Costs {
    /// Of the server, where there is one.
    pub(crate) server: Option<ServerCosts>,
    pub(crate) relay_cpu: f64,
    pub(crate) peak_memory: f64,
}

/// What a server used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ServerCosts {
    pub(crate) statements: f64,
    pub(crate) commits: f64,
    pub(crate) wal_bytes: f64,
    pub(crate) dead_rows: f64,
    pub(crate) cpu: f64,
}

/// The same for a message, but for what is told as it is.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct PerMessage {
    #[serde(flatten)]
    pub(crate) server: Option<ServerPerMessage>,
    /// Microseconds of processor time.
    pub(crate) relay_cpu_us: f64,
    /// Of all relays together, in bytes, at its highest.
    pub(crate) peak_memory_bytes: f64,
}

/// What a server used for a message.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct ServerPerMessage {
    /// Statements, without `BEGIN`, `COMMIT` and settings.
    pub(crate) statements: f64,
    pub(crate) commits: f64,
    pub(crate) wal_bytes: f64,
    /// Versions of rows that the round left behind for vacuum.
    pub(crate) dead_rows: f64,
    /// Microseconds of processor time.
    pub(crate) server_cpu_us: f64,
}

impl Costs {
    /// Divides by the number of messages.
    #[allow(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    pub(crate) fn per_message(&self, messages: u64) -> PerMessage {
        let each = |it: f64| it / messages.max(1) as f64;
        PerMessage {
            server: self.server.map(|server| ServerPerMessage {
                statements: each(server.statements),
                commits: each(server.commits),
                wal_bytes: each(server.wal_bytes),
                dead_rows: each(server.dead_rows),
                server_cpu_us: each(server.cpu) * 1e6,
            }),
            relay_cpu_us: each(self.relay_cpu) * 1e6,
            peak_memory_bytes: self.peak_memory,
        }
    }
}

impl PerMessage {
    /// The median of each cost of several rounds.
    pub(crate) fn median_of(rounds: &[Self]) -> Self {
        let of = |field: fn(&Self) -> f64| median(&rounds.iter().map(field).collect::<Vec<_>>());
        let servers: Vec<_> = rounds.iter().filter_map(|it| it.server).collect();
        Self {
            server: (!servers.is_empty()).then(|| ServerPerMessage::median_of(&servers)),
            relay_cpu_us: of(|it| it.relay_cpu_us),
            peak_memory_bytes: of(|it| it.peak_memory_bytes),
        }
    }
}

impl ServerPerMessage {
    fn median_of(rounds: &[Self]) -> Self {
        let of = |field: fn(&Self) -> f64| median(&rounds.iter().map(field).collect::<Vec<_>>());
        Self {
            statements: of(|it| it.statements),
            commits: of(|it| it.commits),
            wal_bytes: of(|it| it.wal_bytes),
            dead_rows: of(|it| it.dead_rows),
            server_cpu_us: of(|it| it.server_cpu_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_for_a_message_but_memory_is_not() {
        let costs = Costs {
            server: Some(ServerCosts {
                commits: 4.0,
                cpu: 1.0,
                ..ServerCosts::default()
            }),
            relay_cpu: 2.0,
            peak_memory: 64.0,
        };
        let each = costs.per_message(1_000);
        let server = each.server.unwrap();
        assert!((server.commits - 0.004).abs() < 1e-9);
        assert!((server.server_cpu_us - 1_000.0).abs() < 1e-9);
        assert!((each.relay_cpu_us - 2_000.0).abs() < 1e-9);
        assert!((each.peak_memory_bytes - 64.0).abs() < 1e-9);
    }

    #[test]
    fn where_no_server_is_nothing_is_told_of_one() {
        let costs = Costs {
            relay_cpu: 1.0,
            ..Costs::default()
        };
        let median = PerMessage::median_of(&[costs.per_message(1), costs.per_message(2)]);
        let json = serde_json::to_value(median).unwrap();
        let expected = serde_json::json!({"relay_cpu_us": 750_000.0, "peak_memory_bytes": 0.0});
        assert_eq!(json, expected);
    }
}
