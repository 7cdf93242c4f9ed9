//! Running other programs: each is printed before it runs, and a failure says how to fix it.

use std::env;
use std::fmt;
use std::process::Command;

/// What every command answers.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// One thing that went wrong, and what to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    fix: String,
}

impl Failure {
    /// Makes a failure of a sentence each.
    pub(crate) fn new(what: impl fmt::Display, fix: impl fmt::Display) -> Self {
        Self {
            what: what.to_string(),
            fix: fix.to_string(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed: {}\nfix: {}", self.what, self.fix)
    }
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

fn announce(command: &Command) -> String {
    let envs = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}='{}'", name.display(), value?.display())));
    let args = command.get_args().map(|arg| arg.display().to_string());
    let words = envs.chain(["cargo".into()]).chain(args);
    let line = words.collect::<Vec<_>>().join(" ");
    println!("$ {line}");
    line
}
