//! Whether the data of an envelope is what was agreed on: a small part of JSON Schema (draft-07), the part that `BabelQueue`'s
//! packages check, with their verdicts. Leaves out where schemas come from, and any more of JSON Schema.
//!
//! ```
//! use outbox_envelope::{Envelope, schema::Schema};
//!
//! let schema = Schema::parse(
//!     r#"{
//!         "type": "object",
//!         "required": ["order_id"],
//!         "properties": {"order_id": {"type": "integer", "minimum": 1}},
//!         "additionalProperties": false
//!     }"#,
//! )?;
//! let order = |id| Envelope::make("urn:babel:orders:created", &std::collections::BTreeMap::from([("order_id", id)]));
//! assert_eq!(schema.check(&order(7)?.data()), Ok(()));
//!
//! let refused = schema.check(&order(0)?.data()).unwrap_err();
//! assert_eq!(refused.to_string(), "order_id: below_minimum");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is checked
//!
//! | keyword | what it asks |
//! | --- | --- |
//! | `const`, `enum` | the value is this, or one of these. `1` is not `1.0` and not `true`; the order of members is no matter |
//! | `type`: one name | the value is of this type. `1.0` is an integer; any number is a number |
//! | `required`, `properties`, `additionalProperties: false` | of an object, beside `"type": "object"` |
//! | `items`: one schema | of an array, beside `"type": "array"` |
//! | `minLength` | of a string, beside `"type": "string"`: so many code points |
//! | `minimum` | of a number, beside `"type": "integer"` or `"number"`; compared as doubles |
//!
//! Every other keyword is ignored, and so is a known one with a value that it cannot have here: a list of types checks nothing.
//! `x-gdpr-sensitive` checks nothing either; it marks what [`encryption`](crate::encryption) protects.

mod check;
mod parse;
mod sensitive;
mod violation;

pub use parse::InvalidSchema;
pub use sensitive::SensitivePath;
pub use violation::{InvalidData, Rule, Violation};

use std::collections::BTreeMap;

/// The most levels of `properties` and `items` in each other.
pub const MAX_SCHEMA_DEPTH: usize = 64;

/// A schema for the data of one URN, read once.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    pub(crate) root: Node,
}

/// What a schema says of one value.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Node {
    /// Where its values stand, from the root: `addresses[].line`.
    pub(crate) path: String,
    /// As canonical text.
    constant: Option<String>,
    /// As canonical texts.
    one_of: Option<Vec<String>>,
    kind: Option<Kind>,
    required: Vec<String>,
    pub(crate) properties: BTreeMap<String, Node>,
    is_closed: bool,
    pub(crate) items: Option<Box<Node>>,
    min_length: Option<f64>,
    minimum: Option<f64>,
    /// What kind of sensitive data its values are; empty if the schema does not say.
    pub(crate) sensitive: Option<String>,
}

/// The types that are checked.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    Null,
}
