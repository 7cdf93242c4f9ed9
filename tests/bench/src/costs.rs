//! What a round costs beside its time: statements, commits, WAL, dead rows, processor time, memory.

use serde::Serialize;

/// What was used in one round, in all.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Costs {
    pub(crate) statements: f64,
    pub(crate) commits: f64,
    pub(crate) wal_bytes: f64,
    pub(crate) dead_rows: f64,
    pub(crate) relay_cpu: f64,
    pub(crate) server_cpu: f64,
    pub(crate) peak_memory: f64,
}

/// The same for a message, but for what is told as it is.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct PerMessage {
    /// Statements, without `BEGIN`, `COMMIT` and settings.
    pub(crate) statements: f64,
    pub(crate) commits: f64,
    pub(crate) wal_bytes: f64,
    /// Versions of rows that the round left behind for vacuum.
    pub(crate) dead_rows: f64,
    /// Microseconds of processor time.
    pub(crate) relay_cpu_us: f64,
    pub(crate) server_cpu_us: f64,
    /// Of all relays together, in bytes, at its highest.
    pub(crate) peak_memory_bytes: f64,
}

impl Costs {
    /// Divides by the number of messages.
    #[allow(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    pub(crate) fn per_message(&self, messages: u64) -> PerMessage {
        let each = |it: f64| it / messages.max(1) as f64;
        PerMessage {
            statements: each(self.statements),
            commits: each(self.commits),
            wal_bytes: each(self.wal_bytes),
            dead_rows: each(self.dead_rows),
            relay_cpu_us: each(self.relay_cpu) * 1e6,
            server_cpu_us: each(self.server_cpu) * 1e6,
            peak_memory_bytes: self.peak_memory,
        }
    }
}

/// The median of each cost of several rounds.
pub(crate) fn median(rounds: &[PerMessage]) -> PerMessage {
    let of = |field: fn(&PerMessage) -> f64| {
        crate::measurement::median(&rounds.iter().map(field).collect::<Vec<_>>())
    };
    PerMessage {
        statements: of(|it| it.statements),
        commits: of(|it| it.commits),
        wal_bytes: of(|it| it.wal_bytes),
        dead_rows: of(|it| it.dead_rows),
        relay_cpu_us: of(|it| it.relay_cpu_us),
        server_cpu_us: of(|it| it.server_cpu_us),
        peak_memory_bytes: of(|it| it.peak_memory_bytes),
    }
}
