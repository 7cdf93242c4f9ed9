//! The one error of this crate. It is read by a person in front of a failed test, so it is made of words.

use std::fmt::Display;
use std::path::Path;

/// What the functions of this crate answer.
pub type Result<T = ()> = std::result::Result<T, Error>;

/// What went wrong with a server, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {fix}")]
#[non_exhaustive]
pub struct Error {
    /// What went wrong, with the words of the system or of the server.
    pub what: String,
    /// What a person can do about it.
    pub fix: String,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fix: fix.into(),
        }
    }

    /// Says which path the system would not handle.
    pub(crate) fn path(path: &Path, error: &dyn Display) -> Self {
        Self::new(
            format!("{}: {error}", path.display()),
            "make room and rights there, or remove the folder",
        )
    }
}
