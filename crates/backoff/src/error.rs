//! Why a policy or a sample was refused. Written by hand, so that the crate has no dependencies.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Says why a [`Backoff`](crate::Backoff) cannot be made of these settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidBackoff {
    /// The first delay is already longer than the longest one allowed.
    BaseAboveCap {
        /// The base that was asked for.
        base: Duration,
        /// The cap that was asked for.
        cap: Duration,
    },
    /// The growth of one step is already longer than the longest delay allowed.
    StepAboveCap {
        /// The step that was asked for.
        step: Duration,
        /// The cap that was asked for.
        cap: Duration,
    },
    /// A list policy was given no delay.
    NoDelays,
}

impl fmt::Display for InvalidBackoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BaseAboveCap { base, cap } => {
                write!(f, "backoff base {base:?} is above backoff cap {cap:?}")
            }
            Self::StepAboveCap { step, cap } => {
                write!(f, "backoff step {step:?} is above backoff cap {cap:?}")
            }
            Self::NoDelays => f.write_str("backoff list has no delays"),
        }
    }
}

impl Error for InvalidBackoff {}

/// Says that a number is no [`Sample`](crate::Sample): it is below 0, at or above 1, or not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvalidSample(pub f64);

impl fmt::Display for InvalidSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "backoff sample {} is not in [0, 1)", self.0)
    }
}

impl Error for InvalidSample {}

/// Says that a number is no [`Multiplier`](crate::Multiplier): it is below 1, infinite, or not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InvalidMultiplier(pub f64);

impl fmt::Display for InvalidMultiplier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        write!(
            f,
            "backoff multiplier {value} is not a finite number of at least 1"
        )
    }
}

impl Error for InvalidMultiplier {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_names_the_settings_that_disagree() {
        let base = Duration::from_secs(20);
        let cap = Duration::from_secs(10);
        let errors = [
            InvalidBackoff::BaseAboveCap { base, cap }.to_string(),
            InvalidBackoff::StepAboveCap { step: base, cap }.to_string(),
            InvalidBackoff::NoDelays.to_string(),
            InvalidSample(1.0).to_string(),
            InvalidMultiplier(0.5).to_string(),
        ];
        assert_eq!(
            errors,
            [
                "backoff base 20s is above backoff cap 10s",
                "backoff step 20s is above backoff cap 10s",
                "backoff list has no delays",
                "backoff sample 1 is not in [0, 1)",
                "backoff multiplier 0.5 is not a finite number of at least 1",
            ]
        );
    }
}
