//! Numbers as the reference has them: integers of any size and doubles, told apart by how they are written.

use std::fmt;

use crate::MAX_INTEGER_DIGITS;

/// A number, with what its written form needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Number {
    Integer(i64),
    /// Always finite.
    Double(f64),
    /// An integer beyond `i64`, digit by digit.
    BigInteger(Box<str>),
    /// A literal beyond the range of a double, kept as it was written.
    BeyondDouble(Box<str>),
}

impl Number {
    /// Reads a literal that follows the grammar of JSON and has a fraction or an exponent.
    pub(super) fn read_double(literal: &str) -> Self {
        match literal.parse::<f64>() {
            Ok(double) if double.is_finite() => Self::Double(double),
            _ => Self::BeyondDouble(literal.into()),
        }
    }

    /// Reads a literal that follows the grammar of JSON and has neither; `None` if it has more than [`MAX_INTEGER_DIGITS`]
    /// digits.
    pub(super) fn read_integer(literal: &str) -> Option<Self> {
        if let Ok(integer) = literal.parse() {
            return Some(Self::Integer(integer));
        }
        let digits = literal.strip_prefix('-').unwrap_or(literal);
        (digits.len() <= MAX_INTEGER_DIGITS).then(|| Self::BigInteger(literal.into()))
    }

    /// Whether it was written without fraction and exponent.
    pub(crate) fn is_integer(&self) -> bool {
        matches!(self, Self::Integer(_) | Self::BigInteger(_))
    }

    /// Whether a double of finite size comes nearest to it.
    pub(crate) fn is_in_range_of_double(&self) -> bool {
        match self {
            Self::Integer(_) | Self::Double(_) => true,
            Self::BigInteger(literal) => literal.parse::<f64>().is_ok_and(f64::is_finite),
            Self::BeyondDouble(_) => false,
        }
    }

    /// Whether it equals 1, however it was written.
    pub(crate) fn is_one(&self) -> bool {
        match self {
            Self::Integer(integer) => *integer == 1,
            Self::Double(double) => double.to_bits() == 1.0_f64.to_bits(),
            Self::BigInteger(_) | Self::BeyondDouble(_) => false,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(integer) => integer.fmt(f),
            Self::Double(double) => write_double(*double, f),
            Self::BigInteger(literal) | Self::BeyondDouble(literal) => f.write_str(literal),
        }
    }
}

/// Writes `double` in Python's form: fixed, with at least one digit after the point, while the decimal exponent is in
/// -4..16; else with an exponent that has a sign and at least two digits.
fn write_double(double: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let scientific = shortest(double);
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("a double is written with an exponent");
    let exponent: i32 = exponent
        .parse()
        .expect("the exponent of a double is a small integer");
    if !(-4..16).contains(&exponent) {
        return write!(f, "{mantissa}e{exponent:+03}");
    }
    let digits = mantissa.replace(['-', '.'], "");
    let sign = if double.is_sign_negative() { "-" } else { "" };
    // Zeros in front and behind, as many as it takes for the point to stand between digits.
    let whole = usize::try_from(exponent).unwrap_or_default() + 1;
    let digits = "0".repeat(usize::try_from(-exponent).unwrap_or_default()) + &digits;
    let digits = format!("{digits:0<width$}", width = whole + 1);
    let (whole, fraction) = digits.split_at(whole);
    write!(f, "{sign}{whole}.{fraction}")
}

/// The fewest digits that read back as `double`; of several such numbers the nearest, of two equally near the even one.
fn shortest(double: f64) -> String {
    let shortest = format!("{double:e}");
    let decimals = shortest
        .bytes()
        .take_while(|byte| *byte != b'e')
        .skip_while(|byte| *byte != b'.')
        .skip(1)
        .count();
    // The standard library breaks that tie upwards when it looks for the fewest digits, and to even when it is told how many.
    let nearest = format!("{double:.decimals$e}");
    let reads_back = nearest
        .parse::<f64>()
        .is_ok_and(|read| read.to_bits() == double.to_bits());
    if reads_back { nearest } else { shortest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Reader;

    fn read(literal: &str) -> Number {
        Reader::new(literal).number().unwrap().unwrap()
    }

    fn rewritten(literal: &str) -> String {
        read(literal).to_string()
    }

    #[test]
    fn literals_are_written_as_the_reference_rewrites_them() {
        for (literal, expected) in [
            ("1e2", "100.0"),
            ("1.50", "1.5"),
            ("1E+2", "100.0"),
            ("100000000000000000000000.0", "1e+23"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("0e5", "0.0"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1e15", "1000000000000000.0"),
            ("9999999999999998.0", "9999999999999998.0"),
            ("1e16", "1e+16"),
            ("1e-400", "0.0"),
            ("4.9406564584124654e-324", "5e-324"),
            ("18446744073709551616", "18446744073709551616"),
            ("-9223372036854775809", "-9223372036854775809"),
            ("1e400", "1e400"),
            ("1229988516644521.25", "1229988516644521.2"),
            ("-1450060769533935.25", "-1450060769533935.2"),
            ("-0.0001", "-0.0001"),
            ("0.5", "0.5"),
        ] {
            assert_eq!(rewritten(literal), expected, "{literal}");
        }
    }

    #[test]
    fn an_integer_has_at_most_as_many_digits_as_the_reference_reads() {
        let most = "9".repeat(MAX_INTEGER_DIGITS);
        assert_eq!(rewritten(&most), most);
        assert_eq!(rewritten(&format!("-{most}")), format!("-{most}"));
        assert_eq!(Number::read_integer(&format!("{most}9")), None);
        let double = format!("{most}9.0");
        assert_eq!(
            rewritten(&double),
            double,
            "a double has any number of digits"
        );
    }

    #[test]
    fn one_is_one_however_it_is_written() {
        for literal in ["1", "1.0", "1e0", "10e-1"] {
            assert!(read(literal).is_one(), "{literal}");
        }
        for literal in ["0", "2", "-1", "1.0000000000000002", "1e400"] {
            assert!(!read(literal).is_one(), "{literal}");
        }
    }
}
