//! AES-256 in Galois/Counter Mode. The string is base64 of a nonce of 12 bytes and what is sealed, 16 bytes longer than the text.
//! Leaves out where keys come from.

use std::fmt;

use aes_gcm::{
    Aes256Gcm, KeyInit, Nonce,
    aead::{Aead, Generate, consts::U12},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use thiserror::Error;

use super::{Cipher, CipherError};

/// How many bytes a nonce has.
const NONCE: usize = 12;

/// A key for [`AesGcm`]: 32 random bytes. It is wiped when it is dropped, and shown nowhere.
#[derive(Clone)]
pub struct Key(zeroize::Zeroizing<[u8; 32]>);

impl From<[u8; 32]> for Key {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// AES-256 in Galois/Counter Mode with one key, and with a nonce from the system's random numbers for each leaf.
///
/// A nonce must not come twice under one key: change the key long before 2^32 leaves, at which a repetition has a chance of
/// 1 to 2^32.
///
/// ```
/// use outbox_envelope::{Envelope, encryption::{AesGcm, Key}, schema::Schema};
///
/// let cipher = AesGcm::new(&Key::from([7; 32])); // of a key store, never of the program
/// let schema = Schema::parse(r#"{"properties": {"email": {"x-gdpr-sensitive": "contact"}}}"#)?;
/// let data = std::collections::BTreeMap::from([("email", "ada@example.com"), ("id", "7")]);
///
/// let sent = Envelope::make("urn:babel:users:joined", &data)?.protect(&schema, &cipher)?;
/// assert!(!sent.data().contains("ada@"));
/// assert_eq!(sent.unprotect(&schema, &cipher)?.data(), r#"{"email":"ada@example.com","id":"7"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AesGcm(Aes256Gcm);

impl fmt::Debug for AesGcm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AesGcm")
    }
}

/// A string that cannot be unsealed: it is none of this cipher, of another key, or was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it was not encrypted with this key, or it was changed")]
pub struct Unsealed;

impl AesGcm {
    /// A cipher with this key.
    pub fn new(key: &Key) -> Self {
        Self(Aes256Gcm::new((&*key.0).into()))
    }

    /// Encrypts with a nonce that must never have been used with this key. [`encrypt`](Cipher::encrypt) draws one.
    ///
    /// # Errors
    ///
    /// A text of more than 64 GiB.
    pub fn seal(&self, nonce: [u8; NONCE], plaintext: &[u8]) -> Result<String, CipherError> {
        let sealed = self.0.encrypt(&nonce.into(), plaintext);
        let sealed = sealed.map_err(|_| "the text is too long for the cipher")?;
        Ok(STANDARD.encode([&nonce, &sealed[..]].concat()))
    }
}

impl Cipher for AesGcm {
    fn encrypt(&self, plaintext: &[u8]) -> Result<String, CipherError> {
        let nonce = Nonce::<U12>::try_generate()?;
        self.seal(nonce.into(), plaintext)
    }

    fn decrypt(&self, ciphertext: &str) -> Result<Vec<u8>, CipherError> {
        let bytes = STANDARD.decode(ciphertext).map_err(|_| Unsealed)?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or(Unsealed)?;
        let plaintext = self.0.decrypt(&(*nonce).into(), sealed);
        Ok(plaintext.map_err(|_| Unsealed)?)
    }
}
