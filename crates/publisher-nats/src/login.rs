//! Proving to a server who one is: reading the files, and signing what the server gives to be signed.

use std::{io, path::Path};

use async_nats::{Auth, AuthError};
use nkeys::KeyPair;

use crate::Credentials;

/// Credentials that were read and can be used without further reading.
pub(crate) enum Login {
    None,
    Password { user: String, password: String },
    Token(String),
    Nkey(KeyPair),
    Jwt { jwt: String, keys: KeyPair },
}

impl Login {
    /// Reads what stands in files.
    pub(crate) async fn read(credentials: &Credentials) -> io::Result<Self> {
        Ok(match credentials {
            Credentials::None => Self::None,
            Credentials::Password { user, password } => Self::Password {
                user: user.clone(),
                password: password.clone(),
            },
            Credentials::Token(token) => Self::Token(token.clone()),
            Credentials::File(path) => jwt(&text(path).await?)?,
            Credentials::Nkey(path) => Self::Nkey(keys(seed(&text(path).await?)?)?),
        })
    }

    /// The answer to a server that gives `nonce` to be signed.
    pub(crate) fn answer(&self, nonce: &[u8]) -> Result<Auth, AuthError> {
        let mut auth = Auth::new();
        match self {
            Self::None => {}
            Self::Password { user, password } => {
                auth.username = Some(user.clone());
                auth.password = Some(password.clone());
            }
            Self::Token(token) => auth.token = Some(token.clone()),
            Self::Nkey(keys) => {
                auth.nkey = Some(keys.public_key());
                auth.signature = Some(keys.sign(nonce).map_err(AuthError::new)?);
            }
            Self::Jwt { jwt, keys } => {
                auth.jwt = Some(jwt.clone());
                auth.signature = Some(keys.sign(nonce).map_err(AuthError::new)?);
            }
        }
        Ok(auth)
    }
}

async fn text(path: &Path) -> io::Result<String> {
    let read = tokio::fs::read_to_string(path).await;
    read.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn jwt(text: &str) -> io::Result<Login> {
    let jwt = block(text, "USER JWT").ok_or_else(|| invalid("there is no user JWT in it"))?;
    Ok(Login::Jwt {
        jwt: jwt.to_owned(),
        keys: keys(seed(text)?)?,
    })
}

/// The seed in a credentials file, or in a file that has nothing but comments beside it.
fn seed(text: &str) -> io::Result<&str> {
    let bare = || {
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| !line.is_empty() && !line.starts_with('#'))
    };
    block(text, "NKEY SEED")
        .or_else(bare)
        .ok_or_else(|| invalid("there is no seed in it"))
}

/// The line after the one that begins the block of this name.
fn block<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| line.starts_with("---") && line.contains("BEGIN") && line.contains(name))?;
    lines.find(|line| !line.is_empty())
}

fn keys(seed: &str) -> io::Result<KeyPair> {
    KeyPair::from_seed(seed).map_err(|error| invalid(&format!("its seed is invalid: {error}")))
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the file of the credentials: {problem}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decorated(seed: &str) -> String {
        format!(
            "-----BEGIN NATS USER JWT-----\r\na.b-_c\r\n------END NATS USER JWT------\r\n\r\n\
             ****** IMPORTANT ******\n-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        )
    }

    #[test]
    fn a_credentials_file_signs_with_its_own_key() {
        let keys = KeyPair::new_user();
        let login = jwt(&decorated(&keys.seed().unwrap())).unwrap_or(Login::None);
        let auth = login.answer(b"nonce").unwrap();
        assert_eq!(auth.jwt.as_deref(), Some("a.b-_c"));
        assert_eq!(auth.nkey, None);
        keys.verify(b"nonce", &auth.signature.unwrap()).unwrap();
    }

    #[test]
    fn a_seed_stands_alone_or_in_a_block() {
        for text in ["SUA\n", "# shop\n\n  SUA  \n", &decorated("SUA")] {
            assert_eq!(seed(text).unwrap(), "SUA");
        }
        assert!(seed("# nothing\n").is_err());
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_without_its_secrets() {
        let said = |text: &str| jwt(text).map(drop).unwrap_err().to_string();
        assert!(said("SUA").contains("no user JWT"));
        let broken = said(&decorated("SUAHUNTER2"));
        assert!(
            broken.contains("seed is invalid") && !broken.contains("HUNTER2"),
            "{broken}"
        );
    }
}
