//! What a command prints: one JSON object, or text for people. Logs are not here.

use std::io::{self, ErrorKind, Write};

use serde::Serialize;

use crate::{exit::Exit, failure::Failure, redact::redact};

/// Where a command's result goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Stdout,
    Stderr,
}

/// How results are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
    stream: Stream,
}

/// What a command that failed prints with `--json`.
#[derive(Serialize)]
struct Failed<'a, T> {
    #[serde(flatten)]
    done: T,
    error: &'a str,
    hint: Option<&'a str>,
    exit_code: u8,
}

impl Output {
    /// Prints to standard output.
    pub(crate) fn new(json: bool) -> Self {
        Self {
            json,
            stream: Stream::Stdout,
        }
    }

    /// The same, to standard error: for when standard output is where messages go.
    #[must_use]
    pub(crate) fn beside_stdout(self) -> Self {
        Self {
            stream: Stream::Stderr,
            ..self
        }
    }

    /// Whether people read along.
    pub(crate) fn is_for_people(self) -> bool {
        !self.json
    }

    /// Prints a result: `value` as one line of JSON, or else the text.
    pub(crate) fn result<T: Serialize>(
        self,
        value: &T,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let printed = if self.json {
            let json = serde_json::to_string(value)
                .map_err(|error| Failure::caused(Exit::Broken, &error))?;
            self.write(&json)
        } else {
            self.write(text().trim_end())
        };
        printed.map_err(|error| unprinted(&error))
    }

    /// Prints a failure for people on standard error; with `--json` as an object too, where the result would have gone.
    pub(crate) fn failure(self, failure: &Failure) {
        self.failure_after(failure, ());
    }

    /// The same, with the members of `done`, which says what was done before.
    pub(crate) fn failure_after<T: Serialize>(self, failure: &Failure, done: T) {
        if failure.what.is_empty() {
            return;
        }
        let (what, hint) = (redact(&failure.what), failure.hint.as_deref().map(redact));
        if self.json {
            let failed = Failed {
                done,
                error: &what,
                hint: hint.as_deref(),
                exit_code: failure.exit.code(),
            };
            if let Ok(json) = serde_json::to_string(&failed) {
                // Nobody is left to tell.
                let _ = self.write(&json);
            }
        }
        let mut text = format!("error: {what}\n");
        for line in hint.iter().flat_map(|hint| hint.lines()) {
            text.push_str("  ");
            text.push_str(line);
            text.push('\n');
        }
        let _ = io::stderr().write_all(text.as_bytes());
    }

    fn write(self, text: &str) -> io::Result<()> {
        let mut line = text.as_bytes().to_vec();
        line.push(b'\n');
        match self.stream {
            Stream::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&line).and_then(|()| stdout.flush())
            }
            Stream::Stderr => io::stderr().write_all(&line),
        }
    }
}

fn unprinted(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::silent(Exit::Closed),
        _ => Failure::new(
            Exit::Broken,
            format!("the result cannot be written: {error}"),
        ),
    }
}
