//! The relay as a user starts it: one round, until nothing is ready, or until told to stop.

use std::{future::Future, sync::Arc};

use outbox_publisher::Publisher;
use outbox_store::OutboxStore;
use tokio::sync::Notify;

use crate::{
    InvalidConfig, RelayConfig, RelayError, Report,
    clock::WallClock,
    driver::{Driver, Mode},
};

/// Moves messages from a store to a broker.
///
/// Any number of relays may work on one store, in one process or in many; they share its lanes.
///
/// ```no_run
/// # use outbox_engine::{Relay, RelayError};
/// # async fn example(store: impl outbox_store::OutboxStore, publisher: impl outbox_publisher::Publisher) -> Result<(), RelayError> {
/// let relay = Relay::new(store, publisher);
/// let report = relay.drain().await?;
/// println!("{} messages published", report.published);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Relay {
    store: Arc<dyn OutboxStore>,
    publisher: Arc<dyn Publisher>,
    config: Arc<RelayConfig>,
    waker: Waker,
    wall: WallClock,
}

impl Relay {
    /// A relay with the default settings.
    ///
    /// They fit each other. A publisher whose calls may take longer than they wait for is refused when the relay begins.
    pub fn new(store: impl OutboxStore, publisher: impl Publisher) -> Self {
        Self::build(store, publisher, RelayConfig::default())
    }

    /// A relay with these settings.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] if the settings do not fit each other, or not the time that the publisher's calls may take.
    pub fn with_config(
        store: impl OutboxStore,
        publisher: impl Publisher,
        config: RelayConfig,
    ) -> Result<Self, InvalidConfig> {
        config.check()?;
        config.check_call(publisher.longest_call())?;
        Ok(Self::build(store, publisher, config))
    }

    fn build(store: impl OutboxStore, publisher: impl Publisher, config: RelayConfig) -> Self {
        Self {
            store: Arc::new(store),
            publisher: Arc::new(publisher),
            config: Arc::new(config),
            waker: Waker::default(),
            wall: WallClock::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn with_wall_clock(self, wall: WallClock) -> Self {
        Self { wall, ..self }
    }

    /// One round: one claim, published and settled.
    ///
    /// # Errors
    ///
    /// [`RelayError`] if the store or the publisher cannot be used.
    pub async fn flush(&self) -> Result<Report, RelayError> {
        self.driver(Mode::Flush)?
            .drive(std::future::pending())
            .await
    }

    /// Rounds until nothing is ready. A message that is due at once is tried again, at most to its limit; one that
    /// waits, be it for the transient delay, is not ready and lets the drain end.
    ///
    /// # Errors
    ///
    /// [`RelayError`] if the store or the publisher cannot be used.
    pub async fn drain(&self) -> Result<Report, RelayError> {
        self.driver(Mode::Drain)?
            .drive(std::future::pending())
            .await
    }

    /// Works until `stop` completes, then stops gracefully within the grace time (contract D4).
    ///
    /// A database that does not answer is asked again for ever. A call that is not answered within the lease has failed.
    ///
    /// # Errors
    ///
    /// [`RelayError`] if the store or the publisher cannot be used at all.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) -> Result<Report, RelayError> {
        self.driver(Mode::Run)?.drive(stop).await
    }

    /// A handle that wakes this relay: an application may use it after its commit. Only a hint, never needed.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn driver(&self, mode: Mode) -> Result<Driver, RelayError> {
        let fits = self.config.check_call(self.publisher.longest_call());
        fits.map_err(RelayError::Settings)?;
        Ok(Driver::new(
            Arc::clone(&self.store),
            Arc::clone(&self.publisher),
            Arc::clone(&self.config),
            self.waker.clone(),
            self.wall.clone(),
            mode,
        ))
    }
}

/// Wakes a relay that sleeps because it found nothing.
#[derive(Debug, Clone, Default)]
pub struct Waker(Arc<Notify>);

impl Waker {
    /// Makes the relay look at once. A relay that is busy looks once more afterwards.
    pub fn wake(&self) {
        self.0.notify_one();
    }

    pub(crate) async fn woken(&self) {
        self.0.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        borrow::Cow,
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering},
        },
        time::{Duration, SystemTime},
    };

    use async_trait::async_trait;
    use outbox_message::{Message, Topic};
    use outbox_publisher::{Published, Run};
    use outbox_store_memory::MemoryStore;
    use outbox_testkit::ScriptedPublisher;

    use super::*;

    /// A publisher whose calls take their time.
    #[derive(Debug)]
    struct Slow(ScriptedPublisher);

    #[async_trait]
    impl Publisher for Slow {
        fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
            self.0.destination(topic)
        }

        fn longest_call(&self) -> Duration {
            RelayConfig::default().publish_timeout + Duration::from_millis(1)
        }

        async fn publish(&self, run: Run<'_>) -> Published {
            self.0.publish(run).await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn d1_a_publisher_whose_calls_would_be_dropped_is_refused_with_the_default_settings_too()
    {
        let (store, broker) = (MemoryStore::manual(), ScriptedPublisher::new());
        let mut tx = store.begin();
        store
            .save(&mut tx, &Message::new("orders", "").unwrap())
            .await
            .unwrap();
        tx.commit();
        let relay = || Relay::new(store.clone(), Slow(broker.clone()));
        let ends = [
            relay().flush().await,
            relay().drain().await,
            relay().run(std::future::pending()).await,
        ];
        for end in ends {
            assert!(matches!(end, Err(RelayError::Settings(_))), "{end:?}");
        }
        assert_eq!(broker.handed(), []);
        let typed = Relay::with_config(store, Slow(broker), RelayConfig::default());
        assert!(typed.is_err());
    }

    /// A machine that is suspended stops the monotonic clock, and the wall clock tells.
    #[tokio::test(start_paused = true)]
    async fn d2_a_lease_also_ends_by_the_wall_clock() {
        let (store, broker) = (MemoryStore::manual(), ScriptedPublisher::new());
        let mut tx = store.begin();
        store
            .save(&mut tx, &Message::new("orders", "").unwrap())
            .await
            .unwrap();
        tx.commit();
        broker.hold_all();
        let (jumped, zero) = (Arc::new(AtomicU64::new(0)), SystemTime::now());
        let wall = {
            let jumped = Arc::clone(&jumped);
            WallClock::new(move || zero + Duration::from_secs(jumped.load(Ordering::SeqCst)))
        };
        let relay = Relay::new(store, broker.clone()).with_wall_clock(wall);
        let work = tokio::spawn(async move { relay.flush().await });
        broker.begun(1).await;
        jumped.store(40, Ordering::SeqCst);
        let report = work.await.unwrap().unwrap();
        assert!(broker.handed()[0].abandoned);
        assert_eq!((report.published, report.lost), (0, 1));
    }
}
