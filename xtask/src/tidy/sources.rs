//! What holds for every Rust file.

use std::path::Path;

/// Past this many lines a file has a second idea in it.
const LONG: usize = 400;

/// Says so if a file does not begin by saying what it is for.
pub(crate) fn offences(name: &Path, text: &str) -> Option<String> {
    let sentence = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("//!"));
    if sentence.is_some_and(|sentence| !sentence.trim().is_empty()) {
        return None;
    }
    Some(format!(
        "{}:1: begin with `//!` and a sentence: what the file is for and what it leaves out",
        name.display()
    ))
}

/// Says so if a file is long. Only a warning: a table may be long.
pub(crate) fn warning(name: &Path, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > LONG).then(|| {
        format!(
            "{} has {lines} lines: look for the second idea in it",
            name.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_say_what_it_is_for_is_named() {
        let name = Path::new("crates/store/src/lib.rs");
        for text in [
            "",
            "\n//! Late.\n",
            "// Not it.\n",
            "//!\n",
            "use std::fmt;\n",
        ] {
            let offence = offences(name, text).expect(text);
            assert!(offence.starts_with("crates/store/src/lib.rs:1: begin with `//!`"));
        }
        assert_eq!(offences(name, "//! The store port.\n"), None);
    }

    #[test]
    fn a_long_file_is_a_warning() {
        let name = Path::new("long.rs");
        assert_eq!(warning(name, &"\n".repeat(LONG)), None);
        assert!(warning(name, &"\n".repeat(LONG + 1)).is_some());
    }
}
