//! The text parts of a message as checked types: topic, key, id, content type. Cloning one copies a pointer.

use std::{fmt, str::FromStr, sync::Arc};

use uuid::Uuid;

use crate::InvalidMessage;

/// How strict a part is about the characters it takes.
#[derive(Clone, Copy)]
pub(crate) enum Charset {
    /// Anything but NUL.
    Text,
    /// Nothing that Unicode calls a control character.
    Name,
}

/// Checks one part against its limits; the order of the checks is the order in which a reader would fix them.
pub(crate) fn check(
    part: &'static str,
    text: &str,
    max: usize,
    charset: Charset,
) -> Result<(), InvalidMessage> {
    if text.len() > max {
        return Err(InvalidMessage::TooLong {
            part,
            len: text.len(),
            max,
        });
    }
    match charset {
        Charset::Text if text.contains('\0') => Err(InvalidMessage::Nul { part }),
        Charset::Name => match text.chars().find(|c| c.is_control()) {
            Some(c) => Err(InvalidMessage::Control {
                part,
                code: u32::from(c),
            }),
            None => Ok(()),
        },
        Charset::Text => Ok(()),
    }
}

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident, $part:literal, $max:literal, $charset:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The most bytes it may have.
            pub const MAX_BYTES: usize = $max;

            /// Checks `text` and takes it.
            ///
            /// # Errors
            ///
            /// [`InvalidMessage`] if `text` is empty, too long, or has a character that is not allowed here.
            pub fn new(text: impl AsRef<str>) -> Result<Self, InvalidMessage> {
                let text = text.as_ref();
                if text.is_empty() {
                    return Err(InvalidMessage::Empty { part: $part, max: $max });
                }
                check($part, text, $max, $charset)?;
                Ok(Self(Arc::from(text)))
            }

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidMessage;

            fn from_str(text: &str) -> Result<Self, InvalidMessage> {
                Self::new(text)
            }
        }
    };
}

text_type!(
    /// Where a message is to be published: 1 to 255 bytes, no control character.
    Topic, "topic", 255, Charset::Name
);
text_type!(
    /// Messages of one key of a topic keep their order: 1 to 1,024 bytes, no NUL.
    PartitionKey, "key", 1024, Charset::Text
);
text_type!(
    /// The identity of a message, fixed when it is made (contract C3): 1 to 255 bytes, no NUL.
    MessageId, "message id", 255, Charset::Text
);
text_type!(
    /// How to read the payload, such as `application/json`: 1 to 255 bytes, no NUL.
    ContentType, "content type", 255, Charset::Text
);

impl MessageId {
    /// Makes a new `UUIDv7`, from the system's clock and randomness.
    pub fn generate() -> Self {
        Self::from(Uuid::now_v7())
    }
}

impl From<Uuid> for MessageId {
    fn from(id: Uuid) -> Self {
        Self(Arc::from(id.as_hyphenated().to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c4_each_part_takes_exactly_its_limit() {
        assert!(Topic::new("t".repeat(255)).is_ok());
        assert_eq!(
            Topic::new("t".repeat(256)),
            Err(InvalidMessage::TooLong {
                part: "topic",
                len: 256,
                max: 255
            })
        );
        assert!(PartitionKey::new("é".repeat(512)).is_ok());
        assert!(PartitionKey::new("k".repeat(1025)).is_err());
        assert!(MessageId::new("i".repeat(255)).is_ok());
        assert!(MessageId::new("i".repeat(256)).is_err());
        assert!(ContentType::new("c".repeat(255)).is_ok());
        assert!(ContentType::new("c".repeat(256)).is_err());
    }

    #[test]
    fn c4_empty_parts_are_refused() {
        assert_eq!(
            Topic::new(""),
            Err(InvalidMessage::Empty {
                part: "topic",
                max: 255
            })
        );
        assert!(PartitionKey::new("").is_err());
        assert!(MessageId::new("").is_err());
        assert!(ContentType::new("").is_err());
    }

    #[test]
    fn c4_nul_and_control_characters_are_refused() {
        assert_eq!(
            PartitionKey::new("a\0b"),
            Err(InvalidMessage::Nul { part: "key" })
        );
        assert!(PartitionKey::new("a\nb").is_ok());
        assert_eq!(
            Topic::new("a\nb"),
            Err(InvalidMessage::Control {
                part: "topic",
                code: 10
            })
        );
        assert_eq!(
            Topic::new("a\u{85}b"),
            Err(InvalidMessage::Control {
                part: "topic",
                code: 0x85
            })
        );
    }

    #[test]
    fn c3_new_ids_are_distinct_version_7_uuids() {
        let (a, b) = (MessageId::generate(), MessageId::generate());
        assert_ne!(a, b);
        assert_eq!(Uuid::parse_str(a.as_str()).unwrap().get_version_num(), 7);
    }

    #[test]
    fn errors_say_what_is_allowed() {
        assert_eq!(
            Topic::new("").unwrap_err().to_string(),
            "topic is empty; it must have 1 to 255 bytes"
        );
        assert_eq!(
            Topic::new("a\u{1}").unwrap_err().to_string(),
            "topic contains a control character (U+0001)"
        );
    }
}
