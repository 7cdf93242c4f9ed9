//! `outbox audit`: what operators did to the store.

use clap::Args;
use outbox::store::{AuditLine, AuditPage};
use serde::Serialize;

use crate::{
    args::StoreArgs,
    command::{dead::time, save::at_least_one},
    exit::Exit,
    failure::Failure,
    output::Output,
    store,
    table::{numbers, short, shown, table},
};

/// List what was done by hand: who redrove, discarded, replayed, paused, resumed or purged what, and how much
///
/// Each command has a line, written with what it changed. What only counts or shows has none. Lines stay until somebody deletes them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox audit --store sqlite:orders.db
  outbox audit --store postgres://app@localhost/shop --before 4711 --limit 500 --json

Exit codes: 0 done, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// At most this many, the newest first
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    limit: usize,
    /// Only lines before the one of this number
    #[arg(long, value_name = "NUMBER")]
    before: Option<i64>,
}

#[derive(Serialize)]
struct Shown<'a> {
    audit: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    number: i64,
    command: &'a str,
    action: &'a str,
    who: &'a str,
    filter: &'a str,
    began_at_ms: i64,
    ended_at_ms: i64,
    steps: u64,
    count: u64,
}

pub(crate) async fn run(args: AuditArgs, output: Output) -> Result<Exit, Failure> {
    let page = AuditPage {
        before: args.before,
        limit: args.limit,
    };
    let lines = store::with(&args.store, async |opened| {
        let lines = opened.operator().audit(&page).await;
        lines.map_err(|error| store::failure(&error))
    })
    .await?;
    let audit = lines.iter().map(row).collect();
    output.result(&Shown { audit }, || text(&lines, args.limit))?;
    Ok(Exit::Done)
}

fn row(line: &AuditLine) -> Row<'_> {
    Row {
        number: line.number,
        command: &line.command,
        action: &line.action,
        who: &line.who,
        filter: &line.filter,
        began_at_ms: line.began_at_ms,
        ended_at_ms: line.ended_at_ms,
        steps: line.steps,
        count: line.count,
    }
}

fn text(lines: &[AuditLine], limit: usize) -> String {
    if lines.is_empty() {
        return "nothing was done by hand".to_owned();
    }
    let mut rows = table(["number", "when", "who", "what", "count", "of"]);
    numbers(&mut rows, &[0, 4]);
    for line in lines {
        rows.add_row([
            line.number.to_string(),
            time(line.began_at_ms),
            short(&line.who, 40),
            shown(&line.action),
            line.count.to_string(),
            short(&line.filter, 80),
        ]);
    }
    let rows = rows.trim_fmt();
    match lines.last() {
        Some(last) if lines.len() == limit => {
            format!("{rows}\n\nmore may follow: --before {}", last.number)
        }
        _ => rows,
    }
}
