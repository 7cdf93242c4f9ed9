//! Where lines go: the one blocking operation behind the queue.

mod file;
mod stream;

use std::io::{self, Write};

pub(crate) use file::FileSink;
pub(crate) use stream::StreamSink;

/// Whole lines that write themselves, so that nobody needs to hold them all at once.
pub(crate) trait Lines {
    /// Writes the lines, line ends included.
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// How much is collected before it is written.
const BUFFER: usize = 64 * 1024;

/// A place that takes whole lines.
pub(crate) trait Sink: Send {
    /// Appends `lines` and returns when they are as safe as this place makes them.
    /// After an error none of them is confirmed; what is left of them is repaired by the next append.
    fn append(&mut self, lines: &dyn Lines) -> io::Result<()>;
}

#[cfg(test)]
impl Lines for &str {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.as_bytes())
    }
}
