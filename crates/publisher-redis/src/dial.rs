//! A stream of bytes to the server, over TCP or TLS. Leaves out what is said over it.

use std::{fmt::Display, io, net::Ipv6Addr, path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task,
};
use tokio_rustls::TlsConnector;

use crate::{Identity, RedisConfig, Tls};

/// What a connection speaks over.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Unpin + Send + Sync {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + Sync> Bytes for S {}

/// Why there is no stream.
#[derive(Debug, Error)]
pub(crate) enum DialError {
    /// Nobody answers there, or it cannot be found.
    #[error("cannot connect")]
    Tcp(#[source] io::Error),
    /// What answers is not what we trust, or does not trust us.
    #[error("TLS cannot be agreed on")]
    Handshake(#[source] io::Error),
    /// A file of certificates is of no use.
    #[error("{what} {path} cannot be used: {reason}")]
    File {
        what: &'static str,
        path: String,
        reason: String,
    },
    /// The settings do not fit each other, or this system has no authorities.
    #[error("TLS cannot be set up: {0}")]
    Setup(String),
}

/// Connects, and agrees on TLS if it is asked for.
pub(crate) async fn dial(config: &RedisConfig) -> Result<Box<dyn Bytes>, DialError> {
    let tcp = TcpStream::connect((&*config.host, config.port))
        .await
        .map_err(DialError::Tcp)?;
    // Commands are written whole; a short one must not wait for the answer to the one before it.
    tcp.set_nodelay(true).map_err(DialError::Tcp)?;
    let Some(tls) = config.tls.clone() else {
        return Ok(Box::new(tcp));
    };
    let name = ServerName::try_from(config.host.clone())
        .map_err(|_| DialError::Setup(format!("{} is no name of a server", config.host)))?;
    // The files are read each time, since certificates are replaced while a relay runs.
    let client = task::spawn_blocking(move || client(&tls))
        .await
        .map_err(|error| DialError::Setup(error.to_string()))??;
    let stream = TlsConnector::from(Arc::new(client))
        .connect(name, tcp)
        .await
        .map_err(DialError::Handshake)?;
    Ok(Box::new(stream))
}

/// How people write the server.
pub(crate) fn title(config: &RedisConfig) -> String {
    let scheme = if config.tls.is_some() {
        "rediss"
    } else {
        "redis"
    };
    let RedisConfig {
        host,
        port,
        database,
        ..
    } = config;
    if host.parse::<Ipv6Addr>().is_ok() {
        format!("{scheme}://[{host}]:{port}/{database}")
    } else {
        format!("{scheme}://{host}:{port}/{database}")
    }
}

/// Reads the files and sets TLS up. It blocks.
pub(crate) fn client(tls: &Tls) -> Result<ClientConfig, DialError> {
    // The provider is named, because a program may have several and rustls then panics unless one was chosen.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| DialError::Setup(error.to_string()))?;
    let roots = match &tls.ca {
        Some(path) => roots_of(path)?,
        None => roots_of_system()?,
    };
    let builder = builder.with_root_certificates(roots);
    match &tls.identity {
        None => Ok(builder.with_no_client_auth()),
        Some(Identity { certificate, key }) => {
            let chain = certificates("the certificate", certificate)?;
            let secret = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| unusable("the key", key, error))?;
            builder
                .with_client_auth_cert(chain, secret)
                .map_err(|error| unusable("the key", key, error))
        }
    }
}

fn roots_of(path: &Path) -> Result<RootCertStore, DialError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("the authority", path)? {
        roots
            .add(certificate)
            .map_err(|error| unusable("the authority", path, error))?;
    }
    Ok(roots)
}

fn roots_of_system() -> Result<RootCertStore, DialError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some systems hold certificates that nothing can read; one that is needed and missing shows in the handshake.
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let reason = match found.errors.first() {
        Some(error) => error.to_string(),
        None => "there are none".to_owned(),
    };
    Err(DialError::Setup(format!(
        "this system's authorities cannot be used: {reason}; install them, or say ca= in the URL"
    )))
}

fn certificates(
    what: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, DialError> {
    let read = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(what, path, error))?;
    if read.is_empty() {
        return Err(unusable(what, path, "there is no certificate in it"));
    }
    Ok(read)
}

fn unusable(what: &'static str, path: &Path, reason: impl Display) -> DialError {
    DialError::File {
        what,
        path: path.display().to_string(),
        reason: format!("{reason}"),
    }
}
