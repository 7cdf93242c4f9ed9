//! What the broker's and the client's errors say about a message.

use std::io;

use lapin::{Error, ErrorKind};
use outbox_publisher::{PublishError, PublishErrorKind};

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
        return unavailable(format!("{server} did not answer within {seconds} s"));
    };
    let text = match (error.kind(), said(error)) {
        (_, Some((ACCESS_REFUSED, _))) => {
            format!("{server} refuses the user {user:?} or the password; correct them in the URL")
        }
        (_, Some((NOT_ALLOWED, said))) => format!(
            "{server} does not let the user {user:?} in ({said}); create the virtual host, or let the user use it"
        ),
        (_, Some((_, said))) => format!("{server} does not take the connection ({said})"),
        (ErrorKind::IOError(error), None) => match error.kind() {
            io::ErrorKind::ConnectionRefused => {
                format!("nothing listens at {server}; start RabbitMQ, or correct the URL")
            }
            io::ErrorKind::InvalidData => format!(
                "TLS with {server} failed; if a private authority signed its certificate, name that with ca= in the URL"
            ),
            _ => format!("cannot connect to {server}"),
        },
        _ => format!("cannot connect to {server}"),
    };
    unavailable(text).with_source(error.clone())
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
    PublishError::new(kind, text).with_source(error)
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
    PublishError::new(kind, text).with_source(error)
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
    unavailable(text).with_source(error)
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
            assert!(error.source.is_some());
        }
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
