//! Running other programs: each is printed before it runs, and a failure says how to fix it.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// What every command answers.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// What went wrong, each with what to do about it.
#[derive(Debug)]
pub(crate) struct Failure(Vec<String>);

impl Failure {
    /// Makes a failure of what went wrong and how to fix it.
    pub(crate) fn new(what: impl fmt::Display, fix: impl fmt::Display) -> Self {
        Self(vec![format!("failed: {what}\n   fix: {fix}")])
    }

    /// Makes one failure of several; none is a success.
    pub(crate) fn join(failures: Vec<Self>) -> Result {
        if failures.is_empty() {
            return Ok(());
        }
        Err(Self(
            failures.into_iter().flat_map(|failure| failure.0).collect(),
        ))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// Prints what a check found.
///
/// # Errors
///
/// A failure with this fix, if it found anything.
pub(crate) fn report(check: &str, offences: &[String], fix: &str) -> Result {
    if offences.is_empty() {
        println!("{check}: ok");
        return Ok(());
    }
    for offence in offences {
        eprintln!("{check}: {offence}");
    }
    let count = offences.len();
    Err(Failure::new(format!("{check} (found {count})"), fix))
}

/// Begins a command of the cargo that runs this program.
pub(crate) fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// Prints the command and runs it on this terminal.
///
/// # Errors
///
/// A failure with this fix, if the program cannot start or does not end with success.
pub(crate) fn run(command: &mut Command, fix: &str) -> Result {
    let line = announce(command);
    let status = command
        .status()
        .map_err(|error| Failure::new(format!("{line}: {error}"), fix))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("{line} ({status})"), fix))
}

/// Prints the command, runs it and returns what it wrote to its standard output.
///
/// # Errors
///
/// As [`run`], and if the output is not UTF-8.
pub(crate) fn read(command: &mut Command, fix: &str) -> Result<String> {
    let line = announce(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::new(format!("{line}: {error}"), fix))?;
    if !output.status.success() {
        return Err(Failure::new(format!("{line} ({})", output.status), fix));
    }
    String::from_utf8(output.stdout).map_err(|error| Failure::new(format!("{line}: {error}"), fix))
}

/// Prints the command as it can be typed into a shell.
fn announce(command: &Command) -> String {
    let envs = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.display(), quoted(value?))));
    let program = Path::new(command.get_program());
    let name = quoted(program.file_name().unwrap_or(program.as_os_str()));
    let args = command.get_args().map(quoted);
    let words = envs.chain([name]).chain(args);
    let line = words.collect::<Vec<_>>().join(" ");
    println!("$ {line}");
    line
}

fn quoted(word: &OsStr) -> String {
    let word = word.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_split_are_quoted() {
        assert_eq!(quoted(OsStr::new("--package")), "--package");
        assert_eq!(quoted(OsStr::new("-D warnings")), "'-D warnings'");
        assert_eq!(quoted(OsStr::new("it's")), r"'it'\''s'");
        assert_eq!(quoted(OsStr::new("")), "''");
    }

    #[test]
    fn a_check_that_found_something_fails_with_its_fix() {
        assert!(report("tidy", &[], "mend it").is_ok());
        let failure = report("tidy", &["a.rs:1: bare".into()], "mend it").unwrap_err();
        assert_eq!(
            failure.to_string(),
            "failed: tidy (found 1)\n   fix: mend it"
        );
    }
}
