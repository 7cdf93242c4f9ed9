//! Lines to a file that several processes may share: locked, repaired, appended, synchronized.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use super::{BUFFER, Lines, Sink};
use crate::{OpenError, line};

/// How much is read at once when looking backwards for the last line end.
const TAIL_CHUNK: u64 = 64 * 1024;

/// Appends to the file at `path`, under its lock, and synchronizes it. If the path comes to name another file, it goes there.
#[derive(Debug)]
pub(crate) struct FileSink {
    path: PathBuf,
    file: File,
}

impl FileSink {
    /// Opens or creates the file; changes nothing in it.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let io_error = |source| OpenError::Io {
            path: path.to_owned(),
            source,
        };
        // Asked before opening: opening a pipe that nobody reads would wait.
        if let Ok(metadata) = path.metadata()
            && let Some(what) = not_a_file(&metadata)
        {
            return Err(OpenError::NotAFile {
                path: path.to_owned(),
                what,
            });
        }
        let file = open(path).map_err(io_error)?;
        let begins = begins_like_ours(&file, 0).map_err(io_error)?;
        if !begins || last_line(&file).map_err(io_error)? == Tail::Foreign {
            return Err(OpenError::Foreign {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// Locks the file that the path names now, opening it again if it was moved away or deleted.
    fn lock(&mut self) -> io::Result<Locked<'_>> {
        loop {
            self.file.lock()?;
            if is_at(&self.file, &self.path)? {
                return Ok(Locked(&self.file));
            }
            self.file = open(&self.path)?;
        }
    }
}

impl Sink for FileSink {
    fn append(&mut self, lines: &dyn Lines) -> io::Result<()> {
        let locked = self.lock()?;
        let file = locked.0;
        let end = match last_line(file)? {
            Tail::Whole(end) => end,
            Tail::Cut { begin } => {
                file.set_len(begin)?;
                begin
            }
            Tail::Foreign => {
                return Err(io::Error::new(
                    ErrorKind::InvalidData,
                    "the file ends in a line that outbox did not write",
                ));
            }
        };
        let mut out = BufWriter::with_capacity(BUFFER, file);
        let written = lines.write_to(&mut out).and_then(|()| out.flush());
        // What is still in the buffer after an error must not be written when it is dropped.
        drop(out.into_parts());
        let written = written.and_then(|()| file.sync_data());
        if written.is_err() {
            // What was not confirmed is better not there. If this fails too, the lines come twice, which is allowed.
            let _ = file.set_len(end);
        }
        written
    }
}

/// The lock on a file; it ends with this, and with the process.
struct Locked<'a>(&'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // It cannot fail on a file that is locked and open; if it does, closing the file unlocks it.
        let _ = self.0.unlock();
    }
}

/// How a file ends.
#[derive(Debug, PartialEq, Eq)]
enum Tail {
    /// With a line end, or it is empty; it has this length.
    Whole(u64),
    /// With a line of ours that was cut short, from `begin` on.
    Cut { begin: u64 },
    /// With something else.
    Foreign,
}

fn last_line(mut file: &File) -> io::Result<Tail> {
    let end = file.seek(SeekFrom::End(0))?;
    let mut begin = end;
    let mut chunk = Vec::new();
    while begin > 0 {
        let from = begin.saturating_sub(TAIL_CHUNK);
        file.seek(SeekFrom::Start(from))?;
        chunk.clear();
        file.take(begin - from).read_to_end(&mut chunk)?;
        if let Some(at) = chunk.iter().rposition(|byte| *byte == b'\n') {
            begin = from + u64::try_from(at).map_err(io::Error::other)? + 1;
            break;
        }
        begin = from;
    }
    if begin == end {
        return Ok(Tail::Whole(end));
    }
    Ok(if begins_like_ours(file, begin)? {
        Tail::Cut { begin }
    } else {
        Tail::Foreign
    })
}

/// Whether what stands at `at`, if anything, can be the beginning of one of our lines.
fn begins_like_ours(mut file: &File, at: u64) -> io::Result<bool> {
    file.seek(SeekFrom::Start(at))?;
    let mut opening = Vec::new();
    let longest = u64::try_from(line::OPENING.len()).map_err(io::Error::other)?;
    file.take(longest).read_to_end(&mut opening)?;
    // Some file systems leave NUL bytes where a write was under way when the power went.
    while opening.pop_if(|byte| *byte == 0).is_some() {}
    Ok(line::OPENING.starts_with(&opening))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let file = options.create(true).open(path)?;
            sync_folder(path)?;
            Ok(file)
        }
        opened => opened,
    }
}

/// Makes a new file's name as durable as its lines will be.
fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn not_a_file(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("a directory")
    } else {
        Some("a device, pipe or socket")
    }
}

/// Whether `path` still names this open file. Where the system cannot tell, it does.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let open = file.metadata()?;
    match path.metadata() {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_line_of_ours_that_was_cut_short_is_cut_off() {
        let folder = folder();
        let path = folder.path().join("out");
        let long = "x".repeat(3 * 64 * 1024);
        for torn in [
            "{",
            r#"{"posit"#,
            r#"{"position":2,"id":"#,
            "\0\0\0",
            "{\"posi\0\0",
            "{\"posi\0\0\0\0\0\0\0\0\0\0\0\0",
            &format!(r#"{{"position":2,"id":"{long}"#),
        ] {
            fs::write(&path, format!("{{\"position\":1}}\n{torn}")).unwrap();
            FileSink::open(&path).unwrap().append(&"next\n").unwrap();
            assert_eq!(
                fs::read_to_string(&path).unwrap(),
                "{\"position\":1}\nnext\n"
            );
        }
        fs::write(&path, r#"{"position":2,"id":"#).unwrap();
        FileSink::open(&path).unwrap().append(&"next\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "next\n");
    }

    #[test]
    fn a_file_of_somebody_else_is_not_touched() {
        let folder = folder();
        let path = folder.path().join("config.json");
        for content in [
            r#"{"debug":true}"#,
            "notes\nwithout end",
            "notes\nwith an end\n",
            "SQLite format 3\0",
            "{\"posi\0\0x",
            "{\"debug\0\0",
        ] {
            fs::write(&path, content).unwrap();
            assert!(matches!(
                FileSink::open(&path),
                Err(OpenError::Foreign { .. })
            ));
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
    }

    #[test]
    fn what_is_no_file_is_refused_with_a_reason() {
        let folder = folder();
        let refused = FileSink::open(folder.path()).unwrap_err();
        assert!(refused.to_string().contains("is a directory"), "{refused}");
        let refused = FileSink::open(&folder.path().join("no").join("out")).unwrap_err();
        assert!(matches!(refused, OpenError::Io { .. }));
        if cfg!(unix) {
            let refused = FileSink::open(Path::new("/dev/null")).unwrap_err();
            assert!(refused.to_string().contains("a device"), "{refused}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_was_moved_away_or_deleted_is_made_again() {
        let folder = folder();
        let (path, moved) = (folder.path().join("out"), folder.path().join("out.1"));
        let mut sink = FileSink::open(&path).unwrap();
        sink.append(&"1\n").unwrap();
        fs::rename(&path, &moved).unwrap();
        sink.append(&"2\n").unwrap();
        fs::remove_file(&path).unwrap();
        sink.append(&"3\n").unwrap();
        assert_eq!(fs::read_to_string(&moved).unwrap(), "1\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "3\n");
    }

    #[test]
    fn an_append_waits_for_the_lock_of_another() {
        let folder = folder();
        let path = folder.path().join("out");
        let mut sink = FileSink::open(&path).unwrap();
        let other = File::options().append(true).open(&path).unwrap();
        other.lock().unwrap();
        std::thread::scope(|scope| {
            let append = scope.spawn(|| sink.append(&"mine\n"));
            (&other).write_all(b"theirs\n").unwrap();
            other.unlock().unwrap();
            append.join().unwrap().unwrap();
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs\nmine\n");
    }
}
