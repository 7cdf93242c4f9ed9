//! What a schema finds in data. No text repeats a value: paths are the names of members, which end up in logs.

use std::fmt;

use thiserror::Error;

use crate::Malformed;

/// Data that a schema does not take.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidData {
    /// It is not JSON.
    #[error("the data is malformed")]
    Malformed(#[from] Malformed),
    /// It breaks a rule of the schema.
    #[error(transparent)]
    Violation(#[from] Violation),
}

/// The first rule that data breaks, in the order of its members. Shown as the reference shows it: `addresses[0].line: not_a_string`,
/// with `<root>` for the data itself.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {rule}", if path.is_empty() { "<root>" } else { path })]
#[non_exhaustive]
pub struct Violation {
    /// Where the value stands, or is missing: names with points between them, `[0]` for an item. Empty for the data itself.
    pub path: String,
    /// Which rule it breaks.
    pub rule: Rule,
}

/// The rules of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// It must be the `const` of the schema.
    Const,
    /// It must be in the schema's `enum`.
    Enum,
    /// It must be an object.
    Object,
    /// It must be an array.
    Array,
    /// It must be a string.
    String,
    /// It must be a number without a fraction.
    Integer,
    /// It must be a number.
    Number,
    /// It must be `true` or `false`.
    Boolean,
    /// It must be `null`.
    Null,
    /// It must be there.
    Required,
    /// It must not be there.
    Additional,
    /// It must have more code points.
    MinLength,
    /// It must be larger.
    Minimum,
}

impl Rule {
    /// The reference's word for it: `not_an_object`, `missing_required`, ...
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Const => "wrong_const",
            Self::Enum => "not_in_enum",
            Self::Object => "not_an_object",
            Self::Array => "not_an_array",
            Self::String => "not_a_string",
            Self::Integer => "not_an_integer",
            Self::Number => "not_a_number",
            Self::Boolean => "not_a_boolean",
            Self::Null => "not_null",
            Self::Required => "missing_required",
            Self::Additional => "additional_not_allowed",
            Self::MinLength => "below_min_length",
            Self::Minimum => "below_minimum",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
