//! Where lines go: the one blocking operation behind the queue.

mod file;
mod stream;

use std::io;

pub(crate) use file::FileSink;
pub(crate) use stream::StreamSink;

/// A place that takes whole lines.
pub(crate) trait Sink: Send {
    /// Appends `lines`, which end with a line end, and returns when they are as safe as this place makes them.
    /// After an error none of them is confirmed; what is left of them is repaired by the next append.
    fn append(&mut self, lines: &[u8]) -> io::Result<()>;
}
