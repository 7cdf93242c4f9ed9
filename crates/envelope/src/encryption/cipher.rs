//! What encrypts and decrypts one leaf: a port, so that keys can be wherever they are.

use std::error::Error;

/// What a cipher says when it fails. It must not hold what it was to encrypt, or a key: it ends up in logs.
pub type CipherError = Box<dyn Error + Send + Sync>;

/// Encrypts and decrypts leaves.
///
/// * What `encrypt` returns, `decrypt` turns into the same bytes.
/// * A string that `encrypt` did not return, or not with this key, is an error of `decrypt`, never other bytes.
/// * The same bytes may be encrypted to another string each time, and had better be.
pub trait Cipher {
    /// Encrypts the JSON text of one leaf to a string.
    ///
    /// # Errors
    ///
    /// What the cipher says.
    fn encrypt(&self, plaintext: &[u8]) -> Result<String, CipherError>;

    /// Decrypts what [`encrypt`](Self::encrypt) returned.
    ///
    /// # Errors
    ///
    /// What the cipher says.
    fn decrypt(&self, ciphertext: &str) -> Result<Vec<u8>, CipherError>;
}
