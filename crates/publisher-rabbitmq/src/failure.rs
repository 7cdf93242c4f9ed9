//! What the broker's and the client's errors say about a message.

use std::io;

use lapin::{Error, ErrorKind};
use outbox_publisher::{PublishError, PublishErrorKind};

use rustls::CertificateError;

use crate::{RabbitMqConfig, returns::Reason};

const ACCESS_REFUSED: u16 = 403;
const NOT_FOUND: u16 = 404;
const PRECONDITION_FAILED: u16 = 406;
const CONTENT_TOO_LARGE: u16 = 311;
const CHANNEL_ERROR: u16 = 504;
const NOT_ALLOWED: u16 = 530;

/// Why there is no connection.
#[derive(Debug, Clone)]
pub(crate) enum NoConnection {
    Failed(Error),
    TimedOut,
}

/// Failing to connect is always the destination's fault.
pub(crate) fn no_connection(config: &RabbitMqConfig, why: &NoConnection) -> PublishError {
    let (server, user) = (config.server(), &config.user);
    let NoConnection::Failed(error) = why else {
        let seconds = config.connect_timeout.as_secs_f32();
        let doubt = match config.tls {
            Some(_) => "; does it speak TLS on this port?",
            None => "; is it RabbitMQ?",
        };
        return unavailable(format!("{server} did not answer within {seconds} s{doubt}"));
    };
    let text = match (error.kind(), said(error)) {
        (_, Some((ACCESS_REFUSED, _))) => {
            format!("{server} refuses the user {user:?} or the password; correct them in the URL")
        }
        (_, Some((NOT_ALLOWED, said))) => format!(
            "{server} does not let the user {user:?} in ({said}); create the virtual host, or let the user use it"
        ),
        (_, Some((_, said))) => format!("{server} does not take the connection ({said})"),
        (ErrorKind::IOError(error), None) => not_reached(&server, config.tls.is_some(), error),
        // What the client could not read of it says nothing to people.
        (ErrorKind::ParsingError(_), None) => {
            return unavailable(format!(
                "what answers at {server} is no RabbitMQ, or speaks TLS on this port; correct the URL, or write amqps://"
            ));
        }
        _ => format!("cannot connect to {server}"),
    };
    caused(PublishErrorKind::Unavailable, text, error.clone())
}

fn not_reached(server: &str, secure: bool, error: &io::Error) -> String {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof,
    };

    let inner = error.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(_)) => {
            return format!(
                "{server} speaks no TLS on this port; correct the port, or write amqp:// in the URL"
            );
        }
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => {
            return format!(
                "no trusted authority signed the certificate of {server}; name its authority with ca= in the URL"
            );
        }
        Some(_) => return format!("cannot agree on TLS with {server}"),
        None => {}
    }
    match error.kind() {
        ConnectionRefused => {
            format!("nothing listens at {server}; start RabbitMQ, or correct the URL")
        }
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof if secure => {
            format!("{server} ended a new connection; does it speak TLS on this port?")
        }
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof => format!(
            "{server} ended a new connection; does it speak TLS on this port (amqps://), and is it RabbitMQ?"
        ),
        _ => format!("cannot connect to {server}"),
    }
}

/// The connection ended while the message was in flight; whether the broker has it is not known.
pub(crate) fn lost(server: &str, error: Error) -> PublishError {
    let (kind, text) = match (error.kind(), said(&error)) {
        // The client went on with a channel that the broker had closed over another message.
        (_, Some((CHANNEL_ERROR, said))) => (
            PublishErrorKind::Interrupted,
            format!("{server} ended the connection over a closed channel ({said})"),
        ),
        (_, Some((_, said))) => (
            PublishErrorKind::Unavailable,
            format!("{server} ended the connection ({said})"),
        ),
        (ErrorKind::ChannelsLimitReached, None) => (
            PublishErrorKind::Unavailable,
            format!(
                "{server} allows no more channels; raise its channel_max, or publish to fewer exchanges"
            ),
        ),
        (_, None) => (
            PublishErrorKind::Unavailable,
            format!("the connection to {server} was lost"),
        ),
    };
    caused(kind, text, error)
}

/// The broker takes nothing from publishers for now.
pub(crate) fn blocked(server: &str, reason: &str) -> PublishError {
    unavailable(format!(
        "{server} blocks publishers: memory or disk alarm ({reason})"
    ))
}

/// The broker closed the channel because of this message.
pub(crate) fn closed(server: &str, exchange: &str, error: Error) -> PublishError {
    let (code, said) = said(&error).unwrap_or((0, ""));
    let (kind, text) = match code {
        NOT_FOUND => (
            PublishErrorKind::Unavailable,
            format!(
                "exchange {exchange:?} does not exist on {server}; create it, or correct exchange= in the URL"
            ),
        ),
        ACCESS_REFUSED => (
            PublishErrorKind::Unavailable,
            format!("{server} does not let us publish ({said}); grant the permission"),
        ),
        CONTENT_TOO_LARGE => (PublishErrorKind::TooLarge, too_large(server, said)),
        // The protocol has one code for both; only the text tells them apart.
        PRECONDITION_FAILED if said.contains("larger than") => {
            (PublishErrorKind::TooLarge, too_large(server, said))
        }
        PRECONDITION_FAILED => (
            PublishErrorKind::Malformed,
            format!("{server} cannot take such a message ({said})"),
        ),
        _ => (
            PublishErrorKind::Unknown,
            format!("{server} closed the channel ({said})"),
        ),
    };
    caused(kind, text, error)
}

/// Nobody takes the message: its exchange has no queue for it.
pub(crate) fn unroutable(
    server: &str,
    exchange: &str,
    routing_key: &str,
    why: &Reason,
) -> PublishError {
    let Reason { code, text } = why;
    PublishError::new(
        PublishErrorKind::Unroutable,
        format!(
            "exchange {exchange:?} on {server} has no queue for the routing key {routing_key:?} ({code} {text}); bind one"
        ),
    )
}

/// The default exchange sends back what is for a queue that is not there, and nothing else.
pub(crate) fn no_queue(server: &str, queue: &str) -> PublishError {
    unavailable(format!(
        "queue {queue:?} does not exist on {server}; create it, correct queue= in the URL, or add declare=true"
    ))
}

/// Looking for a queue or an exchange, or declaring a queue, failed.
pub(crate) fn not_usable(server: &str, what: &str, name: &str, error: Error) -> PublishError {
    let text = match said(&error) {
        Some((NOT_FOUND, _)) if what == "queue" => return no_queue(server, name),
        Some((NOT_FOUND, _)) => return closed(server, name, error),
        Some((_, said)) => format!("{what} {name:?} on {server} cannot be used ({said})"),
        None => return lost(server, error),
    };
    caused(PublishErrorKind::Unavailable, text, error)
}

/// The broker took the message and then gave it up: a queue is full and set to refuse, or broke. That says nothing about
/// the message.
pub(crate) fn refused(server: &str, exchange: &str, routing_key: &str) -> PublishError {
    let queue = match exchange {
        "" => format!("queue {routing_key:?}"),
        _ => format!("a queue of exchange {exchange:?} for the routing key {routing_key:?}"),
    };
    PublishError::new(
        PublishErrorKind::Throttled,
        format!(
            "{queue} on {server} takes nothing (nack): it is full and set to reject-publish, or it failed; see to its consumers"
        ),
    )
}

/// Others had channels closed, again and again, before the broker could say anything about this message.
pub(crate) fn interrupted(server: &str) -> PublishError {
    PublishError::new(
        PublishErrorKind::Interrupted,
        format!("{server} closed channels over other messages before it took this one"),
    )
}

pub(crate) fn is_not_found(error: &Error) -> bool {
    said(error).is_some_and(|(code, _)| code == NOT_FOUND)
}

fn too_large(server: &str, said: &str) -> String {
    format!("{server} takes no message of this length ({said})")
}

/// The broker's own words are no source: the text has what matters of them.
fn caused(kind: PublishErrorKind, text: String, error: Error) -> PublishError {
    let failure = PublishError::new(kind, text);
    match error.kind() {
        ErrorKind::ProtocolError(_) => failure,
        _ => failure.with_source(error),
    }
}

fn unavailable(text: String) -> PublishError {
    PublishError::new(PublishErrorKind::Unavailable, text)
}

/// The broker's own code and words.
fn said(error: &Error) -> Option<(u16, &str)> {
    match error.kind() {
        ErrorKind::ProtocolError(error) => Some((error.get_id(), error.get_message().as_str())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lapin::protocol::{AMQPError, AMQPErrorKind};

    use super::*;

    fn amqp(code: u16, said: &str) -> Error {
        let kind = AMQPErrorKind::from_id(code).unwrap();
        ErrorKind::ProtocolError(AMQPError::new(kind, said.into())).into()
    }

    #[test]
    fn f5_what_closed_the_channel_says_what_it_was() {
        for (code, said, kind) in [
            (
                404,
                "NOT_FOUND - no exchange 'e'",
                PublishErrorKind::Unavailable,
            ),
            (403, "ACCESS_REFUSED - no", PublishErrorKind::Unavailable),
            (311, "CONTENT_TOO_LARGE", PublishErrorKind::TooLarge),
            (
                406,
                "PRECONDITION_FAILED - message size 5 is larger than configured max size 4",
                PublishErrorKind::TooLarge,
            ),
            (
                406,
                "PRECONDITION_FAILED - invalid message",
                PublishErrorKind::Malformed,
            ),
            (405, "RESOURCE_LOCKED", PublishErrorKind::Unknown),
        ] {
            let error = closed("amqp://h:5672/", "e", amqp(code, said));
            assert_eq!(error.kind, kind, "{said}");
            assert!(
                error.source.is_none(),
                "the broker's words stand in the text"
            );
        }
    }

    #[test]
    fn f3_why_there_is_no_connection_is_told_with_the_way_out() {
        let tls = |error: rustls::Error| io::Error::new(io::ErrorKind::InvalidData, error).into();
        let unknown = CertificateError::UnknownIssuer;
        let content = rustls::InvalidMessage::InvalidContentType;
        let nothing: io::Error = io::ErrorKind::ConnectionRefused.into();
        let cut = || io::Error::from(io::ErrorKind::ConnectionReset);
        let not_allowed = amqp(530, "NOT_ALLOWED - vhost v not found");
        for (url, error, shown) in [
            (
                "amqp://h",
                nothing.into(),
                "nothing listens at amqp://h:5672/; start RabbitMQ",
            ),
            (
                "amqp://h",
                cut().into(),
                "speak TLS on this port (amqps://)",
            ),
            ("amqps://h", cut().into(), "does it speak TLS on this port?"),
            (
                "amqps://h",
                tls(content.into()),
                "speaks no TLS on this port",
            ),
            (
                "amqps://h",
                tls(unknown.into()),
                "name its authority with ca= in the URL",
            ),
            (
                "amqps://h",
                tls(rustls::Error::DecryptError),
                "cannot agree on TLS",
            ),
            (
                "amqp://h/v",
                not_allowed,
                "(NOT_ALLOWED - vhost v not found); create the virtual host",
            ),
        ] {
            let config = RabbitMqConfig::from_url(url).unwrap();
            let error = no_connection(&config, &NoConnection::Failed(error));
            assert_eq!(error.kind, PublishErrorKind::Unavailable);
            assert!(error.text.contains(shown), "{error}");
            assert!(!shown.contains("NOT_ALLOWED") || error.source.is_none());
        }
        let config = RabbitMqConfig::from_url("amqps://h").unwrap();
        let error = no_connection(&config, &NoConnection::TimedOut);
        assert!(
            error
                .text
                .ends_with("within 5 s; does it speak TLS on this port?"),
            "{error}"
        );
    }

    #[test]
    fn f3_what_is_full_is_named_and_says_nothing_about_the_message() {
        for (exchange, name) in [("", "queue \"k\" on"), ("e", "a queue of exchange \"e\"")] {
            let error = refused("amqp://h:5672/", exchange, "k");
            assert_eq!(error.kind, PublishErrorKind::Throttled);
            assert!(error.text.starts_with(name), "{error}");
        }
    }

    #[test]
    fn f3_f5_a_connection_that_ends_is_an_outage_unless_a_closed_channel_was_the_reason() {
        for (error, kind) in [
            (
                amqp(320, "CONNECTION_FORCED - shutdown"),
                PublishErrorKind::Unavailable,
            ),
            (
                amqp(504, "CHANNEL_ERROR - expected 'channel.open'"),
                PublishErrorKind::Interrupted,
            ),
            (
                ErrorKind::MissingHeartbeatError.into(),
                PublishErrorKind::Unavailable,
            ),
            (
                ErrorKind::ChannelsLimitReached.into(),
                PublishErrorKind::Unavailable,
            ),
        ] {
            let error = lost("amqp://h:5672/", error);
            assert_eq!(error.kind, kind, "{error}");
        }
    }
}
