//! How long a consumer waits, by the formula of `outbox-backoff`. The vectors were generated as those of `reference.rs`.

use std::time::Duration;

use outbox_backoff::{Backoff, Multiplier, Sample};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    n: u32,
    base: u64,
    multiplier: f64,
    maximum: u64,
    delay: f64,
}

#[test]
fn every_delay_of_the_reference_is_that_of_a_geometric_backoff() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("vectors/retry_delay.json"))
        .expect("the vectors have the shape of the struct");
    assert_eq!(cases.len(), 6, "no entry may get lost");
    for case in cases {
        let cap = match case.maximum {
            0 => Duration::MAX,
            maximum => Duration::from_secs(maximum),
        };
        let multiplier = Multiplier::new(case.multiplier).unwrap();
        let backoff = Backoff::geometric(Duration::from_secs(case.base), multiplier, cap).unwrap();
        // The reference takes an attempt of number 0 for the first.
        let delay = backoff.delay(case.n.saturating_sub(1), Sample::HALF);
        assert_eq!(
            delay,
            Duration::from_secs_f64(case.delay),
            "attempt {}",
            case.n
        );
    }
}
