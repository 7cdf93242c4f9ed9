//! The way through data to the leaves that a schema marks. It recurses as deep as the schema; what the schema does not mark is
//! passed over and stays as it is written.

use thiserror::Error;

use super::CipherError;
use crate::{
    Malformed,
    json::{Edit, SPACE, splice, splice_items},
    schema::{Node, Schema},
};

/// Why data could not be protected or read again. No text repeats a value; paths are those of the schema.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EncryptionError {
    /// The data is not JSON, or nests too deep once it is decrypted.
    #[error("the data is malformed")]
    Malformed(#[from] Malformed),
    /// The schema marks the data itself.
    #[error("the schema marks the whole data as sensitive; mark its members instead")]
    WholeData,
    /// The cipher failed.
    #[error("{path} cannot be encrypted")]
    Encrypt {
        /// Which leaf, as [`SensitivePath`](crate::schema::SensitivePath) has it.
        path: String,
        /// What the cipher said.
        source: CipherError,
    },
    /// A string was not encrypted with this key, or changed on the way.
    #[error("{path} cannot be decrypted")]
    Decrypt {
        /// Which leaf, as [`SensitivePath`](crate::schema::SensitivePath) has it.
        path: String,
        /// What the cipher said.
        source: CipherError,
    },
    /// A string was encrypted and is not JSON.
    #[error("{path} was decrypted and is malformed")]
    Plaintext {
        /// Which leaf, as [`SensitivePath`](crate::schema::SensitivePath) has it.
        path: String,
        /// What is wrong with it.
        source: Malformed,
    },
}

/// What becomes of a leaf.
pub(super) enum Leaf {
    Keep,
    /// It has this value, which is JSON.
    Replace(String),
}

/// `data` with each leaf that `schema` marks as `leaf` wants it, given its path and the leaf as it is written.
pub(super) fn walk(
    data: &str,
    schema: &Schema,
    mut leaf: impl FnMut(&str, &str) -> Result<Leaf, EncryptionError>,
) -> Result<String, EncryptionError> {
    let data = data.trim_matches(SPACE);
    let changed = inside(&schema.root, data, &mut leaf)?;
    Ok(changed.unwrap_or_else(|| data.to_owned()))
}

type OfLeaf<'a> = dyn FnMut(&str, &str) -> Result<Leaf, EncryptionError> + 'a;

/// The value that `text` is with the leaves in it changed; `None` if there are none to change.
fn inside(
    node: &Node,
    text: &str,
    leaf: &mut OfLeaf<'_>,
) -> Result<Option<String>, EncryptionError> {
    if !node.has_marks_inside() {
        return Ok(None);
    }
    if text.starts_with('{') {
        let member = |name: &str, value: &str| {
            let Some(node) = node.properties.get(name) else {
                return Ok(Edit::Keep);
            };
            let changed = value_of(node, value, leaf)?;
            Ok::<_, EncryptionError>(changed.map_or(Edit::Keep, Edit::Replace))
        };
        return splice(text, member, "").map(Some);
    }
    match &node.items {
        Some(node) if text.starts_with('[') => {
            splice_items(text, |item| value_of(node, item, leaf)).map(Some)
        }
        _ => Ok(None),
    }
}

/// The value that `text` is, changed itself or inside; `None` if it stays.
fn value_of(
    node: &Node,
    text: &str,
    leaf: &mut OfLeaf<'_>,
) -> Result<Option<String>, EncryptionError> {
    if node.sensitive.is_none() {
        return inside(node, text, leaf);
    }
    Ok(match leaf(&node.path, text)? {
        Leaf::Keep => None,
        Leaf::Replace(value) => Some(value),
    })
}
