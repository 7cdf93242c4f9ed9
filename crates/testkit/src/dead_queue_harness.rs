//! What the suite for dead-letter queues needs besides the port: queues of its own for each test on a real server, and what stands in them.

use std::sync::Arc;

use outbox_message::{Message, Topic};
use outbox_publisher::DeadQueues;

/// Queues on a real server that no other test sees. Implemented once for each broker, beside its
/// [`dead_queue_conformance!`](crate::dead_queue_conformance).
///
/// Whatever goes wrong in the harness itself panics: it is the test that failed.
pub trait DeadQueueHarness: Sized + Send + Sync + 'static {
    /// Whether two who read at once are given the same dead letter.
    const SHARED: bool;

    /// Makes an empty dead-letter queue and an empty source, ready to be published to.
    fn start() -> impl Future<Output = Self> + Send;

    /// The topic whose queue has the dead letters.
    fn dead(&self) -> Topic;

    /// A topic that they may return to.
    fn source(&self) -> Topic;

    /// A topic that nothing can be published to at the moment.
    fn missing(&self) -> Topic;

    /// The broker, not spoken to before, over what [`cut`](Self::cut) can cut.
    fn queues(&self) -> Arc<dyn DeadQueues>;

    /// Puts messages into the queue of their topic, in their order.
    fn put(&mut self, messages: &[Message]) -> impl Future<Output = ()> + Send;

    /// The payloads that stand in the queue of a topic, in its order. They stay there.
    fn look(&mut self, topic: &Topic) -> impl Future<Output = Vec<String>> + Send;

    /// How many stand there, without taking any even for a moment.
    fn count(&mut self, topic: &Topic) -> impl Future<Output = usize> + Send {
        async { self.look(topic).await.len() }
    }

    /// Drops the connections of this moment; new ones are accepted.
    fn cut(&mut self) -> impl Future<Output = ()> + Send;
}
