//! How long what is sent may be: what the server says, and where a run is cut into several commands.

use redis::{ServerError, Value};

/// The most bytes of one command with several messages, however much the server takes: it does nothing else meanwhile.
const COMMAND_BYTES: usize = 16 * 1024 * 1024;

/// The longest parts and commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The most bytes of one part, which is an element or a field.
    pub(crate) part: usize,
    /// The most bytes of one command with one message.
    pub(crate) command: usize,
}

impl Default for Limits {
    /// Those of a server that was not told otherwise.
    fn default() -> Self {
        Self {
            part: 512 * 1024 * 1024,
            command: 1024 * 1024 * 1024,
        }
    }
}

impl Limits {
    /// What is asked for, in the order in which [`read`](Self::read) takes the answers.
    pub(crate) const SETTINGS: [&str; 2] = ["proto-max-bulk-len", "client-query-buffer-limit"];

    /// Reads what the server says. A user who may not ask, and a server that does not know, leave the defaults; any other
    /// error is of the server as a whole.
    pub(crate) fn read(answers: Vec<Value>, most: Option<usize>) -> Result<Self, ServerError> {
        let mut limits = Self::default();
        let places = [&mut limits.part, &mut limits.command];
        for (place, answer) in places.into_iter().zip(answers) {
            match answer {
                Value::ServerError(error) if !is_silence(&error) => return Err(error),
                answer => *place = setting(&answer).unwrap_or(*place),
            }
        }
        limits.part = limits.part.min(most.unwrap_or(usize::MAX));
        Ok(limits)
    }

    /// The most bytes of one command with several messages.
    pub(crate) fn room(self) -> usize {
        COMMAND_BYTES.min(self.command / 2)
    }
}

/// Whether somebody is only not told.
fn is_silence(error: &ServerError) -> bool {
    match error.code() {
        "NOPERM" => true,
        "ERR" => error
            .details()
            .is_some_and(|details| details.starts_with("unknown command")),
        _ => false,
    }
}

/// The number in the answer to `CONFIG GET`: a name and a value.
fn setting(answer: &Value) -> Option<usize> {
    let Value::Array(pair) = answer else {
        return None;
    };
    match &**pair {
        [_, Value::BulkString(value)] => str::from_utf8(value).ok()?.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(name: &str, value: &str) -> Value {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        Value::Array(vec![text(name), text(value)])
    }

    fn error(code: &str, details: &str) -> Value {
        let error = redis::make_extension_error(code.into(), Some(details.into()));
        Value::ServerError(ServerError::try_from(error).unwrap())
    }

    #[test]
    fn a_server_says_what_it_takes_and_less_may_be_asked_for() {
        let answers = || vec![says("a", "1048576"), says("b", "2097152")];
        let limits = Limits::read(answers(), None).unwrap();
        assert_eq!((limits.part, limits.command), (1_048_576, 2_097_152));
        assert_eq!(limits.room(), 1_048_576);
        assert_eq!(Limits::read(answers(), Some(10)).unwrap().part, 10);
        assert_eq!(Limits::default().room(), COMMAND_BYTES);
    }

    #[test]
    fn who_may_not_ask_goes_by_the_defaults_and_other_errors_are_the_servers() {
        let silent = vec![
            error("NOPERM", "this user has no permissions"),
            error("ERR", "unknown command 'CONFIG'"),
        ];
        assert_eq!(Limits::read(silent, None), Ok(Limits::default()));
        let refused = vec![error("NOAUTH", "Authentication required.")];
        assert_eq!(Limits::read(refused, None).unwrap_err().code(), "NOAUTH");
        assert_eq!(
            Limits::read(vec![Value::Array(vec![])], None),
            Ok(Limits::default())
        );
    }
}
