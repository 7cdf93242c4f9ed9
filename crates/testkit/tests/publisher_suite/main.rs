//! The suite for publishers is right about them: a broker in memory passes it, and a publisher with one flaw fails the cases that
//! are about this flaw, and no others.
//!
//! Time is simulated, so what waits in vain fails at once.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod about;
mod broker;
mod flaw;
mod harness;
mod publisher;

use std::{collections::BTreeSet, panic::AssertUnwindSafe};

use about::{About, FLAWS};
use flaw::{Flaw, with_flaw};
use harness::Fake;
use outbox_testkit::PublisherCase;

fn cases() -> Vec<PublisherCase> {
    outbox_testkit::publisher_conformance!(@cases list Fake).to_vec()
}

/// The cases that fail with this flaw.
fn failing(flaw: Flaw) -> BTreeSet<&'static str> {
    let failed = |case: &PublisherCase| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let run = || with_flaw(flaw, || runtime.block_on((case.run)()));
        std::panic::catch_unwind(AssertUnwindSafe(run)).is_err()
    };
    let cases = cases();
    let failing = cases.iter().filter(|case| failed(case));
    failing.map(|case| case.name).collect()
}

#[test]
fn a_publisher_without_a_flaw_passes() {
    assert_eq!(failing(Flaw::None), BTreeSet::new());
}

#[test]
fn each_flaw_fails_the_cases_that_are_about_it() {
    let mut wrong = Vec::new();
    for (flaw, about) in FLAWS {
        let failing = failing(*flaw);
        let (right, cases) = match about {
            About::Only(cases) => (failing == set(cases), cases),
            About::Amongst(cases) => (failing.is_superset(&set(cases)), cases),
        };
        if !right || cases.is_empty() {
            wrong.push(format!("{flaw:?} fails {failing:#?}, not {cases:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A case that no flaw fails might pass whatever a publisher does.
#[test]
fn every_case_fails_for_some_flaw() {
    let abouts = FLAWS.iter();
    let named: BTreeSet<_> = abouts
        .flat_map(|(_, About::Only(cases) | About::Amongst(cases))| *cases)
        .collect();
    let cases = cases();
    let unnamed = cases.iter().filter(|case| !named.contains(&case.name));
    let unnamed: Vec<_> = unnamed.map(|case| case.name).collect();
    assert_eq!(unnamed, [""; 0]);
}

fn set(cases: &[&'static str]) -> BTreeSet<&'static str> {
    cases.iter().copied().collect()
}
