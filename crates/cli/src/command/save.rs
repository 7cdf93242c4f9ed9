//! `outbox save`: lines of JSON into the store, so many in one transaction.

mod lines;

use std::{path::PathBuf, time::Duration};

use clap::Args;
use outbox::{
    message::Topic,
    store::{Due, Save},
};
use serde::Serialize;
use tokio::task::block_in_place;

use self::lines::Lines;
use crate::{
    args::{StoreArgs, WakeUpArgs},
    exit::Exit,
    failure::Failure,
    line::{self, EnvelopeOptions, Input, Pointer},
    output::Output,
    store::{self, Opened, StoreOptions},
    table::count,
};

/// Save messages from lines of JSON
///
/// A line that is a BabelQueue envelope is stored byte for byte as it stands. Any other line names the members of a message:
///
///   topic           text, required
///   key             text or a number; messages of one topic and key keep their order
///   id              text; a new UUID if it is missing
///   headers         an object of texts, or an array of [name, value]
///   content_type    text
///   payload         any JSON, stored as the text it has in the line; or
///   payload_text    text; or
///   payload_base64  bytes
///   due_in_ms       a number: publish it so much later
///
/// A line that `outbox relay` published can be saved again. Empty lines are skipped.
///
/// Nothing of a transaction with a bad line is stored. The transactions before it stay, and the error says from which line on to resume.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "Examples:
  outbox save --store sqlite:orders.db messages.ndjson
  tail -n +2001 messages.ndjson | outbox save --store postgres://app@localhost/shop
  outbox save --store sqlite:orders.db --topic orders --key-field /data/order_id envelopes.ndjson

Exit codes: 0 done, 2 a bad line or option, 4 and 5 the store (see outbox --help)"
)]
pub(crate) struct SaveArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    wake_up: WakeUpArgs,
    /// The file to read, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// How many lines one transaction takes; it ends earlier at 64 MiB
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = at_least_one)]
    batch: usize,
    /// The topic of envelopes, instead of their meta.queue
    #[arg(long, value_name = "TOPIC")]
    topic: Option<Topic>,
    /// Where envelopes have their key: a JSON pointer such as /data/order_id
    #[arg(long, value_name = "POINTER")]
    key_field: Option<Pointer>,
}

pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

/// How far it got.
#[derive(Debug, Default, Serialize)]
struct Progress {
    /// Messages stored.
    stored: u64,
    /// Lines whose messages are stored, empty ones included.
    lines: u64,
    /// From which line on to resume.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_line: Option<u64>,
}

impl Progress {
    fn text(&self) -> String {
        let stored = format!(
            "stored {} from {}",
            count(self.stored, "message"),
            count(self.lines, "line")
        );
        match self.resume_line {
            None => stored,
            Some(1) => "nothing was stored".to_owned(),
            Some(line) => format!("{stored}; resume with: tail -n +{line}"),
        }
    }
}

pub(crate) async fn run(args: SaveArgs, output: Output) -> Result<Exit, Failure> {
    let mut lines = Lines::open(&args.file, args.batch)?;
    let options = EnvelopeOptions {
        topic: args.topic,
        key: args.key_field,
    };
    let wanted = StoreOptions {
        wake_up: args.wake_up.into(),
        ..StoreOptions::default()
    };
    store::with_options(&args.store, wanted, async |opened| {
        let mut progress = Progress::default();
        match save(&mut lines, &options, opened, &mut progress).await {
            Ok(()) => {
                output.result(&progress, || progress.text())?;
                Ok(Exit::Done)
            }
            Err(failure) => {
                progress.resume_line = Some(progress.lines + 1);
                let failure = failure.also(progress.text());
                output.failure_after(&failure, &progress);
                Ok(failure.exit)
            }
        }
    })
    .await
}

/// Saves batch after batch; `progress` grows with each commit.
async fn save(
    lines: &mut Lines,
    options: &EnvelopeOptions,
    opened: &Opened,
    progress: &mut Progress,
) -> Result<(), Failure> {
    loop {
        let batch = block_in_place(|| lines.next_batch())?;
        if batch.is_empty() {
            return Ok(());
        }
        let mut inputs = Vec::with_capacity(batch.len());
        for (number, text) in (progress.lines + 1..).zip(&batch) {
            if text.trim_ascii().is_empty() {
                continue;
            }
            inputs.push(line::read(text, options).map_err(|error| {
                progress.failed_line = Some(number);
                Failure::new(
                    Exit::Input,
                    format!("line {number} cannot be saved: {error}"),
                )
            })?);
        }
        commit(opened, &inputs).await?;
        progress.stored += u64::try_from(inputs.len()).unwrap_or(u64::MAX);
        progress.lines += u64::try_from(batch.len()).unwrap_or(u64::MAX);
    }
}

async fn commit(opened: &Opened, inputs: &[Input]) -> Result<(), Failure> {
    let what = "the messages were not saved";
    let saves: Vec<Save<'_>> = inputs.iter().map(save_of).collect();
    let mut tx = opened
        .begin()
        .await
        .map_err(|error| store::explain(&error, what))?;
    tx.save_all(&saves)
        .await
        .map_err(|error| store::save_failure(&error))?;
    tx.commit()
        .await
        .map_err(|error| store::explain(&error, what))
}

fn save_of(input: &Input) -> Save<'_> {
    Save {
        due: input
            .due
            .filter(|due| *due > Duration::ZERO)
            .map(Due::After),
        ..Save::from(&input.message)
    }
}
