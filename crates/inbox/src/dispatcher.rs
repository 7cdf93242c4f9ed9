//! `Dispatcher`: handlers by URN and schema version, and what becomes of messages that have none.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    time::Duration,
};

use async_trait::async_trait;
use outbox_envelope::{Poison, Received};
use outbox_message::Delivery;
use serde::de::DeserializeOwned;

use crate::{
    Handler, HandlerError, HandlerFn,
    function::{Erased, Typed},
};

/// Hands each envelope to the function that is registered for its URN, with its data read by serde.
///
/// What is [poison](Poison) never reaches a function: it is a dead letter at once, its bytes kept, with the verdict as its reason. So is an envelope whose
/// data cannot be read as the type of its function.
///
/// ```
/// use outbox_inbox::{Delivered, Dispatcher, HandlerError};
/// use outbox_message::Message;
/// use outbox_store_memory::{MemoryStore, MemoryTx};
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct OrderCreated {
///     id: i64,
/// }
///
/// struct Billing {
///     outbox: MemoryStore,
/// }
///
/// impl Billing {
///     async fn order_created(&self, tx: &mut MemoryTx, order: Delivered<OrderCreated>) -> Result<(), HandlerError> {
///         let bill = Message::new("bills", format!("the bill of order {}", order.data.id))?;
///         self.outbox.save(tx, &bill).await?;
///         Ok(())
///     }
/// }
///
/// let billing = Billing { outbox: MemoryStore::new() };
/// let dispatcher = Dispatcher::new(billing).on("urn:babel:orders:created", Billing::order_created);
/// ```
pub struct Dispatcher<S, Tx: ?Sized> {
    service: S,
    functions: HashMap<String, Versions<S, Tx>>,
    unknown_urn: UnknownUrn,
}

/// The functions of one URN.
struct Versions<S, Tx: ?Sized> {
    each: BTreeMap<i64, Box<dyn Erased<S, Tx>>>,
    any: Option<Box<dyn Erased<S, Tx>>>,
}

/// What becomes of an envelope for whose URN, or schema version, no function is registered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnknownUrn {
    /// A counted failure: a deployment may bring the function before the attempts are spent.
    #[default]
    Fail,
    /// It is done without a function. Nothing is recorded of it.
    Delete,
    /// It is tried again after this long, uncounted, however often. The relay caps it (7 days unless configured). Its key waits.
    Release(Duration),
    /// It is a dead letter at once.
    DeadLetter,
}

impl<S: Send + Sync + 'static, Tx: ?Sized + Send + 'static> Dispatcher<S, Tx> {
    /// A dispatcher without functions. `service` is what they all get by reference.
    pub fn new(service: S) -> Self {
        Self {
            service,
            functions: HashMap::new(),
            unknown_urn: UnknownUrn::default(),
        }
    }

    /// The same dispatcher with a function for envelopes of `urn`, whatever their schema version is, or without any.
    ///
    /// # Panics
    ///
    /// If there is one already.
    #[must_use]
    pub fn on<T, F>(mut self, urn: impl Into<String>, function: F) -> Self
    where
        T: DeserializeOwned + 'static,
        F: for<'a> HandlerFn<'a, S, Tx, T> + 'static,
    {
        let urn = urn.into();
        let any = &mut self.versions(&urn).any;
        assert!(any.is_none(), "{urn} has a function already");
        *any = Some(Box::new(Typed::<F, T>::new(function)));
        self
    }

    /// The same dispatcher with a function for envelopes of `urn` that have this schema version. It comes before one for any version.
    ///
    /// # Panics
    ///
    /// If there is one already.
    #[must_use]
    pub fn on_version<T, F>(mut self, urn: impl Into<String>, version: i64, function: F) -> Self
    where
        T: DeserializeOwned + 'static,
        F: for<'a> HandlerFn<'a, S, Tx, T> + 'static,
    {
        let urn = urn.into();
        let function = Box::new(Typed::<F, T>::new(function));
        let before = self.versions(&urn).each.insert(version, function);
        assert!(
            before.is_none(),
            "schema version {version} of {urn} has a function already"
        );
        self
    }

    /// The same dispatcher with this answer to envelopes that have no function.
    #[must_use]
    pub fn unknown_urn(self, unknown_urn: UnknownUrn) -> Self {
        Self {
            unknown_urn,
            ..self
        }
    }

    fn versions(&mut self, urn: &str) -> &mut Versions<S, Tx> {
        self.functions.entry(urn.to_owned()).or_insert(Versions {
            each: BTreeMap::new(),
            any: None,
        })
    }

    fn function(&self, received: &Received<'_>) -> Option<&dyn Erased<S, Tx>> {
        let versions = self.functions.get(&*received.urn)?;
        let version = received.schema_version;
        let exact = version.and_then(|version| versions.each.get(&version));
        exact.or(versions.any.as_ref()).map(|function| &**function)
    }

    fn missing(&self, received: &Received<'_>) -> HandlerError {
        let urn = &received.urn;
        HandlerError::new(match received.schema_version {
            Some(version) if self.functions.contains_key(&**urn) => {
                format!("no handler for schema version {version} of {urn}")
            }
            None if self.functions.contains_key(&**urn) => {
                format!("no handler for {urn} without a schema version")
            }
            _ => format!("no handler for {urn}"),
        })
    }
}

fn read(delivery: &Delivery) -> Result<Received<'_>, HandlerError> {
    Received::read(&delivery.message.payload).map_err(poisoned)
}

fn poisoned(poison: Poison) -> HandlerError {
    HandlerError::caused("the payload is poison", poison).permanent()
}

#[async_trait]
impl<S: Send + Sync + 'static, Tx: ?Sized + Send + 'static> Handler<Tx> for Dispatcher<S, Tx> {
    fn takes(&self, delivery: &Delivery) -> Result<bool, HandlerError> {
        let received = read(delivery)?;
        if self.function(&received).is_some() {
            return Ok(true);
        }
        let missing = self.missing(&received);
        match self.unknown_urn {
            UnknownUrn::Fail => Err(missing),
            UnknownUrn::Delete => Ok(false),
            UnknownUrn::Release(after) => Err(missing.later(after)),
            UnknownUrn::DeadLetter => Err(missing.permanent()),
        }
    }

    async fn handle(&self, tx: &mut Tx, delivery: &Delivery) -> Result<(), HandlerError> {
        let handling = {
            let received = read(delivery)?;
            let function = self
                .function(&received)
                .ok_or_else(|| self.missing(&received))?;
            function.call(&self.service, tx, &received, delivery)?
        };
        handling.await
    }
}

impl<S, Tx: ?Sized> fmt::Debug for Dispatcher<S, Tx> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatcher")
            .field("urns", &self.functions.keys())
            .field("unknown_urn", &self.unknown_urn)
            .finish_non_exhaustive()
    }
}
