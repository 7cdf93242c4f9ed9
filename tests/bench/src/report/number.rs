//! Numbers for people.

/// Three digits that count.
pub(crate) fn number(it: f64) -> String {
    if it >= 999.5 {
        thousands(it)
    } else if it >= 100.0 {
        format!("{it:.0}")
    } else if it >= 10.0 {
        format!("{it:.1}")
    } else {
        format!("{it:.2}")
    }
}

/// A number with commas.
pub(crate) fn thousands(it: f64) -> String {
    let digits = format!("{it:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(thousands(1_234_567.4), "1,234,567");
        assert_eq!(thousands(12.0), "12");
        assert_eq!(number(0.514), "0.51");
        assert_eq!(number(23.45), "23.4");
        assert_eq!(number(2_345.0), "2,345");
        assert_eq!(number(999.9), "1,000");
    }
}
