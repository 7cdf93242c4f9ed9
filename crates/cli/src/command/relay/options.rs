//! The settings of a relay as options, with the defaults of the library.

use std::{sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use outbox::{
    DeadLetters,
    backoff::Backoff,
    relay::{DeathNotices, RelayConfig},
    store::AfterDeath,
};

use super::misfit;
use crate::{args::duration, command::save::at_least_one, failure::Failure};

/// The settings of a relay. What is not given has the library's default; renewal and publish timeout follow the lease.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(super) struct RelayOptions {
    /// The relay's name in `outbox status` [default: made of the process id]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// At most this many messages a claim [default: 100]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    batch: Option<usize>,
    /// At most this many bytes a claim, though at least one message [default: 16777216]
    #[arg(long, value_name = "BYTES", value_parser = at_least_one)]
    batch_bytes: Option<usize>,
    /// At most this many keys are being published at once [default: 64]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    concurrency: Option<usize>,
    /// How long a claim holds its messages when the relay dies [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    lease: Option<Duration>,
    /// How often a lease is renewed [default: a third of the lease]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    renewal: Option<Duration>,
    /// How long one publish may take [default: 10s, or half of the lease if that is less]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    publish_timeout: Option<Duration>,
    /// How long an idle relay waits at most before it looks again [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    poll_max: Option<Duration>,
    /// How long a graceful stop may take [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    grace: Option<Duration>,
    /// A message that failed so often is dead [default: 6]
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// The first retry comes after half to all of this; it doubles with each failure [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    backoff_base: Option<Duration>,
    /// A retry never comes later than this [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    backoff_cap: Option<Duration>,
    /// How often a destination that is down is tried [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    transient_delay: Option<Duration>,
    /// A message is dead after so many relays died while they published it and nothing else [default: 3]
    #[arg(long, value_name = "N")]
    careful_limit: Option<u32>,
    /// What the key of a dead message does [default: skip]
    #[arg(long, value_name = "POLICY")]
    after_death: Option<Policy>,
    /// Also publish a dead letter of each message that dies to this topic, such as '{topic}.dlq' [default: none]
    ///
    /// It is saved with the death and published like any message, so the destination or a route must take this topic. A dead letter that dies has none of its own.
    #[arg(long, value_name = "TOPIC")]
    dead_letter_topic: Option<DeadLetters>,
}

/// What a key does after a death.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Policy {
    /// Its next message goes out
    Skip,
    /// It waits until somebody redrives or discards the dead letter
    Hold,
}

impl RelayOptions {
    /// Where dead letters go, if they do.
    pub(super) fn dead_letters(&self) -> Option<&DeadLetters> {
        self.dead_letter_topic.as_ref()
    }

    pub(super) fn config(&self) -> Result<RelayConfig, Failure> {
        let default = RelayConfig::default();
        let lease = self.lease.unwrap_or(default.lease);
        let base = self.backoff_base.unwrap_or(Backoff::BASE);
        // A base above the default cap is what was asked for; one above a cap that was asked for too is not.
        let cap = self.backoff_cap.unwrap_or(Backoff::CAP.max(base));
        let config = RelayConfig {
            name: self.name.as_deref().map_or(default.name, Into::into),
            batch: self.batch.unwrap_or(default.batch),
            batch_bytes: self.batch_bytes.unwrap_or(default.batch_bytes),
            concurrency: self.concurrency.unwrap_or(default.concurrency),
            lease,
            renewal: self.renewal.unwrap_or(lease / 3),
            publish_timeout: self
                .publish_timeout
                .unwrap_or(default.publish_timeout.min(lease / 2)),
            poll_min: default
                .poll_min
                .min(self.poll_max.unwrap_or(default.poll_max)),
            poll_max: self.poll_max.unwrap_or(default.poll_max),
            grace: self.grace.unwrap_or(default.grace),
            max_attempts: self.max_attempts.unwrap_or(default.max_attempts),
            backoff: Backoff::exponential(base, cap).map_err(|error| misfit::backoff(&error))?,
            transient_delay: self.transient_delay.unwrap_or(default.transient_delay),
            careful_limit: self.careful_limit.unwrap_or(default.careful_limit),
            after_death: match self.after_death {
                Some(Policy::Skip) => AfterDeath::Skip,
                Some(Policy::Hold) => AfterDeath::Hold,
                None => default.after_death,
            },
            notices: self
                .dead_letter_topic
                .clone()
                .map(|letters| -> Arc<dyn DeathNotices> { Arc::new(letters) }),
            ..RelayConfig::default()
        };
        config
            .check()
            .map_err(|error| misfit::settings(&error, &config))?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: RelayOptions,
    }

    fn config(line: &[&str]) -> Result<RelayConfig, String> {
        let words = std::iter::once(&"relay").chain(line);
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.options.config().map_err(|failure| failure.to_string())
    }

    #[test]
    fn without_options_the_defaults_of_the_library_hold() {
        let (ours, theirs) = (config(&[]).unwrap(), RelayConfig::default());
        assert_eq!(
            format!(
                "{:?}",
                RelayConfig {
                    name: "r".into(),
                    ..ours
                }
            ),
            format!(
                "{:?}",
                RelayConfig {
                    name: "r".into(),
                    ..theirs
                }
            ),
        );
    }

    #[test]
    fn a_short_lease_brings_its_renewal_and_timeout_along() {
        let config = config(&["--lease", "2s"]).unwrap();
        assert_eq!(config.publish_timeout, Duration::from_secs(1));
        assert!(config.renewal < config.lease / 2);
    }

    #[test]
    fn options_that_do_not_fit_are_refused_saying_what_to_type() {
        for (line, refused) in [
            (
                &["--lease", "1s", "--renewal", "2s"][..],
                "the renewal (2s) is more than half of the lease (1s)\n  \
                 give --renewal 500ms or less, or --lease 4s or more",
            ),
            (
                &["--lease", "3s", "--publish-timeout", "5s"],
                "the publish timeout (5s) is not less than the lease (3s) minus the renewal (1s)\n  \
                 give a --publish-timeout of less than 2s, or a longer --lease",
            ),
            (
                &["--backoff-cap", "5s"],
                "the backoff base (10s) is above the backoff cap (5s)\n  \
                 give --backoff-base 5s or less, or --backoff-cap 10s or more",
            ),
            (&["--poll-max", "0s"], "--poll-max must be at least 1 ms"),
            (&["--lease", "1ms"], "--lease must be at least 3 ms"),
            (&["--renewal", "0s"], "--renewal must be at least 1 ms"),
            (
                &["--max-attempts", "0"],
                "--max-attempts must be at least 1",
            ),
        ] {
            assert_eq!(config(line).unwrap_err(), refused);
        }
        assert!(config(&["--backoff-base", "2h"]).is_ok());
        let letters = config(&["--dead-letter-topic", "{topic}.dlq"]).unwrap();
        assert!(letters.notices.is_some());
        for own in ["{topic}", "{key}.dlq", ""] {
            let refused = config(&["--dead-letter-topic", own]).unwrap_err();
            assert!(refused.contains("--dead-letter-topic"), "{refused}");
        }
        assert!(
            config(&["--batch", "0"])
                .unwrap_err()
                .contains("at least 1")
        );
        assert!(
            config(&["--after-death", "halt"])
                .unwrap_err()
                .contains("hold")
        );
    }
}
