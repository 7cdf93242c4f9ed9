//! What an error says about the message, and what people should do. Pure: codes and words in, errors out.

use std::{fmt::Display, io};

use outbox_publisher::{PublishError, PublishErrorKind};
use redis::RedisError;
use rustls::CertificateError;

use crate::{Layout, call::Refusal, dial::DialError, link::ConnectError};

/// The most characters of an answer that are shown.
const SHOWN: usize = 200;

/// Where something went wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The server as people write it.
    pub(crate) server: &'a str,
    /// The key of the list or stream.
    pub(crate) key: &'a str,
    pub(crate) layout: &'a Layout,
}

impl Place<'_> {
    /// What the server said instead of doing it.
    pub(crate) fn refused(self, refusal: &Refusal) -> PublishError {
        let Self {
            server,
            key,
            layout,
        } = self;
        let (kind, text) = match &*refusal.code {
            "WRONGTYPE" => (
                PublishErrorKind::Unavailable,
                format!(
                    "the key {key:?} on {server} holds no {wanted}; remove or rename it, or correct {parameter}= in the URL",
                    wanted = layout.redis_type(),
                    parameter = layout.parameter(),
                ),
            ),
            "MOVED" | "ASK" => (
                PublishErrorKind::Unavailable,
                format!(
                    "the key {key:?} is on another node of the cluster of {server} ({}); put that node into the URL, and keep \
                     all keys on it by one hash tag",
                    shown(&refusal.details)
                ),
            ),
            "CROSSSLOT" => (
                PublishErrorKind::Unavailable,
                format!(
                    "the keys {key:?} and \"{key}:notify\" are in different slots of the cluster of {server}; write \
                     queue={{{{{{topic}}}}}} in the URL, which makes the name a hash tag"
                ),
            ),
            _ => return of_server(server, refusal),
        };
        PublishError::new(kind, text)
    }
}

/// There is no connection.
pub(crate) fn unconnected(server: &str, error: &ConnectError) -> PublishError {
    let has_tls = server.starts_with("rediss://");
    match error {
        ConnectError::Dial(error) => {
            let unavailable = |text: String| PublishError::new(PublishErrorKind::Unavailable, text);
            match error {
                DialError::Tcp(io) if io.kind() == io::ErrorKind::ConnectionRefused => unavailable(
                    format!("nothing listens at {server}; start Redis, or correct the URL"),
                ),
                DialError::Tcp(io) => unavailable(format!("cannot connect to {server}: {io}")),
                DialError::Handshake(io) => unavailable(no_tls(server, io)),
                DialError::File { .. } | DialError::Setup(_) => {
                    unavailable(format!("cannot connect to {server}: {error}"))
                }
            }
        }
        ConnectError::Timeout => PublishError::new(
            PublishErrorKind::Unavailable,
            if has_tls {
                format!(
                    "{server} does not answer to a new connection; does it speak TLS on this port?"
                )
            } else {
                format!("{server} does not answer to a new connection")
            },
        ),
        ConnectError::Lost(error) if has_tls => lost(server, error.clone()),
        ConnectError::Lost(error) => {
            let what = if error.is_io_error() {
                "ended a new connection"
            } else {
                "does not answer like Redis"
            };
            PublishError::new(
                PublishErrorKind::Unavailable,
                format!(
                    "{server} {what}; does it speak TLS on this port (rediss://), and is it Redis?"
                ),
            )
            .with_source(error.clone())
        }
        ConnectError::Refused("SELECT", refusal) if refusal.code() == "ERR" => PublishError::new(
            PublishErrorKind::Unavailable,
            format!("{server} has no such database; correct the number in the URL"),
        ),
        ConnectError::Refused("AUTH", refusal) if refusal.code() == "ERR" => PublishError::new(
            PublishErrorKind::Unavailable,
            format!(
                "{server} takes no login: {}",
                shown(refusal.details().unwrap_or_default())
            ),
        ),
        ConnectError::Refused(_, refusal) => of_server(server, &refusal.clone().into()),
    }
}

fn no_tls(server: &str, error: &io::Error) -> String {
    let inner = error.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(_)) => format!(
            "{server} speaks no TLS on this port; correct the port, or write redis:// in the URL"
        ),
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        )) => format!(
            "no trusted authority signed the certificate of {server}; name its authority with ca= in the URL"
        ),
        Some(_) => format!("cannot agree on TLS with {server}: {error}"),
        None => {
            format!("cannot agree on TLS with {server}: {error}; does it speak TLS on this port?")
        }
    }
}

/// The connection was lost before there was an answer, or the answer was none of Redis.
pub(crate) fn lost(server: &str, error: RedisError) -> PublishError {
    let text = if error.is_io_error() {
        format!("lost the connection to {server}")
    } else {
        format!("{server} does not answer like Redis")
    };
    PublishError::new(PublishErrorKind::Unavailable, text).with_source(error)
}

/// Fewer replicas than asked for have a message.
pub(crate) fn unreplicated(server: &str, wanted: u32, have: i64) -> PublishError {
    PublishError::new(
        PublishErrorKind::Unavailable,
        format!(
            "{have} replicas of {server} acknowledged, and wait_replicas={wanted} are asked for"
        ),
    )
}

/// The server read none of a message, since it has so long a part.
pub(crate) fn too_long(server: &str, len: usize) -> PublishError {
    PublishError::new(
        PublishErrorKind::TooLarge,
        format!(
            "the message has {len} bytes for Redis, and {server} takes fewer (proto-max-bulk-len)"
        ),
    )
}

/// Whether an answer says that the server cannot read so long a part. It then closes the connection.
pub(crate) fn is_too_long(refusal: &Refusal) -> bool {
    refusal.code == "ERR"
        && refusal
            .details
            .starts_with("Protocol error: invalid bulk length")
}

/// Whether another connection may reach a server that can do better.
pub(crate) fn wants_another_connection(refusal: &Refusal) -> bool {
    matches!(&*refusal.code, "READONLY" | "NOAUTH" | "UNBLOCKED") || is_too_long(refusal)
}

/// What holds whatever the command was.
fn of_server(server: &str, refusal: &Refusal) -> PublishError {
    use PublishErrorKind::{Throttled, Unavailable, Unknown};

    let Refusal { code, details } = refusal;
    let (kind, what) = match (&**code, &**details) {
        ("LOADING", _) => (Unavailable, "is loading its data"),
        ("READONLY", _) => (
            Unavailable,
            "is a replica, which takes no writes; put the primary into the URL",
        ),
        ("OOM", _) => (
            Unavailable,
            "has reached maxmemory; consume what is there, or give it more memory",
        ),
        ("CLUSTERDOWN", _) => (Unavailable, "belongs to a cluster that is down"),
        ("MASTERDOWN", _) => (Unavailable, "is a replica that lost its primary"),
        ("NOREPLICAS", _) => (
            Unavailable,
            "has fewer replicas than min-replicas-to-write asks for",
        ),
        ("MISCONF", _) => (
            Unavailable,
            "cannot write to its disk and so takes no writes; its log says why",
        ),
        ("NOAUTH", _) => (
            Unavailable,
            "wants a login; put a user or a password into the URL",
        ),
        ("WRONGPASS", _) => (Unavailable, "refuses the user or the password of the URL"),
        ("NOPERM", details) => {
            return PublishError::new(
                Unavailable,
                format!(
                    "{server} does not allow this to its user: {}",
                    shown(details)
                ),
            );
        }
        ("UNBLOCKED", _) => (Unavailable, "has become a replica"),
        ("BUSY", _) => (Throttled, "is busy with a script"),
        ("TRYAGAIN", _) => (Throttled, "is moving the key to another node"),
        ("ERR", details) if details.starts_with("max number of clients") => (
            Unavailable,
            "has no room for another connection (maxclients)",
        ),
        ("ERR", details) if details.starts_with("unknown command") => (
            Unavailable,
            "does not know a command that this layout needs; it is too old, or the command was renamed",
        ),
        (code, details) => {
            return PublishError::new(
                Unknown,
                format!("{server} answered {code} {}", shown(details)),
            );
        }
    };
    PublishError::new(kind, format!("{server} {what}"))
}

/// The beginning of an answer, without the arguments that some repeat: they may be a payload.
fn shown(details: &str) -> impl Display {
    let (details, _) = details
        .split_once("with args beginning")
        .unwrap_or((details, ""));
    details.chars().take(SHOWN).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(answer: &str) -> PublishError {
        let (code, details) = answer.split_once(' ').unwrap();
        let refusal = Refusal {
            code: code.to_owned(),
            details: details.to_owned(),
        };
        let place = Place {
            server: "redis://h:6379/0",
            key: "orders",
            layout: &Layout::list(),
        };
        place.refused(&refusal)
    }

    #[test]
    fn f3_what_is_wrong_with_the_server_or_the_key_is_unavailable_and_says_what_to_do() {
        for (answer, shown) in [
            (
                "LOADING Redis is loading the dataset in memory",
                "is loading its data",
            ),
            (
                "READONLY You can't write against a read only replica.",
                "put the primary into the URL",
            ),
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                "has reached maxmemory",
            ),
            ("CLUSTERDOWN Hash slot not served", "cluster that is down"),
            ("MASTERDOWN Link with MASTER is down", "lost its primary"),
            (
                "NOREPLICAS Not enough good replicas to write.",
                "min-replicas-to-write",
            ),
            (
                "MISCONF Errors writing to the AOF file: No space left on device",
                "its disk",
            ),
            ("NOAUTH Authentication required.", "wants a login"),
            (
                "WRONGPASS invalid username-password pair or user is disabled.",
                "refuses the user or the password",
            ),
            (
                "NOPERM this user has no permissions to run the 'rpush' command",
                "run the 'rpush' command",
            ),
            (
                "WRONGTYPE Operation against a key",
                "the key \"orders\" on redis://h:6379/0 holds no list; remove or rename it, or correct queue=",
            ),
            (
                "MOVED 3999 10.0.0.2:6381",
                "on another node of the cluster of redis://h:6379/0 (3999 10.0.0.2:6381)",
            ),
            ("ASK 3999 10.0.0.2:6381", "on another node"),
            (
                "CROSSSLOT Keys in request don't hash to the same slot",
                "queue={{{topic}}} in the URL",
            ),
            ("ERR max number of clients reached", "maxclients"),
            (
                "ERR unknown command 'XADD', with args beginning with: 'secret' ",
                "does not know a command",
            ),
        ] {
            let error = refused(answer);
            assert_eq!(error.kind, PublishErrorKind::Unavailable, "{error}");
            assert!(error.text.contains(shown), "{error}");
            assert!(error.text.contains("redis://h:6379/0"), "{error}");
            assert!(!error.text.contains("secret"), "{error}");
        }
    }

    #[test]
    fn f3_why_there_is_no_connection_is_told_with_the_way_out() {
        let handshake = |error: rustls::Error| {
            let error = io::Error::new(io::ErrorKind::InvalidData, error);
            ConnectError::Dial(DialError::Handshake(error))
        };
        let tcp = |kind: io::ErrorKind| ConnectError::Dial(DialError::Tcp(kind.into()));
        let eof = ConnectError::Dial(DialError::Handshake(io::ErrorKind::UnexpectedEof.into()));
        let lost = ConnectError::Lost(io::Error::from(io::ErrorKind::BrokenPipe).into());
        let content = rustls::InvalidMessage::InvalidContentType;
        let (plain, secure) = ("redis://h:6379/0", "rediss://h:6379/0");
        for (server, error, shown) in [
            (
                plain,
                tcp(io::ErrorKind::ConnectionRefused),
                "nothing listens at redis://h:6379/0; start Redis",
            ),
            (
                plain,
                tcp(io::ErrorKind::HostUnreachable),
                "cannot connect to",
            ),
            (plain, lost, "does it speak TLS on this port (rediss://)"),
            (
                secure,
                ConnectError::Timeout,
                "does it speak TLS on this port?",
            ),
            (secure, eof, "does it speak TLS on this port?"),
            (
                secure,
                handshake(content.into()),
                "speaks no TLS on this port",
            ),
            (
                secure,
                handshake(CertificateError::UnknownIssuer.into()),
                "with ca= in the URL",
            ),
            (
                secure,
                handshake(rustls::Error::DecryptError),
                "cannot agree on TLS",
            ),
        ] {
            let error = unconnected(server, &error);
            assert_eq!(error.kind, PublishErrorKind::Unavailable, "{error}");
            assert!(error.text.contains(shown), "{error}");
        }
        let error = unconnected(plain, &ConnectError::Timeout);
        assert!(!error.text.contains("TLS"), "{error}");
    }

    #[test]
    fn f3_a_busy_server_asks_for_less() {
        for answer in [
            "BUSY Redis is busy running a script.",
            "TRYAGAIN Multiple keys request during rehashing of slot",
        ] {
            assert_eq!(refused(answer).kind, PublishErrorKind::Throttled);
        }
    }

    #[test]
    fn f1_anything_else_counts_and_repeats_no_payload() {
        let error = refused("ERR syntax error, with args beginning with: 'secret'");
        assert_eq!(error.kind, PublishErrorKind::Unknown);
        assert!(
            error.text.ends_with("answered ERR syntax error, "),
            "{error}"
        );
        assert!(refused(&format!("ERR {}", "x".repeat(5000))).text.len() < 300);
    }
}
