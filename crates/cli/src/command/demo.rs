//! `outbox demo`: the promises shown and checked on a temporary database, with failures on every side.
//! The parts that make trouble are below; this file is the plot.

mod doomed;
mod flaky;
mod shop;
mod stage;
mod verdict;
mod writers;

use std::{sync::Arc, time::Duration};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use outbox::{
    file::FilePublisher,
    relay::{Relay, RelayError, Report},
    store::Status,
};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

use self::{doomed::Doomed, flaky::Flaky, stage::Stage, verdict::Verdict, writers::Writers};
use crate::{
    command::save::at_least_one, exit::Exit, failure::Failure, output::Output, signals, store,
};

/// Show the promises at work, and check them
///
/// Writers save business rows and messages in one transaction, and roll some back. Three relays publish them to one file;
/// one of them, a process of its own, is killed without warning. The publishers fail now and then: the message is refused,
/// the destination is down, or the message arrives and the answer is lost. At the end the file is compared with the
/// business rows. Everything happens in a temporary folder; with --store also in a schema of the demo's own, which is
/// dropped at the end.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  outbox demo
  outbox demo --messages 20000 --keys 500 --fail 20 --json
  outbox demo --store postgres://owner@localhost/shop

Exit codes: 0 all was kept, 1 a promise broke, 2 wrong option, 4 and 5 the store (see outbox --help)")]
pub(crate) struct DemoArgs {
    /// A Postgres database to play in, postgres://USER:PASSWORD@HOST:PORT/DATABASE, instead of a temporary SQLite file
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// How many messages are written, some of them in transactions that roll back
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = at_least_one)]
    messages: usize,
    /// Over how many keys
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one)]
    keys: usize,
    /// How many publishes fail
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=90))]
    fail: u32,
}

/// How often the plot looks at the store.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) async fn run(args: DemoArgs, output: Output) -> Result<Exit, Failure> {
    let stop = signals::stop()?;
    let stage = Arc::new(Stage::set(args.store.as_deref()).await?);
    let bar = progress(args.messages, output);
    let verdict = tokio::select! {
        verdict = play(&stage, &args, &bar) => verdict,
        () = stop => Err(Failure::new(Exit::Broken, "the demo was stopped before its end")),
    };
    bar.finish_and_clear();
    let struck = stage.strike().await;
    let verdict = verdict?;
    struck?;
    output.result(&verdict, || verdict.text())?;
    Ok(if verdict.holds() {
        Exit::Done
    } else {
        Exit::Broken
    })
}

async fn play(stage: &Arc<Stage>, args: &DemoArgs, bar: &ProgressBar) -> Result<Verdict, Failure> {
    let begun = Instant::now();
    let writers = Writers::start(stage, args.messages, args.keys);
    let mut doomed = Doomed::start(stage)?;
    let status = watch_until(stage, &writers, bar, |status, done| {
        Doomed::was_at_work(stage, status) || done || doomed.has_ended()
    })
    .await?;
    let was_at_work = Doomed::was_at_work(stage, &status);

    let (stop, _) = watch::channel(false);
    let mut relays = JoinSet::new();
    for name in ["first", "second"] {
        relays.spawn(relay(stage, name, args.fail, stop.subscribe())?);
    }
    let half = args.messages / 2;
    watch_until(stage, &writers, bar, |status, done| {
        let at_work = Doomed::is_seen(status) || doomed.has_ended();
        writers.written() >= half && at_work || done
    })
    .await?;
    let killed = doomed.kill().await? && was_at_work;

    watch_until(stage, &writers, bar, |_, done| done).await?;
    let took = begun.elapsed();
    let written = writers.finish().await?;
    stop.send_replace(true);
    let mut reports = Vec::new();
    while let Some(report) = relays.join_next().await {
        let report = report.map_err(|error| Failure::caused(Exit::Broken, &error))?;
        reports.push(report.map_err(|error| Failure::caused(Exit::Broken, &error))?);
    }
    Verdict::judge(stage, written, &reports, killed, took).await
}

/// A relay in this process, until it is told to stop.
fn relay(
    stage: &Stage,
    name: &'static str,
    fail: u32,
    mut stop: watch::Receiver<bool>,
) -> Result<impl Future<Output = Result<Report, RelayError>> + Send + use<>, Failure> {
    let publisher = FilePublisher::open(&stage.published)
        .map_err(|error| Failure::caused(Exit::Broken, &error))?;
    let relay = Relay::with_config(
        stage.opened.relay_side(),
        Flaky::new(publisher, fail),
        Stage::relay_config(name),
    )
    .map_err(|error| Failure::caused(Exit::Broken, &error))?;
    Ok(relay.run(async move {
        // An error means that the plot is over, which is the same.
        let _ = stop.wait_for(|stop| *stop).await;
    }))
}

/// Looks at the store again and again until it shows what is waited for, and gives that. `seen` is told too whether all is
/// written and out.
async fn watch_until(
    stage: &Stage,
    writers: &Writers,
    bar: &ProgressBar,
    mut seen: impl FnMut(&Status, bool) -> bool,
) -> Result<Status, Failure> {
    loop {
        // Asked before the status, which would not know of what is written after it.
        let (written, all_written) = (writers.written(), writers.are_done());
        let status = stage
            .opened
            .operator()
            .status()
            .await
            .map_err(|error| store::failure(&error))?;
        let pending = usize::try_from(status.pending()).unwrap_or(usize::MAX);
        bar.set_position(u64::try_from(written.saturating_sub(pending)).unwrap_or(u64::MAX));
        if seen(&status, all_written && status.pending() == 0) {
            return Ok(status);
        }
        sleep(LOOK).await;
    }
}

/// A bar on a terminal; nothing anywhere else, nor with `--json`.
fn progress(messages: usize, output: Output) -> ProgressBar {
    if !output.is_for_people() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::try_from(messages).unwrap_or(u64::MAX));
    let style = ProgressStyle::with_template("publishing {bar:40} {pos} of {len}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar
}
