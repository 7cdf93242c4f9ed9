//! The string metadata beside a payload: pairs that keep their order and their repetitions (contract C2).

use crate::{
    InvalidMessage, MAX_HEADERS_BYTES,
    text::{Charset, check},
};

/// The headers of a message: (name, value) pairs in the order given, repeated names included.
///
/// A name has 1 to 255 bytes and no control character; a value has no NUL; names and values together have at
/// most [`MAX_HEADERS_BYTES`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Headers {
    pairs: Vec<(String, String)>,
    bytes: usize,
}

impl Headers {
    /// The most bytes a name may have.
    pub const MAX_NAME_BYTES: usize = 255;

    /// No headers.
    pub const fn new() -> Self {
        Self {
            pairs: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds one header at the end; an earlier one of the same name stays.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if the name or the value breaks a limit, or all headers together would; nothing is added then.
    pub fn push(
        &mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<(), InvalidMessage> {
        let (name, value) = (name.into(), value.into());
        if name.is_empty() {
            return Err(InvalidMessage::Empty {
                part: "header name",
                max: Self::MAX_NAME_BYTES,
            });
        }
        check("header name", &name, Self::MAX_NAME_BYTES, Charset::Name)?;
        check("header value", &value, MAX_HEADERS_BYTES, Charset::Text)?;
        let bytes = self.bytes + name.len() + value.len();
        if bytes > MAX_HEADERS_BYTES {
            return Err(InvalidMessage::TooLong {
                part: "headers",
                len: bytes,
                max: MAX_HEADERS_BYTES,
            });
        }
        self.bytes = bytes;
        self.pairs.push((name, value));
        Ok(())
    }

    /// Checks all `pairs` and takes them in their order.
    ///
    /// # Errors
    ///
    /// The first [`InvalidMessage`] met.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, InvalidMessage> {
        let mut headers = Self::new();
        for (name, value) in pairs {
            headers.push(name, value)?;
        }
        Ok(headers)
    }

    /// The pairs in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The pairs in order, as stored.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// The first value of `name`, compared exactly.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| value)
    }

    /// Whether there is no header.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// How many bytes all names and values have together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c2_headers_keep_order_and_repetition() {
        let headers = Headers::from_pairs([("b", "1"), ("a", "2"), ("b", "3\n…")]).unwrap();
        assert_eq!(
            headers.iter().collect::<Vec<_>>(),
            [("b", "1"), ("a", "2"), ("b", "3\n…")]
        );
        assert_eq!(headers.get("b"), Some("1"));
    }

    #[test]
    fn c4_header_limits_hold_alone_and_together() {
        let mut headers = Headers::new();
        assert!(headers.push("", "v").is_err());
        assert!(headers.push("n\n", "v").is_err());
        assert!(headers.push("n".repeat(256), "v").is_err());
        assert!(headers.push("n", "a\0").is_err());
        headers
            .push("n", "v".repeat(MAX_HEADERS_BYTES - 1))
            .unwrap();
        let refused = headers.push("n", "");
        assert_eq!(
            refused,
            Err(InvalidMessage::TooLong {
                part: "headers",
                len: MAX_HEADERS_BYTES + 1,
                max: MAX_HEADERS_BYTES
            })
        );
        assert_eq!(headers.bytes(), MAX_HEADERS_BYTES);
    }
}
