//! Connecting: one attempt at a time, which all who need a connection wait for, and which cannot hang.

use std::{
    fmt, io, mem,
    net::Shutdown,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use lapin::{
    Connection, ConnectionProperties,
    tcp::{AMQPUriTcpExt, AsyncTcpStream, OwnedTLSConfig, TLSConfig},
    uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo},
};
use socket2::{SockRef, Socket};
use tokio::time::timeout;

use crate::{RabbitMqConfig, failure::NoConnection, link::Link};

/// What the broker shows operators as the name of our connections.
const CONNECTION_NAME: &str = "outbox relay";

/// Makes connections, one at a time.
pub(crate) struct Connector {
    config: Arc<RabbitMqConfig>,
    tls: OwnedTLSConfig,
    /// The last attempt, under way or over.
    attempt: Mutex<Option<Attempt>>,
}

type Attempt = Shared<BoxFuture<'static, Result<Arc<Link>, NoConnection>>>;

impl Connector {
    pub(crate) fn new(config: Arc<RabbitMqConfig>, authorities: Option<String>) -> Self {
        Self {
            config,
            tls: OwnedTLSConfig {
                identity: None,
                cert_chain: authorities,
            },
            attempt: Mutex::new(None),
        }
    }

    /// A connection that lives as far as is known. An attempt that fails fails for all who wait for it; the next call begins
    /// another. Dropping the future leaves the attempt to the others.
    pub(crate) async fn link(&self) -> Result<Arc<Link>, NoConnection> {
        let attempt = {
            let mut current = lock(&self.attempt);
            match &*current {
                Some(attempt) if is_of_use(attempt) => attempt.clone(),
                _ => {
                    let attempt = connect(Arc::clone(&self.config), self.tls.clone());
                    let attempt = attempt.boxed().shared();
                    *current = Some(attempt.clone());
                    attempt
                }
            }
        };
        attempt.await
    }
}

/// Whether it is under way, or made a connection that lives.
fn is_of_use(attempt: &Attempt) -> bool {
    match attempt.peek() {
        None => true,
        Some(Ok(link)) => link.is_alive(),
        Some(Err(_)) => false,
    }
}

async fn connect(
    config: Arc<RabbitMqConfig>,
    tls: OwnedTLSConfig,
) -> Result<Arc<Link>, NoConnection> {
    let socket = OpenSocket::default();
    let connected = timeout(
        config.connect_timeout,
        handshake(&config, tls, Arc::clone(&socket.0)),
    )
    .await;
    match connected {
        Ok(Ok(connection)) => {
            socket.keep();
            Ok(Arc::new(Link::new(connection)))
        }
        Ok(Err(error)) => Err(NoConnection::Failed(error)),
        Err(_) => Err(NoConnection::TimedOut),
    }
}

async fn handshake(
    config: &RabbitMqConfig,
    tls: OwnedTLSConfig,
    socket: Arc<Mutex<State>>,
) -> lapin::Result<Connection> {
    let name = CONNECTION_NAME.as_bytes().to_vec();
    // No recovery by the client: the relay publishes again what was not confirmed, on a new connection.
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let secure = config.tls.is_some();
    let patience = config.connect_timeout;
    Connection::connector(
        uri(config),
        lapin::runtime::default_runtime()?,
        async move |uri, runtime| {
            // The client's thread waits for this, and nothing else would end it.
            let stream = uri.connect_with_config_async(TLSConfig::default(), &runtime);
            let stream = timeout(patience, stream).await.map_err(io::Error::from)??;
            if let AsyncTcpStream::Plain(stream) = &stream {
                open(&socket, SockRef::from(stream.get_ref()).try_clone()?)?;
            }
            if !secure {
                return Ok(stream);
            }
            Ok(stream.into_tls(&uri.authority.host, tls.as_ref()).await?)
        },
        properties,
    )
    .await
}

/// The client's own form of the address. TLS is ours to begin, so it is told of none.
fn uri(config: &RabbitMqConfig) -> AMQPUri {
    AMQPUri {
        scheme: AMQPScheme::AMQP,
        authority: AMQPAuthority {
            userinfo: AMQPUserInfo {
                username: config.user.clone(),
                password: config.password.clone(),
            },
            host: config.host.clone(),
            port: config.port,
        },
        vhost: config.vhost.clone(),
        query: AMQPQueryString {
            heartbeat: u16::try_from(config.heartbeat.as_secs()).ok(),
            ..AMQPQueryString::default()
        },
    }
}

/// The socket of an attempt. When an attempt is given up its socket is shut down: that ends the client's thread, which would
/// wait for ever for a server that accepts and says nothing.
#[derive(Default)]
struct OpenSocket(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    #[default]
    NoneYet,
    Open(Socket),
    GivenUp,
}

impl OpenSocket {
    /// The connection stands: it keeps its socket.
    fn keep(&self) {
        *lock(&self.0) = State::NoneYet;
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        if let State::Open(socket) = mem::replace(&mut *lock(&self.0), State::GivenUp) {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// # Errors
///
/// The attempt was given up.
fn open(state: &Mutex<State>, socket: Socket) -> io::Result<()> {
    let mut state = lock(state);
    if matches!(*state, State::GivenUp) {
        return Err(io::ErrorKind::TimedOut.into());
    }
    *state = State::Open(socket);
    Ok(())
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is inside is whole at every moment, so a panic elsewhere does not spoil it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
