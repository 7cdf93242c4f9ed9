//! TLS with a provider of its own choice, so that nothing depends on which ones a program has linked.

use std::{io, path::Path, sync::Arc};

use async_nats::rustls::{
    ClientConfig, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, pem::PemObject},
};

use tokio::task::spawn_blocking;

use crate::NatsConfig;

/// What a connection trusts. Without `tls://` it trusts nobody: a server that insists on TLS is then refused, with an error.
pub(crate) async fn client_config(config: &NatsConfig) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match &config.ca {
        Some(ca) => {
            for certificate in certificates(ca).await? {
                let added = roots.add(certificate);
                added.map_err(|error| invalid(ca, &error.to_string()))?;
            }
        }
        None if config.tls => {
            let native = spawn_blocking(rustls_native_certs::load_native_certs).await;
            roots.add_parsable_certificates(native.map_err(io::Error::other)?.certs);
        }
        None => {}
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
