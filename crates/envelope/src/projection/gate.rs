//! Whether a consumer reads a payload, going by the property that shows its schema version. It is asked before the payload
//! is decoded, because what another version means nobody knows. Leaves out what becomes of a message that is not read.

use crate::envelope::is_blank;

/// The property that shows the schema version of an envelope, as a broker delivers it: `bq-schema-version` on most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaVersion<'a> {
    /// There is none, or it is null.
    Absent,
    /// It is text. Brokers with text alone have it so.
    Text(&'a str),
    /// It is an integer of any width.
    Integer(i64),
    /// It is of another type, such as a float, or bytes that are no text.
    Other,
}

impl SchemaVersion<'_> {
    /// Whether a consumer decodes the payload. If not, the message is for the dead-letter queue as it is, byte for byte.
    ///
    /// It does if the version is 1, or if nothing is said: without a property, or with text that is blank, which is empty or
    /// nothing but ASCII white space. Text is not trimmed: ` 1` and `01` are other versions.
    pub fn is_read(self) -> bool {
        match self {
            Self::Absent => true,
            Self::Text(text) => text == "1" || is_blank(text),
            Self::Integer(version) => version == 1,
            Self::Other => false,
        }
    }
}

impl<'a> From<Option<&'a str>> for SchemaVersion<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Absent, Self::Text)
    }
}
