//! The factor by which a geometric policy's delays grow, checked once.

use crate::InvalidMultiplier;

/// A number of at least 1, and finite: how many times as long each delay is as the one before.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Multiplier(f64);

/// It is never NaN, which is all that keeps other floats from it.
impl Eq for Multiplier {}

impl Multiplier {
    /// Delays double.
    pub const TWO: Self = Self(2.0);

    /// Makes a multiplier of a finite number of at least 1. With 1 all delays are the same.
    ///
    /// # Errors
    ///
    /// [`InvalidMultiplier`] if the number is below 1, infinite, or not a number.
    pub fn new(value: f64) -> Result<Self, InvalidMultiplier> {
        if value >= 1.0 && value.is_finite() {
            Ok(Self(value))
        } else {
            Err(InvalidMultiplier(value))
        }
    }

    /// Returns the number.
    pub fn value(self) -> f64 {
        self.0
    }

    /// The number to the power of `exponent`, by squaring: the same on every machine, and infinite rather than an overflow.
    pub(crate) fn power(self, mut exponent: u32) -> f64 {
        let (mut power, mut square) = (1.0, self.0);
        while exponent > 0 {
            if exponent % 2 == 1 {
                power *= square;
            }
            square *= square;
            exponent /= 2;
        }
        power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_one_and_those_that_are_not_finite_are_refused() {
        for value in [-2.0, 0.0, 0.999, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Multiplier::new(value), Err(InvalidMultiplier(value)));
        }
        assert!(Multiplier::new(f64::NAN).is_err());
        assert_eq!(Multiplier::new(2.0), Ok(Multiplier::TWO));
    }

    #[test]
    fn powers_are_exact_where_a_double_is_and_infinite_where_it_is_not() {
        let power = |value, exponent| Multiplier::new(value).unwrap().power(exponent);
        for (value, exponent, expected) in [
            (3.0, 0, 1.0),
            (3.0, 1, 3.0),
            (3.0, 5, 243.0),
            (2.0, 62, 4_611_686_018_427_387_904.0),
            (1.0, u32::MAX, 1.0),
            (2.0, u32::MAX, f64::INFINITY),
            (f64::MAX, 3, f64::INFINITY),
        ] {
            let equal = power(value, exponent).total_cmp(&expected).is_eq();
            assert!(equal, "{value} to the power of {exponent}");
        }
    }
}
