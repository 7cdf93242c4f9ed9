//! Writing an envelope, with a last look for members that the format forbids.

use super::{Envelope, FORBIDDEN_IN_META};
use crate::{EnvelopeError, json::Value};

impl Envelope {
    /// Writes the envelope as one line of JSON, byte for byte as the reference encoder does. Members stay in their order.
    ///
    /// # Errors
    ///
    /// [`EnvelopeError::Key`] with the first member that the format forbids. Only an envelope from
    /// [`from_frame`](Self::from_frame) can have one.
    pub fn encode(&self) -> Result<String, EnvelopeError> {
        if let Some(pointer) = self.forbidden() {
            return Err(EnvelopeError::Key {
                pointer: pointer.to_owned(),
            });
        }
        let mut text = String::with_capacity(self.frame.length());
        self.frame.write(&mut text);
        Ok(text)
    }

    /// The pointer of the first forbidden member.
    fn forbidden(&self) -> Option<&'static str> {
        let meta = self.frame.get("meta").and_then(Value::as_object);
        if self.frame.get("timestamp").is_some() {
            return Some("/timestamp");
        }
        for (name, pointer) in FORBIDDEN_IN_META {
            if meta.is_some_and(|meta| meta.get(name).is_some()) {
                return Some(pointer);
            }
        }
        self.frame.get("urn").map(|_| "/urn")
    }
}
