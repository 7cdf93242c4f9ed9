//! Tables and words for people who look at a terminal.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets::NOTHING};

/// A table without lines: a header, and columns two spaces apart.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(NOTHING)
        .set_header(header.map(str::to_uppercase));
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// Aligns these columns to the right, as numbers are.
pub(crate) fn numbers(table: &mut Table, columns: &[usize]) {
    for index in columns {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// A text that may come from anywhere, with control characters escaped so that it cannot steer the terminal.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// The same, cut to at most `max` characters.
pub(crate) fn short(text: &str, max: usize) -> String {
    let text = shown(text);
    if text.chars().count() <= max {
        return text;
    }
    let mut cut: String = text.chars().take(max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// A duration in the two units that matter.
pub(crate) fn span(duration: Duration) -> String {
    let rounded = match duration {
        d if d < Duration::from_secs(1) => Duration::from_millis(millis(d)),
        d if d < Duration::from_mins(1) => Duration::from_millis(millis(d) / 100 * 100),
        d => Duration::from_secs(d.as_secs()),
    };
    humantime::format_duration(rounded).to_string()
}

/// Whole milliseconds; what no one waits for ends at the greatest number.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// "1 message", "2 messages".
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        assert_eq!(shown("a\u{1b}[2Jé\n"), "a\\u{1b}[2Jé\\n");
        assert_eq!(short("abcdef", 4), "abc…");
        assert_eq!(short("abcd", 4), "abcd");
    }

    #[test]
    fn spans_have_the_units_that_matter() {
        assert_eq!(span(Duration::from_micros(1_234_567)), "1s 200ms");
        assert_eq!(span(Duration::from_millis(3_723_456)), "1h 2m 3s");
        assert_eq!(span(Duration::ZERO), "0s");
    }
}
