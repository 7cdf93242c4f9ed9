//! The job of a message. Its handler is the publisher: it publishes nowhere.

use std::time::Duration;

use graphile_worker::{IntoTaskHandlerResult, TaskHandler, WorkerContext};
use peer_protocol::Order;
use serde::{Deserialize, Serialize};

/// Publishes a message.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Publish(pub(crate) Order);

/// What every handler reaches.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    pub(crate) round_trip: Duration,
}

impl TaskHandler for Publish {
    const IDENTIFIER: &'static str = "publish";

    async fn run(self, context: WorkerContext) -> impl IntoTaskHandlerResult {
        let publisher = context.get_ext::<Publisher>();
        let publisher = publisher.expect("the worker was made with it");
        if !publisher.round_trip.is_zero() {
            tokio::time::sleep(publisher.round_trip).await;
        }
        Ok::<(), String>(())
    }
}
