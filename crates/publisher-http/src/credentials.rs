//! Who a publisher is for the receiver. Leaves out reading the files, which `files.rs` does.

use std::{fmt, path::PathBuf};

/// Who the publisher is for the receiver. Its `Debug` shows no secret.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credentials {
    /// Nobody in particular.
    #[default]
    None,
    /// A user with a password, as the scheme Basic has them. The user has no colon.
    Basic {
        /// The user's name.
        user: String,
        /// The password.
        password: String,
    },
    /// A file with a token, sent as Bearer. It is read again while the publisher runs.
    TokenFile(PathBuf),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Basic { user, .. } => f
                .debug_struct("Basic")
                .field("user", user)
                .finish_non_exhaustive(),
            Self::TokenFile(path) => f.debug_tuple("TokenFile").field(path).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let basic = Credentials::Basic {
            user: "shop".into(),
            password: "hunter2".into(),
        };
        assert_eq!(format!("{basic:?}"), "Basic { user: \"shop\", .. }");
    }
}
