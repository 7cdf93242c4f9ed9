//! One measurement: a system in a variant of a scenario, over several rounds.

use serde::Serialize;

use crate::costs::PerMessage;

/// What was measured of one system.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measurement {
    pub(crate) scenario: u8,
    /// What is the same for all systems that are compared, such as the number of messages and keys.
    pub(crate) variant: String,
    pub(crate) system: String,
    pub(crate) relays: usize,
    pub(crate) batch: usize,
    /// Throughput, in scenarios that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages_per_s: Option<Rounds>,
    /// Of the medians, against the plain queue of the same variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ratio_to_ceiling: Option<f64>,
    /// Other figures of the scenario, each with its unit in its name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) figures: Vec<(&'static str, Rounds)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) costs: Option<PerMessage>,
}

/// A figure of several rounds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Rounds {
    pub(crate) median: f64,
    pub(crate) rounds: Vec<f64>,
}

impl Rounds {
    pub(crate) fn of(rounds: Vec<f64>) -> Self {
        Self {
            median: median(&rounds),
            rounds,
        }
    }

    /// The lowest and the highest round.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let low = self.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.rounds.iter().copied().fold(0.0, f64::max);
        (low, high)
    }
}

impl Measurement {
    /// One without figures yet.
    pub(crate) fn new(scenario: u8, variant: impl Into<String>, system: impl Into<String>) -> Self {
        Self {
            scenario,
            variant: variant.into(),
            system: system.into(),
            relays: 0,
            batch: 0,
            messages_per_s: None,
            ratio_to_ceiling: None,
            figures: Vec::new(),
            costs: None,
        }
    }
}

/// The median; of an even number of values the mean of the two in the middle. Zero for none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The value that this share of the values does not exceed. Zero for none.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into a slice, from a share between 0 and 1"
)]
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let rank = rank.clamp(1, sorted.len().max(1));
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_quantiles_of_few_values() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert!((quantile(&hundred, 0.99) - 99.0).abs() < 1e-9);
        assert!((quantile(&hundred, 0.5) - 50.0).abs() < 1e-9);
        assert!(quantile(&[], 0.5).abs() < 1e-9);
    }
}
