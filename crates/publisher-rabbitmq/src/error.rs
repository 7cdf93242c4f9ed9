//! Why a publisher cannot be made.

use std::{io, path::PathBuf};

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
    /// A parameter that is none.
    #[error("unknown parameter {name}; known are {known}")]
    Unknown {
        /// Its name.
        name: String,
        /// Those that there are.
        known: &'static str,
    },
    /// A parameter that stands there twice.
    #[error("the parameter {name} stands there twice")]
    Repeated {
        /// Its name.
        name: String,
    },
    /// Two parameters that exclude each other, or one that is nothing without another.
    #[error("the parameter {name} {problem}")]
    Conflict {
        /// One of them.
        name: &'static str,
        /// What is wrong about it.
        problem: &'static str,
    },
    /// A value that its parameter cannot have.
    #[error("the parameter {name} is {value:?}, not {wanted}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is expected.
        wanted: &'static str,
    },
    /// A template that cannot be read.
    #[error("the parameter {name} is no template")]
    Template {
        /// The parameter.
        name: &'static str,
        /// What is wrong about it.
        source: InvalidTemplate,
    },
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

/// A text that is no template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidTemplate {
    /// Something else is in braces.
    #[error("{{{field}}} is not known; {{topic}}, {{key}} and {{id}} are")]
    Field {
        /// What is in the braces.
        field: String,
    },
    /// A brace is opened and not closed, or the other way round.
    #[error("a brace has no partner")]
    Brace,
}
