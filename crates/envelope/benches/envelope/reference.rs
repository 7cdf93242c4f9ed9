//! The reference in a process of its own, which times itself.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use crate::RAW;

/// The variable with the path of a Python that has the package.
const PYTHON: &str = "OUTBOX_TEST_PYTHON";

/// A Python with the package babelqueue, ended when it is dropped.
pub(crate) struct Reference {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    name: String,
}

impl Reference {
    /// Starts it; if that cannot be, says why and what to do.
    pub(crate) fn start() -> Result<Self, String> {
        let python = env::var_os(PYTHON)
            .ok_or_else(|| format!("{PYTHON} is not set; cargo xtask bench envelope sets it"))?;
        let mut child = Command::new(python)
            .args(["-c", include_str!("reference.py"), RAW])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the program of {PYTHON} does not start: {error}"))?;
        let questions = child.stdin.take().expect("it is piped");
        let answers = child.stdout.take().expect("it is piped");
        let mut reference = Self {
            child,
            questions,
            answers: BufReader::new(answers),
            name: String::new(),
        };
        reference.name = reference.line()?;
        Ok(reference)
    }

    /// What it is, with its version and that of Python.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How long it takes to do `operation` so many times.
    pub(crate) fn times(&mut self, operation: &str, count: u32) -> Duration {
        writeln!(self.questions, "{operation} {count}").expect("it reads until it is told to end");
        let nanoseconds = self.line().expect("it answers each question");
        Duration::from_nanos(nanoseconds.parse().expect("it answers with a number"))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(1..) => Ok(line.trim_end().to_owned()),
            _ => Err(format!(
                "the program of {PYTHON} cannot run babelqueue, as it says above"
            )),
        }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
