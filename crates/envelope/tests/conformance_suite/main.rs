//! BabelQueue's conformance suite, run from where it lies: it belongs to others and is not part of this repository. It comes
//! with the published source package of BabelQueue for Python, under the MIT license, in the folder `conformance`.
//!
//! `BQ_CONFORMANCE_DIR` names that folder. The results go to `BQ_RESULTS`, or into the build folder, in the suite's own
//! schema. What of the suite this crate does not carry yet is listed in `plan.rs`; a case of the bindings carried that is
//! listed there counts as failed in the results, and a section that is listed nowhere fails the test.

mod bindings;
mod core;
mod delays;
mod gate;
mod inbox;
mod payload;
mod plan;
mod poison;
mod results;
mod retries;
mod settling;
mod suite;
mod tracing;

use std::{env, fs, io::Write, path::PathBuf};

use suite::Suite;

#[test]
fn conformance_suite_passes_but_for_what_is_listed_as_not_carried() {
    let Some(folder) = env::var_os("BQ_CONFORMANCE_DIR") else {
        say(
            "CONFORMANCE SUITE NOT RUN: BQ_CONFORMANCE_DIR is not set; only the vectors of this repository were run",
        );
        return;
    };
    let suite = Suite::open(PathBuf::from(folder)).expect("BQ_CONFORMANCE_DIR holds the suite");
    let cases = plan::cases(&suite.manifest).expect("every section is known");
    let results = results::run(&suite, &cases);
    let path = env::var_os("BQ_RESULTS").map_or_else(
        || PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance-results.json"),
        PathBuf::from,
    );
    let text = serde_json::to_string_pretty(&results.json(&suite)).expect("it is JSON");
    fs::write(&path, text).expect("the results can be written");
    say(&format!(
        "conformance suite {}: {}; results in {}",
        suite::VERSION,
        results.summary(),
        path.display()
    ));
    let failed = results.failed();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Past the test harness, which shows what a test prints only if it fails.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "\n{text}");
}
