//! Why a request was not answered, told so that an operator knows what to do. What the client says is looked at here and nowhere
//! else.

use std::{error::Error, io, sync::Arc};

use outbox_publisher::{PublishError, PublishErrorKind};
use rustls::CertificateError;

use crate::resolver::NameError;

/// How a request failed before there was a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing was sent: it says nothing about the message.
    Connecting,
    /// The connection ended, and the receiver may have the message or not.
    Lost,
    /// What came back is no answer.
    Garbled,
    /// The request could not be made.
    Making,
}

/// How far a request came.
pub(crate) fn stage(error: &reqwest::Error) -> Stage {
    if error.is_builder() {
        Stage::Making
    } else if error.is_connect() || find::<NameError>(error).is_some() {
        Stage::Connecting
    } else if find::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
        Stage::Garbled
    } else {
        Stage::Lost
    }
}

/// What happened, for people, and the client's error without the URL.
pub(crate) fn told(origin: &str, stage: Stage, error: reqwest::Error) -> PublishError {
    if let Some(name) = find::<NameError>(&error) {
        return not_resolved(name);
    }
    let kind = match stage {
        Stage::Making => PublishErrorKind::Malformed,
        _ => PublishErrorKind::Unavailable,
    };
    let text = match stage {
        Stage::Connecting => not_connected(origin, &error),
        Stage::Lost => format!("the connection to {origin} was lost before it answered"),
        Stage::Garbled => format!("what answers at {origin} is no HTTP; correct the URL"),
        Stage::Making => "the message makes no request of HTTP".to_owned(),
    };
    PublishError::new(kind, text).with_source(error.without_url())
}

/// With the system's error alone: the client's would say all of it again.
fn not_resolved(error: &NameError) -> PublishError {
    let told = PublishError::new(PublishErrorKind::Unavailable, error.to_string());
    match error {
        NameError::Unknown { source, .. } => told.with_source(Arc::clone(source)),
        NameError::NotPublic { .. } => told,
    }
}

fn not_connected(origin: &str, error: &reqwest::Error) -> String {
    if let Some(tls) = find::<rustls::Error>(error) {
        return not_trusted(origin, tls);
    }
    let io = find::<io::Error>(error).map(io::Error::kind);
    if error.is_timeout() || io == Some(io::ErrorKind::TimedOut) {
        format!("{origin} did not accept a connection in time")
    } else if io == Some(io::ErrorKind::ConnectionRefused) {
        format!("nothing listens at {origin}; start the receiver, or correct the URL")
    } else {
        format!("cannot connect to {origin}")
    }
}

fn not_trusted(origin: &str, error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(_) => {
            format!(
                "{origin} speaks no TLS on this port; correct the port, or write http:// in the URL"
            )
        }
        rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => format!(
            "no trusted authority signed the certificate of {origin}; name its authority with ca behind the # of the URL"
        ),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("the certificate of {origin} is for another host; correct the URL"),
        _ => format!("cannot agree on TLS with {origin}"),
    }
}

/// The first error of this kind among an error and its causes.
fn find<'e, T: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        // One that stands inside an error of IO is not among its causes.
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| find(inner)) {
            return Some(found);
        }
        next = error.source();
    }
    None
}
