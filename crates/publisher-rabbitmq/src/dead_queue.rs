//! Dead letters in a queue, fetched one by one and not acknowledged before they are to go. What a delivery says is in `letter.rs`.

mod letter;

use std::sync::Arc;

use async_trait::async_trait;
use lapin::{
    Channel,
    options::{BasicAckOptions, BasicGetOptions, BasicNackOptions, QueueDeclareOptions},
    types::{FieldTable, ShortString},
};
use outbox_message::Topic;
use outbox_publisher::{
    DeadQueue, DeadQueues, Letter, PublishError, PublishErrorKind, Publisher, Template,
    TemplateField,
};

use crate::{RabbitMqPublisher, Target, failure, link::Link, outgoing::short};

#[async_trait]
impl DeadQueues for RabbitMqPublisher {
    /// The queue of a topic, as the URL names it.
    async fn dead_queue(&self, topic: &Topic) -> Result<Box<dyn DeadQueue>, PublishError> {
        let Target::Queue { queue, .. } = &self.inner.config.target else {
            // An exchange cannot be read, and would give a dead letter to others than the one that did not take it.
            let text = "dead letters are read from a queue and return to one; leave exchange= and routing_key= out of the URL";
            return Err(PublishError::new(PublishErrorKind::Unavailable, text));
        };
        if !queue.uses(TemplateField::Topic) {
            let text = "queue= in the URL is one for all topics, so that dead letters would return to the very one that they are read from; \
                        write {topic} in it, such as queue={topic}, and name the dead letters by the topic";
            return Err(PublishError::new(PublishErrorKind::Unavailable, text));
        }
        let template = queue.clone();
        let queue = short("name of the queue", queue.of_topic(topic))?;
        let link = self.inner.link().await?;
        let opened = link.read(queue.clone()).await;
        let (channel, unread) = opened.map_err(|error| {
            failure::not_usable(&self.inner.server, "queue", queue.as_str(), error)
        })?;
        Ok(Box::new(Queue {
            server: self.inner.server.clone(),
            name: queue,
            template,
            channel,
            unread,
            current: None,
            _link: link,
        }))
    }

    fn redriver(&self) -> Box<dyn Publisher> {
        Box::new(self.clone())
    }
}

/// A queue that is read on a channel of its own. The broker takes back what was not acknowledged when the channel closes, to
/// the places where it was, and dropping this closes it.
#[derive(Debug)]
struct Queue {
    server: String,
    name: ShortString,
    /// How queues are named after topics.
    template: Template,
    channel: Channel,
    /// How many messages are not read yet of those that were there.
    unread: u32,
    /// What the broker calls the message that was read last.
    current: Option<u64>,
    /// The channel lives as long as this.
    _link: Arc<Link>,
}

impl Queue {
    fn failed(&self, error: lapin::Error) -> PublishError {
        failure::not_usable(&self.server, "queue", self.name.as_str(), error)
    }
}

#[async_trait]
impl DeadQueue for Queue {
    async fn next(&mut self) -> Result<Option<Letter>, PublishError> {
        self.current = None;
        if self.unread == 0 {
            return Ok(None);
        }
        let options = BasicGetOptions { no_ack: false };
        let got = self.channel.basic_get(self.name.clone(), options).await;
        let Some(message) = got.map_err(|error| self.failed(error))? else {
            // Others have taken what was there.
            self.unread = 0;
            return Ok(None);
        };
        self.unread -= 1;
        self.current = Some(message.delivery_tag);
        Ok(Some(letter::of(message.delivery, &self.template)))
    }

    /// The broker says nothing to an acknowledgement: that it came is sure when the next message is read, or this is closed.
    async fn remove(&mut self) -> Result<bool, PublishError> {
        let Some(current) = self.current.take() else {
            return Ok(false);
        };
        let acked = self.channel.basic_ack(current, BasicAckOptions::default());
        acked.await.map_err(|error| self.failed(error))?;
        Ok(true)
    }

    /// What was left is given back, and the queue asked behind that on the same channel, so that it is there again when this returns: the end of the
    /// channel gives it back as well, and no answer says when.
    async fn close(&mut self) -> Result<(), PublishError> {
        let everything = BasicNackOptions {
            multiple: true,
            requeue: true,
        };
        let passive = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let ended = async {
            self.channel.basic_nack(0, everything).await?;
            let asked = FieldTable::default();
            self.channel
                .queue_declare(self.name.clone(), passive, asked)
                .await?;
            self.channel.close(200, "done".into()).await
        };
        match ended.await {
            // It was deleted meanwhile, with what was left.
            Err(error) if failure::is_not_found(&error) => Ok(()),
            ended => ended.map_err(|error| self.failed(error)),
        }
    }
}
