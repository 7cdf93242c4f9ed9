//! The counts of all paths: as a file, as a table, and what differs between two of them. Data and decisions; nothing is counted
//! here.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::profile::Cost;
use crate::shell::{Failure, Result};

/// By how many percent a count may change, up or down, before somebody has to accept it.
const MARGIN: u64 = 5;

/// What the paths cost, and where they were counted.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Counts {
    pub(super) environment: Environment,
    pub(super) paths: BTreeMap<String, Cost>,
}

/// What changes counts beside the code.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Environment {
    pub(super) compiler: String,
    pub(super) host: String,
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.compiler, self.host)
    }
}

impl Counts {
    /// Reads the file of what is accepted.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let failed = |error: &dyn fmt::Display| {
            let what = format!("{}: {error}", file.display());
            Failure::new(what, "write it anew: cargo xtask instructions --accept")
        };
        let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
        serde_json::from_str(&text).map_err(|error| failed(&error))
    }

    /// Writes it.
    pub(super) fn write(&self, file: &Path) -> Result {
        let mut text = serde_json::to_string_pretty(self).expect("it is made of texts and numbers");
        text.push('\n');
        let fix = "make room and rights there";
        fs::write(file, text)
            .map_err(|error| Failure::new(format!("{}: {error}", file.display()), fix))
    }

    /// Lines for people.
    pub(super) fn table(&self) -> String {
        let width = self.paths.keys().map(String::len).max().unwrap_or(0);
        let mut table = format!("{:width$}  instructions  allocations\n", "");
        for (name, cost) in &self.paths {
            let (instructions, allocations) = (cost.instructions, cost.allocations);
            writeln!(
                table,
                "{name:width$}  {instructions:>12}  {allocations:>11}"
            )
            .expect("a text takes what is written");
        }
        table
    }

    /// Names each path whose cost is no longer the accepted one.
    pub(super) fn offences(&self, now: &Self) -> Vec<String> {
        let mut offences = Vec::new();
        for (name, cost) in &now.paths {
            match self.paths.get(name) {
                Some(before) => offences.extend(changes(name, *before, *cost)),
                None => offences.push(format!("{name}: it is new, and no count of it is accepted")),
            }
        }
        let gone = self
            .paths
            .keys()
            .filter(|name| !now.paths.contains_key(*name));
        offences
            .extend(gone.map(|name| format!("{name}: a count is accepted, and the path is gone")));
        offences
    }

    /// What is accepted when all of this is: the counts of now where they are beyond the margin, or counted elsewhere.
    pub(super) fn moved_to(self, mut now: Self) -> Self {
        if self.environment == now.environment {
            for (name, before) in self.paths {
                let cost = now.paths.get_mut(&name);
                if let Some(cost) = cost.filter(|cost| changes(&name, before, **cost).count() == 0)
                {
                    *cost = before;
                }
            }
        }
        now
    }
}

fn changes(name: &str, before: Cost, now: Cost) -> impl Iterator<Item = String> {
    let counts = [
        ("instructions", before.instructions, now.instructions),
        ("allocations", before.allocations, now.allocations),
    ];
    let changed = counts
        .into_iter()
        .filter(|(_, before, now)| before.abs_diff(*now) * 100 > before * MARGIN);
    changed.map(move |(of, before, now)| {
        let word = if now > before { "dearer" } else { "cheaper" };
        format!(
            "{name}: {before} {of} before, {now} now: {word} by {} (the margin is {MARGIN} %)",
            percent(before.abs_diff(now), before)
        )
    })
}

fn percent(part: u64, whole: u64) -> String {
    match (part * 1000).checked_div(whole) {
        Some(tenths) => format!("{}.{} %", tenths / 10, tenths % 10),
        None => part.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(paths: &[(&str, u64, u64)]) -> Counts {
        let cost = |&(name, instructions, allocations): &(&str, u64, u64)| {
            let cost = Cost {
                instructions,
                allocations,
            };
            (name.to_owned(), cost)
        };
        Counts {
            environment: Environment {
                compiler: "rustc 1.95.0".into(),
                host: "x86_64-unknown-linux-gnu".into(),
            },
            paths: paths.iter().map(cost).collect(),
        }
    }

    #[test]
    fn counts_within_the_margin_are_taken() {
        let accepted = counts(&[("encode", 1000, 0), ("decode", 100, 20)]);
        assert!(
            accepted
                .offences(&counts(&[("encode", 1050, 0), ("decode", 95, 21)]))
                .is_empty()
        );
    }

    #[test]
    fn a_dearer_and_a_cheaper_path_are_named_with_both_counts() {
        let accepted = counts(&[("encode", 1000, 3), ("decode", 4000, 0)]);
        assert_eq!(
            accepted.offences(&counts(&[("encode", 1051, 4), ("decode", 3799, 1)])),
            [
                "decode: 4000 instructions before, 3799 now: cheaper by 5.0 % (the margin is 5 %)",
                "decode: 0 allocations before, 1 now: dearer by 1 (the margin is 5 %)",
                "encode: 1000 instructions before, 1051 now: dearer by 5.1 % (the margin is 5 %)",
                "encode: 3 allocations before, 4 now: dearer by 33.3 % (the margin is 5 %)",
            ]
        );
    }

    #[test]
    fn a_path_on_one_side_only_is_named() {
        assert_eq!(
            counts(&[("encode", 1000, 3)]).offences(&counts(&[("decode", 4000, 9)])),
            [
                "decode: it is new, and no count of it is accepted",
                "encode: a count is accepted, and the path is gone",
            ]
        );
    }

    #[test]
    fn accepting_moves_only_what_is_beyond_the_margin() {
        let accepted = || counts(&[("encode", 1000, 3), ("decode", 4000, 9), ("gone", 1, 0)]);
        let now = || counts(&[("encode", 1040, 3), ("decode", 4400, 9), ("new", 7, 0)]);
        let moved = accepted().moved_to(now());
        let expected = counts(&[("encode", 1000, 3), ("decode", 4400, 9), ("new", 7, 0)]);
        assert_eq!(moved.paths, expected.paths);

        let mut elsewhere = accepted();
        elsewhere.environment.compiler = "rustc 1.94.0".into();
        assert_eq!(elsewhere.moved_to(now()).paths, now().paths);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let file = std::env::temp_dir().join(format!("outbox-counts-{}.json", std::process::id()));
        let counts = counts(&[("encode", 1000, 3)]);
        counts.write(&file).unwrap();
        let read = Counts::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(
            (read.environment, read.paths),
            (counts.environment, counts.paths)
        );
    }
}
