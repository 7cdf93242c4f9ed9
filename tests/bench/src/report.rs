//! What a run found: printed, as JSON, and written into a page between marks, with plots beside it.

use std::{fmt::Write as _, fs, path::Path, process::Command};

use serde::Serialize;

use crate::{
    Result,
    measurement::{Measurement, Rounds},
    plot,
    scenario::SCENARIOS,
};

/// A run and where it was made.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: String,
    pub(crate) versions: String,
    pub(crate) date: String,
    pub(crate) measurements: Vec<Measurement>,
}

impl Report {
    pub(crate) fn new(
        postgres: &str,
        beside: &[String],
        measurements: Vec<Measurement>,
    ) -> Result<Self> {
        let own = format!("Postgres {postgres}, outbox {}", env!("CARGO_PKG_VERSION"));
        Ok(Self {
            machine: machine()?,
            versions: [own]
                .iter()
                .chain(beside)
                .cloned()
                .collect::<Vec<_>>()
                .join(", "),
            date: said("date", &["-u", "+%Y-%m-%d"])?,
            measurements,
        })
    }

    /// Prints all tables.
    pub(crate) fn print(&self) {
        for scenario in &SCENARIOS {
            if let Some(table) = self.table(scenario.number) {
                println!("{}. {}\n\n{table}", scenario.number, scenario.title);
            }
        }
    }

    /// Only the list of measurements.
    pub(crate) fn write_json(&self, file: &Path) -> Result {
        Ok(fs::write(
            file,
            serde_json::to_string_pretty(&self.measurements)? + "\n",
        )?)
    }

    /// Replaces what stands between `<!-- scenario N -->` and `<!-- end of scenario N -->` for each scenario that was
    /// measured; the others stay as an earlier run left them.
    pub(crate) fn write_page(&self, page: &Path) -> Result {
        let mut text = fs::read_to_string(page)?;
        for scenario in &SCENARIOS {
            let number = scenario.number;
            let Some(table) = self.table(number) else {
                continue;
            };
            let plot = plot::file(number);
            let folder = page.parent().unwrap_or(Path::new("."));
            plot::draw(&folder.join(&plot), scenario.title, &self.of(number))?;
            let (from, to) = (
                format!("<!-- scenario {number} -->"),
                format!("<!-- end of scenario {number} -->"),
            );
            let missing = || format!("{} has no {from} and {to}", page.display());
            let begin = text.find(&from).ok_or_else(missing)? + from.len();
            let end = text[begin..].find(&to).ok_or_else(missing)? + begin;
            let told = format!("{}, {}, {}.", self.machine, self.versions, self.date);
            text.replace_range(
                begin..end,
                &format!("\n\n{told}\n\n![{}]({plot})\n\n{table}\n", scenario.title),
            );
        }
        Ok(fs::write(page, text)?)
    }

    fn of(&self, scenario: u8) -> Vec<&Measurement> {
        let measurements = self.measurements.iter();
        measurements.filter(|it| it.scenario == scenario).collect()
    }

    /// The tables of a scenario, if it was measured: one for all rows that have the same figures.
    fn table(&self, scenario: u8) -> Option<String> {
        let rows = self.of(scenario);
        let mut text = String::new();
        for rows in rows.chunk_by(|one, next| columns(one) == columns(next)) {
            let columns = columns(rows.first()?);
            let aligned = " ---: |".repeat(columns.len());
            let _ = writeln!(text, "| variant | system | {} |", columns.join(" | "));
            let _ = writeln!(text, "| --- | --- |{aligned}");
            for row in rows {
                let cells = cells(row).join(" | ");
                let _ = writeln!(text, "| {} | {} | {cells} |", row.variant, row.system);
            }
            text.push('\n');
        }
        (!text.is_empty()).then_some(text)
    }
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
        let costs = row.costs.unwrap_or_default();
        cells = vec![
            row.relays.to_string(),
            row.batch.to_string(),
            thousands(rate.median),
            format!("{} to {}", thousands(low), thousands(high)),
            row.ratio_to_ceiling
                .map_or(String::new(), |it| format!("{it:.2}")),
            format!("{:.4}", costs.statements),
            format!("{:.4}", costs.commits),
            number(costs.wal_bytes),
            number(costs.dead_rows),
            number(costs.relay_cpu_us),
            number(costs.server_cpu_us),
            number(costs.peak_memory_bytes / 1_048_576.0),
        ];
    }
    cells.extend(row.figures.iter().map(|(_, rounds)| with_spread(rounds)));
    cells
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

/// Three digits that count.
fn number(it: f64) -> String {
    if it >= 1000.0 {
        thousands(it)
    } else if it >= 100.0 {
        format!("{it:.0}")
    } else if it >= 10.0 {
        format!("{it:.1}")
    } else {
        format!("{it:.2}")
    }
}

/// A number with commas.
pub(crate) fn thousands(it: f64) -> String {
    let digits = format!("{it:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn machine() -> Result<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo")?;
    let mut models = cpus
        .lines()
        .filter_map(|line| line.strip_prefix("model name"));
    let count = cpus
        .lines()
        .filter(|line| line.starts_with("processor"))
        .count();
    let model = models
        .next()
        .unwrap_or(": unknown")
        .trim_start_matches([' ', '\t', ':'])
        .to_owned();
    Ok(format!(
        "{count} cores of {model}, Linux {}",
        said("uname", &["-r"])?
    ))
}

fn said(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(thousands(1_234_567.4), "1,234,567");
        assert_eq!(thousands(12.0), "12");
        assert_eq!(number(0.514), "0.51");
        assert_eq!(number(23.45), "23.4");
        assert_eq!(number(2_345.0), "2,345");
    }
}
