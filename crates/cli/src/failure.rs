//! Why a command did not do what it was asked: what happened, what to do next, and the exit code.

use std::{error::Error, fmt};

use crate::exit::Exit;

/// A command's failure, for people.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) what: String,
    /// What to do next.
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self {
            exit,
            what: what.into(),
            hint: None,
        }
    }

    /// A failure that nobody needs to be told of: whoever read the result has gone.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::new(exit, String::new())
    }

    /// A failure told by an error and everything behind it.
    pub(crate) fn caused(exit: Exit, error: &dyn Error) -> Self {
        Self::new(exit, chain(error))
    }

    /// The same failure, saying what to do.
    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The same failure, saying this too.
    #[must_use]
    pub(crate) fn also(self, line: impl fmt::Display) -> Self {
        let hint = match &self.hint {
            Some(hint) => format!("{hint}\n{line}"),
            None => line.to_string(),
        };
        self.hint(hint)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}

/// An error and its sources in one line. A source that the error before it has said already is not said again.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut parts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(error) = next {
        let said = error.to_string();
        if !parts.last().is_some_and(|last| last.contains(&said)) {
            parts.push(said);
        }
        next = error.source();
    }
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use thiserror::Error;

    use super::*;

    #[derive(Debug, Error)]
    #[error("{0}")]
    struct Said(&'static str, #[source] Option<Box<Said>>);

    fn chained(texts: &[&'static str]) -> String {
        let error = texts
            .iter()
            .rev()
            .fold(None, |source, text| Some(Box::new(Said(text, source))));
        chain(&*error.unwrap())
    }

    #[test]
    fn a_source_is_left_out_only_if_the_part_before_it_says_it() {
        assert_eq!(
            chained(&["cannot open io.db", "disk failed: io", "io"]),
            "cannot open io.db: disk failed: io"
        );
        assert_eq!(
            chained(&["cannot open io.db", "disk failed", "io"]),
            "cannot open io.db: disk failed: io"
        );
        assert_eq!(chained(&["a: b: c", "b: c", "c"]), "a: b: c");
    }
}
