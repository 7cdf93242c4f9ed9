//! `Processor`: the publisher that hands messages to a handler instead of a broker, so that the relay's engine serves consumers too. What is tried again,
//! when, in which order and by whom is the relay's; here is one message in one transaction.

use std::{any::Any, borrow::Cow, fmt, future::Future, panic::AssertUnwindSafe, time::Duration};

use async_trait::async_trait;
use futures_util::FutureExt;
use outbox_message::{Delivery, Topic};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};
use outbox_store::{Consumer, Handled, InboxWriter, SaveError, StoreError, Transactions};
use tokio::time::{Instant, timeout_at};
use tracing::debug;

use crate::{Handler, HandlerError};

/// Handles the messages of a store, each in a transaction that also records its id: given to a relay in the place of a publisher.
///
/// Each message gets a transaction of `store`, the service's own database. It records the message id for `consumer`; if that was recorded before, the message
/// is a duplicate and done. Otherwise the handler runs in the transaction, and the commit is the confirmation: the relay then settles the message in its own
/// store. A crash between the two brings the message again, and it is a duplicate. So its effects in this database happen once for each id.
///
/// Not promised: effects outside of that transaction, such as a mail. They may happen again.
///
/// Lanes, leases, order for each key, backoff, dead letters and everything else about a retry are the relay's, with its settings. A topic is a destination: a
/// handler that says [`unavailable`](HandlerError::unavailable), and a database that cannot be reached, stop its topic until a probe succeeds, and no attempt is
/// counted.
///
/// ```no_run
/// use outbox_engine::Relay;
/// use outbox_inbox::{Dispatcher, Processor};
/// # use outbox_store_memory::{MemoryStore, MemoryTx};
///
/// # async fn example(service: MemoryStore, incoming: MemoryStore, dispatcher: Dispatcher<(), MemoryTx>) -> Result<(), Box<dyn std::error::Error>> {
/// let processor = Processor::new(service, "billing".parse()?, dispatcher);
/// Relay::new(incoming, processor).run(std::future::pending()).await?;
/// # Ok(())
/// # }
/// ```
pub struct Processor<S, H> {
    store: S,
    consumer: Consumer,
    handler: H,
    timeout: Duration,
}

impl<S, H> Processor<S, H> {
    /// Handles messages for `consumer` in transactions of `store`, with a timeout of 8 s.
    ///
    /// Choose the consumer's name once: under another name everything is handled again that comes again.
    pub fn new(store: S, consumer: Consumer, handler: H) -> Self {
        Self {
            store,
            consumer,
            handler,
            timeout: Duration::from_secs(8),
        }
    }

    /// How long handling one message may take, from the begin of its transaction to its commit. Then the transaction is dropped, and a failure is counted.
    /// With an eighth of it more it must fit into the relay's publish timeout (10 s unless configured), otherwise the relay refuses to start.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

impl<S, H> Processor<S, H>
where
    S: Transactions + InboxWriter<<S as Transactions>::Tx>,
    H: Handler<S::Tx>,
{
    /// One message in one transaction.
    async fn process(&self, delivery: &Delivery) -> Result<(), PublishError> {
        let takes = self.handler.takes(delivery);
        if !takes.map_err(HandlerError::into_publish_error)? {
            return Ok(());
        }
        let until = Instant::now() + self.timeout;
        let mut open = self.begin(until).await?;

        let id = &delivery.message.id;
        let once = self
            .store
            .once(self.store.tx(&mut open), &self.consumer, id);
        match in_time(until, once).await {
            // Dropped, it is rolled back; the other transaction need not be waited for.
            None => return Err(self.contended()),
            Some(Ok(Handled::First)) => {}
            Some(Ok(Handled::Duplicate)) => {
                debug!(consumer = %self.consumer, %id, "a message was handled before");
                self.roll_back(until, open).await;
                return Ok(());
            }
            Some(Err(error)) => {
                self.roll_back(until, open).await;
                return Err(unrecorded(error));
            }
        }

        // The block ends the handler's borrow of the transaction, and its future with it.
        let handled = {
            let handling = self.handler.handle(self.store.tx(&mut open), delivery);
            let handling = AssertUnwindSafe(handling).catch_unwind();
            in_time(until, handling).await
        };
        match handled {
            Some(Ok(Ok(()))) => self.commit(until, open).await,
            Some(Ok(Err(error))) => {
                self.roll_back(until, open).await;
                self.failed(until, error).await
            }
            Some(Err(panic)) => {
                self.roll_back(until, open).await;
                let text = format!("the handler panicked: {}", text_of(&*panic));
                Err(counted(text))
            }
            None => Err(self.timed_out("handler")),
        }
    }

    async fn begin(&self, until: Instant) -> Result<S::Open, PublishError> {
        let Some(begun) = in_time(until, self.store.begin()).await else {
            let text = format!("no transaction was begun within {:?}", self.timeout);
            return Err(PublishError::new(PublishErrorKind::Unavailable, text));
        };
        begun.map_err(unavailable)
    }

    async fn commit(&self, until: Instant, open: S::Open) -> Result<(), PublishError> {
        match in_time(until, self.store.commit(open)).await {
            Some(Ok(())) => Ok(()),
            // Whether it committed, `once` tells when the message comes again.
            Some(Err(error)) => {
                let error = HandlerError::caused("the transaction was not committed", error);
                self.failed(until, error).await
            }
            None => Err(self.timed_out("commit")),
        }
    }

    /// A failure after which the database cannot be reached says nothing about the message: it is the outage that failed.
    async fn failed(&self, until: Instant, error: HandlerError) -> Result<(), PublishError> {
        if error.may_be_an_outage()
            && let Some(begun) = in_time(until, self.store.begin()).await
        {
            let open = begun.map_err(unavailable)?;
            self.roll_back(until, open).await;
        }
        Err(error.into_publish_error())
    }

    /// Rolls back. If that takes too long the transaction is dropped, which rolls it back as well.
    async fn roll_back(&self, until: Instant, open: S::Open) {
        in_time(until, self.store.rollback(open)).await;
    }

    fn contended(&self) -> PublishError {
        let text = format!(
            "another transaction handled the same message for {:?}",
            self.timeout
        );
        PublishError::new(PublishErrorKind::Interrupted, text)
    }

    fn timed_out(&self, what: &str) -> PublishError {
        counted(format!("the {what} did not end within {:?}", self.timeout))
    }
}

async fn in_time<T>(until: Instant, work: impl Future<Output = T>) -> Option<T> {
    timeout_at(until, work).await.ok()
}

fn counted(text: String) -> PublishError {
    PublishError::new(PublishErrorKind::Unknown, text)
}

fn unavailable(error: StoreError) -> PublishError {
    PublishError::new(
        PublishErrorKind::Unavailable,
        "the handlers' database is unavailable",
    )
    .with_source(error)
}

/// The id was not recorded. That says nothing about the message, whose handler did not run.
fn unrecorded(error: SaveError) -> PublishError {
    let kind = match error {
        SaveError::Conflict(_) | SaveError::Busy { .. } => PublishErrorKind::Interrupted,
        _ => PublishErrorKind::Unavailable,
    };
    PublishError::new(kind, "the message id was not recorded").with_source(error)
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

#[async_trait]
impl<S, H> Publisher for Processor<S, H>
where
    S: Transactions + InboxWriter<<S as Transactions>::Tx>,
    H: Handler<S::Tx>,
{
    /// The topic: what its handlers need may be away while other topics go on.
    fn destination<'a>(&'a self, topic: &'a Topic) -> Cow<'a, str> {
        format!("handlers of {topic}").into()
    }

    fn has_one_destination(&self) -> bool {
        false
    }

    /// So that a call ends by itself, and says how, before the relay drops it.
    fn longest_call(&self) -> Duration {
        self.timeout.saturating_add(self.timeout / 8)
    }

    /// One message, so that each has its own time.
    fn longest_run(&self) -> usize {
        1
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        for (confirmed, delivery) in run.messages.iter().enumerate() {
            if let Err(error) = self.process(delivery).await {
                return Published::failed(confirmed, error);
            }
        }
        Published::all(run)
    }

    async fn reach(&self) -> Result<(), PublishError> {
        let until = Instant::now() + self.timeout;
        let open = self.begin(until).await?;
        self.roll_back(until, open).await;
        Ok(())
    }
}

impl<S, H> fmt::Debug for Processor<S, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Processor")
            .field("consumer", &self.consumer)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
