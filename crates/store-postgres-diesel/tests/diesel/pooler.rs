//! Behind a pooler in transaction mode, where each transaction of a client may have another session of the server.

use diesel_async::{
    AsyncConnection, AsyncPgConnection,
    pooled_connection::{
        AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod, deadpool::Pool,
    },
};
use futures_util::future::try_join_all;
use outbox_store::{OutboxStore, SaveError};
use outbox_store_postgres_diesel::{
    Connection, PostgresConfig, PostgresStore, StoreError, connect_through_pooler,
};
use outbox_test_servers::{Options, PgBouncer, Postgres};

use crate::scratch::{message, request};

/// How many sessions the clients share.
const SESSIONS: u32 = 2;
const CLIENTS: usize = 8;
const MESSAGES: usize = 20;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Diesel(#[from] diesel::result::Error),
    #[error(transparent)]
    Save(#[from] SaveError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[tokio::test]
async fn d3_more_clients_than_sessions_save_and_claim_behind_a_pooler() {
    let cluster = Postgres::find().unwrap().start(Options::default()).unwrap();
    let pooler = PgBouncer::start(&cluster, SESSIONS).unwrap();
    let url = pooler.url("postgres");
    let store = open(&url).await;
    let clients = (0..CLIENTS).map(|client| work(&url, &store, client));
    try_join_all(clients).await.unwrap();

    let mut connection = connect_through_pooler(&url).await.unwrap();
    let pending = connection
        .transaction(async |connection| Ok::<_, Error>(store.pending(connection).await?))
        .await;
    assert_eq!(pending.unwrap().len(), CLIENTS * MESSAGES);
}

async fn open(url: &str) -> PostgresStore {
    let mut config = ManagerConfig::default();
    config.recycling_method = RecyclingMethod::Fast;
    config.custom_setup = Box::new(connect_through_pooler);
    let manager = AsyncDieselConnectionManager::<AsyncPgConnection>::new_with_config(url, config);
    let pool = Pool::builder(manager).max_size(CLIENTS).build().unwrap();
    PostgresStore::migrate(&pool).await.unwrap();
    let config = PostgresConfig {
        connection: Connection::Pooler,
        ..PostgresConfig::default()
    };
    PostgresStore::open_with(pool, config).await.unwrap()
}

/// Makes a connection, saves on it, and claims beside it, time and again.
async fn work(url: &str, store: &PostgresStore, client: usize) -> Result<(), Error> {
    let order = message(&format!("client-{client}"));
    for _ in 0..MESSAGES {
        let mut connection = connect_through_pooler(url).await.unwrap();
        connection
            .transaction(async |connection| {
                store.save(connection, &order).await?;
                Ok::<_, Error>(())
            })
            .await?;
        store.claim(&request()).await?;
    }
    Ok(())
}
