//! When messages were committed and published, and the broker that notes it.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use outbox::{
    message::Topic,
    publisher::{Published, Publisher, Run},
};
use tokio::time::{Instant, sleep};

use crate::Result;

/// The payload and the key of messages that take long to publish.
pub(super) const HANGS: &str = "hangs";
pub(super) const HANGING: Duration = Duration::from_secs(10);
/// Just below the time after which the call would be dropped.
const CALL: Duration = Duration::from_millis(9_800);

/// When each message was committed and published, by its number.
#[derive(Debug, Clone)]
pub(super) struct Times(Arc<Mutex<Vec<Noted>>>);

#[derive(Debug, Clone, Copy, Default)]
struct Noted {
    committed: Option<Instant>,
    published: Option<Instant>,
}

impl Times {
    /// Of so many messages.
    pub(super) fn of(count: u32) -> Result<Self> {
        let none = vec![Noted::default(); usize::try_from(count)?];
        Ok(Self(Arc::new(Mutex::new(none))))
    }

    /// This message is committed now.
    pub(super) fn committed(&self, number: u32) {
        self.note(number, |it| it.committed = Some(Instant::now()));
    }

    /// Whether all are published.
    pub(super) fn are_complete(&self) -> bool {
        self.lock().iter().all(|it| it.published.is_some())
    }

    /// From commit to publish call, in milliseconds.
    pub(super) fn latencies(&self) -> Result<Vec<f64>> {
        let times = self.lock();
        let each = times.iter().map(|it| {
            // The relay may be faster than the answer to the commit.
            let late = it.published?.saturating_duration_since(it.committed?);
            Some(late.as_secs_f64() * 1e3)
        });
        let latencies: Option<Vec<f64>> = each.collect();
        latencies.ok_or_else(|| "a message was not published within 20 s".into())
    }

    fn note(&self, number: u32, note: impl FnOnce(&mut Noted)) {
        let mut times = self.lock();
        let place = usize::try_from(number).ok();
        if let Some(it) = place.and_then(|it| times.get_mut(it)) {
            note(it);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Noted>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A broker that notes when a message came.
#[derive(Debug)]
pub(super) struct Watched(pub(super) Times);

#[async_trait]
impl Publisher for Watched {
    fn destination<'a>(&'a self, _topic: &'a Topic) -> Cow<'a, str> {
        "watched".into()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        for delivery in run.messages {
            let payload = &delivery.message.payload;
            let text = std::str::from_utf8(payload).unwrap_or_default();
            if text == HANGS {
                sleep(CALL).await;
            }
            let number = text.split(' ').next().and_then(|it| it.parse().ok());
            if let Some(number) = number {
                self.0
                    .note(number, |it| it.published = Some(Instant::now()));
            }
        }
        Published::all(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_not_published_is_an_error() {
        let times = Times::of(1).unwrap();
        times.committed(0);
        assert!(!times.are_complete());
        assert!(times.latencies().is_err());
        times.note(0, |it| it.published = it.committed);
        assert_eq!(times.latencies().unwrap(), [0.0]);
    }
}
