//! A certificate for the servers of one checkout, and the authority that signed it. They are made once and kept; the key of
//! the authority is not.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::account::Account;
use crate::home::{self, Base};
use crate::{Error, Result};

/// The files of one certificate.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    folder: PathBuf,
    ca: PathBuf,
}

/// The texts in the files, all in PEM.
struct Texts {
    ca: String,
    certificate: String,
    key: String,
}

impl Certificates {
    /// Takes those of an earlier start, or makes them.
    pub(crate) fn find(base: &Base, account: Account) -> Result<Self> {
        let lock = base.lock_file("tls")?;
        lock.lock()
            .map_err(|error| Error::path(base.folder(), &error))?;
        let certificates = Self::at(base.folder().join(format!("tls-{}", account.uid())));
        if certificates.key().is_file() {
            return Ok(certificates);
        }
        let texts = make().map_err(|error| {
            let what = format!("a certificate cannot be made: {error}");
            Error::new(what, "read what rcgen says")
        })?;
        let written = home::remove(&certificates.folder)
            .and_then(|()| account.make_folder(&certificates.folder))
            .and_then(|()| account.write(certificates.ca(), &texts.ca))
            .and_then(|()| account.write(&certificates.certificate(), &texts.certificate))
            // The last one: by it the folder is known to be whole.
            .and_then(|()| account.write(&certificates.key(), &texts.key));
        written.map_err(|error| Error::path(&certificates.folder, &error))?;
        Ok(certificates)
    }

    fn at(folder: PathBuf) -> Self {
        let ca = folder.join("ca.pem");
        Self { folder, ca }
    }

    pub(crate) fn ca(&self) -> &Path {
        &self.ca
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.join("server.pem")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.folder.join("server.key")
    }
}

fn make() -> std::result::Result<Texts, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "outbox test servers");
    let authority_key = KeyPair::generate()?;
    let authority = params.self_signed(&authority_key)?;
    let issuer = Issuer::new(params, authority_key);

    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    let params = CertificateParams::new(names)?;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Texts {
        ca: authority.pem(),
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}
