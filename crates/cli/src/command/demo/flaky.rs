//! A publisher that fails now and then, in each of the ways that a broker has.

use std::borrow::Cow;

use async_trait::async_trait;
use outbox::{
    file::FilePublisher,
    message::Topic,
    publisher::{PublishError, PublishErrorKind, Published, Publisher, Run},
};

/// Publishes to a file; of a hundred messages, `percent` fail.
#[derive(Debug)]
pub(super) struct Flaky {
    inner: FilePublisher,
    percent: u32,
}

/// How a message fails.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// The broker refuses it.
    Refused,
    /// The broker cannot be reached.
    Down,
    /// The broker has it, and its answer is lost: the message will come twice.
    AnswerLost,
}

impl Flaky {
    pub(super) fn new(inner: FilePublisher, percent: u32) -> Self {
        Self { inner, percent }
    }

    fn draw(&self) -> Option<Trouble> {
        if rand::random_range(0..100) >= self.percent {
            return None;
        }
        Some(match rand::random_range(0..3) {
            0 => Trouble::Refused,
            1 => Trouble::Down,
            _ => Trouble::AnswerLost,
        })
    }
}

#[async_trait]
impl Publisher for Flaky {
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        self.inner.destination(topic)
    }

    fn has_one_destination(&self) -> bool {
        self.inner.has_one_destination()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let drawn = (0..run.messages.len()).find_map(|index| Some((index, self.draw()?)));
        let Some((index, trouble)) = drawn else {
            return self.inner.publish(run).await;
        };
        let (arrives, kind, text) = match trouble {
            Trouble::Refused => (index, PublishErrorKind::Rejected, "refused by the demo"),
            Trouble::Down => (index, PublishErrorKind::Unavailable, "down in the demo"),
            Trouble::AnswerLost => (
                index + 1,
                PublishErrorKind::Unavailable,
                "answer lost in the demo",
            ),
        };
        if arrives > 0 {
            let messages = &run.messages[..arrives];
            let published = self.inner.publish(Run { messages, ..run }).await;
            if published.failure.is_some() {
                return published;
            }
        }
        Published::failed(index, PublishError::new(kind, text))
    }
}
