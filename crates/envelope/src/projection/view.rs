//! Whether a message is an envelope, and what brokers show of it.

use std::borrow::Cow;

use outbox_message::Message;

use super::{
    JSON,
    members::{integer, members, text},
};
use crate::envelope::is_blank;

/// What a broker may show of an envelope. Values are taken from the payload as they stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct View<'a> {
    /// The identity: `job`, or the alias `urn` if `job` is not a string with something in it. Not trimmed.
    pub job: Cow<'a, str>,
    /// `trace_id`.
    pub trace_id: Option<Cow<'a, str>>,
    /// `meta.id`, by which consumers drop duplicates. If it is missing or breaks a limit of message ids: the message's id.
    pub message_id: Cow<'a, str>,
    /// `meta.schema_version`. Consumers refuse what they do not know before they read the payload.
    pub schema_version: i64,
    /// `meta.lang`, the producer's language.
    pub source_lang: Option<Cow<'a, str>>,
    /// `attempts`, 0 if it is missing or null; `None` if it is no integer of 64 bits.
    pub attempts: Option<i64>,
    /// `meta.created_at`, in Unix milliseconds.
    pub created_at: Option<i64>,
}

/// The view of `message`, if it is an envelope.
///
/// It is one if all of this holds:
///
/// * the content type is `application/json`, with or without parameters, or there is none. This is what
///   [`Envelope::to_message`](crate::Envelope::to_message) gives; a message that another program saved may lack it;
/// * the payload is one JSON object in UTF-8;
/// * it has an identity: `job` or `urn` is a string that is not blank;
/// * `meta` is an object with an integer as `schema_version`, which tells an envelope from another object with a `job`.
///   Any version is taken: it is consumers that refuse versions.
///
/// Nothing else counts. An envelope that strict consumers would refuse, for want of a trace id say, has a view. `data` is
/// passed over, so that the view costs one pass over the payload and builds nothing for it.
pub fn of(message: &Message) -> Option<View<'_>> {
    let kind = message.content_type.as_ref();
    if kind.is_some_and(|kind| !is_json(kind.as_str())) {
        return None;
    }
    let payload = str::from_utf8(&message.payload).ok()?;
    let names = ["job", "urn", "trace_id", "meta", "attempts"];
    let [job, urn, trace_id, meta, attempts] = members(payload, names)?;
    let identity = |member| text(member).filter(|text| !is_blank(text));
    let job = identity(job).or_else(|| identity(urn))?;
    let names = ["id", "lang", "schema_version", "created_at"];
    let [id, lang, schema_version, created_at] = members(meta?.get(), names)?;
    let id = text(id).filter(|id| outbox_message::MessageId::new(id).is_ok());
    let attempts = attempts.filter(|attempts| attempts.get() != "null");
    Some(View {
        job,
        trace_id: text(trace_id),
        message_id: id.unwrap_or(Cow::Borrowed(message.id.as_str())),
        schema_version: integer(schema_version)?,
        source_lang: text(lang),
        attempts: attempts.map_or(Some(0), |attempts| integer(Some(attempts))),
        created_at: integer(created_at),
    })
}

fn is_json(content_type: &str) -> bool {
    let (kind, _parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    kind.trim().eq_ignore_ascii_case(JSON)
}
