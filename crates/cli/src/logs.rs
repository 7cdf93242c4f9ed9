//! Logs go to standard error, as text or as JSON, filtered by `RUST_LOG`.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use crate::{exit::Exit, failure::Failure};

/// How logs are written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// Starts logging; `default` is the filter when `RUST_LOG` says nothing.
pub(crate) fn start(format: LogFormat, default: &str) -> Result<(), Failure> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(filter) if !filter.is_empty() => EnvFilter::try_new(&filter).map_err(|error| {
            Failure::new(Exit::Input, format!("RUST_LOG is no log filter: {error}"))
                .hint("write it as in RUST_LOG=warn,outbox_engine=debug")
        })?,
        _ => EnvFilter::new(default),
    };
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
    Ok(())
}
