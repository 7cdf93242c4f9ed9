//! Where messages are handled: the database of a service with its bills, and a store of what came in, in SQLite or in Postgres.

use std::{sync::Arc, time::Duration};

use outbox::{
    inbox::{Delivered, Dispatcher, HandlerError, Incoming, Intake, Processor},
    postgres_sqlx::{PostgresStore, SchemaName},
    publisher::Publisher,
    sqlite::{SqliteStore, connect_options},
    store::{OutboxOperator, OutboxStore},
};
use serde::Deserialize;
use sqlx::{AssertSqlSafe, PgConnection, PgPool, SqliteConnection, SqlitePool};
use tempfile::TempDir;

use crate::shop;

const URN: &str = "urn:babel:orders:created";

#[derive(Deserialize)]
struct OrderCreated {
    customer: String,
    number: i64,
}

/// What a handler wrote. Nothing in the table says that an id stands there once.
#[derive(Debug)]
pub(crate) struct Bill {
    pub(crate) id: String,
    pub(crate) customer: String,
    pub(crate) number: i64,
}

impl Bill {
    fn of((id, customer, number): (String, String, i64)) -> Self {
        Self {
            id,
            customer,
            number,
        }
    }
}

/// A service's database and the store of what came in.
pub(crate) trait Database: Sized {
    /// How many handlers may run at once.
    const CONCURRENCY: usize;

    /// Makes it.
    async fn make() -> Self;

    /// Opens what another process made.
    async fn open(place: &str) -> Self;

    /// What another process finds it by.
    fn place(&self) -> String;

    /// The store of what came in.
    fn incoming(&self) -> Arc<dyn OutboxStore>;

    /// Saves a delivery, whether its id is there already or not, so that nothing but the inbox of the service tells duplicates.
    async fn take(&self, incoming: Incoming);

    fn processor(&self) -> Arc<dyn Publisher>;

    /// Ends the leases of processes that are gone.
    async fn end_leases(&self);

    /// In the order of handling.
    async fn bills(&self) -> Vec<Bill>;

    /// How many ids the inbox has.
    async fn handled_ids(&self) -> usize;

    /// How much of what came in is not done.
    async fn pending(&self) -> u64;

    async fn leave(self);
}

/// Two files of a folder.
pub(crate) struct InSqlite {
    folder: Option<TempDir>,
    place: String,
    service: SqliteStore,
    incoming: SqliteStore,
}

impl InSqlite {
    async fn at(place: String, folder: Option<TempDir>) -> Self {
        let open = async |name: &str| {
            let options = connect_options(&format!("sqlite:{place}/{name}.db")).unwrap();
            let pool = SqlitePool::connect_with(options.create_if_missing(true));
            let pool = pool.await.unwrap();
            SqliteStore::migrate(&pool).await.unwrap();
            SqliteStore::open(pool).await.unwrap()
        };
        let (service, incoming) = (open("service").await, open("incoming").await);
        Self {
            folder,
            place,
            service,
            incoming,
        }
    }
}

impl Database for InSqlite {
    const CONCURRENCY: usize = 1;

    async fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display().to_string();
        let made = Self::at(place, Some(folder)).await;
        let bills = "create table bills (id text, customer text, number integer)";
        sqlx::query(bills)
            .execute(made.service.pool())
            .await
            .unwrap();
        made
    }

    async fn open(place: &str) -> Self {
        Self::at(place.to_owned(), None).await
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn incoming(&self) -> Arc<dyn OutboxStore> {
        Arc::new(self.incoming.clone())
    }

    async fn take(&self, incoming: Incoming) {
        let intake = Intake::new(self.incoming.clone()).remember(Duration::ZERO);
        intake.take(incoming).await.unwrap();
    }

    fn processor(&self) -> Arc<dyn Publisher> {
        let dispatcher = Dispatcher::new(()).on(
            URN,
            async |(): &(), tx: &mut SqliteConnection, order: Delivered<OrderCreated>| {
                sqlx::query("insert into bills (id, customer, number) values (?, ?, ?)")
                    .bind(order.id())
                    .bind(&order.data.customer)
                    .bind(order.data.number)
                    .execute(tx)
                    .await?;
                Ok::<_, HandlerError>(())
            },
        );
        let consumer = "billing".parse().unwrap();
        Arc::new(Processor::new(self.service.clone(), consumer, dispatcher))
    }

    async fn end_leases(&self) {
        let statement = "update outbox_lane set lease_until = 0 where holder is not null";
        let pool = self.incoming.pool();
        sqlx::query(statement).execute(pool).await.unwrap();
    }

    async fn bills(&self) -> Vec<Bill> {
        let bills = sqlx::query_as("select id, customer, number from bills order by rowid");
        let bills: Vec<_> = bills.fetch_all(self.service.pool()).await.unwrap();
        bills.into_iter().map(Bill::of).collect()
    }

    async fn handled_ids(&self) -> usize {
        let count = sqlx::query_scalar("select count(*) from outbox_inbox");
        let count: i64 = count.fetch_one(self.service.pool()).await.unwrap();
        usize::try_from(count).unwrap()
    }

    async fn pending(&self) -> u64 {
        self.incoming.status().await.unwrap().pending()
    }

    async fn leave(self) {
        self.service.pool().close().await;
        self.incoming.pool().close().await;
        drop(self.folder);
    }
}

/// Two schemas on the server that the tests share.
pub(crate) struct InPostgres {
    schema: SchemaName,
    pool: PgPool,
    service: PostgresStore,
    incoming: PostgresStore,
}

impl InPostgres {
    fn incoming_schema(schema: &SchemaName) -> SchemaName {
        format!("{}_in", schema.as_str()).parse().unwrap()
    }
}

impl Database for InPostgres {
    const CONCURRENCY: usize = 4;

    async fn make() -> Self {
        let place = format!("billing_{:016x}", rand::random::<u64>());
        let made = Self::open(&place).await;
        let bills =
            "create table outbox.bills (at bigserial, id text, customer text, number bigint)";
        shop::run(&made.pool, &made.schema, bills).await;
        made
    }

    async fn open(place: &str) -> Self {
        let schema: SchemaName = place.parse().unwrap();
        let pool = PgPool::connect(&shop::server()).await.unwrap();
        let service = shop::store_in(&pool, &schema).await;
        let incoming = shop::store_in(&pool, &Self::incoming_schema(&schema)).await;
        Self {
            schema,
            pool,
            service,
            incoming,
        }
    }

    fn place(&self) -> String {
        self.schema.as_str().to_owned()
    }

    fn incoming(&self) -> Arc<dyn OutboxStore> {
        Arc::new(self.incoming.clone())
    }

    async fn take(&self, incoming: Incoming) {
        let intake = Intake::new(self.incoming.clone()).remember(Duration::ZERO);
        intake.take(incoming).await.unwrap();
    }

    fn processor(&self) -> Arc<dyn Publisher> {
        let dispatcher = Dispatcher::new(self.schema.clone()).on(
            URN,
            async |schema: &SchemaName, tx: &mut PgConnection, order: Delivered<OrderCreated>| {
                let insert = "insert into outbox.bills (id, customer, number) values ($1, $2, $3)";
                sqlx::query(AssertSqlSafe(schema.apply(insert)))
                    .bind(order.id())
                    .bind(&order.data.customer)
                    .bind(order.data.number)
                    .execute(tx)
                    .await?;
                Ok::<_, HandlerError>(())
            },
        );
        let consumer = "billing".parse().unwrap();
        Arc::new(Processor::new(self.service.clone(), consumer, dispatcher))
    }

    async fn end_leases(&self) {
        let incoming = Self::incoming_schema(&self.schema);
        let statement = "update outbox.lane set lease_until = now() where holder is not null";
        shop::run(&self.pool, &incoming, statement).await;
    }

    async fn bills(&self) -> Vec<Bill> {
        let bills = "select id, customer, number from outbox.bills order by at";
        let bills = sqlx::query_as(AssertSqlSafe(self.schema.apply(bills)));
        let bills: Vec<_> = bills.fetch_all(&self.pool).await.unwrap();
        bills.into_iter().map(Bill::of).collect()
    }

    async fn handled_ids(&self) -> usize {
        let count = "select count(*) from outbox.inbox";
        let count = sqlx::query_scalar(AssertSqlSafe(self.schema.apply(count)));
        let count: i64 = count.fetch_one(&self.pool).await.unwrap();
        usize::try_from(count).unwrap()
    }

    async fn pending(&self) -> u64 {
        self.incoming.status().await.unwrap().pending()
    }

    async fn leave(self) {
        let incoming = Self::incoming_schema(&self.schema);
        for schema in [&self.schema, &incoming] {
            shop::drop_schema(&self.pool, schema).await;
        }
    }
}
