//! Who a publisher is for the server. Leaves out reading the files, which is done at every connect.

use std::{fmt, path::PathBuf};

/// Who the publisher is for the server. Its `Debug` shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credentials {
    /// Nobody in particular.
    #[default]
    None,
    /// A user with a password.
    Password {
        /// The user's name.
        user: String,
        /// The password.
        password: String,
    },
    /// A token.
    Token(String),
    /// A credentials file with the JWT and the seed of a user, as `nsc` writes it. Read at every connect.
    File(PathBuf),
    /// A file with the seed of a user's `NKey`. Read at every connect.
    Nkey(PathBuf),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Password { user, .. } => f
                .debug_struct("Password")
                .field("user", user)
                .finish_non_exhaustive(),
            Self::Token(_) => f.write_str("Token(..)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Nkey(path) => f.debug_tuple("Nkey").field(path).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let password = Credentials::Password {
            user: "shop".into(),
            password: "hunter2".into(),
        };
        assert_eq!(format!("{password:?}"), "Password { user: \"shop\", .. }");
        let token = Credentials::Token("hunter2".into());
        assert_eq!(format!("{token:?}"), "Token(..)");
    }
}
