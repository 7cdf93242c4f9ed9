//! `--to`: the destinations that messages can be published to.

use std::sync::Arc;

use outbox::{file::FilePublisher, publisher::Publisher};

use crate::{exit::Exit, failure::Failure};

/// A parsed `--to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    Stdout,
    File(String),
}

const SUPPORTED: &str = "supported are stdout: and file:PATH";

impl Destination {
    /// Reads a URL; the failure does not repeat it, since it may hold a password.
    pub(crate) fn parse(url: &str) -> Result<Self, Failure> {
        let refused = |what: String| Failure::new(Exit::Input, what).hint(SUPPORTED);
        match url.split_once(':') {
            Some(("stdout", "")) => Ok(Self::Stdout),
            Some(("stdout", _)) => Err(refused("--to stdout: takes no path".to_owned())),
            Some(("file", path)) => match path.strip_prefix("//").unwrap_or(path) {
                "" => Err(refused("--to file: has no path".to_owned())),
                path => Ok(Self::File(path.to_owned())),
            },
            Some((scheme, _)) if is_scheme(scheme) => Err(refused(format!(
                "cannot publish to a destination of scheme {scheme}"
            ))),
            _ => Err(refused("--to is no URL of a destination".to_owned())),
        }
    }

    pub(crate) fn open(&self) -> Result<Arc<dyn Publisher>, Failure> {
        Ok(match self {
            Self::Stdout => Arc::new(FilePublisher::stdout()),
            Self::File(path) => Arc::new(
                FilePublisher::open(path)
                    .map_err(|error| Failure::caused(Exit::Destination, &error))?,
            ),
        })
    }
}

/// Whether the text before the colon looks like a scheme, and not like a secret that somebody pasted.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.len() <= 16
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '+')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_read_or_refused_without_showing_them() {
        let file = |path: &str| Destination::File(path.to_owned());
        assert_eq!(Destination::parse("stdout:").unwrap(), Destination::Stdout);
        assert_eq!(
            Destination::parse("file:a/b.ndjson").unwrap(),
            file("a/b.ndjson")
        );
        assert_eq!(Destination::parse("file:///a").unwrap(), file("/a"));
        for bad in [
            "",
            "stdout",
            "stdout:x",
            "file:",
            "file://",
            "amqp://u:secret@h",
            "secret",
        ] {
            let refused = Destination::parse(bad).unwrap_err();
            assert_eq!(refused.exit, Exit::Input);
            assert!(!refused.to_string().contains("secret"), "{refused}");
            assert!(refused.to_string().contains(SUPPORTED));
        }
    }
}
