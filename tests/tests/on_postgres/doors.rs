//! The two drivers as the relay side, and the four doors through which an application saves.

use std::sync::{Arc, Mutex};

use diesel::{
    Connection, PgConnection,
    connection::{AnsiTransactionManager as Blockingly, TransactionManager as _},
};
use diesel_async::{
    AnsiTransactionManager, AsyncPgConnection, TransactionManager as _,
    pooled_connection::{
        AsyncDieselConnectionManager,
        deadpool::{Object, Pool},
    },
};
use outbox::{
    Save,
    message::{Message, PartitionKey, Position},
    postgres_diesel::{self, sync::PostgresWriter},
    postgres_sqlx::{self, PostgresConfig},
    store::{Due, OutboxOperator, OutboxStore},
};
use sqlx::{Postgres, Transaction};

use crate::schema::{TestSchema, server_url};

/// A driver as the relay side.
pub(crate) trait Relays {
    type Store: OutboxStore + OutboxOperator + Clone;

    /// Opens the outbox of the schema, whose tables are there.
    fn open(schema: &TestSchema) -> impl Future<Output = Self::Store> + Send;
}

/// A way to save.
pub(crate) trait Door: 'static {
    type Writer: Clone + Send + Sync + 'static;
    type Transaction: Send;

    /// A writer to the outbox of the schema, whose tables are there.
    fn writer(schema: &TestSchema) -> impl Future<Output = Self::Writer> + Send;

    fn begin(writer: &Self::Writer) -> impl Future<Output = Self::Transaction> + Send;

    fn save(
        writer: &Self::Writer,
        tx: &mut Self::Transaction,
        save: Save<'_>,
    ) -> impl Future<Output = Position> + Send;

    fn end(tx: Self::Transaction, commit: bool) -> impl Future<Output = ()> + Send;
}

fn config(schema: &TestSchema) -> PostgresConfig {
    PostgresConfig {
        schema: schema.name.clone(),
        ..PostgresConfig::default()
    }
}

/// The server, for sessions of this test.
fn url(schema: &TestSchema) -> String {
    let server = server_url();
    let separator = if server.contains('?') { '&' } else { '?' };
    let application = &schema.application;
    format!("{server}{separator}application_name={application}-diesel")
}

/// sqlx.
pub(crate) struct Sqlx;

impl Relays for Sqlx {
    type Store = postgres_sqlx::PostgresStore;

    async fn open(schema: &TestSchema) -> Self::Store {
        let store = Self::Store::open_with(schema.pool_of("sqlx", 10), config(schema)).await;
        store.unwrap()
    }
}

impl Door for Sqlx {
    type Writer = postgres_sqlx::PostgresStore;
    type Transaction = Transaction<'static, Postgres>;

    async fn writer(schema: &TestSchema) -> Self::Writer {
        Self::open(schema).await
    }

    async fn begin(writer: &Self::Writer) -> Self::Transaction {
        writer.pool().begin().await.unwrap()
    }

    async fn save(writer: &Self::Writer, tx: &mut Self::Transaction, save: Save<'_>) -> Position {
        writer.save(tx, save).await.unwrap().position().unwrap()
    }

    async fn end(tx: Self::Transaction, commit: bool) {
        let ended = if commit {
            tx.commit().await
        } else {
            tx.rollback().await
        };
        ended.unwrap();
    }
}

/// The SQL function, called through sqlx.
pub(crate) struct Function;

impl Door for Function {
    /// A store for its pool, and the call.
    type Writer = (postgres_sqlx::PostgresStore, Arc<str>);
    type Transaction = Transaction<'static, Postgres>;

    async fn writer(schema: &TestSchema) -> Self::Writer {
        let call = schema.name.apply(
            "SELECT outbox.save($1, ''::bytea, key => $2, id => $3, due => clock_timestamp() + $4 * interval '1 ms')",
        );
        (Sqlx::open(schema).await, call.into())
    }

    async fn begin((store, _): &Self::Writer) -> Self::Transaction {
        Sqlx::begin(store).await
    }

    async fn save(
        (_, call): &Self::Writer,
        tx: &mut Self::Transaction,
        save: Save<'_>,
    ) -> Position {
        let Message { topic, key, id, .. } = save.message;
        let due = save.due.map(|due| match due {
            Due::After(delay) => i64::try_from(delay.as_millis()).unwrap(),
            Due::AtUnixMs(at) => panic!("nobody asks for {at}"),
        });
        let saved = sqlx::query_scalar(sqlx::AssertSqlSafe(call.to_string()))
            .bind(topic.as_str())
            .bind(key.as_ref().map(PartitionKey::as_str))
            .bind(id.as_str())
            .bind(due)
            .fetch_one(&mut **tx);
        Position(saved.await.unwrap())
    }

    async fn end(tx: Self::Transaction, commit: bool) {
        Sqlx::end(tx, commit).await;
    }
}

/// diesel-async.
pub(crate) struct Diesel;

impl Relays for Diesel {
    type Store = postgres_diesel::PostgresStore;

    async fn open(schema: &TestSchema) -> Self::Store {
        let manager = AsyncDieselConnectionManager::new(url(schema));
        let pool = Pool::builder(manager).max_size(10).build().unwrap();
        Self::Store::open_with(pool, config(schema)).await.unwrap()
    }
}

impl Door for Diesel {
    type Writer = postgres_diesel::PostgresStore;
    type Transaction = Object<AsyncPgConnection>;

    async fn writer(schema: &TestSchema) -> Self::Writer {
        Self::open(schema).await
    }

    async fn begin(writer: &Self::Writer) -> Self::Transaction {
        let mut connection = writer.pool().get().await.unwrap();
        let begun = AnsiTransactionManager::begin_transaction(&mut *connection).await;
        begun.unwrap();
        connection
    }

    async fn save(writer: &Self::Writer, tx: &mut Self::Transaction, save: Save<'_>) -> Position {
        writer.save(tx, save).await.unwrap().position().unwrap()
    }

    async fn end(mut tx: Self::Transaction, commit: bool) {
        let ended = if commit {
            AnsiTransactionManager::commit_transaction(&mut *tx).await
        } else {
            AnsiTransactionManager::rollback_transaction(&mut *tx).await
        };
        ended.unwrap();
    }
}

/// diesel on a connection that blocks, used on threads that may.
pub(crate) struct Blocking;

impl Door for Blocking {
    /// The writer, and where the server is.
    type Writer = (PostgresWriter, Arc<str>);
    type Transaction = Arc<Mutex<PgConnection>>;

    async fn writer(schema: &TestSchema) -> Self::Writer {
        (PostgresWriter::new(config(schema)), url(schema).into())
    }

    async fn begin((_, url): &Self::Writer) -> Self::Transaction {
        let url = Arc::clone(url);
        blocking(move || {
            let mut connection = PgConnection::establish(&url).unwrap();
            Blockingly::begin_transaction(&mut connection).unwrap();
            Arc::new(Mutex::new(connection))
        })
        .await
    }

    async fn save(
        (writer, _): &Self::Writer,
        tx: &mut Self::Transaction,
        save: Save<'_>,
    ) -> Position {
        let (writer, tx) = (writer.clone(), Arc::clone(tx));
        let (message, due) = (save.message.clone(), save.due);
        blocking(move || {
            let save = Save {
                due,
                ..Save::from(&message)
            };
            let saved = writer.save(&mut tx.lock().unwrap(), save).unwrap();
            saved.position().unwrap()
        })
        .await
    }

    async fn end(tx: Self::Transaction, commit: bool) {
        blocking(move || {
            let connection = &mut *tx.lock().unwrap();
            let ended = if commit {
                Blockingly::commit_transaction(connection)
            } else {
                Blockingly::rollback_transaction(connection)
            };
            ended.unwrap();
        })
        .await;
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
