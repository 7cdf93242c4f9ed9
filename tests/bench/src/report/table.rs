//! The tables of a scenario: throughput with its costs, and other figures.

use std::fmt::Write as _;

use super::number::{number, thousands};
use crate::measurement::{Measurement, Rounds};

/// One table for all rows that follow each other and have the same figures.
pub(super) fn of(rows: &[&Measurement]) -> String {
    let mut text = String::new();
    for rows in rows.chunk_by(|one, next| columns(one) == columns(next)) {
        let columns = columns(rows[0]);
        let aligned = " ---: |".repeat(columns.len());
        let _ = writeln!(text, "| variant | system | {} |", columns.join(" | "));
        let _ = writeln!(text, "| --- | --- |{aligned}");
        for row in rows {
            let cells = cells(row).join(" | ");
            let _ = writeln!(text, "| {} | {} | {cells} |", row.variant, row.system);
        }
        text.push('\n');
    }
    text
}

/// The columns of throughput and its costs.
const THROUGHPUT: [&str; 12] = [
    "relays",
    "batch",
    "messages/s",
    "lowest to highest",
    "of the ceiling",
    "statements",
    "commits",
    "WAL bytes",
    "dead rows",
    "relay CPU, µs",
    "server CPU, µs",
    "peak memory, MiB",
];

fn columns(row: &Measurement) -> Vec<&'static str> {
    let throughput = row
        .messages_per_s
        .as_ref()
        .map_or(&[] as &[_], |_| &THROUGHPUT);
    let figures = row.figures.iter().map(|(name, _)| *name);
    throughput.iter().copied().chain(figures).collect()
}

fn cells(row: &Measurement) -> Vec<String> {
    let mut cells = Vec::new();
    if let Some(rate) = &row.messages_per_s {
        let (low, high) = rate.spread();
        cells = vec![
            count(row.relays),
            count(row.batch),
            thousands(rate.median),
            format!("{} to {}", thousands(low), thousands(high)),
            told(row.ratio_to_ceiling, |it| format!("{it:.2}")),
        ];
        let server = row.costs.and_then(|costs| costs.server);
        let small = |it| format!("{it:.4}");
        cells.extend([
            told(server.map(|it| it.statements), small),
            told(server.map(|it| it.commits), small),
            told(server.map(|it| it.wal_bytes), number),
            told(server.map(|it| it.dead_rows), number),
            told(row.costs.map(|it| it.relay_cpu_us), number),
            told(server.map(|it| it.server_cpu_us), number),
            told(
                row.costs.map(|it| it.peak_memory_bytes / 1_048_576.0),
                number,
            ),
        ]);
    }
    cells.extend(row.figures.iter().map(|(_, rounds)| with_spread(rounds)));
    cells
}

/// Nothing where nothing was measured.
fn told(it: Option<f64>, how: impl Fn(f64) -> String) -> String {
    it.map_or(String::new(), how)
}

/// Nothing where there is none.
fn count(it: usize) -> String {
    if it > 0 {
        it.to_string()
    } else {
        String::new()
    }
}

fn with_spread(rounds: &Rounds) -> String {
    let (low, high) = rounds.spread();
    if rounds.rounds.len() < 2 {
        return number(rounds.median);
    }
    format!(
        "{} ({} to {})",
        number(rounds.median),
        number(low),
        number(high)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::{PerMessage, ServerPerMessage};

    fn measured(server: Option<ServerPerMessage>) -> Measurement {
        let mut row = Measurement::new(12, "one key", "outbox");
        (row.relays, row.batch) = (1, 500);
        row.messages_per_s = Some(Rounds::of(vec![20_000.0, 30_000.0, 25_000.0]));
        row.ratio_to_ceiling = Some(0.987);
        row.costs = Some(PerMessage {
            server,
            relay_cpu_us: 12.3,
            peak_memory_bytes: 20.0 * 1_048_576.0,
        });
        row
    }

    #[test]
    fn what_was_not_measured_is_an_empty_cell() {
        let cells = cells(&measured(None));
        assert_eq!(cells.len(), THROUGHPUT.len());
        assert_eq!(
            cells.join("|"),
            "1|500|25,000|20,000 to 30,000|0.99|||||12.3||20.0"
        );
    }

    #[test]
    fn rows_with_other_figures_have_a_table_of_their_own() {
        let mut claims = Measurement::new(12, "two keys", "outbox");
        claims.figures = vec![("claim p50, ms", Rounds::of(vec![1.5, 2.0, 1.0]))];
        let drained = measured(Some(ServerPerMessage::default()));
        let table = of(&[&drained, &claims]);
        let mut tables = table.trim_end().split("\n\n");
        assert!(
            tables
                .next()
                .unwrap()
                .contains("| one key | outbox | 1 | 500 | 25,000 |")
        );
        let expected = "| variant | system | claim p50, ms |\n| --- | --- | ---: |\n| two keys | outbox | 1.50 (1.00 to 2.00) |";
        assert_eq!(tables.next(), Some(expected));
        assert_eq!(of(&[]), "");
    }
}
