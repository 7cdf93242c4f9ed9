//! A dead letter made ready to be published again. Leaves out where dead letters are read and in which order things are
//! done so that none is lost: that is for whoever redrives.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    DEAD_LETTER, DeadLetterReason, DecodeError, Malformed,
    envelope::{BASE64, Letter},
    json::{self, Edit, splice},
};

/// What [`redrive`] makes of a dead letter, and what an operator chooses by.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redriven<'a> {
    /// The bytes to publish.
    pub payload: Vec<u8>,
    /// Where it died: `dead_letter.original_queue`.
    pub original_queue: Option<Cow<'a, str>>,
    /// Where it was first published to: `meta.queue`. A broker that says where it died knows better.
    pub queue: Option<Cow<'a, str>>,
    /// What it is. `None` if it is no envelope.
    pub urn: Option<Cow<'a, str>>,
    /// `trace_id`.
    pub trace: Option<Cow<'a, str>>,
    /// `meta.id`.
    pub id: Option<Cow<'a, str>>,
    /// `dead_letter.reason`: `failed`, `unknown_urn`, or what another consumer wrote.
    pub reason: Option<Cow<'a, str>>,
    /// `dead_letter.error`.
    pub error: Option<Cow<'a, str>>,
}

/// Makes the dead letter `raw` ready to be published again.
///
/// An envelope has no `dead_letter` and 0 attempts then, and keeps every other byte; one without a block is taken too. What
/// [`DeadLetter::annotate`](crate::DeadLetter::annotate) wrapped, because it is no envelope, is itself again.
///
/// ```
/// use outbox_envelope::{DeadLetter, DeadLetterReason, redrive};
///
/// let raw = r#"{"job":"urn:babel:orders:created", "data":{"id":1042},"attempts":2}"#;
/// let dead = DeadLetter::new(DeadLetterReason::Failed, "orders", 3, 1_749_132_730_000).annotate(raw);
///
/// let again = redrive(dead.as_bytes())?;
/// assert_eq!(again.payload, br#"{"job":"urn:babel:orders:created", "data":{"id":1042},"attempts":0}"#);
/// assert_eq!(again.original_queue.as_deref(), Some("orders"));
/// # Ok::<(), outbox_envelope::DecodeError>(())
/// ```
///
/// # Errors
///
/// [`DecodeError`] for what stays where it is: it is not one JSON object in UTF-8 within the limits of this crate, or has no
/// identity, as the record of what is poison.
pub fn redrive(raw: &[u8]) -> Result<Redriven<'_>, DecodeError> {
    let text = json::utf8(raw).map_err(DecodeError::Malformed)?;
    let letter = Letter::read(text).map_err(DecodeError::Malformed)?;
    let payload = match letter.urn() {
        Some(_) => reset(text, letter.has_attempts)?.into_bytes(),
        None => unwrapped(&letter).ok_or(DecodeError::NoIdentity)?,
    };
    let urn = letter.urn().cloned();
    Ok(Redriven {
        payload,
        original_queue: letter.original_queue,
        queue: letter.queue,
        urn,
        trace: letter.trace,
        id: letter.id,
        reason: letter.reason,
        error: letter.error,
    })
}

fn reset(text: &str, has_attempts: bool) -> Result<String, DecodeError> {
    let edit = |name: &str, _: &str| {
        Ok::<_, Malformed>(match name {
            DEAD_LETTER => Edit::Drop,
            "attempts" => Edit::Replace("0".to_owned()),
            _ => Edit::Keep,
        })
    };
    let last = if has_attempts { "" } else { "\"attempts\":0" };
    splice(text, edit, last).map_err(DecodeError::Malformed)
}

/// What stands in a wrapper, unless it is poison.
fn unwrapped(letter: &Letter<'_>) -> Option<Vec<u8>> {
    let reason = letter.reason.as_deref()?;
    if reason == DeadLetterReason::Poison.as_str() {
        return None;
    }
    let raw = letter.raw.as_deref()?;
    match letter.raw_encoding.as_deref() {
        None => Some(raw.as_bytes().to_vec()),
        Some(BASE64) => STANDARD.decode(raw).ok(),
        Some(_) => None,
    }
}
