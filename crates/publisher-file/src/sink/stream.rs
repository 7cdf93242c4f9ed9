//! Lines to a stream, such as standard output: no lock, nothing to synchronize.

use std::{
    io::{self, BufWriter, ErrorKind, Write},
    thread,
    time::Duration,
};

use super::{BUFFER, Lines, Sink};

/// How long to wait for a reader when somebody made the stream non-blocking.
const FULL_PIPE: Duration = Duration::from_millis(1);

/// Writes lines to `W`. A line that was cut short by an error is ended before the next one, so that it spoils no other.
pub(crate) struct StreamSink<W> {
    stream: W,
    cut: bool,
}

impl<W> StreamSink<W> {
    pub(crate) fn new(stream: W) -> Self {
        Self { stream, cut: false }
    }
}

impl<W: Write + Send> Sink for StreamSink<W> {
    fn append(&mut self, lines: &dyn Lines) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(BUFFER, Patient(&mut self.stream));
        let begin: &[u8] = if self.cut { b"\n" } else { b"" };
        self.cut = true;
        let written = out.write_all(begin).and_then(|()| lines.write_to(&mut out));
        let written = written.and_then(|()| out.flush());
        // What is still in the buffer after an error must not be written when it is dropped.
        drop(out.into_parts());
        self.cut = written.is_err();
        written
    }
}

/// Waits for a reader instead of failing.
struct Patient<'a, W>(&'a mut W);

impl<W: Write> Write for Patient<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(FULL_PIPE),
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `room` bytes, then fails once.
    struct Small {
        taken: Vec<u8>,
        room: usize,
    }

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                self.room = usize::MAX;
                return Err(ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.room);
            self.taken.extend_from_slice(&bytes[..taken]);
            self.room -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_cut_short_spoils_no_other() {
        let mut sink = StreamSink::new(Small {
            taken: Vec::new(),
            room: 4,
        });
        assert!(sink.append(&"first\n").is_err());
        sink.append(&"first\n").unwrap();
        sink.append(&"second\n").unwrap();
        assert_eq!(sink.stream.taken, b"firs\nfirst\nsecond\n");
    }

    #[test]
    fn a_pipe_without_a_reader_is_a_broken_pipe() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let error = StreamSink::new(writer).append(&"line\n").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
}
