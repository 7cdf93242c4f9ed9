//! The shape of the consumer's half, as the compiler sees it: which connections a call infers, and which functions are handlers.

use diesel_async::AsyncPgConnection;
use outbox::{
    Envelope, Message, Outbox,
    inbox::{Delivered, Dispatcher, HandlerError, Inbox, Once, Processor},
    postgres_diesel, postgres_sqlx,
    publisher::Publisher,
    store::{Consumer, SaveError},
};

fn is_a_publisher(_: impl Publisher) {}

fn is_shared<T: Clone + Send + Sync + 'static>() {}

#[test]
fn the_connections_of_each_adapter_are_inferred() {
    async fn sqlx_tx(
        inbox: &Inbox<postgres_sqlx::PostgresStore>,
        tx: &mut sqlx::Transaction<'static, sqlx::Postgres>,
        consumer: &Consumer,
    ) -> Result<Once, SaveError> {
        let _: Once = inbox.once(tx, consumer, Some("m-1")).await?;
        inbox.once(&mut **tx, consumer, "m-1").await
    }
    async fn diesel_async_tx(
        inbox: &Inbox<postgres_diesel::PostgresStore>,
        tx: &mut AsyncPgConnection,
        consumer: &Consumer,
    ) -> Result<Once, SaveError> {
        inbox.once(tx, consumer, "m-1").await
    }
    fn diesel_tx(
        inbox: &Inbox<postgres_diesel::sync::PostgresWriter>,
        tx: &mut diesel::PgConnection,
        consumer: &Consumer,
    ) -> Result<Once, SaveError> {
        inbox.once_sync(tx, consumer, "m-1")
    }
    let _ = (sqlx_tx, diesel_async_tx, diesel_tx);
    is_shared::<Inbox<postgres_sqlx::PostgresStore>>();
}

/// A service whose handlers run on connections of diesel-async.
struct Service {
    outbox: Outbox<postgres_diesel::PostgresStore>,
}

impl Service {
    async fn answer(
        &self,
        tx: &mut AsyncPgConnection,
        asked: Delivered<std::collections::BTreeMap<String, i64>>,
    ) -> Result<(), HandlerError> {
        let envelope = Envelope::make("urn:babel:answered", &asked.data)?;
        self.outbox.write(tx, envelope, asked.id()).await?;
        Ok(())
    }

    async fn answer_in_bytes(
        &self,
        tx: &mut AsyncPgConnection,
        asked: Delivered<std::collections::BTreeMap<String, i64>>,
    ) -> Result<(), SaveError> {
        let answer =
            Message::new("answers", format!("{:?}", asked.data)).map_err(SaveError::Invalid)?;
        self.outbox.save(tx, &answer).await?;
        Ok(())
    }
}

#[test]
fn methods_and_closures_of_any_error_are_handlers() {
    fn processor(store: postgres_diesel::PostgresStore, consumer: Consumer) {
        let outbox = Outbox::new(store.clone());
        let dispatcher = Dispatcher::new(Service { outbox })
            .on("urn:babel:asked", Service::answer)
            .on_version("urn:babel:asked", 2, Service::answer_in_bytes)
            .on(
                "urn:babel:other",
                async |_: &Service, _: &mut AsyncPgConnection, other: Delivered<()>| match other
                    .attempts
                {
                    0 => Err(HandlerError::new("not at the first attempt")),
                    _ => Ok(()),
                },
            );
        is_a_publisher(Processor::new(store, consumer, dispatcher));
    }
    let _ = processor;
}
