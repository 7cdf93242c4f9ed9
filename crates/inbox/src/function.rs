//! Functions as handlers: any `async fn(&Service, &mut Tx, Delivered<T>) -> Result<(), E>`, and how its data is read.

use std::{any::type_name, future::Future, marker::PhantomData, pin::Pin};

use outbox_envelope::Received;
use outbox_message::Delivery;
use serde::de::DeserializeOwned;

use crate::{Delivered, HandlerError, missing};

/// What an asynchronous handler is while it runs.
pub type Handling<'a> = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send + 'a>>;

/// A function that handles envelopes whose data is a `T`. Methods of a service are, and so are async closures without captures:
///
/// ```
/// # use outbox_inbox::{Delivered, Dispatcher, HandlerError};
/// # use outbox_store_memory::MemoryTx as Tx;
/// # struct Order; struct Shop;
/// impl Shop {
///     async fn created(&self, tx: &mut Tx, order: Delivered<Order>) -> Result<(), HandlerError> {
///         Ok(())
///     }
/// }
/// # impl<'de> serde::Deserialize<'de> for Order { fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> { Ok(Self) } }
/// let dispatcher = Dispatcher::new(Shop)
///     .on("urn:babel:orders:created", Shop::created)
///     .on("urn:babel:orders:paid", async |shop: &Shop, tx: &mut Tx, order: Delivered<Order>| {
///         Ok::<_, HandlerError>(())
///     });
/// ```
///
/// It need not be implemented by hand.
pub trait HandlerFn<'a, S: ?Sized, Tx: ?Sized, T>: Send + Sync {
    /// Calls the function.
    fn call(&self, service: &'a S, tx: &'a mut Tx, delivered: Delivered<T>) -> Handling<'a>;
}

impl<'a, F, Fut, S, Tx, T, E> HandlerFn<'a, S, Tx, T> for F
where
    F: Fn(&'a S, &'a mut Tx, Delivered<T>) -> Fut + Send + Sync,
    Fut: Future<Output = Result<(), E>> + Send + 'a,
    S: ?Sized + 'a,
    Tx: ?Sized + 'a,
    E: Into<HandlerError>,
{
    fn call(&self, service: &'a S, tx: &'a mut Tx, delivered: Delivered<T>) -> Handling<'a> {
        let handling = self(service, tx, delivered);
        Box::pin(async move { handling.await.map_err(Into::into) })
    }
}

/// A function whose type of data is forgotten, so that functions of many can stand in one table.
pub(crate) trait Erased<S: ?Sized, Tx: ?Sized>: Send + Sync {
    fn call<'a>(
        &self,
        service: &'a S,
        tx: &'a mut Tx,
        received: &Received<'_>,
        delivery: &Delivery,
    ) -> Result<Handling<'a>, HandlerError>;
}

pub(crate) struct Typed<F, T> {
    function: F,
    data: PhantomData<fn() -> T>,
}

impl<F, T> Typed<F, T> {
    pub(crate) fn new(function: F) -> Self {
        Self {
            function,
            data: PhantomData,
        }
    }
}

impl<F, T, S, Tx> Erased<S, Tx> for Typed<F, T>
where
    F: for<'a> HandlerFn<'a, S, Tx, T>,
    T: DeserializeOwned,
    S: ?Sized,
    Tx: ?Sized,
{
    fn call<'a>(
        &self,
        service: &'a S,
        tx: &'a mut Tx,
        received: &Received<'_>,
        delivery: &Delivery,
    ) -> Result<Handling<'a>, HandlerError> {
        let data = match received.data {
            "null" => missing::read().map_err(|error| unreadable::<T>("there is none", &error)),
            text => serde_json::from_str(text).map_err(|error| {
                let place = format!("line {} column {}", error.line(), error.column());
                unreadable::<T>(&place, &error)
            }),
        }?;
        let delivered = Delivered::new(data, received, delivery);
        Ok(self.function.call(service, tx, delivered))
    }
}

/// Where and as what data could not be read. What serde says else may repeat values, which errors must not.
fn unreadable<T>(place: &str, error: &serde_json::Error) -> HandlerError {
    let text = error.to_string();
    let about_fields = ["missing field `", "duplicate field `"];
    let names_a_field = about_fields.iter().any(|it| text.starts_with(it));
    let said = if names_a_field { &text } else { place };
    HandlerError::new(format!(
        "the data cannot be read as {}: {said}",
        type_name::<T>()
    ))
    .permanent()
}
