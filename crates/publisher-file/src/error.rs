//! Why a file cannot be published to at all.

use std::{io, path::PathBuf};

use thiserror::Error;

/// Why [`FilePublisher::open`](crate::FilePublisher::open) refused a path. Nothing was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The path names something else than a regular file.
    #[error("{} is {what}, not a regular file; name a file, or publish to standard output", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is, such as "a directory".
        what: &'static str,
    },
    /// The file does not begin like a published one, or ends in the middle of a line that no publisher began; appending would spoil it.
    #[error("{} holds something that outbox did not write; name another file", path.display())]
    Foreign {
        /// The path.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{} cannot be opened for appending", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}
