//! Encrypting the sensitive leaves of an envelope's data, which a schema marks with `x-gdpr-sensitive`: each becomes a string
//! that only holders of the key can read, and every other byte stays. The envelope is still an envelope, and any consumer
//! can carry it on.
//!
//! Any [`Cipher`] will do, such as one that asks a service for keys. With the feature `encryption` there is
#![cfg_attr(
    feature = "encryption",
    doc = "[`AesGcm`], AES-256 in Galois/Counter Mode, whose strings"
)]
#![cfg_attr(
    not(feature = "encryption"),
    doc = "`AesGcm`, AES-256 in Galois/Counter Mode, whose strings"
)]
//! the reference's example reads and writes too.
//!
//! Data is checked against its schema in the clear: before [`protect`], and after [`unprotect`].
//!
//! # What is not promised
//!
//! That a leaf is encrypted is plain to see, and so is how long it is about. Ciphertexts say nothing of where they stand: who can
//! write messages can put one in the place of another. A key lives as long as whoever holds it decides; nothing here rotates keys.
//!
//! # What differs from the reference, on purpose
//!
//! * A mark on an item of an array in an array is heeded; the reference passes over it and leaves the item readable.
//! * A mark on the whole data is an error, because there is no leaf to put a string in; the reference passes over it.
//! * Inside what is marked, further marks are no matter; the reference then cannot decrypt what it encrypted.
//! * Names with a point in them are names; the reference takes them for paths.

#[cfg(feature = "encryption")]
mod aes_gcm;
mod cipher;
mod walk;

#[cfg(feature = "encryption")]
pub use aes_gcm::{AesGcm, Key, Unsealed};
pub use cipher::{Cipher, CipherError};
pub use walk::EncryptionError;

use crate::{
    Envelope,
    json::{self, Value, canonical, read},
    schema::Schema,
};
use walk::{Leaf, walk};

/// `data`, which is JSON text, with each leaf that `schema` marks encrypted. What is marked and not there is passed over; null
/// is encrypted too, and so is a whole object or array that is marked, as one string.
///
/// The plaintext is the reference's: names sorted, nothing but ASCII.
///
/// # Errors
///
/// [`EncryptionError`]: nothing must be sent then.
pub fn protect(
    data: &str,
    schema: &Schema,
    cipher: &(impl Cipher + ?Sized),
) -> Result<String, EncryptionError> {
    if schema.root.sensitive.is_some() {
        return Err(EncryptionError::WholeData);
    }
    walk(data, schema, |path, leaf| {
        let plaintext = canonical(leaf, 1)?;
        let encrypted = cipher.encrypt(plaintext.as_bytes());
        let encrypted = encrypted.map_err(|source| EncryptionError::Encrypt {
            path: path.to_owned(),
            source,
        })?;
        let mut string = String::new();
        json::write_string(&encrypted, &mut string);
        Ok(Leaf::Replace(string))
    })
}

/// `data`, which is JSON text, with each leaf that `schema` marks decrypted: what [`protect`] had, with the same value. What is
/// marked and no string was never encrypted, and stays.
///
/// # Errors
///
/// [`EncryptionError`]: a string was not encrypted with this key, or changed on the way. The message has failed.
pub fn unprotect(
    data: &str,
    schema: &Schema,
    cipher: &(impl Cipher + ?Sized),
) -> Result<String, EncryptionError> {
    walk(data, schema, |path, leaf| {
        let Value::String(encrypted) = read(leaf, 1)? else {
            return Ok(Leaf::Keep);
        };
        let path = || path.to_owned();
        let plaintext = cipher.decrypt(&encrypted);
        let plaintext = plaintext.map_err(|source| EncryptionError::Decrypt {
            path: path(),
            source,
        })?;
        let value = json::utf8(&plaintext).and_then(|text| read(text, 1));
        let value = value.map_err(|source| EncryptionError::Plaintext {
            path: path(),
            source,
        })?;
        let mut text = String::new();
        value.write(&mut text);
        Ok(Leaf::Replace(text))
    })
}

impl Envelope {
    /// The same envelope with the sensitive leaves of its data [protected](protect).
    ///
    /// # Errors
    ///
    /// [`EncryptionError`]: nothing must be sent then.
    pub fn protect(
        self,
        schema: &Schema,
        cipher: &(impl Cipher + ?Sized),
    ) -> Result<Self, EncryptionError> {
        let data = protect(&self.data(), schema, cipher)?;
        Ok(self.with_data(read(&data, 1)?))
    }

    /// The same envelope with the sensitive leaves of its data [readable](unprotect) again.
    ///
    /// # Errors
    ///
    /// [`EncryptionError`]: the message has failed.
    pub fn unprotect(
        self,
        schema: &Schema,
        cipher: &(impl Cipher + ?Sized),
    ) -> Result<Self, EncryptionError> {
        let data = unprotect(&self.data(), schema, cipher)?;
        Ok(self.with_data(read(&data, 1)?))
    }
}
