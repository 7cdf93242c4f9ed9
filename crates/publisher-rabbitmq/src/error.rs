//! Why a publisher cannot be made.

use std::{io, path::PathBuf};

use outbox_publisher::InvalidParameter;
use thiserror::Error;

/// Why a URL or a configuration says nothing that a publisher could do. No password is in its text.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// It does not begin with `amqp://` or `amqps://`.
    #[error("the URL begins with neither amqp:// nor amqps://")]
    Scheme,
    /// A part of it cannot be read.
    #[error(
        "the {part} in the URL is not {wanted}; a special character in it is written as % and two hexadecimal digits"
    )]
    Part {
        /// Which part.
        part: &'static str,
        /// What is expected there.
        wanted: &'static str,
    },
    /// A parameter, or the field of the same name, does not do.
    #[error(transparent)]
    Parameter(#[from] InvalidParameter),
    /// The file of certificates cannot be read.
    #[error("the file of certificates {} cannot be read", path.display())]
    Ca {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file of certificates holds none.
    #[error("{} holds no certificate in PEM", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
}
