//! The task that hands one run to the publisher: guarded by the lease, the gate, a timeout, and against panics.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use outbox_message::{Delivery, LaneToken};
use outbox_publisher::{Publisher, Run};
use outbox_store::{OutboxStore, StoreError};
use tokio::time::{Instant, timeout};

use crate::{
    RelayConfig,
    clock::{Lease, WallClock},
    judge::End,
};

/// Everything one publish call needs.
pub(crate) struct Service {
    pub(crate) store: Arc<dyn OutboxStore>,
    pub(crate) publisher: Arc<dyn Publisher>,
    pub(crate) config: Arc<RelayConfig>,
    pub(crate) wall: WallClock,
    pub(crate) lease: Lease,
    pub(crate) token: LaneToken,
    pub(crate) careful: bool,
    pub(crate) destination: String,
    pub(crate) messages: Arc<[Delivery]>,
}

/// How the call ended, and when it began.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) began: Instant,
    pub(crate) end: End,
    /// The store said that the lane is no longer held.
    pub(crate) stale: bool,
    /// A start that could not be recorded.
    pub(crate) error: Option<StoreError>,
}

impl Service {
    /// Hands the run over, alone in the process if the lane is careful (contract F6).
    pub(crate) async fn serve(self) -> Served {
        let gate = self.config.gate.clone();
        if self.careful {
            let _alone = gate.lock().write().await;
            match self.start().await {
                Ok(true) => self.publish().await,
                Ok(false) => Served {
                    stale: true,
                    ..abandoned()
                },
                Err(error) => Served {
                    error: Some(error),
                    ..abandoned()
                },
            }
        } else {
            let _shared = gate.lock().read().await;
            self.publish().await
        }
    }

    /// Records the start of a careful run's message. `false` if the lane is no longer held.
    async fn start(&self) -> Result<bool, StoreError> {
        if self.lease.is_over(&self.wall) {
            return Ok(false);
        }
        self.store
            .starting(&self.token, self.messages[0].position)
            .await
    }

    /// Calls the publisher, unless the lease can have ended meanwhile (contract D2): the last look before the hand-over.
    async fn publish(&self) -> Served {
        if self.lease.is_over(&self.wall) {
            return abandoned();
        }
        let run = Run {
            destination: &self.destination,
            token: &self.token,
            messages: &self.messages,
        };
        let began = Instant::now();
        let call = AssertUnwindSafe(async { self.publisher.publish(run).await }).catch_unwind();
        let end = match timeout(self.config.publish_timeout, call).await {
            Ok(Ok(published)) => End::Answered(published),
            Ok(Err(panic)) => End::Panicked(text_of(&*panic)),
            Err(_) => End::TimedOut,
        };
        Served {
            began,
            end,
            stale: false,
            error: None,
        }
    }
}

/// Nothing was handed over.
fn abandoned() -> Served {
    Served {
        began: Instant::now(),
        end: End::Abandoned,
        stale: false,
        error: None,
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "no text".to_owned()
    }
}
