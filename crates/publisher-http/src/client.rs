//! The client behind a publisher: one pool of connections, with everything off that follows, remembers or guesses.

use std::{io, path::Path, sync::Arc, time::Duration};

use outbox_publisher::{PublishError, PublishErrorKind};
use reqwest::{Client, Proxy, redirect, retry};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio::task::spawn_blocking;

use crate::{HttpConfig, config::proxy_host, resolver::Resolver};

/// A connection without work is closed after this: before servers of the usual kind close it, which do so after 5 s and later, so that
/// a request seldom meets the end of its connection.
const IDLE: Duration = Duration::from_secs(4);

/// Makes the client. It connects to nothing.
///
/// # Errors
///
/// `Unavailable` if the file of the authorities cannot be used.
pub(crate) async fn build(config: &HttpConfig) -> Result<Client, PublishError> {
    let trust = trust(config).await.map_err(|error| {
        let text = "cannot use what TLS needs; correct ca in the URL";
        PublishError::new(PublishErrorKind::Unavailable, text).with_source(error)
    })?;
    let mut builder = Client::builder()
        .tls_backend_preconfigured(trust)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .http1_only()
        .tcp_nodelay(true)
        .user_agent(concat!("outbox/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(config.connect_timeout)
        .pool_idle_timeout(IDLE)
        .dns_resolver(Arc::new(Resolver {
            allow_private: config.allow_private,
            proxy: config.proxy.as_deref().and_then(proxy_host),
        }));
    if let Some(proxy) = &config.proxy {
        builder = builder.proxy(Proxy::all(proxy).map_err(unusable)?);
    }
    builder.build().map_err(unusable)
}

fn unusable(error: reqwest::Error) -> PublishError {
    PublishError::new(
        PublishErrorKind::Unavailable,
        "cannot make a client of HTTP",
    )
    .with_source(error.without_url())
}

/// Whom connections trust, with a provider of its own choice, so that nothing depends on which ones a program has linked.
async fn trust(config: &HttpConfig) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if let Some(ca) = &config.ca {
        for certificate in certificates(ca).await? {
            let added = roots.add(certificate);
            added.map_err(|error| invalid(ca, &error.to_string()))?;
        }
    } else if config.url.starts_with("https:") || config.proxy.is_some() {
        let native = spawn_blocking(rustls_native_certs::load_native_certs).await;
        roots.add_parsable_certificates(native.map_err(io::Error::other)?.certs);
    }
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = versions.map_err(io::Error::other)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

async fn certificates(ca: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = tokio::fs::read(ca).await;
    let pem =
        read.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", ca.display())))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(invalid(ca, "there is no certificate in it")),
        Err(error) => Err(invalid(ca, &error.to_string())),
    }
}

fn invalid(ca: &Path, problem: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{}: {problem}", ca.display()),
    )
}
