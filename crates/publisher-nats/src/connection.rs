//! One connection: made once, asked as long as it lasts, and never made again by the client behind it.
//!
//! A client that connects again by itself would then send what it still holds: messages that the relay has given up by now,
//! maybe to another relay. So its only attempt to connect again is refused by its own callback, which ends it.

use std::{
    error::Error,
    future::ready,
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_nats::{
    AuthError, Client, ConnectErrorKind, ConnectOptions, HeaderMap, Message, Request, RequestError,
    RequestErrorKind, Subject,
    rustls::{self, CertificateError, ClientConfig},
};
use bytes::Bytes;
use outbox_publisher::{PublishError, PublishErrorKind};
use tokio::{sync::watch, time::timeout};

use crate::{
    NatsConfig,
    config::with_port,
    login::Login,
    signals::{self, Signals},
    tls,
};

/// A connection on which nothing comes is asked for a sign of life so often. The third time without one ends it, which is
/// before a relay's publish timeout (10 s).
const SIGN_OF_LIFE: Duration = Duration::from_secs(3);

/// A connection that was made.
pub(crate) struct Connection {
    client: Client,
    signals: Arc<watch::Sender<Signals>>,
}

/// Why no connection was made, for all who waited for it.
#[derive(Debug, Clone)]
pub(crate) struct ConnectError {
    text: String,
    refused: bool,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// Why a request was not answered.
#[derive(Debug)]
pub(crate) enum AskError {
    /// The connection has ended; the request may have arrived.
    Over(String),
    /// The server does not let us publish there.
    Forbidden,
    /// Nobody takes what is published there.
    Nobody,
    /// It is more than the server takes at once, in bytes.
    TooLarge { limit: usize },
    /// The client refused it.
    Client(RequestError),
}

impl Connection {
    /// Tries the servers in their order.
    pub(crate) async fn open(config: &NatsConfig) -> Result<Self, ConnectError> {
        let login = Login::read(&config.credentials).await;
        let login = Arc::new(login.map_err(ConnectError::unreadable)?);
        let trust = tls::client_config(config).await;
        let trust = trust.map_err(ConnectError::unreadable)?;
        let number = u32::try_from(config.servers.len().max(1)).unwrap_or(u32::MAX);
        let each = config.connect_timeout / number;
        let mut failed = None;
        for server in &config.servers {
            let address = address(config, server);
            let connecting = connect(Arc::clone(&login), trust.clone(), &address, each);
            let opened = timeout(each, connecting).await;
            let opened = opened.unwrap_or_else(|_| Err(ConnectError::slow(&address)));
            match opened {
                Ok(connection) => return Ok(connection),
                // What an operator can set right is told rather than that another server is down.
                Err(error) if error.refused => failed = Some(error),
                Err(error) => failed = failed.filter(|failed| failed.refused).or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| ConnectError::slow(&config.address())))
    }

    /// Whether it has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.signals.borrow().over().is_none()
    }

    /// One who asks over this connection, a request at a time.
    pub(crate) fn asker(&self) -> Asker<'_> {
        Asker {
            connection: self,
            signals: self.signals.subscribe(),
        }
    }
}

/// Asks one request after the other, and hears when the connection ends meanwhile.
pub(crate) struct Asker<'c> {
    connection: &'c Connection,
    signals: watch::Receiver<Signals>,
}

impl Asker<'_> {
    /// Sends a request and waits for its answer as long as the connection lasts; there is no other time limit. Dropping this
    /// leaves the request sent or not.
    pub(crate) async fn ask(
        &mut self,
        subject: &str,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Message, AskError> {
        let Connection { client, signals } = self.connection;
        {
            let said = self.signals.borrow_and_update();
            if let Some(why) = said.over() {
                return Err(AskError::Over(why.to_owned()));
            }
            let was_forbidden = said.forbids(subject);
            drop(said);
            if was_forbidden {
                signals::forget(signals, subject);
            }
        }
        let request = Request {
            payload: Some(payload),
            headers,
            timeout: Some(None),
            inbox: None,
        };
        let mut answer = pin!(client.send_request(Subject::from(subject), request));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer.map_err(|error| self.failed(error)),
                // It is told as long as the connection is there, which this borrows.
                _ = self.signals.changed() => {
                    let said = self.signals.borrow_and_update();
                    match said.over() {
                        Some(why) => return Err(AskError::Over(why.to_owned())),
                        None if said.forbids(subject) => return Err(AskError::Forbidden),
                        None => {}
                    }
                }
            }
        }
    }

    fn failed(&self, error: RequestError) -> AskError {
        match error.kind() {
            RequestErrorKind::NoResponders => AskError::Nobody,
            RequestErrorKind::MaxPayloadExceeded => AskError::TooLarge {
                limit: self.connection.client.max_payload(),
            },
            // The client ends its requests when it ends.
            RequestErrorKind::Other => AskError::Over("it was closed".to_owned()),
            _ => AskError::Client(error),
        }
    }
}

/// Makes the connection to one server, which serves once: see the top of this file.
async fn connect(
    login: Arc<Login>,
    trust: ClientConfig,
    address: &str,
    limit: Duration,
) -> Result<Connection, ConnectError> {
    let connected = Arc::new(AtomicBool::new(false));
    let was_connected = Arc::clone(&connected);
    let (signals, _) = watch::channel(Signals::default());
    let signals = Arc::new(signals);
    let told = Arc::clone(&signals);
    let options = ConnectOptions::with_auth_callback(move |nonce| {
        let auth = if was_connected.load(Ordering::Acquire) {
            Err(AuthError::new("a connection of the outbox is made once"))
        } else {
            login.answer(&nonce)
        };
        ready(auth)
    })
    .name("outbox")
    .no_echo()
    .connection_timeout(limit)
    .tls_client_config(trust)
    .ignore_discovered_servers()
    .max_reconnects(1)
    .reconnect_delay_callback(|_| Duration::ZERO)
    .ping_interval(SIGN_OF_LIFE)
    .event_callback(move |event| {
        signals::tell(&told, &event);
        ready(())
    });
    let client = options.connect(address).await;
    let client = client.map_err(|error| ConnectError::new(address, error))?;
    connected.store(true, Ordering::Release);
    Ok(Connection { client, signals })
}

impl ConnectError {
    fn new(address: &str, error: async_nats::ConnectError) -> Self {
        if error.kind() == ConnectErrorKind::TimedOut {
            return Self::slow(address);
        }
        let violates = error.kind() == ConnectErrorKind::AuthorizationViolation;
        let refused = violates || error.kind() == ConnectErrorKind::Authentication;
        let text = if refused {
            format!(
                "{address} refuses the credentials; correct the user and the password, or the file, in the URL"
            )
        } else {
            let io = error.source().and_then(|source| source.downcast_ref());
            io.and_then(|io| not_reached(address, io))
                .unwrap_or_else(|| format!("cannot connect to {address}"))
        };
        let source: Arc<dyn Error + Send + Sync> = Arc::new(error);
        Self {
            text,
            refused,
            // The server says no more than that the credentials are refused.
            source: (!violates).then_some(source),
        }
    }

    fn slow(address: &str) -> Self {
        Self {
            text: format!("{address} did not answer in time"),
            refused: false,
            source: None,
        }
    }

    fn unreadable(error: io::Error) -> Self {
        Self {
            text: "cannot use a file that the URL of NATS names".to_owned(),
            refused: false,
            source: Some(Arc::new(error)),
        }
    }
}

impl From<ConnectError> for PublishError {
    fn from(error: ConnectError) -> Self {
        let unavailable = Self::new(PublishErrorKind::Unavailable, error.text);
        match error.source {
            Some(source) => unavailable.with_source(source),
            None => unavailable,
        }
    }
}

/// What people can do, if the operating system or TLS tells it.
fn not_reached(address: &str, error: &io::Error) -> Option<String> {
    let inner = error.get_ref();
    let tls = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
    Some(match tls {
        None if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("nothing listens at {address}; start NATS, or correct the URL")
        }
        None => return None,
        // Only a server that insists begins with TLS unasked.
        Some(_) if !address.starts_with("tls://") => {
            format!("{address} insists on TLS; write tls:// in the URL")
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            format!(
                "{address} speaks no TLS on this port; correct the port, or write nats:// in the URL"
            )
        }
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => format!(
            "no trusted authority signed the certificate of {address}; name its authority with ca= in the URL"
        ),
        Some(_) => format!("cannot agree on TLS with {address}"),
    })
}

fn address(config: &NatsConfig, server: &str) -> String {
    let scheme = if config.tls { "tls" } else { "nats" };
    format!("{scheme}://{}", with_port(server))
}
