//! What the kernel tells about processes: processor time and memory. Linux only.

use std::{fs, time::Duration};

use crate::Result;

/// Clock ticks of `/proc` a second; Linux has shown this number to programs on every processor for decades.
const TICKS: f64 = 100.0;

/// What a process has used until now.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Processor time of the process itself.
    pub(crate) own: Duration,
    /// Processor time of children that have ended.
    pub(crate) ended: Duration,
    parent: u32,
}

/// Reads the usage of one process.
pub(crate) fn usage(pid: u32) -> Result<Usage> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    parse(&stat).ok_or_else(|| format!("/proc/{pid}/stat is not understood: {stat}").into())
}

/// The name of the program may have spaces and parentheses; what follows the last one has not.
fn parse(stat: &str) -> Option<Usage> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |n: usize| -> Option<Duration> {
        let ticks: u32 = fields.get(n)?.parse().ok()?;
        Some(Duration::from_secs_f64(f64::from(ticks) / TICKS))
    };
    Some(Usage {
        parent: fields.get(1)?.parse().ok()?,
        own: ticks(11)? + ticks(12)?,
        ended: ticks(13)? + ticks(14)?,
    })
}

/// The processor time of a process and all that it started, ended or not: of a server with its sessions.
pub(crate) fn time_of_family(pid: u32) -> Result<Duration> {
    let root = usage(pid)?;
    let mut time = root.own + root.ended;
    for entry in fs::read_dir("/proc")? {
        let Some(child) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // One that has ended meanwhile is counted by its parent the next time.
        if let Ok(usage) = usage(child)
            && usage.parent == pid
        {
            time += usage.own + usage.ended;
        }
    }
    Ok(time)
}

/// The most memory that a process ever had in use at once, in bytes.
pub(crate) fn peak_memory(pid: u32) -> Result<u64> {
    status(pid, "VmHWM:")
}

/// The memory that a process has in use now, in bytes.
pub(crate) fn memory(pid: u32) -> Result<u64> {
    status(pid, "VmRSS:")
}

fn status(pid: u32, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib: u64 = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .ok_or_else(|| format!("/proc/{pid}/status has no {name}"))?
        .trim()
        .parse()?;
    Ok(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_are_read_whatever_the_name_of_the_program_is() {
        let stat = "7 (a (b) c) S 3 7 7 0 -1 4194560 100 0 0 0 150 50 20 5 20 0 4 0 12 1 2";
        let usage = parse(stat).unwrap();
        assert_eq!(usage.parent, 3);
        assert_eq!(usage.own, Duration::from_secs(2));
        assert_eq!(usage.ended, Duration::from_millis(250));
        assert!(parse("7 (short) S 1").is_none());
    }

    #[test]
    fn this_process_has_memory_and_time() {
        let own = std::process::id();
        assert!(memory(own).unwrap() > 100_000);
        assert!(peak_memory(own).unwrap() >= memory(own).unwrap() / 2);
        assert!(time_of_family(own).is_ok());
    }
}
