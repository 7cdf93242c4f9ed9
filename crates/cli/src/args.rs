//! The arguments that all commands share, and the list of commands.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand};
use outbox::postgres_sqlx::{SchemaName, WakeUp};

use crate::{
    command::{
        audit, check, dead, demo, migrate, pause, purge, redrive, relay, replay, save, status,
        topics,
    },
    exit,
    logs::LogFormat,
};

/// A transactional outbox: messages are saved with the data they belong to, and a relay publishes them in order.
///
/// `save` and `relay` do the main job, `check`, `status`, `topics` and `dead` watch over it, `demo` shows it without anything to set up.
///
/// Every option of a command can also stand in the environment, --lease as OUTBOX_LEASE, and in a file, outbox.toml, which may refer to secrets: see docs/running.md.
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
    /// Read options from this file [default: outbox.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "OUTBOX_CONFIG", hide_env_values = true, help_heading = OUTPUT)]
    pub(crate) config: Option<PathBuf>,
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
    Redrive(Box<redrive::RedriveArgs>),
    Replay(Box<replay::ReplayArgs>),
    Audit(audit::AuditArgs),
    Check(check::CheckArgs),
    Status(status::StatusArgs),
    Topics(topics::TopicsArgs),
    Pause(pause::PauseArgs),
    Resume(pause::ResumeArgs),
    Purge(purge::PurgeArgs),
    Demo(demo::DemoArgs),
}

impl Command {
    /// What is logged when `RUST_LOG` says nothing.
    ///
    /// The libraries of the brokers are silent: what goes wrong with a broker is told once, by the relay or by the command,
    /// and `lapin` logs whole messages that come back.
    pub(crate) fn log_filter(&self) -> &'static str {
        match self {
            Self::Relay(_) => "info,lapin=off,async_nats=off",
            Self::Check(_) | Self::Redrive(_) => "warn,lapin=off,async_nats=off",
            // Its failures are injected; a line for each would hide the result.
            Self::Demo(_) => "error",
            _ => "warn",
        }
    }

    /// How many threads the command is to run on, if that matters.
    pub(crate) fn threads(&self) -> Option<usize> {
        match self {
            Self::Relay(args) => Some(args.threads()),
            _ => None,
        }
    }
}

/// The store, for every command that has one.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store: sqlite:PATH, or postgres://USER:PASSWORD@HOST:PORT/DATABASE
    #[arg(long, value_name = "URL", env = "OUTBOX_STORE", hide_env_values = true)]
    pub(crate) store: String,
    /// How long to wait for another process that holds the store, or for a server that does not answer
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration)]
    pub(crate) busy_timeout: Duration,
    #[command(flatten)]
    pub(crate) postgres: PostgresArgs,
}

/// Where and how the tables are on Postgres.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Postgres")]
pub(crate) struct PostgresArgs {
    /// The schema that holds the outbox tables
    #[arg(
        long,
        value_name = "NAME",
        env = "OUTBOX_SCHEMA",
        hide_env_values = true,
        default_value_t
    )]
    pub(crate) schema: SchemaName,
    /// The server is reached through a pooler such as pgbouncer in transaction mode: prepare no statements
    #[arg(long)]
    pub(crate) pooler: bool,
}

/// Whether saves wake relays up.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Postgres")]
pub(crate) struct WakeUpArgs {
    /// Let saves wake idle relays up, which poll otherwise; both sides must say it, and no pooler is in between
    #[arg(long)]
    wake_up: bool,
}

impl From<WakeUpArgs> for WakeUp {
    fn from(args: WakeUpArgs) -> Self {
        if args.wake_up {
            Self::Notify
        } else {
            Self::Poll
        }
    }
}

#[cfg(test)]
impl StoreArgs {
    /// Nothing but a URL.
    pub(crate) fn of(url: &str) -> Self {
        Self {
            store: url.to_owned(),
            busy_timeout: Duration::ZERO,
            postgres: PostgresArgs::default(),
        }
    }
}

/// Reads a duration such as 30s, 500ms or "1h 30m".
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|error| format!("{error}; write it as in 30s, 500ms or 1h"))
}
