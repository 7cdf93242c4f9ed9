//! The publisher itself: the port, over one connection that all runs share. How one run goes out is in `sending.rs`.

use std::{borrow::Cow, fmt, sync::Arc};

use async_trait::async_trait;
use outbox_message::{Delivery, Topic};
use outbox_publisher::{PublishError, Published, Publisher, Run};

use crate::{InvalidUrl, NatsConfig, link::Link, sending::Sending, target::Target};

/// Publishes to NATS JetStream. Must be used inside a tokio runtime; clones share one connection.
///
/// A message is confirmed when a stream has numbered it, or said that it has one of this id already. How long an answer may
/// take is the caller's to decide, who drops the publish then; a connection that is dead is noticed within 9 s.
#[derive(Clone)]
pub struct NatsPublisher {
    pub(crate) target: Arc<Target>,
    pub(crate) link: Arc<Link>,
}

impl NatsPublisher {
    /// Makes a publisher of a URL such as `nats://host:4222?subject=events.{topic}`. It connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] names the part or the parameter that is wrong.
    pub fn new(url: &str) -> Result<Self, InvalidUrl> {
        Self::with_config(NatsConfig::from_url(url)?)
    }

    /// Makes a publisher of a configuration. It connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] names the field that is wrong, which is called as the parameter of a URL.
    pub fn with_config(config: NatsConfig) -> Result<Self, InvalidUrl> {
        config.check()?;
        Ok(Self {
            target: Arc::new(Target::new(config)),
            link: Arc::new(Link::new()),
        })
    }
}

impl fmt::Debug for NatsPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NatsPublisher")
            .field(&self.target.config)
            .finish()
    }
}

#[async_trait]
impl Publisher for NatsPublisher {
    /// The servers, and where a topic goes if topics go to different subjects.
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        let Target {
            config, address, ..
        } = &*self.target;
        if config.subject.has_topic() {
            format!("{address} {}", config.subject.of_topic(topic)).into()
        } else {
            Cow::from(&**address)
        }
    }

    fn has_one_destination(&self) -> bool {
        !self.target.config.subject.has_topic()
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let connection = match self.link.connection(&self.target.config).await {
            Ok(connection) => connection,
            Err(failure) => return Published::failed(0, failure),
        };
        let mut sending = Sending::new(&self.target, connection.asker(), run);
        for (confirmed, Delivery { message, .. }) in run.messages.iter().enumerate() {
            if let Err(failure) = sending.publish(message).await {
                return Published::failed(confirmed, failure);
            }
        }
        Published::all(run)
    }

    async fn reach(&self) -> Result<(), PublishError> {
        self.link.connection(&self.target.config).await.map(drop)
    }

    async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        let connection = self.link.connection(&self.target.config).await?;
        self.target.check(&mut connection.asker(), topic).await
    }
}
