//! The random number a policy needs, checked once. Drawing it is the caller's part.

use std::time::Duration;

use crate::InvalidSample;

/// A number in [0, 1): where, between its shortest and its longest value, a delay lies.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Sample(f64);

impl Sample {
    /// The smallest sample: a policy answers its shortest delay.
    pub const ZERO: Self = Self(0.0);
    /// The middle: a policy answers the mean of its delay.
    pub const HALF: Self = Self(0.5);
    /// The largest sample below 1.
    pub const LARGEST: Self = Self(1.0 - f64::EPSILON / 2.0);

    /// Makes a sample of a number in [0, 1).
    ///
    /// # Errors
    ///
    /// [`InvalidSample`] if the number is below 0, at or above 1, or not a number.
    pub fn new(value: f64) -> Result<Self, InvalidSample> {
        if (0.0..1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(InvalidSample(value))
        }
    }

    /// Makes a sample of 64 random bits, as any generator yields them; uniform if they are.
    ///
    /// The upper 53 bits are used, as many as an `f64` holds exactly.
    pub fn from_random_bits(bits: u64) -> Self {
        let upper = u32::try_from(bits >> 32).expect("the upper half has 32 bits");
        let lower = u32::try_from((bits & 0xFFFF_FFFF) >> 11).expect("what is left has 21 bits");
        Self(f64::from(upper) / 2_f64.powi(32) + f64::from(lower) / 2_f64.powi(53))
    }

    /// Returns the number.
    pub fn value(self) -> f64 {
        self.0
    }

    /// Picks the point of `shortest..=longest` at this sample. Both are at most a year, so the product is finite.
    pub(crate) fn between(self, shortest: Duration, longest: Duration) -> Duration {
        let span = longest.saturating_sub(shortest);
        // Rounding to the nearest float may reach the end of a long span, never pass it.
        shortest + span.mul_f64(self.0).min(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_zero_to_one_are_refused() {
        for value in [-0.1, 1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Sample::new(value), Err(InvalidSample(value)));
        }
        assert!(Sample::new(f64::NAN).is_err());
    }

    #[test]
    fn numbers_within_zero_to_one_are_kept() {
        assert_eq!(Sample::new(0.0), Ok(Sample::ZERO));
        assert_eq!(Sample::new(0.5), Ok(Sample::HALF));
        assert_eq!(Sample::new(Sample::LARGEST.value()), Ok(Sample::LARGEST));
    }

    #[test]
    fn random_bits_cover_the_whole_range_evenly() {
        assert_eq!(Sample::from_random_bits(0), Sample::ZERO);
        assert_eq!(Sample::from_random_bits(1 << 63), Sample::HALF);
        assert_eq!(Sample::from_random_bits(u64::MAX), Sample::LARGEST);
        assert_eq!(Sample::from_random_bits(1 << 11), Sample(2_f64.powi(-53)));
    }
}
