//! What came out, compared with what was committed: the demo's numbers, and whether the promises held.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    time::Duration,
};

use outbox::relay::Report;
use serde::{Deserialize, Serialize};

use super::{
    shop::{self, Purchase},
    stage::Stage,
    writers::Written,
};
use crate::{
    exit::Exit,
    failure::Failure,
    table::{numbers, span, table},
};

/// The numbers of the demo.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    /// Messages whose transaction committed.
    saved: usize,
    /// Messages whose transaction was rolled back.
    rolled_back: usize,
    /// Lines in the file, duplicates included.
    published: usize,
    /// Lines whose message had been published before.
    duplicates: usize,
    /// Failed publishes that were tried again.
    retried: u64,
    /// Relays that were killed after they had been at work.
    killed: u32,
    /// Messages that came out, first time, after a later one of their key.
    precedence_broken: usize,
    /// Messages that were committed and did not come out.
    lost: usize,
    /// Messages that came out and were not committed.
    never_committed: usize,
    /// Messages that came out with other bytes.
    altered: usize,
    seconds: f64,
    messages_per_second: f64,
}

#[derive(Debug, Deserialize)]
struct Line {
    id: String,
    key: String,
    payload_text: String,
}

impl Verdict {
    pub(super) async fn judge(
        stage: &Stage,
        written: Written,
        reports: &[Report],
        killed: bool,
        took: Duration,
    ) -> Result<Self, Failure> {
        let purchases = shop::purchases(stage).await?;
        let purchases = purchases
            .into_iter()
            .map(|purchase| (purchase.message_id.clone(), purchase))
            .collect();
        let lines = lines(&stage.published)?;
        let mut verdict = compare(&purchases, &lines);
        verdict.saved = written.saved;
        verdict.rolled_back = written.rolled_back;
        verdict.retried = reports.iter().map(|report| report.retried).sum();
        verdict.killed = u32::from(killed);
        verdict.seconds = took.as_secs_f64();
        let saved = u32::try_from(written.saved).unwrap_or(u32::MAX);
        verdict.messages_per_second = (f64::from(saved) / took.as_secs_f64()).round();
        Ok(verdict)
    }

    pub(super) fn holds(&self) -> bool {
        self.broken() == 0
    }

    fn broken(&self) -> usize {
        self.precedence_broken + self.lost + self.never_committed + self.altered
    }

    pub(super) fn text(&self) -> String {
        let mut rows = table(["what", "messages"]);
        numbers(&mut rows, &[1]);
        for (what, number) in [
            ("saved, with a business row", self.saved),
            ("rolled back", self.rolled_back),
            ("published", self.published),
            ("  of these duplicates", self.duplicates),
            ("precedence broken", self.precedence_broken),
            ("lost", self.lost),
            ("published and never committed", self.never_committed),
            ("published with other bytes", self.altered),
        ] {
            rows.add_row([what.to_owned(), number.to_string()]);
        }
        let end = if self.holds() {
            "every promise held"
        } else {
            "A PROMISE BROKE: please report this with the numbers above"
        };
        format!(
            "{}\n\n{} publishes failed and were tried again, {} of three relays was killed while at work\n\
             {} messages a second, {} in all\n{end}",
            rows.trim_fmt(),
            self.retried,
            if self.killed == 0 { "none" } else { "one" },
            self.messages_per_second,
            span(Duration::from_secs_f64(self.seconds)),
        )
    }
}

fn lines(path: &Path) -> Result<Vec<Line>, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(
            Exit::Broken,
            format!("the published file cannot be read: {error}"),
        )
    };
    let file = File::open(path).map_err(|error| failed(&error))?;
    BufReader::new(file)
        .lines()
        .map(|line| {
            let line = line.map_err(|error| failed(&error))?;
            serde_json::from_str(&line).map_err(|error| failed(&error))
        })
        .collect()
}

/// Compares by what the business knows: its rows, and the numbers it gave to the purchases of each customer.
fn compare(purchases: &HashMap<String, Purchase>, lines: &[Line]) -> Verdict {
    let mut seen = HashSet::new();
    let mut last_of_key: HashMap<&str, i64> = HashMap::new();
    let mut verdict = Verdict {
        saved: 0,
        rolled_back: 0,
        published: lines.len(),
        duplicates: 0,
        retried: 0,
        killed: 0,
        precedence_broken: 0,
        lost: 0,
        never_committed: 0,
        altered: 0,
        seconds: 0.0,
        messages_per_second: 0.0,
    };
    for line in lines {
        let Some(purchase) = purchases.get(&line.id) else {
            verdict.never_committed += 1;
            continue;
        };
        if line.payload_text != purchase.payload || line.key != purchase.customer {
            verdict.altered += 1;
        }
        if !seen.insert(line.id.as_str()) {
            verdict.duplicates += 1;
            continue;
        }
        let last = last_of_key.entry(&purchase.customer).or_default();
        if purchase.number <= *last {
            verdict.precedence_broken += 1;
        }
        *last = purchase.number.max(*last);
    }
    verdict.lost = purchases.len() - seen.len();
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purchases() -> HashMap<String, Purchase> {
        [("a1", "a", 1), ("a2", "a", 2), ("b1", "b", 1)]
            .map(|(id, customer, number)| {
                let purchase = Purchase {
                    message_id: id.to_owned(),
                    customer: customer.to_owned(),
                    number,
                    payload: id.to_uppercase(),
                };
                (id.to_owned(), purchase)
            })
            .into()
    }

    fn line(id: &str) -> Line {
        Line {
            id: id.to_owned(),
            key: id[..1].to_owned(),
            payload_text: id.to_uppercase(),
        }
    }

    #[test]
    fn duplicates_break_no_promise() {
        let lines = ["a1", "b1", "a2", "a1"].map(line);
        let verdict = compare(&purchases(), &lines);
        assert!(verdict.holds());
        assert_eq!((verdict.published, verdict.duplicates), (4, 1));
    }

    #[test]
    fn a_relay_is_killed_only_if_it_was() {
        let mut verdict = compare(&purchases(), &[]);
        assert!(verdict.text().contains("none of three relays was killed"));
        verdict.killed = 1;
        assert!(verdict.text().contains("one of three relays was killed"));
    }

    #[test]
    fn each_broken_promise_is_counted() {
        let verdict = compare(&purchases(), &["a2", "a1", "zz"].map(line));
        assert_eq!(verdict.precedence_broken, 1);
        assert_eq!(verdict.lost, 1);
        assert_eq!(verdict.never_committed, 1);
        assert!(!verdict.holds());
        let mut altered = line("b1");
        altered.payload_text.push(' ');
        assert_eq!(compare(&purchases(), &[altered]).altered, 1);
    }
}
