//! Headers as pairs of text, for brokers that have nothing else; and a message's own headers beside the contract's.

use std::{borrow::Cow, collections::HashSet};

use outbox_message::{ContentType, Message};

use super::{View, of};

/// The name of the header that carries a message's id where a broker has no place of its own for it.
pub(super) const MESSAGE_ID: &str = "bq-message-id";

/// The name of the header that carries a content type.
pub(super) const CONTENT_TYPE: &str = "content-type";

pub(super) type Headers<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// What stands before a message's own headers: the six of an envelope, or the id and the content type.
pub(super) fn contract(message: &Message) -> Headers<'_> {
    match of(message) {
        Some(view) => of_view(&view),
        None => of_other(message),
    }
}

/// The six headers of an envelope.
pub(super) fn of_view<'a>(view: &View<'a>) -> Headers<'a> {
    let integer = |integer: i64| Cow::Owned(integer.to_string());
    let six = [
        ("bq-job", Some(view.job.clone())),
        ("bq-trace-id", view.trace_id.clone()),
        (MESSAGE_ID, Some(view.message_id.clone())),
        ("bq-schema-version", Some(integer(view.schema_version))),
        ("bq-source-lang", view.source_lang.clone()),
        ("bq-attempts", view.attempts.map(integer)),
    ];
    six.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The id, and the content type if there is one.
pub(super) fn of_other(message: &Message) -> Headers<'_> {
    let id = Some(message.id.as_str());
    [(MESSAGE_ID, id), (CONTENT_TYPE, content_type(message))]
        .into_iter()
        .filter_map(|(name, value)| Some((name, Cow::Borrowed(value?))))
        .collect()
}

/// The message's own content type.
pub(super) fn content_type(message: &Message) -> Option<&str> {
    message.content_type.as_ref().map(ContentType::as_str)
}

/// `headers`, and after them the message's own but for those whose name is taken, with their order and their repetitions.
pub(super) fn with_own<'a, V: From<&'a str>>(
    mut headers: Vec<(&'a str, V)>,
    message: &'a Message,
) -> Vec<(&'a str, V)> {
    // The common case: no set is made of what nothing can repeat.
    if message.headers.is_empty() {
        return headers;
    }
    let taken: HashSet<&str> = headers.iter().map(|(name, _)| *name).collect();
    let own = message.headers.iter();
    let own = own.filter(|(name, _)| !taken.contains(name));
    headers.extend(own.map(|(name, value)| (name, value.into())));
    headers
}

/// `headers`, and after them those of `own` whose name is not there yet.
pub(super) fn with_once<'a, V: From<&'a str>>(
    mut headers: Vec<(&'a str, V)>,
    own: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(&'a str, V)> {
    let mut taken: HashSet<&str> = headers.iter().map(|(name, _)| *name).collect();
    let own = own.filter(|(name, _)| taken.insert(name));
    headers.extend(own.map(|(name, value)| (name, value.into())));
    headers
}

/// The message's own headers that say something.
pub(super) fn not_empty(message: &Message) -> impl Iterator<Item = (&str, &str)> {
    message
        .headers
        .iter()
        .filter(|(_, value)| !value.is_empty())
}
