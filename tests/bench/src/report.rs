//! What a run found: printed, as JSON, and written into a page between marks, with plots beside it.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
};

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
    pub(crate) fn new(postgres: &str, measurements: Vec<Measurement>) -> Result<Self> {
        Ok(Self {
            machine: machine()?,
            versions: format!("Postgres {postgres}, outbox {}", env!("CARGO_PKG_VERSION")),
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
        Ok(fs::write(file, serde_json::to_string_pretty(&self.measurements)? + "\n")?)
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
            let (from, to) = (format!("<!-- scenario {number} -->"), format!("<!-- end of scenario {number} -->"));
            let missing = || format!("{} has no {from} and {to}", page.display());
            let begin = text.find(&from).ok_or_else(missing)? + from.len();
            let end = text[begin..].find(&to).ok_or_else(missing)? + begin;
            let told = format!("{}, {}, {}.", self.machine, self.versions, self.date);
            text.replace_range(begin..end, &format!("\n\n{told}\n\n![{}]({plot})\n\n{table}\n", scenario.title));
        }
        Ok(fs::write(page, text)?)
    }

    fn of(&self, scenario: u8) -> Vec<&Measurement> {
        let measurements = self.measurements.iter();
        measurements.filter(|it| it.scenario == scenario).collect()
    }

    /// The table of a scenario, if it was measured.
    fn table(&self, scenario: u8) -> Option<String> {
        let rows = self.of(scenario);
        let first = rows.first()?;
        let mut table = String::new();
        if first.messages_per_s.is_some() {
            table.push_str("| variant | system | relays | batch | messages/s | lowest to highest | of the ceiling | statements | commits | WAL bytes | dead rows | relay CPU, µs | server CPU, µs | peak memory |\n");
            table.push_str("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        } else {
            let names: Vec<&str> = first.figures.iter().map(|(name, _)| *name).collect();
            let _ = writeln!(table, "| variant | system | {} |", names.join(" | "));
            let _ = writeln!(table, "| --- | --- |{}", " ---: |".repeat(names.len()));
        }
        for row in rows {
            table.push_str(&line(row));
        }
        Some(table)
    }
}

fn line(row: &Measurement) -> String {
    let Some(rate) = &row.messages_per_s else {
        let cells: Vec<String> = row.figures.iter().map(|(_, rounds)| with_spread(rounds)).collect();
        return format!("| {} | {} | {} |\n", row.variant, row.system, cells.join(" | "));
    };
    let (low, high) = rate.spread();
    let ratio = row.ratio_to_ceiling.map_or(String::new(), |it| format!("{it:.2}"));
    let costs = row.costs.unwrap_or_default();
    format!(
        "| {} | {} | {} | {} | {} | {} to {} | {ratio} | {:.4} | {:.4} | {:.0} | {:.2} | {:.1} | {:.1} | {:.0} MiB |\n",
        row.variant,
        row.system,
        row.relays,
        row.batch,
        thousands(rate.median),
        thousands(low),
        thousands(high),
        costs.statements,
        costs.commits,
        costs.wal_bytes,
        costs.dead_rows,
        costs.relay_cpu_us,
        costs.server_cpu_us,
        costs.peak_memory_bytes / 1_048_576.0,
    )
}

fn with_spread(rounds: &Rounds) -> String {
    let (low, high) = rounds.spread();
    if rounds.rounds.len() < 2 {
        return number(rounds.median);
    }
    format!("{} ({} to {})", number(rounds.median), number(low), number(high))
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
    let mut models = cpus.lines().filter_map(|line| line.strip_prefix("model name"));
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let model = models.next().unwrap_or(": unknown").trim_start_matches([' ', '\t', ':']).to_owned();
    Ok(format!("{count} cores of {model}, Linux {}", said("uname", &["-r"])?))
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
