//! Why a URL, or a configuration, makes no publisher.

use outbox_publisher::{InvalidParameter, InvalidTemplate};
use thiserror::Error;

/// Why [`KafkaPublisher`](crate::KafkaPublisher) cannot be made of a URL or of a configuration. It never shows credentials.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidUrl {
    /// It is the URL of something else.
    #[error("a URL of Kafka begins with kafka:// or kafkas://")]
    Scheme,
    /// A broker is not written as one.
    #[error(
        "broker {number} of the URL is not written as host or host:port; in a user name or a password write @ : / ? # , % as %40 %3A %2F %3F %23 %2C %25"
    )]
    Server {
        /// Which one, counted from 1.
        number: usize,
    },
    /// The user name or the password is not percent-encoded UTF-8, or one is missing, or the user name is empty.
    #[error("the credentials in the URL are not written as user:password in percent-encoded text")]
    Credentials,
    /// Something stands behind `#`.
    #[error(
        "nothing stands behind # in a URL of Kafka: write parameters behind ?, and # in a user name or a password as %23"
    )]
    Fragment,
    /// The path is no template of topics.
    #[error("the topic {text:?} in the path of the URL does not do: {problem}")]
    Topic {
        /// What stands there.
        text: String,
        /// What is wrong, or what to write instead.
        problem: &'static str,
    },
    /// The path is no template at all.
    #[error("the topic in the path of the URL does not do: {0}")]
    Template(InvalidTemplate),
    /// This build cannot do it.
    #[error(
        "{what} needs the cargo feature tls of outbox-publisher-kafka, which this build was made without"
    )]
    Feature {
        /// What was asked for.
        what: &'static str,
    },
    /// A parameter, or the field of the same name, does not do.
    #[error(transparent)]
    Parameter(#[from] InvalidParameter),
}
