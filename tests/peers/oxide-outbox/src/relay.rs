//! What stands around the relay: a publisher that does nothing, and a storage that counts what was recorded.

use std::time::Duration;

use async_trait::async_trait;
use outbox_core::prelude::{Event, EventId, EventStatus, OutboxError, OutboxStorage, Transport};
use outbox_postgres::PostgresOutbox;
use peer_protocol::{Done, Order};

/// Publishes nowhere.
pub(crate) struct Publisher {
    pub(crate) round_trip: Duration,
}

#[async_trait]
impl Transport<Order> for Publisher {
    async fn publish(&self, _: Event<Order>) -> Result<(), OutboxError> {
        if !self.round_trip.is_zero() {
            tokio::time::sleep(self.round_trip).await;
        }
        Ok(())
    }
}

/// Passes everything on, and tells what was recorded.
pub(crate) struct Recorded {
    pub(crate) storage: PostgresOutbox<Order>,
    pub(crate) done: Done,
}

#[async_trait]
impl OutboxStorage<Order> for Recorded {
    async fn fetch_next_to_process(&self, limit: u32) -> Result<Vec<Event<Order>>, OutboxError> {
        self.storage.fetch_next_to_process(limit).await
    }

    async fn update_status(&self, ids: &[EventId], status: EventStatus) -> Result<(), OutboxError> {
        self.storage.update_status(ids, status).await?;
        self.done.add(ids.len().try_into().expect("a length fits"));
        Ok(())
    }

    async fn delete_garbage(&self) -> Result<(), OutboxError> {
        self.storage.delete_garbage().await
    }

    async fn wait_for_notification(&self, channel: &str) -> Result<(), OutboxError> {
        self.storage.wait_for_notification(channel).await
    }
}
