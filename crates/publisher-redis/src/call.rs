//! The command for some messages of one run, and what its answer says. Values only; nothing is sent here.

use std::sync::LazyLock;

use redis::{Cmd, RedisError, Script, ServerError, Value};

use crate::{Layout, entry::Entry};

/// Several entries of a stream; the prefix stays when one is refused.
static APPEND: LazyLock<Script> = LazyLock::new(|| Script::new(APPEND_SOURCE));
const APPEND_SOURCE: &str = include_str!("lua/append.lua");

/// Jobs with their notifications.
static LARAVEL: LazyLock<Script> = LazyLock::new(|| Script::new(LARAVEL_SOURCE));
const LARAVEL_SOURCE: &str = include_str!("lua/laravel.lua");

/// How a script is named in a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// By its hash. The server may not know it.
    Hash,
    /// By itself; the server knows it from then on.
    Source,
}

/// How far the messages of a command got.
#[derive(Debug)]
pub(crate) enum Answer {
    /// All are there.
    All,
    /// So many are there, and the next one was refused.
    Refused(usize, Refusal),
    /// The server does not know the script. Nothing was done.
    NoScript,
}

/// What a server says instead of doing it: `WRONGTYPE Operation against ..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The first word.
    pub(crate) code: String,
    /// The rest.
    pub(crate) details: String,
}

/// The command that brings `entries` to `key`.
pub(crate) fn command(layout: &Layout, key: &str, entries: &[Entry<'_>], by: By) -> Cmd {
    let parts = entries.iter().map(|entry| entry.0.len() + 1).sum::<usize>();
    let bytes = entries.iter().map(Entry::bytes).sum::<usize>();
    let mut command = Cmd::with_capacity(parts + 8, bytes + key.len() * 2 + 128);
    match (layout, entries) {
        (Layout::List { .. }, _) => {
            command.arg("RPUSH").arg(key);
        }
        (Layout::Laravel { .. }, _) => {
            script(&mut command, &LARAVEL, LARAVEL_SOURCE, by);
            command.arg(2).arg(key).arg(format!("{key}:notify"));
        }
        // One entry needs no script, and this is the common case where keys are many.
        (Layout::Stream { max_len, .. }, [_]) => {
            command.arg("XADD").arg(key);
            if let Some(max_len) = max_len {
                command.arg("MAXLEN").arg("~").arg(max_len.get());
            }
            command.arg("*");
        }
        (Layout::Stream { max_len, .. }, _) => {
            script(&mut command, &APPEND, APPEND_SOURCE, by);
            let max_len = max_len.map_or(0, Into::into);
            command.arg(1).arg(key).arg::<u64>(max_len);
            for Entry(fields) in entries {
                command.arg(fields.len());
                for field in fields {
                    command.arg(&**field);
                }
            }
            return command;
        }
    }
    for part in entries.iter().flat_map(|entry| &entry.0) {
        command.arg(&**part);
    }
    command
}

fn script(command: &mut Cmd, script: &Script, source: &str, by: By) {
    match by {
        By::Hash => command.arg("EVALSHA").arg(script.get_hash()),
        By::Source => command.arg("EVAL").arg(source),
    };
}

/// What the answer to a command for `count` messages says.
pub(crate) fn read(answer: Value, count: usize) -> Result<Answer, RedisError> {
    match answer {
        Value::ServerError(error) if error.code() == "NOSCRIPT" => Ok(Answer::NoScript),
        Value::ServerError(error) => Ok(Answer::Refused(0, error.into())),
        // The length of a list, or the id of an entry.
        Value::Int(_) | Value::BulkString(_) => Ok(Answer::All),
        // What a script did.
        Value::Array(values) => match &*values {
            [Value::Int(done)] if usize::try_from(*done) == Ok(count) => Ok(Answer::All),
            [Value::Int(done), Value::BulkString(error)] => {
                let error = String::from_utf8_lossy(error);
                let done = usize::try_from(*done).unwrap_or_default().min(count);
                Ok(Answer::Refused(done, Refusal::read(&error)))
            }
            _ => Err(unexpected()),
        },
        _ => Err(unexpected()),
    }
}

/// An answer that no server gives to such a command.
pub(crate) fn unexpected() -> RedisError {
    let kind = redis::ErrorKind::UnexpectedReturnType;
    RedisError::from((kind, "the answer has an unexpected shape"))
}

/// What is wrong with a server that answers so to `INFO replication`, `TYPE` or `PING`. Who may not ask has no objection.
pub(crate) fn objection(answer: &Value, layout: &Layout) -> Option<Refusal> {
    let code = match answer {
        Value::ServerError(error) if error.code() == "NOPERM" => return None,
        Value::ServerError(error) => return Some(error.clone().into()),
        Value::BulkString(info) => {
            let info = String::from_utf8_lossy(info);
            let says = |line: &str| info.lines().any(|other| other == line);
            (says("role:slave") && says("slave_read_only:1")).then_some("READONLY")
        }
        Value::SimpleString(kind) => {
            let fits = ["none", "PONG", layout.redis_type()].contains(&&**kind);
            (!fits).then_some("WRONGTYPE")
        }
        _ => None,
    };
    code.map(Refusal::read)
}

impl Refusal {
    fn read(text: &str) -> Self {
        // Old servers leave the dash of the protocol before an error that a script caught.
        let text = text.strip_prefix('-').unwrap_or(text);
        let (code, details) = text.split_once(' ').unwrap_or((text, ""));
        Self {
            code: code.to_owned(),
            details: details.to_owned(),
        }
    }
}

impl From<ServerError> for Refusal {
    fn from(error: ServerError) -> Self {
        Self {
            code: error.code().to_owned(),
            details: error.details().unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use outbox_message::Message;

    use super::*;
    use crate::limits::Limits;

    fn packed(layout: &Layout, payloads: &[&str], by: By) -> String {
        let messages: Vec<Message> = payloads
            .iter()
            .map(|payload| {
                let payload = format!(r#"{{"n":"{payload}","attempts":0}}"#);
                Message::new("t", payload).unwrap().with_id("i").unwrap()
            })
            .collect();
        let entries: Vec<Entry<'_>> = messages
            .iter()
            .map(|message| Entry::new(message, layout, Limits::default()).unwrap())
            .collect();
        let packed = command(layout, "k", &entries, by).get_packed_command();
        let packed = String::from_utf8(packed).unwrap();
        let mut lines: Vec<&str> = packed.split("\r\n").collect();
        lines.retain(|line| !line.starts_with(['*', '$']) || *line == "*");
        lines.join(" ").trim_end().to_owned()
    }

    #[test]
    fn a_run_is_one_command_and_one_entry_of_a_stream_needs_no_script() {
        let (a, b) = (r#"{"n":"a","attempts":0}"#, r#"{"n":"b","attempts":0}"#);
        let list = packed(&Layout::list(), &["a", "b"], By::Hash);
        assert_eq!(list, format!("RPUSH k {a} {b}"));
        let laravel = packed(&Layout::laravel(), &["a", "b"], By::Hash);
        let hash = LARAVEL.get_hash();
        assert_eq!(laravel, format!("EVALSHA {hash} 2 k k:notify {a} {b}"));
        let one = packed(&Layout::stream(), &["a"], By::Hash);
        let fields = |payload| format!("id i topic t payload {payload}");
        assert_eq!(one, format!("XADD k MAXLEN ~ 1000000 * {}", fields(a)));
        let two = packed(&Layout::stream(), &["a", "b"], By::Hash);
        let hash = APPEND.get_hash();
        let (a, b) = (fields(a), fields(b));
        assert_eq!(two, format!("EVALSHA {hash} 1 k 1000000 6 {a} 6 {b}"));
    }

    #[test]
    fn a_stream_that_keeps_all_is_not_trimmed() {
        let layout = Layout::Stream {
            stream: crate::Template::topic(),
            max_len: None,
        };
        assert!(packed(&layout, &["a"], By::Hash).starts_with("XADD k * id"));
        assert!(packed(&layout, &["a", "b"], By::Hash).contains(" 1 k 0 6 id"));
        assert!(packed(&layout, &["a", "b"], By::Source).starts_with("EVAL -- Appends"));
    }

    #[test]
    fn an_answer_says_how_far_a_run_got() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let answer = |value| read(value, 3).unwrap();
        assert!(matches!(answer(Value::Int(70)), Answer::All));
        assert!(matches!(answer(text("1-0")), Answer::All));
        assert!(matches!(
            answer(Value::Array(vec![Value::Int(3)])),
            Answer::All
        ));
        for error in ["WRONGTYPE Operation", "-WRONGTYPE Operation"] {
            let stopped = answer(Value::Array(vec![Value::Int(2), text(error)]));
            let Answer::Refused(2, refusal) = stopped else {
                panic!("{stopped:?}");
            };
            assert_eq!(
                (&*refusal.code, &*refusal.details),
                ("WRONGTYPE", "Operation")
            );
        }
        for other in [
            Value::Nil,
            Value::Okay,
            Value::Array(vec![]),
            Value::Array(vec![Value::Int(2)]),
        ] {
            assert!(read(other, 3).is_err());
        }
    }
}
