//! Why a URL, or a configuration, makes no publisher.

use std::net::IpAddr;

use outbox_publisher::{InvalidParameter, InvalidTemplate};
use thiserror::Error;

/// Why [`HttpPublisher`](crate::HttpPublisher) cannot be made of a URL or of a configuration. It never shows credentials, nor the
/// query of the URL.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// It is the URL of something else.
    #[error("a URL of HTTP begins with http:// or https://")]
    Scheme,
    /// The host or the port is not one.
    #[error(
        "the host of the URL is not written as host or host:port; a topic or a key can stand in the path only, and in a user name or a \
         password write @ : / ? # % as %40 %3A %2F %3F %23 %25"
    )]
    Host,
    /// The path or the query cannot be sent as it is.
    #[error("the path of the URL has {what}")]
    Path {
        /// What it must not have.
        what: &'static str,
    },
    /// A brace in the path or in the query is not that of a placeholder.
    #[error("the path of the URL: {0}")]
    Template(InvalidTemplate),
    /// The user name or the password is not percent-encoded UTF-8, or cannot be sent.
    #[error("the credentials in the URL are not percent-encoded text, or the user has a colon")]
    Credentials,
    /// The host is an address that is not public.
    #[error(
        "the host {address} of the URL is {what}, not a public address; behind the # of the URL write allow_private=true if it is meant"
    )]
    NotPublic {
        /// The host.
        address: IpAddr,
        /// What it is instead.
        what: &'static str,
    },
    /// A parameter behind the `#`, or the field of the same name, does not do.
    #[error(transparent)]
    Parameter(#[from] InvalidParameter),
}
