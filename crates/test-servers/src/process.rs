//! Running programs to their end, and processes by their ids: whether one is a server of ours, and signals to it. An id may
//! have gone to a stranger since it was written down, so nothing is signalled whose command line does not name our folder.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// How long a server may take to start or to end.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// How often it is looked at meanwhile.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

/// What a process is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Postgres: end the sessions, write everything down, end.
    Interrupt,
    /// Postgres: end at once; the next start recovers.
    Quit,
    /// The others: write everything down, end.
    Terminate,
    /// What nobody can refuse.
    Kill,
    /// Stand still, and go on.
    Stop,
    Continue,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "INT",
            Self::Quit => "QUIT",
            Self::Terminate => "TERM",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }
}

/// Reads the id in a pid file, if that process lives and its command line names the folder.
pub(crate) fn recorded(pid_file: &Path, folder: &Path) -> Option<u32> {
    let text = fs::read_to_string(pid_file).ok()?;
    let pid = text.lines().next()?.trim().parse().ok()?;
    is_ours(pid, folder).then_some(pid)
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command) -> Result {
    read(command).map(drop)
}

/// Runs a program to its end and returns what it wrote, without the last line end.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let name = command.get_program().display().to_string();
    let fix = "mend what it says; if it names a folder below target, remove that";
    let output = command
        .output()
        .map_err(|error| Error::new(format!("{name}: {error}"), fix))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        // Some say there what went wrong that should have been an answer.
        let said = String::from_utf8_lossy(&output.stderr) + &*text;
        let what = format!("{name} ended with {}\n{}", output.status, said.trim_end());
        return Err(Error::new(what, fix));
    }
    Ok(text.trim_end_matches('\n').to_owned())
}

/// Tells a process to end. That it has ended already is no error.
pub(crate) fn signal(pid: u32, signal: Signal) {
    // The shell's own `kill`: the program of that name is not on every machine.
    let line = format!("kill -s {} {pid}", signal.name());
    let _ = Command::new("sh").args(["-c", &line]).output();
}

/// Lets a process stand still, and returns when all of it does: a signal reaches one of its threads after the other.
pub(crate) fn freeze(pid: u32) {
    signal(pid, Signal::Stop);
    within(PATIENCE, || stands_still(pid));
}

/// Looks at every thread where the system shows them; elsewhere the process is believed.
fn stands_still(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    threads.flatten().all(|thread| {
        // The state is the first word after the name, which is in parentheses and may have some of its own.
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_none_or(|(_, rest)| rest.starts_with('T'))
    })
}

/// Ends a server that is no child of this program.
pub(crate) fn end(pid: u32, folder: &Path, with: Signal) -> Result {
    signal(pid, with);
    if within(PATIENCE, || !is_ours(pid, folder)) {
        return Ok(());
    }
    signal(pid, Signal::Kill);
    if within(PATIENCE, || !is_ours(pid, folder)) {
        return Ok(());
    }
    Err(Error::new(
        format!("process {pid} does not end"),
        format!("end it by hand; it works in {}", folder.display()),
    ))
}

/// Ends a child; if it takes too long, by force.
pub(crate) fn end_child(child: &mut Child, with: Signal) -> Result<ExitStatus> {
    signal(child.id(), with);
    let mut status = None;
    within(PATIENCE, || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    if let Some(status) = status {
        return Ok(status);
    }
    // It has ended since, or ends now.
    let _ = child.kill();
    child.wait().map_err(|error| {
        Error::new(
            format!("process {} does not end: {error}", child.id()),
            "end it by hand",
        )
    })
}

/// Looks again and again until it holds, or time is up.
pub(crate) fn within(time: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if begin.elapsed() > time {
            return false;
        }
        thread::sleep(LOOK);
    }
}

fn is_ours(pid: u32, folder: &Path) -> bool {
    command_line(pid).is_some_and(|line| names(&line, &folder.to_string_lossy()))
}

/// The words with which a living process was started.
fn command_line(pid: u32) -> Option<Vec<String>> {
    let words = |text: &[u8], between: fn(&u8) -> bool| -> Vec<String> {
        let words = text.split(between);
        words
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    };
    if Path::new("/proc/self/cmdline").exists() {
        let text = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        return Some(words(&text, |byte| *byte == 0));
    }
    let pid = pid.to_string();
    let output = Command::new("ps")
        .args(["-o", "args=", "-p", &pid])
        .output();
    Some(words(&output.ok()?.stdout, u8::is_ascii_whitespace))
}

/// Says whether a word is the folder or a path in it.
fn names(words: &[String], folder: &str) -> bool {
    words.iter().any(|word| {
        word.strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_ours_if_a_word_of_its_command_line_is_in_the_folder() {
        let words = ["postgres", "-D", "/runs/1/data"].map(str::to_owned);
        assert!(names(&words, "/runs/1/data"));
        assert!(names(&words, "/runs/1"));
        assert!(!names(&words, "/runs/11"));
        assert!(!names(&words, "/runs/1/dat"));
        assert!(!names(&[], "/runs/1"));
    }

    #[test]
    fn a_living_stranger_is_not_taken_for_a_server() {
        let own = std::process::id();
        assert!(command_line(own).is_some_and(|words| !words.is_empty()));
        assert!(!is_ours(own, Path::new("/nowhere")));
    }
}
