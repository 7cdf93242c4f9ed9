//! Why a URL, or a configuration, makes no publisher.

use outbox_publisher::InvalidParameter;
use thiserror::Error;

/// Why [`NatsPublisher`](crate::NatsPublisher) cannot be made of a URL or of a configuration. It never shows credentials.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// It is the URL of something else.
    #[error("a URL of NATS begins with nats:// or tls://")]
    Scheme,
    /// A server is not written as one.
    #[error(
        "server {number} of the URL is not written as host or host:port; in a user name or a password write @ : / ? # , % as %40 %3A %2F %3F %23 %2C %25"
    )]
    Server {
        /// Which one, counted from 1.
        number: usize,
    },
    /// There is a path.
    #[error(
        "a URL of NATS has no path; options stand behind a question mark, such as ?subject=events.{{topic}}"
    )]
    Path,
    /// The user name or the password is not percent-encoded UTF-8.
    #[error("the credentials in the URL are not percent-encoded text")]
    Credentials,
    /// A parameter, or the field of the same name, does not do.
    #[error(transparent)]
    Parameter(#[from] InvalidParameter),
}
