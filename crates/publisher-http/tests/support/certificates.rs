//! Certificates for receivers of tests, and the authority that signed them.

use std::{path::PathBuf, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

/// A receiver's identity, and a file with the authority that vouches for it. Dropping it removes the file.
pub(crate) struct Identity {
    pub(crate) acceptor: TlsAcceptor,
    folder: TempDir,
}

impl Identity {
    /// An identity for these hosts.
    pub(crate) fn of(hosts: &[&str]) -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        let ca = authority.self_signed(&authority_key).unwrap();
        let issuer = Issuer::new(authority, authority_key);
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(hosts).unwrap();
        let certificate = certificate.signed_by(&key, &issuer).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), ca.pem()).unwrap();
        Self {
            acceptor: acceptor(certificate.der().clone(), key.serialize_der()),
            folder,
        }
    }

    /// The file of the authority, in PEM.
    pub(crate) fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }
}

fn acceptor(certificate: CertificateDer<'static>, key: Vec<u8>) -> TlsAcceptor {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = builder.with_no_client_auth();
    let config = config.with_single_cert(vec![certificate], key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}
