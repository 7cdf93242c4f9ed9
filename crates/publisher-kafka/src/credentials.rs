//! Who a publisher is for the brokers. Leaves out certificates of clients.

use std::fmt;

/// A user with a password, shown to the brokers by SASL. Its `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user's name.
    pub user: String,
    /// The password.
    pub password: String,
    /// How they are shown.
    pub mechanism: Mechanism,
}

/// How SASL shows the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mechanism {
    /// As it is; over a connection without TLS everybody on the way can read it.
    #[default]
    Plain,
    /// SCRAM with SHA-256. It needs the cargo feature `tls`, whose library computes it.
    ScramSha256,
    /// SCRAM with SHA-512. It needs the cargo feature `tls`, whose library computes it.
    ScramSha512,
}

impl Mechanism {
    /// What the client library calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .field("mechanism", &self.mechanism)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_not_shown() {
        let credentials = Credentials {
            user: "shop".into(),
            password: "hunter2".into(),
            mechanism: Mechanism::Plain,
        };
        assert_eq!(
            format!("{credentials:?}"),
            "Credentials { user: \"shop\", mechanism: Plain, .. }"
        );
    }
}
