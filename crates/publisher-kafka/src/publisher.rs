//! The publisher itself: the port, over two clients that all runs share. How one run goes out is in `sending.rs`.

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::Topic;
use outbox_publisher::{PublishError, Published, Publisher, Run, TemplateField};

use crate::{InvalidUrl, KafkaConfig, sending::Sending, target::Target};

/// Publishes to Kafka. Must be used inside a tokio runtime; clones share their connections.
///
/// A message is confirmed when the broker said so that leads its partition, after all replicas in sync had it.
#[derive(Clone)]
pub struct KafkaPublisher {
    target: Arc<Target>,
}

impl KafkaPublisher {
    /// Makes a publisher of a URL such as `kafka://host:9092/events.{topic}`. It connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] names the part or the parameter that is wrong.
    pub fn new(url: &str) -> Result<Self, InvalidUrl> {
        Self::with_config(KafkaConfig::from_url(url)?)
    }

    /// Makes a publisher of a configuration. It connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] names the field that is wrong, which is called as the parameter of a URL.
    pub fn with_config(config: KafkaConfig) -> Result<Self, InvalidUrl> {
        config.check()?;
        Ok(Self {
            target: Arc::new(Target::new(config)),
        })
    }
}

impl fmt::Debug for KafkaPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KafkaPublisher")
            .field(&self.target.config)
            .finish()
    }
}

#[async_trait]
impl Publisher for KafkaPublisher {
    /// The brokers, and the topic of Kafka if topics go to different ones.
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        let Target {
            config, address, ..
        } = &*self.target;
        if self.has_one_destination() {
            Cow::from(&**address)
        } else {
            format!("{address} {}", config.topic.of_topic(topic)).into()
        }
    }

    fn has_one_destination(&self) -> bool {
        !self.target.config.topic.uses(TemplateField::Topic)
    }

    /// By then the fate of every record is known: nothing is handed over after the first message timeout, and none lives longer than another.
    fn longest_call(&self) -> Duration {
        self.target.config.message_timeout.saturating_mul(2)
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        // A run is of one ordering key, and so of one topic.
        let topic = match self.target.topic(&run.messages[0].message.topic) {
            Ok(topic) => topic,
            Err(failure) => return Published::failed(0, failure),
        };
        Sending::new(&self.target, &topic).publish(run).await
    }

    async fn reach(&self) -> Result<(), PublishError> {
        self.target.reach().await
    }

    async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        self.target.check(topic).await
    }
}
