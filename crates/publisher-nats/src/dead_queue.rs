//! Dead letters in a stream, read by their numbers and deleted one by one; consumers of the stream are not concerned. What a
//! stored message says is in `letter.rs`.

mod letter;
mod requests;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use outbox_message::Topic;
use outbox_publisher::{DeadQueue, DeadQueues, Letter, PublishError, PublishErrorKind, Publisher};

use crate::{NatsPublisher, connection::Connection, link::Link, stream, target::Target};

#[async_trait]
impl DeadQueues for NatsPublisher {
    /// The subject of a topic, as the URL names it, in whatever stream takes it.
    async fn dead_queue(&self, topic: &Topic) -> Result<Box<dyn DeadQueue>, PublishError> {
        let target = &self.target;
        let template = &target.config.subject;
        if template.is_of_many_in_a_topic() {
            let text = "subject= in the URL has {key} or {id} in it, and a dead-letter queue is one subject; correct it";
            return Err(unavailable(text.to_owned()));
        }
        if !template.has_topic() {
            let text = "subject= in the URL is one for all topics, so that dead letters would return to the very one that they are read from; \
                        write {topic} in it, such as subject={topic}, and name the dead letters by the topic";
            return Err(unavailable(text.to_owned()));
        }
        let subject = template.example(topic);
        let subject = subject.ok_or_else(|| target.no_subject(topic))?;
        let connection = self.link.connection(&target.config).await?;
        let mut asker = connection.asker();
        let names = stream::with_subject(&mut asker, &subject).await;
        let names = names.map_err(|error| target.stream_failed(error))?;
        let Some(stream) = names.into_iter().next() else {
            return Err(target.nobody(&subject));
        };
        let last = requests::last(&mut asker, &stream, &subject).await;
        let last = last.map_err(|error| target.stream_failed(error))?;
        drop(asker);
        Ok(Box::new(Queue {
            target: Arc::clone(target),
            connection,
            stream,
            subject,
            read: 0,
            last,
        }))
    }

    /// A stream remembers the ids of what it got for some time, and the message that died may be one of them.
    fn redriver(&self) -> Box<dyn Publisher> {
        Box::new(Self {
            target: Arc::new(Target::without_duplicates(&self.target.config)),
            link: Arc::new(Link::new()),
        })
    }
}

/// The messages of a subject.
struct Queue {
    target: Arc<Target>,
    connection: Arc<Connection>,
    stream: String,
    subject: String,
    /// The number of the message that was read last, or 0.
    read: u64,
    /// The number of the last message to be read, or 0.
    last: u64,
}

#[async_trait]
impl DeadQueue for Queue {
    async fn next(&mut self) -> Result<Option<Letter>, PublishError> {
        if self.read >= self.last {
            return Ok(None);
        }
        let mut asker = self.connection.asker();
        let next = requests::next(&mut asker, &self.stream, &self.subject, self.read + 1).await;
        let next = next.map_err(|error| self.target.stream_failed(error))?;
        let Some(stored) = next.filter(|stored| stored.sequence <= self.last) else {
            self.read = self.last;
            return Ok(None);
        };
        self.read = stored.sequence;
        Ok(Some(letter::of(stored)))
    }

    async fn remove(&mut self) -> Result<bool, PublishError> {
        if self.read == 0 {
            return Ok(false);
        }
        let mut asker = self.connection.asker();
        let deleted = requests::delete(&mut asker, &self.stream, self.read).await;
        deleted.map_err(|error| self.target.stream_failed(error))
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("stream", &self.stream)
            .field("subject", &self.subject)
            .field("read", &self.read)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

fn unavailable(text: String) -> PublishError {
    PublishError::new(PublishErrorKind::Unavailable, text)
}
