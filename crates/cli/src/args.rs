//! The arguments that all commands share, and the list of commands.

use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::{
    command::{dead, demo, migrate, relay, save, status},
    exit,
    logs::LogFormat,
};

/// A transactional outbox: messages are saved with the data they belong to, and a relay publishes them in order.
///
/// `save` and `relay` do the main job, `status` and `dead` watch over it, `demo` shows it without anything to set up.
#[derive(Debug, Parser)]
#[command(name = "outbox", version, after_help = help(), arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print one JSON object instead of text; logs stay on standard error
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// How logs are written to standard error; RUST_LOG says which
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        default_value = "text",
        env = "OUTBOX_LOG_FORMAT",
        hide_env_values = true,
        help_heading = OUTPUT
    )]
    pub(crate) log_format: LogFormat,
    #[command(subcommand)]
    pub(crate) command: Command,
}

fn help() -> String {
    format!("{EXAMPLES}\n\n{}", exit::TABLE)
}

const OUTPUT: &str = "Output";

const EXAMPLES: &str = "\
Examples:
  outbox migrate --store sqlite:orders.db
  echo '{\"topic\":\"orders\",\"key\":\"o-1\",\"payload\":1042}' | outbox save --store sqlite:orders.db
  outbox relay --store sqlite:orders.db --to stdout: --until-empty
  outbox status --store sqlite:orders.db";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Migrate(migrate::MigrateArgs),
    Save(save::SaveArgs),
    Relay(Box<relay::RelayArgs>),
    Dead(dead::DeadArgs),
    Status(status::StatusArgs),
    Demo(demo::DemoArgs),
}

impl Command {
    /// What is logged when `RUST_LOG` says nothing.
    pub(crate) fn log_filter(&self) -> &'static str {
        match self {
            Self::Relay(_) => "info",
            // Its failures are injected; a line for each would hide the result.
            Self::Demo(_) => "error",
            _ => "warn",
        }
    }
}

/// The store, for every command that has one.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store: sqlite:PATH
    #[arg(long, value_name = "URL", env = "OUTBOX_STORE", hide_env_values = true)]
    pub(crate) store: String,
    /// How long to wait for another process that holds the store
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) busy_timeout: Duration,
}

/// Reads a duration such as 30s, 500ms or "1h 30m".
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write it as in 30s, 500ms or 1h"))
}
