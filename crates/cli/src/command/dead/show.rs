//! `outbox dead show`: one dead letter with everything that is known of it.

use base64::{Engine, prelude::BASE64_STANDARD};
use clap::Args;
use outbox::{
    message::{MessageId, Position},
    store::{DeadFilter, DeadLetter, DeadPage, DeadPayload},
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::list::Row;
use crate::{
    args::StoreArgs,
    exit::Exit,
    failure::Failure,
    output::Output,
    store,
    table::{shown, table},
};

/// Show one dead letter with its headers, its payload and its last error
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox dead show --store sqlite:orders.db 0198c0de-0000-7000-8000-000000000000
  outbox dead show --store sqlite:orders.db --position 4711 --json | jq -r .payload_text

Exit codes: 0 done, 2 wrong option, 4 and 5 the store, 8 no such dead letter (see outbox --help)")]
pub(super) struct ShowArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// The message id
    #[arg(value_name = "ID", required_unless_present = "position")]
    id: Option<MessageId>,
    /// The position instead, as outbox dead list shows it: a damaged row may have lost its id
    #[arg(long, value_name = "N", conflicts_with = "id")]
    position: Option<i64>,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    headers: Headers<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
}

/// An array of pairs, or the stored text if it is no JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Headers<'a> {
    Pairs(Box<RawValue>),
    Text(&'a str),
}

pub(super) async fn run(args: ShowArgs, output: Output) -> Result<Exit, Failure> {
    let page = DeadPage {
        filter: DeadFilter {
            id: args.id.clone(),
            ..DeadFilter::default()
        },
        after: args
            .position
            .map(|position| Position(position.saturating_sub(1))),
        upto: args.position.map(Position),
        limit: 1,
    };
    let letters = store::with(&args.store, async |opened| {
        let operator = opened.operator();
        let letters = operator.dead_letters(&page, DeadPayload::Include).await;
        letters.map_err(|error| store::failure(&error))
    })
    .await?;
    let Some(letter) = letters.first() else {
        let which = match (&args.id, args.position) {
            (Some(id), _) => format!("with the id {}", shown(id.as_str())),
            (None, position) => format!("at position {}", position.unwrap_or_default()),
        };
        return Err(
            Failure::new(Exit::NotFound, format!("there is no dead letter {which}"))
                .hint("outbox dead list shows those that are there; it may have been redriven"),
        );
    };
    output.result(&json(letter), || text(letter))?;
    Ok(Exit::Done)
}

fn json(letter: &DeadLetter) -> Shown<'_> {
    let payload = letter.payload.as_deref().unwrap_or_default();
    let text = str::from_utf8(payload).ok();
    Shown {
        row: Row::from(letter),
        headers: match RawValue::from_string(letter.headers.clone()) {
            Ok(pairs) => Headers::Pairs(pairs),
            Err(_) => Headers::Text(&letter.headers),
        },
        payload_text: text,
        payload_base64: match text {
            Some(_) => None,
            None => Some(BASE64_STANDARD.encode(payload)),
        },
    }
}

fn text(letter: &DeadLetter) -> String {
    let mut rows = table(["dead letter", ""]);
    let payload = letter.payload.as_deref().unwrap_or_default();
    for (name, value) in [
        ("id", shown(&letter.id)),
        ("position", letter.position.to_string()),
        ("topic", shown(&letter.topic)),
        (
            "key",
            letter
                .key
                .as_deref()
                .map_or_else(|| "none".to_owned(), shown),
        ),
        (
            "content type",
            letter
                .content_type
                .as_deref()
                .map_or_else(|| "none".to_owned(), shown),
        ),
        ("headers", shown(&letter.headers)),
        (
            "attempts",
            format!("{} (counted failures)", letter.attempts),
        ),
        (
            "tries",
            format!("{} (recorded publish calls)", letter.tries),
        ),
        ("reason", shown(&letter.reason)),
        ("last error", shown(&letter.error)),
        (
            "its key",
            match letter.after {
                outbox::store::AfterDeath::Hold => "waits for redrive or discard".to_owned(),
                outbox::store::AfterDeath::Skip => "went on".to_owned(),
            },
        ),
        ("saved", time(letter.saved_at_ms)),
        ("died", time(letter.died_at_ms)),
        (
            "payload",
            match str::from_utf8(payload) {
                Ok(text) => shown(text),
                Err(_) => format!("(Base64) {}", BASE64_STANDARD.encode(payload)),
            },
        ),
    ] {
        rows.add_row([name.to_owned(), value]);
    }
    rows.trim_fmt()
}

/// Milliseconds since 1970 as UTC.
pub(crate) fn time(unix_ms: i64) -> String {
    match u64::try_from(unix_ms) {
        Ok(ms) => humantime::format_rfc3339_millis(
            std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms),
        )
        .to_string(),
        Err(_) => format!("{unix_ms} ms"),
    }
}
