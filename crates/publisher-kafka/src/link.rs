//! The client that all runs share: made when it is needed, by one of them at a time, and made anew when it can do no more.

use std::sync::{Arc, Mutex, PoisonError};

use rdkafka::{ClientConfig, error::KafkaError};
use tokio::sync::Mutex as Turn;

use crate::client::Client;

/// Gives out the client that there is, or makes one.
pub(crate) struct Link {
    settings: ClientConfig,
    current: Mutex<Option<Arc<Client>>>,
    /// Whoever holds it makes the client.
    turn: Turn<()>,
}

impl Link {
    pub(crate) fn new(settings: ClientConfig) -> Self {
        Self {
            settings,
            current: Mutex::new(None),
            turn: Turn::new(()),
        }
    }

    /// The client. Dropping this leaves the making to whoever asks next.
    pub(crate) async fn client(&self) -> Result<Arc<Client>, KafkaError> {
        if let Some(client) = self.current() {
            return Ok(client);
        }
        let _turn = self.turn.lock().await;
        if let Some(client) = self.current() {
            return Ok(client);
        }
        let client = Arc::new(Client::open(self.settings.clone()).await?);
        self.set_current(Some(Arc::clone(&client)));
        Ok(client)
    }

    /// Gives out this client no more. It ends when the last run that has it ends.
    pub(crate) fn forget(&self, client: &Arc<Client>) {
        let is_current = self.current().is_some_and(|it| Arc::ptr_eq(&it, client));
        if is_current {
            self.set_current(None);
        }
    }

    fn current(&self) -> Option<Arc<Client>> {
        let current = self.current.lock();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_current(&self, client: Option<Arc<Client>>) {
        let current = self.current.lock();
        *current.unwrap_or_else(PoisonError::into_inner) = client;
    }
}
