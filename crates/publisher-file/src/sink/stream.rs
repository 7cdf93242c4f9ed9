//! Lines to a stream, such as standard output: no lock, nothing to synchronize.

use std::{
    io::{self, ErrorKind, Write},
    thread,
    time::Duration,
};

use super::Sink;

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
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.cut {
            write_all(&mut self.stream, b"\n")?;
        }
        self.cut = true;
        write_all(&mut self.stream, lines)?;
        self.stream.flush()?;
        self.cut = false;
        Ok(())
    }
}

fn write_all(stream: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(FULL_PIPE),
            Err(error) => return Err(error),
        }
    }
    Ok(())
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
        assert!(sink.append(b"first\n").is_err());
        sink.append(b"first\n").unwrap();
        sink.append(b"second\n").unwrap();
        assert_eq!(sink.stream.taken, b"firs\nfirst\nsecond\n");
    }

    #[test]
    fn a_pipe_without_a_reader_is_a_broken_pipe() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let error = StreamSink::new(writer).append(b"line\n").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
}
