//! Running the cases, and the results as the suite's schema has them.

use std::{
    collections::BTreeMap,
    fmt::Write,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::{Map, Value, json};

use crate::{
    plan::{BINDINGS, Case, Plan},
    suite::Suite,
};

/// What came of one case.
enum Outcome {
    Pass,
    Fail(String),
    NotCarried(&'static str),
}

pub(crate) struct Results<'a>(Vec<(&'a Case<'a>, Outcome)>);

pub(crate) fn run<'a>(suite: &Suite, cases: &'a [Case<'a>]) -> Results<'a> {
    let outcome = |case: &Case<'_>| match case.plan {
        Plan::NotCarried(reason) => Outcome::NotCarried(reason),
        Plan::Check(check) => match check(suite, case.input) {
            Ok(()) => Outcome::Pass,
            Err(reason) => Outcome::Fail(reason),
        },
    };
    Results(cases.iter().map(|case| (case, outcome(case))).collect())
}

impl Results<'_> {
    /// The cases that failed, and why.
    pub(crate) fn failed(&self) -> Vec<String> {
        let failed = self.0.iter().filter_map(|(case, outcome)| match outcome {
            Outcome::Fail(reason) => Some(format!("{}/{}: {reason}", case.section, case.id)),
            _ => None,
        });
        failed.collect()
    }

    /// How many cases of each section passed, of how many, and how many are not carried.
    pub(crate) fn summary(&self) -> String {
        let mut sections: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
        for (case, outcome) in &self.0 {
            let place = match outcome {
                Outcome::Pass => 0,
                Outcome::Fail(_) => 1,
                Outcome::NotCarried(_) => 2,
            };
            sections.entry(case.section).or_default()[place] += 1;
        }
        let total = |place: usize| sections.values().map(|counts| counts[place]).sum::<usize>();
        let mut summary = format!(
            "{} passed, {} failed, {} not carried",
            total(0),
            total(1),
            total(2)
        );
        for (section, [passed, failed, not_carried]) in &sections {
            let of = passed + failed + not_carried;
            write!(summary, "\n  {section}: {passed} of {of}").expect("a string takes any text");
        }
        summary
    }

    /// In the schema of the suite. It knows no case that is not carried in a binding that is, so such a case failed.
    pub(crate) fn json(&self, suite: &Suite) -> Value {
        let mut sections = Map::new();
        for (case, outcome) in &self.0 {
            if case.scope != "core" && !BINDINGS.contains(&case.scope) {
                continue;
            }
            let result = match outcome {
                Outcome::Pass => json!({"status": "pass"}),
                Outcome::Fail(reason) => json!({"status": "fail", "reason": reason}),
                Outcome::NotCarried(reason) => {
                    json!({"status": "fail", "reason": format!("not carried: {reason}")})
                }
            };
            sections.entry(case.section).or_insert_with(|| json!({}))[&case.id] = result;
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        json!({
            "sdk": env!("CARGO_PKG_NAME"),
            "version": env!("CARGO_PKG_VERSION"),
            "conformance_version": suite.manifest["conformance_version"],
            "generated_at": time(since_1970.unwrap_or_default().as_secs()),
            "bindings": BINDINGS,
            "sections": sections,
        })
    }
}

/// Seconds since 1970 as RFC 3339 has them, in UTC.
fn time(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!(
        "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z",
        days + 1
    )
}

#[test]
fn conformance_results_have_the_time_as_the_schema_wants_it() {
    for (seconds, expected) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (1_749_132_727, "2025-06-05T14:12:07Z"),
        (1_798_761_599, "2026-12-31T23:59:59Z"),
    ] {
        assert_eq!(time(seconds), expected);
    }
}
