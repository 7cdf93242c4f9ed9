//! Integers as text, read as the reference reads them, that is with Python's `int()`.

/// The integer that `text` is: white space around it, a sign and single underscores between digits are allowed. Python
/// also takes the digits of other scripts and any size; here digits are ASCII, and the integer has 64 bits.
pub(super) fn read(text: &str) -> Option<i64> {
    // Python counts the four separators of ASCII as white space; Unicode does not.
    let is_space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    let text = text.trim_matches(is_space);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let well_formed = digits
        .split('_')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !well_formed {
        return None;
    }
    text.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_python_reads_them() {
        for (text, expected) in [
            ("5", Some(5)),
            (" 5 ", Some(5)),
            ("\t\u{1f}5\u{a0}\u{3000}\n", Some(5)),
            ("-4", Some(-4)),
            ("+4", Some(4)),
            ("-0", Some(0)),
            ("007", Some(7)),
            ("1_000", Some(1000)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("", None),
            (" ", None),
            ("-", None),
            ("+-4", None),
            ("- 4", None),
            ("_1", None),
            ("1_", None),
            ("1__0", None),
            ("1.0", None),
            ("1e0", None),
            ("0x1", None),
            ("x", None),
        ] {
            assert_eq!(read(text), expected, "{text:?}");
        }
    }
}
