//! What the end of a publish call says about the first message that was not confirmed: contract F1 to F5 as one pure function.

use std::time::Duration;

use outbox_backoff::Sample;
use outbox_ordering::{AfterDeath as Policy, lane::Verdict};
use outbox_publisher::{PublishError, PublishErrorKind, Published};
use outbox_store::{AfterDeath, DeathReason, Outcome, clean_error};

use crate::RelayConfig;

/// How a publish call ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The publisher answered.
    Answered(Published),
    /// It did not answer within the publish timeout.
    TimedOut,
    /// It panicked with this text.
    Panicked(String),
    /// It was not called, or dropped before it answered: nothing is known of any message.
    Abandoned,
}

/// What is known of the run whose call ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    /// How many messages the run had.
    pub(crate) run: usize,
    /// Counted failures of the first unconfirmed message, before this one.
    pub(crate) attempts: u32,
    /// Whether the run was a probe that gives its message back: then any other message may be the next probe.
    pub(crate) probe: bool,
    /// Whether the destination confirmed other messages since the call began.
    pub(crate) confirmed_since: bool,
    /// Decides the jitter.
    pub(crate) sample: Sample,
}

/// What is to be done about a run.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// How many messages were confirmed.
    pub(crate) confirmed: usize,
    /// What the next one gets; the rest of its key follows from it.
    pub(crate) failure: Option<(Verdict, Outcome)>,
    /// The destination is unavailable: probe it after this long.
    pub(crate) unavailable: Option<(Duration, String)>,
    /// Nothing was learned of the message: leave its lane alone for a moment, so that it is not tried in a loop.
    pub(crate) interrupted: bool,
    /// The publisher cannot go on at all.
    pub(crate) closed: Option<PublishError>,
}

/// Judges how a publish call ended.
pub(crate) fn judge(end: End, about: &Circumstances, config: &RelayConfig) -> Judgement {
    match end {
        End::Abandoned => Judgement::default(),
        End::Answered(published) if published.confirmed >= about.run => Judgement {
            confirmed: about.run,
            ..Judgement::default()
        },
        End::Answered(Published { confirmed, failure }) => {
            let error = failure.unwrap_or_else(|| {
                let text = format!(
                    "the publisher confirmed {confirmed} of {} messages and named no failure",
                    about.run
                );
                PublishError::new(PublishErrorKind::Unknown, text)
            });
            Judgement {
                confirmed,
                ..refused(error, about, config)
            }
        }
        End::Panicked(text) => blame(about, config, &format!("publishing panicked: {text}")),
        End::TimedOut => {
            let error = format!(
                "the publish call did not end within {:?}",
                config.publish_timeout
            );
            if about.confirmed_since {
                return blame(about, config, &error);
            }
            Judgement {
                failure: Some(retry(config.transient_delay, false, &error)),
                unavailable: Some((config.transient_delay, clean_error(&error))),
                ..Judgement::default()
            }
        }
    }
}

fn refused(error: PublishError, about: &Circumstances, config: &RelayConfig) -> Judgement {
    let text = describe(&error);
    let asked = error
        .retry_after
        .map(|delay| delay.min(config.max_retry_after));
    match error.kind {
        PublishErrorKind::Unavailable | PublishErrorKind::Throttled => {
            let delay = asked.unwrap_or(config.transient_delay);
            // A failed probe gives its message back untouched, so that the next probe meets another lane.
            let untouched = about.probe && asked.is_none();
            Judgement {
                failure: Some(if untouched {
                    released()
                } else {
                    retry(delay, false, &text)
                }),
                unavailable: Some((delay, clean_error(&text))),
                ..Judgement::default()
            }
        }
        PublishErrorKind::TooLarge | PublishErrorKind::Malformed => Judgement {
            failure: Some(dead(DeathReason::Permanent, &text, config)),
            ..Judgement::default()
        },
        PublishErrorKind::Interrupted => Judgement {
            failure: Some(asked.map_or_else(released, |delay| retry(delay, false, &text))),
            // What waits for a time of its own does not come again at once, so its lane need not wait.
            interrupted: asked.is_none(),
            ..Judgement::default()
        },
        PublishErrorKind::Closed => Judgement {
            failure: Some(released()),
            closed: Some(error),
            ..Judgement::default()
        },
        _ => Judgement {
            failure: Some(counted(about, config, asked, &text)),
            ..Judgement::default()
        },
    }
}

/// A failure that does not say which message of the run caused it. Alone, the message is to blame; of a longer run the
/// first is tried again alone, uncounted, so that no innocent message spends its attempts on a neighbor.
fn blame(about: &Circumstances, config: &RelayConfig, error: &str) -> Judgement {
    let failure = if about.run == 1 {
        counted(about, config, None, error)
    } else {
        retry(config.transient_delay, false, error)
    };
    Judgement {
        failure: Some(failure),
        ..Judgement::default()
    }
}

fn counted(
    about: &Circumstances,
    config: &RelayConfig,
    asked: Option<Duration>,
    error: &str,
) -> (Verdict, Outcome) {
    if about.attempts.saturating_add(1) >= config.max_attempts {
        return dead(DeathReason::Exhausted, error, config);
    }
    let delay = asked.unwrap_or_else(|| config.backoff.delay(about.attempts, about.sample));
    retry(delay, true, error)
}

fn retry(after: Duration, counted: bool, error: &str) -> (Verdict, Outcome) {
    let error = clean_error(error);
    (
        Verdict::Retry,
        Outcome::Retry {
            after: Some(after),
            counted,
            error,
        },
    )
}

fn released() -> (Verdict, Outcome) {
    (Verdict::Release, Outcome::Release)
}

/// A death under the relay's own policy.
pub(crate) fn dead(reason: DeathReason, error: &str, config: &RelayConfig) -> (Verdict, Outcome) {
    let policy = match config.after_death {
        AfterDeath::Skip => Policy::Skip,
        AfterDeath::Hold => Policy::Hold,
    };
    let after = config.after_death;
    let error = clean_error(error);
    (
        Verdict::Dead(policy),
        Outcome::Dead {
            reason,
            error,
            after,
            notice: None,
        },
    )
}

/// The error and its causes on one line; a cause that only repeats what was said last is left out.
fn describe(error: &PublishError) -> String {
    let mut said = error.text.clone();
    let mut text = said.clone();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let next = error.to_string();
        if !said.contains(&next) {
            text = format!("{text}: {next}");
        }
        said = next;
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
