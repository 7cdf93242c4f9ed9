//! The connection that all runs share: made when it is needed, by one of them at a time.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use outbox_publisher::PublishError;
use tokio::sync::Mutex as Turn;

use crate::{
    NatsConfig,
    connection::{ConnectError, Connection},
};

/// Gives out the connection that there is, or makes one.
pub(crate) struct Link {
    current: Mutex<Option<Arc<Connection>>>,
    /// Whoever holds it makes the connection; the others wait for what becomes of it. It holds how the last attempt failed.
    turn: Turn<Option<ConnectError>>,
    /// How many attempts have ended: by it those who waited know that one was made for them.
    attempts: AtomicU64,
}

impl Link {
    pub(crate) fn new() -> Self {
        Self {
            current: Mutex::new(None),
            turn: Turn::new(None),
            attempts: AtomicU64::new(0),
        }
    }

    /// The connection. If there is none, one attempt is made for all who ask meanwhile. Dropping this leaves the attempt to
    /// the next of them.
    pub(crate) async fn connection(
        &self,
        config: &NatsConfig,
    ) -> Result<Arc<Connection>, PublishError> {
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let seen = self.attempts.load(Ordering::Acquire);
        let mut turn = self.turn.lock().await;
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        if let Some(failure) = &*turn
            && self.attempts.load(Ordering::Acquire) != seen
        {
            return Err(failure.clone().into());
        }
        let opened = Connection::open(config).await;
        let result = match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
                *current = Some(Arc::clone(&connection));
                *turn = None;
                Ok(connection)
            }
            Err(failure) => {
                *turn = Some(failure.clone());
                Err(failure.into())
            }
        };
        self.attempts.fetch_add(1, Ordering::AcqRel);
        result
    }

    fn current(&self) -> Option<Arc<Connection>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if !current.as_ref()?.is_alive() {
            *current = None;
        }
        current.clone()
    }
}
