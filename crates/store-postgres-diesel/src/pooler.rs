//! Connecting through a pooler that gives each transaction another server connection. Diesel-async prepares statements when it connects, outside of
//! a transaction, and a pooler may carry each half of that to another server: here it is one transaction.

use std::{error::Error as _, pin::pin};

use diesel::{ConnectionError, ConnectionResult};
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, select},
};
use tokio_postgres::NoTls;

/// Makes a connection through a pooler in transaction mode, such as pgbouncer, without TLS: for the
/// [`custom_setup`](diesel_async::pooled_connection::ManagerConfig::custom_setup) of a pool's manager.
///
/// ```
/// use diesel_async::{
///     AsyncPgConnection,
///     pooled_connection::{AsyncDieselConnectionManager, ManagerConfig, RecyclingMethod, deadpool::Pool},
/// };
/// use outbox_store_postgres_diesel::connect_through_pooler;
///
/// let mut config = ManagerConfig::default();
/// config.recycling_method = RecyclingMethod::Fast;
/// config.custom_setup = Box::new(connect_through_pooler);
/// let url = "postgres://app@localhost:6432/shop";
/// let manager = AsyncDieselConnectionManager::<AsyncPgConnection>::new_with_config(url, config);
/// let pool = Pool::builder(manager).build()?;
/// # drop(pool);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn connect_through_pooler(url: &str) -> BoxFuture<'_, ConnectionResult<AsyncPgConnection>> {
    connect(url).boxed()
}

async fn connect(url: &str) -> ConnectionResult<AsyncPgConnection> {
    let connected = tokio_postgres::connect(url, NoTls).await;
    let (client, mut connection) = connected.map_err(|error| refused(&error))?;
    // The client gets its answers while its connection is polled.
    match select(pin!(client.batch_execute("BEGIN")), &mut connection).await {
        Either::Left((began, _)) => began.map_err(|error| refused(&error))?,
        Either::Right((Err(error), _)) => return Err(refused(&error)),
        Either::Right((Ok(()), _)) => {
            let closed = "the connection was closed".to_owned();
            return Err(ConnectionError::BadConnection(closed));
        }
    }
    let mut connection =
        AsyncPgConnection::try_from_client_and_connection(client, connection).await?;
    let committed = connection.batch_execute("COMMIT").await;
    committed.map_err(ConnectionError::CouldntSetupConfiguration)?;
    Ok(connection)
}

/// What the server said stands in the source.
fn refused(error: &tokio_postgres::Error) -> ConnectionError {
    let said = error
        .source()
        .map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
    ConnectionError::BadConnection(said)
}
