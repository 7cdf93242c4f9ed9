//! Settings that do not fit, told by the options to type: some were not typed, but follow from others.

use std::time::Duration;

use humantime::format_duration;
use outbox::{
    backoff::InvalidBackoff,
    relay::{InvalidConfig, RelayConfig},
};

use crate::{exit::Exit, failure::Failure, table::millis};

pub(super) fn settings(error: &InvalidConfig, config: &RelayConfig) -> Failure {
    let (lease, renewal) = (config.lease, config.renewal);
    match error {
        // It follows from the lease, unless it was typed.
        InvalidConfig::TooSmall {
            setting: "renewal", ..
        } if renewal == lease / 3 => refused("--lease must be at least 3 ms"),
        InvalidConfig::TooSmall {
            setting: "poll_min",
            least,
        } => refused(format!("--poll-max must be at least {least}")),
        InvalidConfig::TooSmall { setting, least } => {
            let option = setting.replace('_', "-");
            refused(format!("--{option} must be at least {least}"))
        }
        InvalidConfig::Mismatch {
            left: "renewal", ..
        } => refused(format!(
            "the renewal ({}) is more than half of the lease ({})",
            shown(renewal),
            shown(lease)
        ))
        .hint(format!(
            "give --renewal {} or less, or --lease {} or more",
            shown(lease / 2),
            shown(renewal.saturating_mul(2))
        )),
        InvalidConfig::Mismatch {
            left: "publish_timeout",
            ..
        } => refused(format!(
            "the publish timeout ({}) is not less than the lease ({}) minus the renewal ({})",
            shown(config.publish_timeout),
            shown(lease),
            shown(renewal)
        ))
        .hint(format!(
            "give a --publish-timeout of less than {}, or a longer --lease",
            shown(lease.saturating_sub(renewal))
        )),
        InvalidConfig::Mismatch {
            left: "the publisher's longest call",
            left_value,
            ..
        } => refused(format!(
            "a call to a destination may take {}, longer than the publish timeout ({})",
            shown(*left_value),
            shown(config.publish_timeout)
        ))
        .hint(
            "give a longer --publish-timeout and --lease, or less time in the URL \
             (message_timeout= of Kafka, twice of which counts, timeout= of HTTP)",
        ),
        _ => Failure::caused(Exit::Input, error),
    }
}

pub(super) fn backoff(error: &InvalidBackoff) -> Failure {
    match error {
        InvalidBackoff::BaseAboveCap { base, cap } => refused(format!(
            "the backoff base ({}) is above the backoff cap ({})",
            shown(*base),
            shown(*cap)
        ))
        .hint(format!(
            "give --backoff-base {} or less, or --backoff-cap {} or more",
            shown(*cap),
            shown(*base)
        )),
        _ => Failure::caused(Exit::Input, error),
    }
}

fn refused(what: impl Into<String>) -> Failure {
    Failure::new(Exit::Input, what)
}

/// As one types it, in whole milliseconds: a third of a second has too many digits.
fn shown(duration: Duration) -> String {
    format_duration(Duration::from_millis(millis(duration))).to_string()
}
