//! Programs that relay, each a process of its own. They speak in lines: `ready`; after `go`, `done <count> <microseconds
//! since 1970>` for messages that are done; they end when their standard input does, maybe with a line `end <json>`.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use crate::{Result, process};

/// How long nothing may be heard of a fleet that has work.
const SILENCE: Duration = Duration::from_mins(2);

/// Relays at work on one database.
#[derive(Debug)]
pub(crate) struct Fleet {
    workers: Vec<Worker>,
    lines: Receiver<Line>,
    began: Option<Duration>,
    /// How many messages are done.
    done: u64,
    /// When the last of them was, since 1970.
    last: Duration,
}

#[derive(Debug)]
struct Worker {
    child: Child,
    input: Option<ChildStdin>,
    cpu_before: Duration,
}

#[derive(Debug)]
enum Line {
    Ready,
    Done(u64, Duration),
    End(String),
    Closed,
    Other(String),
}

/// What a fleet did and used.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// Processor time of all relays since they were ready.
    pub(crate) cpu: Duration,
    /// The peaks of all relays, added up.
    pub(crate) peak_memory: u64,
    /// What they told at their end.
    pub(crate) told: Vec<String>,
}

impl Fleet {
    /// Starts programs and waits until each is ready.
    pub(crate) fn start(commands: Vec<Command>) -> Result<Self> {
        let (sender, lines) = channel();
        let workers = commands
            .into_iter()
            .map(|command| Worker::start(command, sender.clone()))
            .collect::<Result<Vec<_>>>()?;
        let mut fleet = Self {
            workers,
            lines,
            began: None,
            done: 0,
            last: Duration::ZERO,
        };
        for _ in 0..fleet.workers.len() {
            match fleet.lines.recv_timeout(SILENCE) {
                Ok(Line::Ready) => {}
                other => return Err(format!("a program was not ready: {other:?}").into()),
            }
        }
        for worker in &mut fleet.workers {
            worker.cpu_before = process::usage(worker.child.id())?.own;
        }
        Ok(fleet)
    }

    /// Lets them work.
    pub(crate) fn go(&mut self) -> Result {
        self.began = Some(now()?);
        for worker in &mut self.workers {
            if let Some(input) = &mut worker.input {
                input.write_all(b"go\n")?;
            }
        }
        Ok(())
    }

    /// Waits until so many messages are done. How long that took since the beginning.
    pub(crate) fn wait_for(&mut self, messages: u64) -> Result<Duration> {
        while self.done < messages {
            match self.lines.recv_timeout(SILENCE) {
                Ok(Line::Done(count, at)) => {
                    self.done += count;
                    self.last = self.last.max(at);
                }
                Ok(line) => return Err(format!("a relay said {line:?} too soon").into()),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let done = self.done;
                    return Err(format!("only {done} of {messages} messages are done").into());
                }
            }
        }
        Ok(self.last.saturating_sub(self.began.unwrap_or_default()))
    }

    /// Waits likewise. How long it took from the first message that was told since the last wait.
    pub(crate) fn burst(&mut self, messages: u64) -> Result<Duration> {
        let first = match self.lines.recv_timeout(SILENCE)? {
            Line::Done(count, at) => {
                self.done += count;
                self.last = self.last.max(at);
                at
            }
            line => return Err(format!("a relay said {line:?} too soon").into()),
        };
        self.wait_for(messages)?;
        Ok(self.last.saturating_sub(first))
    }

    /// The processor time of all of them until now.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let mut cpu = Duration::ZERO;
        for worker in &self.workers {
            cpu += process::usage(worker.child.id())?.own;
        }
        Ok(cpu)
    }

    /// The memory of all of them now, in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        let memory = self
            .workers
            .iter()
            .map(|worker| process::memory(worker.child.id()));
        memory.sum()
    }

    /// Lets them end, and tells what they used.
    pub(crate) fn end(mut self) -> Result<Ended> {
        let mut ended = Ended::default();
        for worker in &mut self.workers {
            let pid = worker.child.id();
            ended.cpu += process::usage(pid)?.own.saturating_sub(worker.cpu_before);
            ended.peak_memory += process::peak_memory(pid)?;
            worker.input.take();
        }
        for worker in &mut self.workers {
            let status = worker.child.wait()?;
            if !status.success() {
                return Err(format!("a relay ended with {status}").into());
            }
        }
        let mut open = self.workers.len();
        while open > 0 {
            match self.lines.recv_timeout(SILENCE) {
                Ok(Line::End(told)) => ended.told.push(told),
                Ok(Line::Closed) => open -= 1,
                Ok(Line::Other(line)) => return Err(format!("a relay said {line:?}").into()),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(ended)
    }
}

impl Worker {
    fn start(mut command: Command, lines: Sender<Line>) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{command:?}: {error}"))?;
        let output = child.stdout.take().ok_or("it has no output")?;
        let input = child.stdin.take();
        thread::spawn(move || {
            for line in BufReader::new(output)
                .lines()
                .map_while(std::result::Result::ok)
            {
                if lines.send(Line::of(line)).is_err() {
                    return;
                }
            }
            let _ = lines.send(Line::Closed);
        });
        Ok(Self {
            child,
            input,
            cpu_before: Duration::ZERO,
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended by itself is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Line {
    fn of(line: String) -> Self {
        let done = |rest: &str| {
            let (count, micros) = rest.split_once(' ')?;
            let at = Duration::from_micros(micros.parse().ok()?);
            Some(Self::Done(count.parse().ok()?, at))
        };
        if line == "ready" {
            Self::Ready
        } else if let Some(told) = line.strip_prefix("end ") {
            Self::End(told.to_owned())
        } else {
            let line_done = line.strip_prefix("done ").and_then(done);
            line_done.unwrap_or(Self::Other(line))
        }
    }
}

/// Since 1970.
pub(crate) fn now() -> Result<Duration> {
    Ok(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn two_programs_are_waited_for_and_heard() {
        let script =
            "echo ready; read go; echo done 3 1700000000000000; cat; echo end '{\"it\":1}'";
        let mut fleet = Fleet::start(vec![shell(script), shell(script)]).unwrap();
        fleet.go().unwrap();
        fleet.wait_for(6).unwrap();
        assert_eq!(fleet.last, Duration::from_secs(1_700_000_000));
        assert_eq!(fleet.end().unwrap().told, ["{\"it\":1}", "{\"it\":1}"]);
    }

    #[test]
    fn a_program_that_fails_is_an_error() {
        assert!(Fleet::start(vec![shell("exit 1")]).is_err());
        let mut fleet = Fleet::start(vec![shell("echo ready; read go; exit 3")]).unwrap();
        fleet.go().unwrap();
        assert!(fleet.wait_for(1).is_err());
    }
}
