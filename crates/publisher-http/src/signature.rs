//! Signatures as Standard Webhooks 1.0 has them: HMAC-SHA256 over the id, the time of the try and the body. Pure.

use std::{fmt, str::FromStr};

use base64::{Engine, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

/// How a secret is marked as one.
const PREFIX: &str = "whsec_";

/// A secret that messages are signed with, shared with the receiver: `whsec_` and base64 of 24 to 64 bytes. Its `Debug` shows
/// nothing of it.
///
/// ```
/// use outbox_publisher_http::Secret;
///
/// let secret: Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse()?;
/// assert_eq!(format!("{secret:?}"), "Secret(..)");
/// # Ok::<(), outbox_publisher_http::InvalidSecret>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// Why a text is no secret. It shows nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidSecret {
    /// It is not base64.
    #[error("a secret is whsec_ and base64 behind it")]
    Base64,
    /// It has too few bytes to be safe, or more than receivers take.
    #[error("a secret has 24 to 64 bytes; this one has {len}")]
    Length {
        /// How many it has.
        len: usize,
    },
}

impl FromStr for Secret {
    type Err = InvalidSecret;

    fn from_str(text: &str) -> Result<Self, InvalidSecret> {
        let text = text.trim();
        let encoded = text.strip_prefix(PREFIX).unwrap_or(text);
        let bytes = BASE64_STANDARD.decode(encoded);
        let bytes = bytes.map_err(|_| InvalidSecret::Base64)?;
        match bytes.len() {
            24..=64 => Ok(Self(bytes)),
            len => Err(InvalidSecret::Length { len }),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The value of `webhook-signature`: one signature for each secret, so that a receiver may know the old one or the new one.
pub(crate) fn sign(secrets: &[Secret], id: &str, timestamp: u64, body: &[u8]) -> String {
    let head = format!("{id}.{timestamp}.");
    let signatures = secrets.iter().map(|Secret(key)| {
        let mac = Hmac::<Sha256>::new_from_slice(key);
        let mut mac = mac.expect("HMAC takes keys of any length");
        mac.update(head.as_bytes());
        mac.update(body);
        let tag = mac.finalize().into_bytes();
        format!("v1,{}", BASE64_STANDARD.encode(tag))
    });
    signatures.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that the reference libraries of Standard Webhooks are tested with.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const TIMESTAMP: u64 = 1_614_265_330;
    const BODY: &[u8] = b"{\"test\": 2432232314}";
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn secret(text: &str) -> Secret {
        text.parse().unwrap()
    }

    #[test]
    fn the_signature_is_that_of_the_reference_libraries() {
        assert_eq!(sign(&[secret(SECRET)], ID, TIMESTAMP, BODY), SIGNATURE);
        let bare = SECRET.trim_start_matches(PREFIX);
        assert_eq!(secret(bare), secret(SECRET));
    }

    #[test]
    fn while_secrets_change_each_signs() {
        let new = secret(&format!("whsec_{}", BASE64_STANDARD.encode([7; 32])));
        let both = sign(&[new.clone(), secret(SECRET)], ID, TIMESTAMP, BODY);
        let expected = format!("{} {SIGNATURE}", sign(&[new], ID, TIMESTAMP, BODY));
        assert_eq!(both, expected);
    }

    #[test]
    fn the_body_is_signed_byte_for_byte() {
        let secrets = [secret(SECRET)];
        let of = |body: &[u8]| sign(&secrets, ID, TIMESTAMP, body);
        assert_ne!(of(b"{}"), of(b"{} "));
        assert_ne!(of(b"\xFF"), of(b"\xFE"));
        assert_ne!(sign(&secrets, ID, TIMESTAMP + 1, b"{}"), of(b"{}"));
    }

    #[test]
    fn what_is_no_secret_is_refused_without_showing_it() {
        let refused = |text: &str| text.parse::<Secret>().unwrap_err();
        for text in ["", "whsec_", "whsec_hunter2!"] {
            let shown = format!("{0} {0:?}", refused(text));
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        let short = format!("whsec_{}", BASE64_STANDARD.encode([7; 23]));
        assert_eq!(refused(&short), InvalidSecret::Length { len: 23 });
        let long = format!("whsec_{}", BASE64_STANDARD.encode([7; 65]));
        assert_eq!(refused(&long), InvalidSecret::Length { len: 65 });
        assert_eq!(refused("whsec_*"), InvalidSecret::Base64);
    }
}
