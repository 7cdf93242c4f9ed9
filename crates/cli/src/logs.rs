//! Logs go to standard error, as text or as JSON, filtered by `RUST_LOG`.

use std::{
    env,
    io::{self, IsTerminal},
};

use clap::ValueEnum;
use tracing::Dispatch;
use tracing_subscriber::{EnvFilter, util::SubscriberInitExt};

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
    let filter = match env::var("RUST_LOG") {
        Ok(filter) if !filter.is_empty() => EnvFilter::try_new(&filter).map_err(|error| {
            Failure::new(Exit::Input, format!("RUST_LOG is no log filter: {error}"))
                .hint("write it as in RUST_LOG=warn,outbox_engine=debug")
        })?,
        _ => EnvFilter::new(default),
    };
    let color = io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none();
    dispatch(format, filter, color).init();
    Ok(())
}

fn dispatch(format: LogFormat, filter: EnvFilter, color: bool) -> Dispatch {
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(color);
    match format {
        LogFormat::Text => logs.into(),
        LogFormat::Json => logs.json().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_colors_in_every_format() {
        for format in [LogFormat::Text, LogFormat::Json] {
            // It panics if this program was built without colors.
            let _ = dispatch(format, EnvFilter::new("info"), true);
        }
    }
}
