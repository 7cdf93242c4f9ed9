//! The settings of a relay, with the defaults of the contract and the inequalities they must keep.

use std::{sync::Arc, time::Duration};

use outbox_backoff::Backoff;
use outbox_store::{AfterDeath, MAX_DELAY};
use thiserror::Error;

use crate::{DeathNotices, Gate};

/// The settings of a relay.
///
/// ```
/// use outbox_engine::RelayConfig;
/// use std::time::Duration;
///
/// let config = RelayConfig { lease: Duration::from_secs(60), ..RelayConfig::default() };
/// assert!(config.check().is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct RelayConfig {
    /// The relay's name, shown beside the lanes it holds.
    pub name: Arc<str>,
    /// At most this many messages a claim. Default 100.
    pub batch: usize,
    /// At most this many bytes a claim; its first message is always taken. Default 16 MiB.
    pub batch_bytes: usize,
    /// At most this many runs are being published at once. Default 64.
    pub concurrency: usize,
    /// At most this many lanes a claim. Default 8; a store with few lanes takes fewer.
    pub max_lanes: usize,
    /// How long a claim holds its lanes, and how long the relay waits for the store's answer to a call. Default 30 s.
    pub lease: Duration,
    /// How often a lease is renewed. Default 10 s.
    pub renewal: Duration,
    /// How long one publish call may take. Default 10 s; less than `lease - renewal`.
    pub publish_timeout: Duration,
    /// How soon the store is asked again after nothing was found. Default 100 ms, doubling up to `poll_max`.
    pub poll_min: Duration,
    /// How long the relay sleeps at most when nothing is found. Default 1 s.
    pub poll_max: Duration,
    /// How long a graceful stop may take. Default 10 s.
    pub grace: Duration,
    /// A message with this many counted failures is dead. Default 6.
    pub max_attempts: u32,
    /// When a counted failure is tried again. Default exponential with equal jitter, 10 s to 3600 s.
    pub backoff: Backoff,
    /// How long an unavailable destination is left alone between two probes. Default 1 s.
    pub transient_delay: Duration,
    /// An explicit time that a publisher asks for is capped to this. Default 7 days.
    pub max_retry_after: Duration,
    /// A message is dead after this many recorded starts that all ended with the process. Default 3.
    pub careful_limit: u32,
    /// What the key of a dead message does. Default skip.
    pub after_death: AfterDeath,
    /// Makes the notice that is saved with a death and published like any message. Default: none.
    pub notices: Option<Arc<dyn DeathNotices>>,
    /// What keeps careful service alone in its process. Default: one gate for the whole process.
    pub gate: Gate,
}

impl Default for RelayConfig {
    fn default() -> Self {
        Self {
            name: format!("relay-{}-{:04x}", std::process::id(), rand::random::<u16>()).into(),
            batch: 100,
            batch_bytes: 16 * 1024 * 1024,
            concurrency: 64,
            max_lanes: 8,
            lease: Duration::from_secs(30),
            renewal: Duration::from_secs(10),
            publish_timeout: Duration::from_secs(10),
            poll_min: Duration::from_millis(100),
            poll_max: Duration::from_secs(1),
            grace: Duration::from_secs(10),
            max_attempts: 6,
            backoff: Backoff::default(),
            transient_delay: Duration::from_secs(1),
            max_retry_after: Duration::from_hours(7 * 24),
            careful_limit: 3,
            after_death: AfterDeath::Skip,
            notices: None,
            gate: Gate::process_wide(),
        }
    }
}

/// Two settings that do not fit each other, or one that is out of range.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    /// A setting is below its least value.
    #[error("{setting} must be at least {least}")]
    TooSmall {
        /// The setting's name.
        setting: &'static str,
        /// Its least value.
        least: &'static str,
    },
    /// A duration is longer than a year, beyond which clocks cannot count on.
    #[error("{setting} must be at most a year")]
    TooLong {
        /// The setting's name.
        setting: &'static str,
    },
    /// An inequality between settings does not hold.
    #[error("{left} ({left_value:?}) must be {relation} {right} ({right_value:?})")]
    Mismatch {
        /// The setting on the left.
        left: &'static str,
        /// Its value.
        left_value: Duration,
        /// "less than" or "at most".
        relation: &'static str,
        /// The setting, or the difference of settings, on the right.
        right: &'static str,
        /// Its value.
        right_value: Duration,
    },
}

impl RelayConfig {
    /// Checks the settings against each other.
    ///
    /// # Errors
    ///
    /// The first [`InvalidConfig`] found, naming both settings.
    pub fn check(&self) -> Result<(), InvalidConfig> {
        let counts = [
            ("batch", self.batch > 0, "1"),
            ("batch_bytes", self.batch_bytes > 0, "1"),
            ("concurrency", self.concurrency > 0, "1"),
            ("max_lanes", self.max_lanes > 0, "1"),
            ("max_attempts", self.max_attempts > 0, "1"),
            ("careful_limit", self.careful_limit > 0, "1"),
            ("renewal", self.renewal >= MILLISECOND, "1 ms"),
            (
                "publish_timeout",
                self.publish_timeout >= MILLISECOND,
                "1 ms",
            ),
            ("poll_min", self.poll_min >= MILLISECOND, "1 ms"),
            (
                "transient_delay",
                self.transient_delay >= MILLISECOND,
                "1 ms",
            ),
        ];
        if let Some((setting, _, least)) = counts.into_iter().find(|(_, holds, _)| !holds) {
            return Err(InvalidConfig::TooSmall { setting, least });
        }
        let durations = [
            ("lease", self.lease),
            ("poll_max", self.poll_max),
            ("grace", self.grace),
            ("transient_delay", self.transient_delay),
            ("max_retry_after", self.max_retry_after),
        ];
        if let Some((setting, _)) = durations.into_iter().find(|(_, it)| *it > MAX_DELAY) {
            return Err(InvalidConfig::TooLong { setting });
        }
        let at_most = |left, left_value, right, right_value| InvalidConfig::Mismatch {
            left,
            left_value,
            relation: "at most",
            right,
            right_value,
        };
        if self.renewal > self.lease / 2 {
            return Err(at_most(
                "renewal",
                self.renewal,
                "half of lease",
                self.lease / 2,
            ));
        }
        if self.publish_timeout >= self.lease.saturating_sub(self.renewal) {
            return Err(InvalidConfig::Mismatch {
                left: "publish_timeout",
                left_value: self.publish_timeout,
                relation: "less than",
                right: "lease - renewal",
                right_value: self.lease.saturating_sub(self.renewal),
            });
        }
        if self.poll_min > self.poll_max {
            return Err(at_most(
                "poll_min",
                self.poll_min,
                "poll_max",
                self.poll_max,
            ));
        }
        Ok(())
    }

    /// Checks that a publisher's calls end by themselves before the relay drops them.
    pub(crate) fn check_call(&self, longest: Duration) -> Result<(), InvalidConfig> {
        if longest <= self.publish_timeout {
            return Ok(());
        }
        Err(InvalidConfig::Mismatch {
            left: "the publisher's longest call",
            left_value: longest,
            relation: "at most",
            right: "publish_timeout",
            right_value: self.publish_timeout,
        })
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_keep_their_own_inequalities() {
        assert_eq!(RelayConfig::default().check(), Ok(()));
    }

    #[test]
    fn a_publisher_whose_calls_take_longer_than_they_are_waited_for_is_refused() {
        let config = RelayConfig::default();
        assert_eq!(config.check_call(Duration::from_secs(10)), Ok(()));
        let refused = config.check_call(Duration::from_secs(16)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the publisher's longest call (16s) must be at most publish_timeout (10s)"
        );
    }

    #[test]
    fn settings_that_break_an_inequality_are_refused_naming_both() {
        let config = RelayConfig {
            publish_timeout: Duration::from_secs(20),
            ..RelayConfig::default()
        };
        let refused = config.check().unwrap_err().to_string();
        assert_eq!(
            refused,
            "publish_timeout (20s) must be less than lease - renewal (20s)"
        );
        let config = RelayConfig {
            poll_min: Duration::from_secs(2),
            ..RelayConfig::default()
        };
        assert_eq!(
            config.check().unwrap_err().to_string(),
            "poll_min (2s) must be at most poll_max (1s)"
        );
        let config = RelayConfig {
            batch: 0,
            ..RelayConfig::default()
        };
        assert_eq!(
            config.check().unwrap_err().to_string(),
            "batch must be at least 1"
        );
        let config = RelayConfig {
            grace: Duration::MAX,
            ..RelayConfig::default()
        };
        assert_eq!(
            config.check().unwrap_err().to_string(),
            "grace must be at most a year"
        );
    }
}
