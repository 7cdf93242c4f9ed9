//! The publisher itself: a run is published message by message, many runs at once.

use std::{borrow::Cow, fmt, sync::Arc};

use async_trait::async_trait;
use lapin::types::ShortString;
use outbox_message::{Message, Topic};
use outbox_publisher::{PublishError, Published, Publisher, Run, TemplateField};

use crate::{
    InvalidUrl, MissingQueue, RabbitMqConfig, Target,
    channel::Verdict,
    connect::Connector,
    failure,
    link::Link,
    outgoing::{Outgoing, short},
};

/// How often a message is handed to another channel because others had its channel closed before it was sent.
const CHANNELS: usize = 5;

/// Publishes to queues or to an exchange of `RabbitMQ`. Must be used inside a tokio runtime.
///
/// Making one connects to nothing. The first message does, and so does the next one after the connection was lost. All runs
/// share the connection; a message is confirmed when the broker confirmed it and did not send it back.
#[derive(Clone)]
pub struct RabbitMqPublisher {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: Arc<RabbitMqConfig>,
    /// The broker's name for people.
    pub(crate) server: String,
    connector: Connector,
}

impl RabbitMqPublisher {
    /// Publishes to what the URL says: see [`RabbitMqConfig::from_url`].
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] if the URL is not understood. Whether the broker can be reached is not looked at.
    pub fn new(url: &str) -> Result<Self, InvalidUrl> {
        Self::with_config(RabbitMqConfig::from_url(url)?)
    }

    /// Publishes to what the configuration says.
    ///
    /// # Errors
    ///
    /// [`InvalidUrl`] if it says nothing that a publisher could do, or if its file of certificates cannot be read.
    pub fn with_config(config: RabbitMqConfig) -> Result<Self, InvalidUrl> {
        config.check()?;
        let authorities = config.authorities()?;
        let config = Arc::new(config);
        Ok(Self {
            inner: Arc::new(Inner {
                server: config.server(),
                connector: Connector::new(Arc::clone(&config), authorities),
                config,
            }),
        })
    }
}

impl Inner {
    pub(crate) async fn link(&self) -> Result<Arc<Link>, PublishError> {
        let link = self.connector.link().await;
        link.map_err(|why| failure::no_connection(&self.config, &why))
    }

    async fn publish(&self, message: &Message) -> Result<(), PublishError> {
        let link = self.link().await?;
        if let Some(reason) = link.blocked() {
            return Err(failure::blocked(&self.server, &reason));
        }
        let outgoing = Outgoing::new(&self.config.target, message, link.frame_max())?;
        let mut verdict = link.publish(outgoing.clone()).await;
        let mut declared = false;
        for _ in 0..CHANNELS {
            verdict = match verdict {
                Verdict::NotSent => self.link().await?.publish(outgoing.clone()).await,
                Verdict::Closed {
                    error,
                    alone: false,
                } if !failure::is_not_found(&error) => link.publish_alone(outgoing.clone()).await,
                Verdict::Returned(_) if self.declares() && !declared => {
                    declared = true;
                    self.queue(&link, &outgoing.routing_key, false).await?;
                    link.publish(outgoing.clone()).await
                }
                verdict => return self.judge(&outgoing, verdict),
            };
        }
        self.judge(&outgoing, verdict)
    }

    fn judge(&self, outgoing: &Outgoing, verdict: Verdict) -> Result<(), PublishError> {
        let server = &*self.server;
        let (exchange, routing_key) = (outgoing.exchange.as_str(), outgoing.routing_key.as_str());
        Err(match verdict {
            Verdict::Confirmed => return Ok(()),
            Verdict::Returned(reason) => match self.config.target {
                Target::Queue { .. } => failure::no_queue(server, routing_key),
                Target::Exchange { .. } => {
                    failure::unroutable(server, exchange, routing_key, &reason)
                }
            },
            Verdict::Refused => failure::refused(server, exchange, routing_key),
            Verdict::Closed { error, alone } if alone || failure::is_not_found(&error) => {
                failure::closed(server, exchange, error)
            }
            // Somebody else's message may have had the channel closed.
            Verdict::Closed { .. } | Verdict::NotSent => failure::interrupted(server),
            Verdict::Lost(error) => failure::lost(server, error),
            Verdict::Blocked(reason) => failure::blocked(server, &reason),
        })
    }

    fn declares(&self) -> bool {
        matches!(
            self.config.target,
            Target::Queue {
                missing: MissingQueue::Declare,
                ..
            }
        )
    }

    async fn queue(
        &self,
        link: &Link,
        name: &ShortString,
        passive: bool,
    ) -> Result<(), PublishError> {
        let looked = link.queue(name.clone(), passive).await;
        looked.map_err(|error| failure::not_usable(&self.server, "queue", name.as_str(), error))
    }

    async fn reach(&self) -> Result<Arc<Link>, PublishError> {
        let link = self.link().await?;
        match link.blocked() {
            Some(reason) => Err(failure::blocked(&self.server, &reason)),
            None => Ok(link),
        }
    }

    async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        let link = self.reach().await?;
        match &self.config.target {
            Target::Queue { queue, missing } => {
                let name = short("name of the queue", queue.of_topic(topic))?;
                match link.queue(name.clone(), true).await {
                    Err(error)
                        if failure::is_not_found(&error) && *missing == MissingQueue::Declare =>
                    {
                        Ok(())
                    }
                    looked => looked.map_err(|error| {
                        failure::not_usable(&self.server, "queue", name.as_str(), error)
                    }),
                }
            }
            Target::Exchange { exchange, .. } => {
                let name = short("name of the exchange", exchange.of_topic(topic))?;
                let looked = link.exchange(name.clone()).await;
                looked.map_err(|error| {
                    failure::not_usable(&self.server, "exchange", name.as_str(), error)
                })
            }
        }
    }
}

#[async_trait]
impl Publisher for RabbitMqPublisher {
    /// The server and the queue or the exchange, as these can be missing one by one.
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        let Inner { config, server, .. } = &*self.inner;
        let name = match &config.target {
            Target::Queue { queue, .. } => format!("{server} queue {}", queue.of_topic(topic)),
            Target::Exchange { exchange, .. } => {
                format!("{server} exchange {}", exchange.of_topic(topic))
            }
        };
        name.into()
    }

    fn has_one_destination(&self) -> bool {
        match &self.inner.config.target {
            Target::Queue { queue: name, .. } | Target::Exchange { exchange: name, .. } => {
                !name.uses(TemplateField::Topic)
            }
        }
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        for (confirmed, delivery) in run.messages.iter().enumerate() {
            if let Err(failure) = self.inner.publish(&delivery.message).await {
                return Published::failed(confirmed, failure);
            }
        }
        Published::all(run)
    }

    async fn reach(&self) -> Result<(), PublishError> {
        self.inner.reach().await.map(drop)
    }

    async fn check(&self, topic: &Topic) -> Result<(), PublishError> {
        self.inner.check(topic).await
    }
}

impl fmt::Debug for RabbitMqPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RabbitMqPublisher")
            .field("config", &self.inner.config)
            .finish_non_exhaustive()
    }
}
