//! What the conformance suite needs of a publisher besides its port: a destination of its own for each test on a real server, what arrived there, and faults to strike it with.

use std::sync::Arc;

use outbox_message::{Message, Topic};
use outbox_publisher::{PublishErrorKind, Publisher};

use crate::PublisherCapabilities;

/// A destination on a real server that no other test sees, as a test drives it. Implemented once for each publisher, beside its
/// [`publisher_conformance!`](crate::publisher_conformance).
///
/// Whatever goes wrong in the harness itself panics: it is the test that failed. Its calls may block their thread.
pub trait PublisherHarness: Sized + Send + Sync + 'static {
    /// What this broker and its publisher can do that others cannot.
    const CAPABILITIES: PublisherCapabilities;

    /// Makes an empty destination, ready to be published to. Other tests may use the same server at the same time.
    fn start() -> impl Future<Output = Self> + Send;

    /// The same on a server of its own, which the test may strike with [`Fault::Killed`] and [`Fault::Frozen`]. What the server
    /// confirmed survives being killed, as it would in service.
    fn start_alone() -> impl Future<Output = Self> + Send;

    /// A topic whose messages go to the destination, whatever their key.
    fn topic(&self) -> Topic;

    /// Makes a publisher that has not spoken to the server yet. It reaches the server over what [`strike`](Self::strike) can
    /// cut, through [`Door::Plain`] and [`Door::Tls`] at least.
    fn publisher(&self, door: Door) -> Arc<dyn Publisher>;

    /// Everything that arrived at the destination since the start, in the broker's order, duplicates included. A second call gives
    /// the same again and what came since. It does not go the way that [`strike`](Self::strike) cuts, and is asked only while the server runs.
    fn received(&mut self) -> impl Future<Output = Vec<Received>> + Send;

    /// A message that the broker refuses with this kind, one of [`PublisherCapabilities::refusals`]. Without a key it must be refused
    /// with any key, and is put in the middle of runs as well.
    fn refused(&self, kind: PublishErrorKind) -> Message;

    /// Begins a fault, one at a time. It has begun when this returns.
    fn strike(&mut self, fault: Fault) -> impl Future<Output = ()> + Send;

    /// Ends the fault: the server runs and answers again, connections are accepted and carry everything, the destination exists.
    fn heal(&mut self) -> impl Future<Output = ()> + Send;

    /// What an error must name after [`Fault::Missing`], such as the queue.
    fn missing_name(&self) -> String;

    /// What no text may show: the passwords of all doors, the wrong one too.
    fn secrets(&self) -> Vec<String>;
}

/// How a publisher of the harness comes to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Door {
    /// Without TLS, with the right credentials if there are any.
    Plain,
    /// The same with credentials that the server refuses.
    WrongCredentials,
    /// Over TLS, trusting the authority that signed the server's certificate.
    Tls,
    /// Over TLS, without trust in that authority.
    UntrustedTls,
}

/// What goes wrong with a server, or on the way to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The server's processes are killed. Only after [`PublisherHarness::start_alone`].
    Killed,
    /// The server's processes are stopped; connections stay. Only after [`PublisherHarness::start_alone`].
    Frozen,
    /// Connections are dropped, and none is accepted.
    Refused,
    /// Connections stay and are accepted, and carry nothing in either direction.
    Stalled,
    /// What publishers send arrives; what the server answers does not come back.
    Unanswered,
    /// The connections of this moment are dropped; new ones are accepted.
    Cut,
    /// The connection over which publishers have sent so many bytes, counted from now, is dropped in the middle of them; what comes before arrives,
    /// what comes behind does not. Connections that are made later carry everything.
    CutAfter(u64),
    /// The destination is removed, with all that arrived there.
    Missing,
}

/// A message as a consumer gets it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Received {
    /// The message id, where there is a place for it.
    pub id: Option<String>,
    /// The key, where there is a place for it.
    pub key: Option<String>,
    /// The payload.
    pub payload: Vec<u8>,
    /// The headers that a consumer would take for the message's own, in the order they have at the consumer: without those that
    /// carry the parts of a message which have a field here.
    pub headers: Vec<(String, String)>,
    /// The content type, where there is a place for it.
    pub content_type: Option<String>,
}
