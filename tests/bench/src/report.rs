//! What a run found: printed, as JSON, and written into a page between marks, with plots beside it.

mod number;
mod table;

use std::{fs, path::Path, process::Command};

use serde::Serialize;

pub(crate) use self::number::{number, thousands};

use crate::{Result, measurement::Measurement, plot, scenario::SCENARIOS};

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
        databases: &str,
        beside: &[String],
        measurements: Vec<Measurement>,
    ) -> Result<Self> {
        let own = format!("{databases}, outbox {}", env!("CARGO_PKG_VERSION"));
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

    /// The tables of a scenario, if it was measured.
    fn table(&self, scenario: u8) -> Option<String> {
        let text = table::of(&self.of(scenario));
        (!text.is_empty()).then_some(text)
    }
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
    use crate::measurement::Rounds;

    #[test]
    fn a_page_keeps_what_stands_outside_of_the_marks() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.md");
        let text = "before\n<!-- scenario 12 -->old<!-- end of scenario 12 -->\nafter\n";
        fs::write(&page, text).unwrap();
        let mut row = Measurement::new(12, "one key", "outbox");
        row.figures = vec![("p99, ms", Rounds::of(vec![5.0]))];
        let report = Report {
            machine: "2 cores".to_owned(),
            versions: "outbox 0".to_owned(),
            date: "2026-11-30".to_owned(),
            measurements: vec![row],
        };
        report.write_page(&page).unwrap();
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.starts_with("before\n<!-- scenario 12 -->\n\n2 cores, outbox 0, 2026-11-30."));
        assert!(text.ends_with("|\n\n\n<!-- end of scenario 12 -->\nafter\n"));
        assert!(!text.contains("old"));
        assert!(folder.path().join(plot::file(12)).exists());
        fs::write(&page, "no marks").unwrap();
        assert!(report.write_page(&page).is_err());
    }
}
