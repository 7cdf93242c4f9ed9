//! Lines of a file or of standard input, in batches bounded in number and in bytes.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use crate::{exit::Exit, failure::Failure, line};

/// A batch ends when it has this many bytes.
const BATCH_BYTES: usize = 64 * 1024 * 1024;

/// Reads lines without their ends. One that is too long for a message comes cut off, still too long, as the last.
pub(super) struct Lines {
    name: PathBuf,
    reader: Box<dyn BufRead + Send>,
    batch: usize,
}

impl Lines {
    pub(super) fn open(path: &Path, batch: usize) -> Result<Self, Failure> {
        let reader: Box<dyn BufRead + Send> = if path.as_os_str() == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(
                File::open(path).map_err(|error| unreadable(path, &error))?,
            ))
        };
        Ok(Self {
            name: path.to_owned(),
            reader,
            batch,
        })
    }

    /// The next lines; none at the end.
    pub(super) fn next_batch(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while lines.len() < self.batch && bytes < BATCH_BYTES {
            let Some(line) = self.next_line()? else {
                break;
            };
            bytes += line.len();
            lines.push(line);
        }
        Ok(lines)
    }

    fn next_line(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut line = Vec::new();
        let limit = u64::try_from(line::MAX_BYTES).unwrap_or(u64::MAX);
        let read = (&mut self.reader)
            .take(limit)
            .read_until(b'\n', &mut line)
            .map_err(|error| unreadable(&self.name, &error))?;
        if read == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        Ok(Some(line))
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let name = if path.as_os_str() == "-" {
        "standard input".into()
    } else {
        path.display().to_string()
    };
    Failure::new(Exit::Input, format!("cannot read {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static [u8], batch: usize) -> Lines {
        Lines {
            name: "-".into(),
            reader: Box::new(text),
            batch,
        }
    }

    #[test]
    fn line_ends_are_no_part_of_a_line_and_the_last_one_may_lack_it() {
        let mut lines = lines(b"a\r\n\n b \nc", 3);
        assert_eq!(lines.next_batch().unwrap(), [&b"a"[..], b"", b" b "]);
        assert_eq!(lines.next_batch().unwrap(), [b"c"]);
        assert!(lines.next_batch().unwrap().is_empty());
    }
}
