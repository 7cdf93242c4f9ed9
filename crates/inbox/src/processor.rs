//! `Processor`: the publisher that hands messages to a handler instead of a broker, so that the relay's engine serves consumers too. What is tried again,
//! when, in which order and by whom is the relay's; here is one message in one transaction.

use std::{any::Any, borrow::Cow, fmt, future::Future, panic::AssertUnwindSafe, time::Duration};

use async_trait::async_trait;
use futures_util::FutureExt;
use outbox_message::{Delivery, MessageId, Topic};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};
use outbox_store::{Consumer, Handled, InboxWriter, SaveError, StoreError, Transactions};
use tokio::time::{Instant, timeout_at};
use tracing::debug;

use crate::{Handler, HandlerError};

/// When a message comes again that was not handled, or not known to be, for no fault of its own.
const SOON: Duration = SECOND;

const SECOND: Duration = Duration::from_secs(1);

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
/// Each handler that runs has a connection of `store`, so the relay's `concurrency` (64 unless configured) should not exceed those of its pool.
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
    /// Handles messages for `consumer` in transactions of `store`, with a timeout of 8 s for the handler.
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

    /// How long the handler of one message may take. Then its transaction is dropped, and a failure is counted.
    ///
    /// Waiting is not the handler's time, and is not counted: if the transaction was not begun, and the id recorded, within a sixteenth of `timeout` (0.5 s at
    /// least), the handler is not started, and the message comes again a second later; if no transaction was begun within `timeout` (0.5 s at least), the
    /// database is unavailable. After the handler the commit, or the rollback, gets an eighth of `timeout` (1 s at least).
    ///
    /// With a quarter of it more (2 s at least) it must fit into the relay's publish timeout (10 s unless configured), otherwise the relay refuses to start.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The time of a call that is not the handler's: a quarter of it to wait, half of it to finish, and a quarter to spare, so that the call ends by itself
    /// and says how. With a least, since a database is not faster where handlers are.
    fn rest(&self) -> Duration {
        (self.timeout / 4).max(2 * SECOND)
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
        match self.open(&delivery.message.id).await? {
            Some(open) => self.handle(open, delivery).await,
            None => Ok(()),
        }
    }

    /// A transaction that recorded the id. `None` if it was recorded before.
    async fn open(&self, id: &MessageId) -> Result<Option<S::Open>, PublishError> {
        let start = Instant::now();
        let until = start + self.timeout.max(self.rest() / 4);
        let mut open = self.begin(until).await?;
        let once = self
            .store
            .once(self.store.tx(&mut open), &self.consumer, id);
        match in_time(until, once).await {
            // Dropped, it is rolled back; the other transaction need not be waited for.
            None => return Err(self.contended()),
            Some(Ok(Handled::First)) => {}
            Some(Ok(Handled::Duplicate)) => {
                debug!(consumer = %self.consumer, %id, "a message was handled before");
                self.roll_back(self.end(), open).await;
                return Ok(None);
            }
            Some(Err(error)) => {
                self.roll_back(self.end(), open).await;
                return Err(unrecorded(error));
            }
        }
        // The handler gets its whole time or none: the wait says nothing about the message.
        let waited = start.elapsed();
        if waited > self.rest() / 4 {
            self.roll_back(self.end(), open).await;
            let text = format!("the handler was not started, after a wait of {waited:?}");
            return Err(interrupted(text));
        }
        Ok(Some(open))
    }

    async fn handle(&self, mut open: S::Open, delivery: &Delivery) -> Result<(), PublishError> {
        // The block ends the handler's borrow of the transaction, and its future with it.
        let handled = {
            let handling = self.handler.handle(self.store.tx(&mut open), delivery);
            let handling = AssertUnwindSafe(handling).catch_unwind();
            in_time(Instant::now() + self.timeout, handling).await
        };
        let end = self.end();
        match handled {
            Some(Ok(Ok(()))) => self.commit(end, open, &delivery.message.id).await,
            Some(Ok(Err(error))) => {
                self.roll_back(end, open).await;
                self.failed(end, error).await
            }
            Some(Err(panic)) => {
                self.roll_back(end, open).await;
                let text = format!("the handler panicked: {}", text_of(&*panic));
                Err(counted(text))
            }
            None => {
                let text = format!("the handler did not end within {:?}", self.timeout);
                Err(counted(text))
            }
        }
    }

    /// When what is left to do is to be done.
    fn end(&self) -> Instant {
        Instant::now() + self.rest() / 2
    }

    async fn begin(&self, until: Instant) -> Result<S::Open, PublishError> {
        let Some(begun) = in_time(until, self.store.begin()).await else {
            let text = "the handlers' database did not begin a transaction in time";
            return Err(PublishError::new(PublishErrorKind::Unavailable, text));
        };
        begun.map_err(unavailable)
    }

    async fn commit(
        &self,
        end: Instant,
        open: S::Open,
        id: &MessageId,
    ) -> Result<(), PublishError> {
        match in_time(end, self.store.commit(open)).await {
            Some(Ok(())) => Ok(()),
            Some(Err(error @ StoreError::Unusable { .. })) => {
                self.failed(end, uncommitted(error)).await
            }
            Some(Err(error)) => self.committed(end, id, error).await,
            None => Err(interrupted("the commit did not end in time".to_owned())),
        }
    }

    /// Whether a commit happened that ended with `error`: `once` tells. Counted is only what is known not to have happened: on the last attempt it would bury
    /// a message that was handled. And that has to be counted, or a message that breaks a deferred constraint would come for ever.
    async fn committed(
        &self,
        end: Instant,
        id: &MessageId,
        error: StoreError,
    ) -> Result<(), PublishError> {
        let mut open = self.begin(end).await?;
        let once = self
            .store
            .once(self.store.tx(&mut open), &self.consumer, id);
        let Some(Ok(handled)) = in_time(end, once).await else {
            let text = "whether the transaction was committed is not known yet".to_owned();
            return Err(interrupted(text).with_source(error));
        };
        self.roll_back(end, open).await;
        match handled {
            Handled::Duplicate => Ok(()),
            Handled::First => Err(uncommitted(error).into_publish_error()),
        }
    }

    /// A failure after which the database cannot be reached says nothing about the message: it is the outage that failed.
    async fn failed(&self, end: Instant, error: HandlerError) -> Result<(), PublishError> {
        if error.may_be_an_outage() {
            let open = self.begin(end).await?;
            self.roll_back(end, open).await;
        }
        Err(error.into_publish_error())
    }

    /// Rolls back. If that takes too long the transaction is dropped, which rolls it back as well.
    async fn roll_back(&self, end: Instant, open: S::Open) {
        in_time(end, self.store.rollback(open)).await;
    }

    fn contended(&self) -> PublishError {
        interrupted(format!(
            "another transaction handled the same message for {:?}",
            self.timeout
        ))
    }
}

async fn in_time<T>(until: Instant, work: impl Future<Output = T>) -> Option<T> {
    timeout_at(until, work).await.ok()
}

fn counted(text: String) -> PublishError {
    PublishError::new(PublishErrorKind::Unknown, text)
}

/// It says nothing about the message, which comes again soon.
fn interrupted(text: String) -> PublishError {
    PublishError::new(PublishErrorKind::Interrupted, text).with_retry_after(SOON)
}

fn uncommitted(error: StoreError) -> HandlerError {
    HandlerError::caused("the transaction was not committed", error)
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

    /// The handler's time, and what `timeout` says is on top of it. A wait that is too long for a handler to be started has the handler's time.
    fn longest_call(&self) -> Duration {
        self.timeout.saturating_add(self.rest())
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
        self.roll_back(self.end(), open).await;
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
