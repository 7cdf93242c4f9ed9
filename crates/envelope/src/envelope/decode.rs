//! Reading an envelope: strict about JSON and identity, forgiving about everything else, which is left to the other verdicts.

use std::fmt;

use super::{Envelope, FORBIDDEN_IN_META};
use crate::{
    DecodeError, Malformed,
    json::{Value, read_frame, utf8},
};

/// What [`Envelope::decode_lenient`] read.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The envelope, without what the format forbids.
    pub envelope: Envelope,
    /// What was dropped or passed over, for a log.
    pub warnings: Vec<Warning>,
}

/// Something that a producer should not have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// A forbidden member was dropped.
    Dropped {
        /// Where it stood, as a JSON pointer.
        pointer: &'static str,
    },
    /// `job` is not a string, so that `urn` is asked.
    JobIgnored,
}

impl Warning {
    /// The member it is about, as a JSON pointer.
    pub fn pointer(self) -> &'static str {
        match self {
            Self::Dropped { pointer } => pointer,
            Self::JobIgnored => "/job",
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dropped { pointer } => {
                write!(f, "dropped {pointer}, which the envelope format forbids")
            }
            Self::JobIgnored => f.write_str("ignored /job, which is not a string"),
        }
    }
}

impl Envelope {
    /// Reads an envelope. What the format forbids is dropped, and the alias `urn` becomes `job`; see
    /// [`decode_lenient`](Self::decode_lenient) for what was found.
    ///
    /// # Errors
    ///
    /// [`DecodeError::Malformed`] if `raw` is not one JSON object in UTF-8 within the limits of this crate;
    /// [`DecodeError::NoIdentity`] if neither `job` nor `urn` is a string with something in it.
    pub fn decode(raw: impl AsRef<[u8]>) -> Result<Self, DecodeError> {
        let Decoded { envelope, .. } = Self::decode_lenient(raw).map_err(DecodeError::Malformed)?;
        if envelope.urn().is_none() {
            return Err(DecodeError::NoIdentity);
        }
        Ok(envelope)
    }

    /// [`decode`](Self::decode) for bytes that may lack an identity, with warnings.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if `raw` is not one JSON object in UTF-8 within the limits of this crate.
    pub fn decode_lenient(raw: impl AsRef<[u8]>) -> Result<Decoded, Malformed> {
        let frame = read_frame(utf8(raw.as_ref())?)?;
        let mut envelope = Self { frame };
        let mut warnings = Vec::new();
        envelope.drop_forbidden(&mut warnings);
        envelope.fold_alias(&mut warnings);
        Ok(Decoded { envelope, warnings })
    }

    fn drop_forbidden(&mut self, warnings: &mut Vec<Warning>) {
        if self.frame.remove("timestamp").is_some() {
            warnings.push(Warning::Dropped {
                pointer: "/timestamp",
            });
        }
        if let Some(Value::Object(meta)) = self.frame.get_mut("meta") {
            for (name, pointer) in FORBIDDEN_IN_META {
                if meta.remove(name).is_some() {
                    warnings.push(Warning::Dropped { pointer });
                }
            }
        }
    }

    /// Moves the identity to `job`: in its place if `job` is there, at the end if not. A usable `job` wins over `urn`.
    fn fold_alias(&mut self, warnings: &mut Vec<Warning>) {
        if self
            .frame
            .get("job")
            .is_some_and(|job| job.as_str().is_none())
        {
            warnings.push(Warning::JobIgnored);
        }
        let job_is_usable = self.text("job").is_some();
        let alias = self.text("urn").map(str::to_owned);
        let alias_was_there = self.frame.remove("urn").is_some();
        if !job_is_usable {
            if let Some(urn) = alias {
                self.frame.set("job", urn.as_str());
            }
        } else if alias_was_there {
            warnings.push(Warning::Dropped { pointer: "/urn" });
        }
    }
}
