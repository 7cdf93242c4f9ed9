//! The section about how long a consumer waits before it tries a message again.

use std::time::Duration;

use outbox_backoff::{Backoff, Multiplier, Sample};
use serde_json::Value;

use crate::suite::{Suite, Verdict, at, equal, integer, text};

pub(crate) fn waited(_: &Suite, case: &Value) -> Verdict {
    let base = seconds(case, "/retry_backoff")?;
    let cap = seconds(case, "/retry_backoff_max")?;
    let cap = if cap.is_zero() { Duration::MAX } else { cap };
    let multiplier = double(case, "/retry_backoff_multiplier")?;
    let multiplier = Multiplier::new(multiplier).map_err(|error| error.to_string())?;
    let attempts = u32::try_from(integer(case, "/n")? - 1).map_err(|error| error.to_string())?;
    let policy = match text(case, "/retry_jitter")? {
        "none" => Backoff::geometric(base, multiplier, cap),
        "full" => Backoff::geometric_full_jitter(base, multiplier, cap),
        other => return Err(format!("unknown jitter {other}")),
    };
    let policy = policy.map_err(|error| error.to_string())?;
    if case.pointer("/expect_delay_seconds").is_some() {
        let delay = policy.delay(attempts, Sample::HALF);
        return equal("delay", delay, seconds(case, "/expect_delay_seconds")?);
    }
    let least = seconds(case, "/expect_delay_range_seconds/min")?;
    let most = seconds(case, "/expect_delay_range_seconds/max")?;
    equal("bounds", policy.bounds(attempts), least..=most)?;
    for sample in [Sample::ZERO, Sample::HALF, Sample::LARGEST] {
        let delay = policy.delay(attempts, sample);
        equal("in range", (least..=most).contains(&delay), true)?;
    }
    Ok(())
}

fn seconds(case: &Value, pointer: &str) -> Result<Duration, String> {
    Duration::try_from_secs_f64(double(case, pointer)?).map_err(|error| error.to_string())
}

fn double(case: &Value, pointer: &str) -> Result<f64, String> {
    let found = at(case, pointer)?;
    found
        .as_f64()
        .ok_or_else(|| format!("{pointer} is no number: {found}"))
}
