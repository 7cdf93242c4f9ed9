//! The publisher itself: the port, over one pool of connections that all runs share. How one message goes out is in `sending.rs`.

use std::{borrow::Cow, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use outbox_message::{Delivery, Topic};
use outbox_publisher::{PublishError, Published, Publisher, Run, TemplateField};
use tokio::time::Instant;

use crate::{HttpConfig, InvalidUrl, answer, sending::Sender};

/// Publishes to an HTTP endpoint. Must be used inside a tokio runtime; clones share one pool of connections.
///
/// A message is confirmed by a status from 200 to 299. One that is not answered within the time that the configuration gives it fails
/// before a relay drops the call.
#[derive(Clone)]
pub struct HttpPublisher {
    sender: Arc<Sender>,
}

impl HttpPublisher {
    /// Makes a publisher of a URL such as `https://host/hooks/{topic}#secret_file=/run/secrets/hook`. It connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] names the part or the parameter that is wrong.
    pub fn new(url: &str) -> Result<Self, InvalidUrl> {
        Self::with_config(HttpConfig::from_url(url)?)
    }

    /// Makes a publisher of a configuration. It connects to nothing yet.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] names the field that is wrong, which is called as the parameter of a URL.
    pub fn with_config(config: HttpConfig) -> Result<Self, InvalidUrl> {
        let sender = Arc::new(Sender::new(config)?);
        Ok(Self { sender })
    }
}

impl fmt::Debug for HttpPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpPublisher")
            .field(&self.sender.config)
            .finish()
    }
}

#[async_trait]
impl Publisher for HttpPublisher {
    /// The server and the path, with the topic in it if topics go to different places.
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        self.sender.target.shown(topic).into()
    }

    fn has_one_destination(&self) -> bool {
        !self.sender.target.uses(TemplateField::Topic)
    }

    /// A run ends after the time of one request, and with it the body of an answer that has come.
    fn longest_call(&self) -> Duration {
        self.sender.config.timeout + answer::PATIENCE
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        let ends = Instant::now() + self.sender.config.timeout;
        for (confirmed, Delivery { message, .. }) in run.messages.iter().enumerate() {
            let ends = (confirmed > 0).then_some(ends);
            let published = self.sender.publish(message, run.destination, ends).await;
            if let Err(failure) = published {
                return Published::failed(confirmed, failure);
            }
        }
        Published::all(run)
    }

    /// Asks with `OPTIONS`, at the place that all topics have in common.
    async fn reach(&self) -> Result<(), PublishError> {
        self.sender.reach().await
    }

    /// Asks with `OPTIONS`, at the place of the topic. A receiver that does not know the method says yes.
    async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        self.sender.check(topic).await
    }
}
