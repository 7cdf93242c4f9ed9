//! The publisher itself: a run becomes lines, the lines one request, the answer a verdict.

use std::{
    borrow::Cow,
    fmt,
    io::{self, ErrorKind, Write},
    path::Path,
    sync::Arc,
};

use async_trait::async_trait;
use outbox_message::{Delivery, Topic};
use outbox_publisher::{PublishError, PublishErrorKind, Published, Publisher, Run};

use crate::{
    OpenError, line,
    queue::{AppendError, Queue},
    sink::{FileSink, Lines, StreamSink},
};

/// Appends messages to a file or to standard output, a line of JSON each. Must be used inside a tokio runtime.
///
/// A run is appended as a whole or fails as a whole, so the failure of one of its messages fails those after it too.
/// Its errors are [`Unavailable`](PublishErrorKind::Unavailable) (disk full, file not writable any more), and
/// [`Closed`](PublishErrorKind::Closed) when the reader of the pipe is gone.
#[derive(Clone)]
pub struct FilePublisher {
    destination: Arc<str>,
    queue: Arc<Queue<Messages>>,
}

impl FilePublisher {
    /// Appends to the file at `path`, which is created if it is not there. Several publishers and processes may share it.
    ///
    /// A file that is moved away or deleted while this is open is made again (on Unix), so a log can be rotated by renaming it.
    ///
    /// # Errors
    ///
    /// [`OpenError`] if the path is no regular file, cannot be opened for appending, or holds something that no publisher wrote.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        let path = path.as_ref();
        Ok(Self {
            destination: format!("file:{}", path.display()).into(),
            queue: Arc::new(Queue::new(FileSink::open(path)?)),
        })
    }

    /// Writes to the standard output of this process.
    ///
    /// A line that was cut short by an error is ended before the next one: a line that is no JSON was never confirmed.
    pub fn stdout() -> Self {
        Self {
            destination: "stdout:".into(),
            queue: Arc::new(Queue::new(StreamSink::new(io::stdout()))),
        }
    }

    fn error(&self, error: AppendError) -> PublishError {
        let (kind, text) = match error.kind() {
            ErrorKind::BrokenPipe => (
                PublishErrorKind::Closed,
                format!("nobody reads {} any more", self.destination),
            ),
            _ => (
                PublishErrorKind::Unavailable,
                format!("cannot append to {}", self.destination),
            ),
        };
        PublishError::new(kind, text).with_source(error)
    }
}

/// The messages of a run, a line each.
struct Messages(Vec<Delivery>);

impl Lines for Messages {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0
            .iter()
            .try_for_each(|delivery| line::write(delivery, out))
    }
}

impl fmt::Debug for FilePublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilePublisher")
            .field("destination", &self.destination)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Publisher for FilePublisher {
    fn destination<'a>(&'a self, _: &'a Topic) -> Cow<'a, str> {
        Cow::from(&*self.destination)
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        match self.queue.append(Messages(run.messages.to_vec())).await {
            Ok(()) => Published::all(run),
            Err(error) => Published::failed(0, self.error(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, fs};

    use outbox_message::{Lane, LaneToken, Message, Position};

    use super::*;

    fn token() -> LaneToken {
        LaneToken {
            lane: Lane(0),
            epoch: 1,
            holder: "h".into(),
        }
    }

    fn delivery(position: i64, payload: impl Into<Vec<u8>>) -> Delivery {
        Delivery {
            lane: Lane(0),
            position: Position(position),
            attempts: 0,
            tries: 0,
            starts: 0,
            message: Message::new("t", payload.into()).unwrap(),
        }
    }

    async fn publish(publisher: &FilePublisher, messages: &[Delivery]) -> Published {
        publisher
            .publish(Run {
                destination: "x",
                token: &token(),
                messages,
            })
            .await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn d1_two_publishers_share_a_file_and_every_confirmed_message_is_a_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.ndjson");
        let publishers = [
            FilePublisher::open(&path).unwrap(),
            FilePublisher::open(&path).unwrap(),
        ];
        let mut tasks = Vec::new();
        for task in 0..20_i64 {
            let publisher = publishers[usize::try_from(task).unwrap() % 2].clone();
            tasks.push(tokio::spawn(async move {
                for run in 0..5 {
                    let first = task * 100 + run * 2;
                    let messages = [delivery(first, "a"), delivery(first + 1, "b\nc")];
                    let verdict = publish(&publisher, &messages).await;
                    assert_eq!(verdict.confirmed, 2, "{:?}", verdict.failure);
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let content = fs::read_to_string(&path).unwrap();
        let mut last_of_task = HashMap::new();
        for line in content.lines() {
            let position: i64 = line["{\"position\":".len()..line.find(',').unwrap()]
                .parse()
                .unwrap();
            assert!(line.ends_with('}'), "{line}");
            let before = last_of_task.insert(position / 100, position);
            assert!(before.is_none_or(|before| before + 1 == position));
        }
        assert_eq!(content.lines().count(), 200);
    }

    #[tokio::test]
    async fn f3_an_append_that_fails_is_unavailable_and_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub").join("out.ndjson");
        fs::create_dir(path.parent().unwrap()).unwrap();
        let publisher = FilePublisher::open(&path).unwrap();
        assert_eq!(publish(&publisher, &[delivery(1, "a")]).await.confirmed, 1);
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        if cfg!(unix) {
            let verdict = publish(&publisher, &[delivery(2, "b")]).await;
            let failure = verdict.failure.unwrap();
            assert_eq!(verdict.confirmed, 0);
            assert_eq!(failure.kind, PublishErrorKind::Unavailable);
            assert!(failure.text.contains("out.ndjson"), "{failure}");
        }
    }

    #[tokio::test]
    async fn a_pipe_without_a_reader_ends_the_relay() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let publisher = FilePublisher {
            destination: "stdout:".into(),
            queue: Arc::new(Queue::new(StreamSink::new(writer))),
        };
        let failure = publish(&publisher, &[delivery(1, "a")])
            .await
            .failure
            .unwrap();
        assert_eq!(failure.kind, PublishErrorKind::Closed);
    }
}
