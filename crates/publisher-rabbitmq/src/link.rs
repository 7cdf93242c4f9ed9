//! A connection and its channels: one for each exchange, which all runs to it share, and others for whatever must be alone.
//! Those of one exchange live and die together: if it is missing, it is missing for all of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use futures_util::{Stream, StreamExt};
use lapin::{
    Channel, Connection, Event, ExchangeKind, Result,
    options::{ConfirmSelectOptions, ExchangeDeclareOptions, QueueDeclareOptions},
    types::{FieldTable, ShortString},
};
use tokio::{
    sync::{OnceCell, watch},
    task::JoinSet,
};

use crate::{
    channel::{self, Entrance, Verdict},
    connect::lock,
    outgoing::Outgoing,
};

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    connection: Connection,
    channels: Mutex<HashMap<ShortString, Arc<OnceCell<Entrance>>>>,
    /// Why the broker takes nothing from publishers, while it does not.
    blocked: watch::Receiver<Option<String>>,
    /// What runs for this connection; it ends with it.
    tasks: Mutex<JoinSet<()>>,
}

impl Link {
    pub(crate) fn new(connection: Connection) -> Self {
        let (sender, blocked) = watch::channel(None);
        let mut tasks = JoinSet::new();
        tasks.spawn(watch_blocks(connection.events_listener(), sender));
        Self {
            connection,
            channels: Mutex::new(HashMap::new()),
            blocked,
            tasks: Mutex::new(tasks),
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.connection.status().connected()
    }

    /// The longest frame that the broker takes, in bytes.
    pub(crate) fn frame_max(&self) -> usize {
        usize::try_from(self.connection.configuration().frame_max()).unwrap_or(usize::MAX)
    }

    /// Why the broker takes nothing from publishers, if it does not.
    pub(crate) fn blocked(&self) -> Option<String> {
        self.blocked.borrow().clone()
    }

    /// Publishes over the channel that all runs to this exchange share.
    pub(crate) async fn publish(&self, outgoing: Outgoing) -> Verdict {
        let cell = self.shared(&outgoing.exchange);
        match cell.get_or_try_init(|| self.open()).await {
            Ok(entrance) => entrance.publish(outgoing).await,
            Err(error) => Verdict::Lost(error),
        }
    }

    /// Publishes over a channel of its own, so that whatever happens to the channel is the message's fault.
    pub(crate) async fn publish_alone(&self, outgoing: Outgoing) -> Verdict {
        match self.open().await {
            Ok(entrance) => entrance.publish(outgoing).await,
            Err(error) => Verdict::Lost(error),
        }
    }

    /// Looks whether a queue is there, or declares it if it is not: durable, and without arguments.
    pub(crate) async fn queue(&self, name: ShortString, passive: bool) -> Result<()> {
        let channel = self.connection.create_channel().await?;
        let options = QueueDeclareOptions {
            passive,
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let declared = channel.queue_declare(name, options, FieldTable::default());
        declared.await.map(drop)
    }

    /// A channel of its own to read a queue on, and how many messages are there.
    pub(crate) async fn read(&self, name: ShortString) -> Result<(Channel, u32)> {
        let channel = self.connection.create_channel().await?;
        let options = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let declared = channel.queue_declare(name, options, FieldTable::default());
        let count = declared.await?.message_count();
        Ok((channel, count))
    }

    /// Looks whether an exchange is there.
    pub(crate) async fn exchange(&self, name: ShortString) -> Result<()> {
        let channel = self.connection.create_channel().await?;
        let options = ExchangeDeclareOptions {
            passive: true,
            ..ExchangeDeclareOptions::default()
        };
        // The broker does not look at the kind when it is only asked whether the exchange is there.
        let kind = ExchangeKind::Direct;
        channel
            .exchange_declare(name, kind, options, FieldTable::default())
            .await
    }

    /// The place of the channel for an exchange; empty if there is none, or none any more.
    fn shared(&self, exchange: &ShortString) -> Arc<OnceCell<Entrance>> {
        let mut channels = lock(&self.channels);
        if let Some(cell) = channels.get(exchange)
            && !cell.get().is_some_and(Entrance::is_closed)
        {
            return Arc::clone(cell);
        }
        let cell = Arc::default();
        channels.insert(exchange.clone(), Arc::clone(&cell));
        cell
    }

    async fn open(&self) -> Result<Entrance> {
        let channel = self.connection.create_channel().await?;
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        let (entrance, task) = channel::new(channel, self.blocked.clone());
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
        Ok(entrance)
    }
}

/// Tells on when the broker blocks publishers and when it stops doing so.
async fn watch_blocks(
    events: impl Stream<Item = Event> + Send,
    blocked: watch::Sender<Option<String>>,
) {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        match event {
            Event::ConnectionBlocked(reason) => blocked.send_replace(Some(reason)),
            Event::ConnectionUnblocked => blocked.send_replace(None),
            _ => continue,
        };
    }
}
