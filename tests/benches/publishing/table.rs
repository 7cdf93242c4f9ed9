//! The table of one broker: messages a second, and the ratios that matter.

use std::{fmt, time::Duration};

use crate::shapes::Shape;

/// What was measured of one shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<T> {
    /// A loop over the client.
    pub(crate) bare: T,
    /// The publisher, fed by large claims from the store in memory.
    pub(crate) alone: T,
    /// The relay on a store in memory, with a publisher that confirms at once.
    pub(crate) memory_null: T,
    /// The same with the broker's.
    pub(crate) memory: T,
    pub(crate) postgres_null: T,
    pub(crate) postgres: T,
}

impl Row<Duration> {
    /// The median of each.
    pub(crate) fn median(rounds: &[Self]) -> Self {
        let median = |of: fn(&Self) -> Duration| {
            let mut times: Vec<_> = rounds.iter().map(of).collect();
            times.sort_unstable();
            times[times.len() / 2]
        };
        Self {
            bare: median(|row| row.bare),
            alone: median(|row| row.alone),
            memory_null: median(|row| row.memory_null),
            memory: median(|row| row.memory),
            postgres_null: median(|row| row.postgres_null),
            postgres: median(|row| row.postgres),
        }
    }
}

/// The rows of one broker.
#[derive(Debug)]
pub(crate) struct Table {
    name: &'static str,
    rows: Vec<(Shape, usize, Row<Duration>)>,
}

impl Table {
    pub(crate) fn new(name: &'static str) -> Self {
        let rows = Vec::new();
        Self { name, rows }
    }

    /// Adds what so many messages took.
    pub(crate) fn add(&mut self, shape: Shape, messages: usize, row: Row<Duration>) {
        self.rows.push((shape, messages, row));
    }
}

/// Messages a second.
fn rate(messages: usize, time: Duration) -> f64 {
    let messages = u32::try_from(messages).unwrap();
    f64::from(messages) / time.as_secs_f64()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}, messages of 300 bytes a second\n", self.name)?;
        writeln!(
            f,
            "| {:<12} | {:>9} | {:>9} | {:>6} | {:>11} | {:>12} | {:>6} | {:>13} | {:>14} | {:>6} |",
            "",
            "bare loop",
            "publisher",
            "ratio",
            "memory null",
            "memory relay",
            "ratio",
            "Postgres null",
            "Postgres relay",
            "ratio"
        )?;
        writeln!(
            f,
            "| {:-<12} | {:->9} | {:->9} | {:->6} | {:->11} | {:->12} | {:->6} | {:->13} | {:->14} | {:->6} |",
            "", ":", ":", ":", ":", ":", ":", ":", ":", ":"
        )?;
        for (shape, messages, row) in &self.rows {
            let bare = rate(*messages, row.bare);
            let [alone, memory_null, memory, postgres_null, postgres] = [
                row.alone,
                row.memory_null,
                row.memory,
                row.postgres_null,
                row.postgres,
            ]
            .map(|time| rate(*messages, time));
            // The relay can be no faster than the slower of what it is made of.
            let of_memory = memory / bare.min(memory_null);
            let of_postgres = postgres / bare.min(postgres_null);
            writeln!(
                f,
                "| {:<12} | {bare:>9.0} | {alone:>9.0} | {:>6.2} | {memory_null:>11.0} | {memory:>12.0} | {of_memory:>6.2} | {postgres_null:>13.0} | {postgres:>14.0} | {of_postgres:>6.2} |",
                shape.to_string(),
                alone / bare,
            )?;
        }
        Ok(())
    }
}
