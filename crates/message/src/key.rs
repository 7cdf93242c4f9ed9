//! Keys: the loose argument that callers write, and the ordering key with its hash, which decides the lane.

use std::borrow::Cow;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{InvalidMessage, Lane, PartitionKey, Topic};

/// A key as a caller writes it: text, a number, a UUID, an option of these, or [`Key::NONE`].
///
/// ```
/// use outbox_message::Key;
///
/// fn save(key: impl Into<Key<'static>>) -> Option<String> {
///     Some(key.into().check().ok()??.to_string())
/// }
/// assert_eq!(save("order-1"), Some("order-1".to_owned()));
/// assert_eq!(save(1042), Some("1042".to_owned()));
/// assert_eq!(save(Key::NONE), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key<'a>(Option<Cow<'a, str>>);

impl Key<'_> {
    /// No key: the message is unordered.
    pub const NONE: Key<'static> = Key(None);

    /// Checks the key against its limits.
    ///
    /// # Errors
    ///
    /// [`InvalidMessage`] if there is a key and it is empty, too long, or contains a NUL.
    pub fn check(self) -> Result<Option<PartitionKey>, InvalidMessage> {
        self.0.map(PartitionKey::new).transpose()
    }
}

impl<'a> From<&'a str> for Key<'a> {
    fn from(key: &'a str) -> Self {
        Self(Some(Cow::Borrowed(key)))
    }
}

impl<'a> From<&'a String> for Key<'a> {
    fn from(key: &'a String) -> Self {
        Self(Some(Cow::Borrowed(key)))
    }
}

impl<'a> From<&'a PartitionKey> for Key<'a> {
    fn from(key: &'a PartitionKey) -> Self {
        Self(Some(Cow::Borrowed(key.as_str())))
    }
}

macro_rules! key_from_display {
    ($($owned:ty),*) => {$(
        impl From<$owned> for Key<'_> {
            fn from(key: $owned) -> Self {
                Self(Some(Cow::Owned(key.to_string())))
            }
        }
    )*};
}

key_from_display!(
    String,
    Uuid,
    PartitionKey,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize
);

impl<'a, K: Into<Key<'a>>> From<Option<K>> for Key<'a> {
    fn from(key: Option<K>) -> Self {
        key.map_or(Key(None), Into::into)
    }
}

/// The pair (topic, key): messages that share it are published in the order of their positions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderingKey {
    /// The topic.
    pub topic: Topic,
    /// The key within the topic.
    pub key: PartitionKey,
}

impl OrderingKey {
    /// The first byte of SHA-256(topic, 0x1F, key), all in UTF-8. It never changes: stored rows depend on it.
    pub fn hash(&self) -> u8 {
        let mut hasher = Sha256::new();
        hasher.update(self.topic.as_str());
        hasher.update([0x1F]);
        hasher.update(self.key.as_str());
        hasher.finalize()[0]
    }

    /// The lane of this ordering key among `lanes` lanes: its hash modulo their number.
    pub fn lane(&self, lanes: Lanes) -> Lane {
        Lane(u16::from(self.hash()) % lanes.get())
    }
}

/// How many lanes a store has: at least one, and never changed while messages exist.
pub type Lanes = std::num::NonZeroU16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_text_numbers_uuids_and_options() {
        let text = |key: Key<'_>| key.check().unwrap().map(|k| k.to_string());
        assert_eq!(text("a".into()), Some("a".into()));
        assert_eq!(text((&String::from("b")).into()), Some("b".into()));
        assert_eq!(text(7_u64.into()), Some("7".into()));
        assert_eq!(text((-7_i32).into()), Some("-7".into()));
        assert_eq!(
            text(Uuid::nil().into()),
            Some("00000000-0000-0000-0000-000000000000".into())
        );
        assert_eq!(text(Some("c").into()), Some("c".into()));
        assert_eq!(text(None::<&str>.into()), None);
        assert!(Key::from("").check().is_err());
    }
}
