//! Group commit: whoever comes while an append is running goes into the next one. Leaves out where the lines go.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{sync::oneshot, task};

use crate::sink::{Lines, Sink};

/// Why an append did not happen. The requests that shared it share the error.
pub(crate) type AppendError = Arc<io::Error>;

/// Lines that wait for an append, and whoever waits for its end.
struct Request<L> {
    lines: L,
    done: oneshot::Sender<Result<(), AppendError>>,
}

impl<L> Request<L> {
    /// Whether nobody waits for its end any more.
    fn is_abandoned(&self) -> bool {
        self.done.is_closed()
    }
}

struct Waiting<L> {
    requests: Vec<Request<L>>,
    /// Whether a writer is at work; it looks here again before it goes.
    writing: bool,
}

/// The requests of one sink. At most one writer works at a time, on the runtime's threads for blocking calls.
pub(crate) struct Queue<L> {
    waiting: Mutex<Waiting<L>>,
    sink: Mutex<Box<dyn Sink>>,
}

impl<L> Waiting<L> {
    fn drop_abandoned(&mut self) {
        self.requests.retain(|request| !request.is_abandoned());
    }
}

impl<L> Default for Waiting<L> {
    fn default() -> Self {
        Self {
            requests: Vec::new(),
            writing: false,
        }
    }
}

impl<L: Lines + Send + 'static> Queue<L> {
    pub(crate) fn new(sink: impl Sink + 'static) -> Self {
        Self {
            waiting: Mutex::default(),
            sink: Mutex::new(Box::new(sink)),
        }
    }

    /// Appends whole lines; they are safe when this returns. Dropping the future takes the request back unless its lines are being written.
    pub(crate) async fn append(self: &Arc<Self>, lines: L) -> Result<(), AppendError> {
        let (done, answer) = oneshot::channel();
        let writer = {
            let mut waiting = lock(&self.waiting);
            // The writer may be held up for long; what is abandoned meanwhile must not pile up behind it.
            waiting.drop_abandoned();
            waiting.requests.push(Request { lines, done });
            !mem::replace(&mut waiting.writing, true)
        };
        if writer {
            let turn = Turn {
                queue: Arc::clone(self),
                ended: false,
            };
            // Not joined: each request waits for its own answer, and the turn answers them all.
            drop(task::spawn_blocking(move || turn.write()));
        }
        answer.await.unwrap_or_else(|_| {
            Err(Arc::new(io::Error::other(
                "the writer ended before this append",
            )))
        })
    }
}

/// The right to write. If it is dropped before its end, by a panic or a runtime that shuts down, the requests still waiting fail with it.
struct Turn<L> {
    queue: Arc<Queue<L>>,
    ended: bool,
}

impl<L: Lines> Turn<L> {
    fn write(mut self) {
        while let Some(group) = self.next_group() {
            let result = lock(&self.queue.sink).append(&group).map_err(Arc::new);
            for request in group.0 {
                // Nobody listens any more if the publish was abandoned; its lines are out all the same.
                let _ = request.done.send(result.clone());
            }
        }
    }

    /// Everything that waits and is still wanted; `None` ends the turn.
    fn next_group(&mut self) -> Option<Group<L>> {
        let mut waiting = lock(&self.queue.waiting);
        waiting.drop_abandoned();
        if waiting.requests.is_empty() {
            waiting.writing = false;
            self.ended = true;
            return None;
        }
        Some(Group(mem::take(&mut waiting.requests)))
    }
}

/// The requests that share an append.
struct Group<L>(Vec<Request<L>>);

impl<L: Lines> Lines for Group<L> {
    /// The sink may have waited for a lock or for a reader before it asks, so it is looked again who still wants to be written.
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0
            .iter()
            .filter(|request| !request.is_abandoned())
            .try_for_each(|request| request.lines.write_to(out))
    }
}

impl<L> Drop for Turn<L> {
    fn drop(&mut self) {
        if !self.ended {
            *lock(&self.queue.waiting) = Waiting::default();
        }
    }
}

/// A panic leaves nothing half done behind these locks: the sink repairs its own tail at the next append.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        sync::mpsc,
    };

    use crate::sink::FileSink;

    use super::*;

    type Lined = Queue<&'static str>;

    /// Says that an append began, and ends it with the verdict it is told.
    struct Gate {
        begun: mpsc::Sender<Vec<u8>>,
        verdict: mpsc::Receiver<io::Result<()>>,
    }

    impl Sink for Gate {
        fn append(&mut self, lines: &dyn Lines) -> io::Result<()> {
            let mut bytes = Vec::new();
            lines.write_to(&mut bytes)?;
            self.begun.send(bytes).unwrap();
            self.verdict.recv().unwrap()
        }
    }

    fn gate() -> (
        Arc<Lined>,
        mpsc::Receiver<Vec<u8>>,
        mpsc::Sender<io::Result<()>>,
    ) {
        let (begun, seen) = mpsc::channel();
        let (say, verdict) = mpsc::channel();
        (Arc::new(Queue::new(Gate { begun, verdict })), seen, say)
    }

    fn spawn(queue: &Arc<Lined>, line: &'static str) -> task::JoinHandle<Result<(), AppendError>> {
        let queue = Arc::clone(queue);
        tokio::spawn(async move { queue.append(line).await })
    }

    /// The lines that wait behind the writer.
    fn behind(queue: &Lined) -> Vec<&'static str> {
        let waiting = lock(&queue.waiting);
        waiting.requests.iter().map(|r| r.lines).collect()
    }

    async fn queued(queue: &Lined, last: &str) {
        while behind(queue).last() != Some(&last) {
            task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn publishes_that_come_during_an_append_share_the_next_one() {
        let (queue, seen, say) = gate();
        let first = spawn(&queue, "a\n");
        let (seen, begun) = task::spawn_blocking(move || {
            let begun = seen.recv().unwrap();
            (seen, begun)
        })
        .await
        .unwrap();
        assert_eq!(begun, b"a\n");
        let rest = ["b\n", "c\n", "d\n"].map(|line| spawn(&queue, line));
        queued(&queue, "d\n").await;
        say.send(Ok(())).unwrap();
        say.send(Err(io::Error::other("full"))).unwrap();
        first.await.unwrap().unwrap();
        for waiting in rest {
            assert_eq!(waiting.await.unwrap().unwrap_err().to_string(), "full");
        }
        assert_eq!(seen.recv().unwrap(), b"b\nc\nd\n");
        assert!(seen.try_recv().is_err());
    }

    #[tokio::test]
    async fn an_abandoned_publish_that_has_not_begun_is_not_written() {
        let (queue, seen, say) = gate();
        let first = spawn(&queue, "a\n");
        let seen = task::spawn_blocking(move || {
            seen.recv().unwrap();
            seen
        })
        .await
        .unwrap();
        let abandoned = spawn(&queue, "b\n");
        queued(&queue, "b\n").await;
        abandoned.abort();
        assert!(abandoned.await.unwrap_err().is_cancelled());
        let last = spawn(&queue, "c\n");
        queued(&queue, "c\n").await;
        // It is not even kept: behind a writer that is held up for hours, payloads would pile up.
        assert_eq!(behind(&queue), ["c\n"]);
        say.send(Ok(())).unwrap();
        say.send(Ok(())).unwrap();
        first.await.unwrap().unwrap();
        last.await.unwrap().unwrap();
        assert_eq!(seen.recv().unwrap(), b"c\n");
    }

    #[tokio::test]
    async fn a_publish_that_is_abandoned_while_its_writer_waits_for_the_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let queue = Arc::new(Queue::new(FileSink::open(&path).unwrap()));
        let other = File::options().append(true).open(&path).unwrap();
        other.lock().unwrap();
        let abandoned = spawn(&queue, "a\n");
        let is_taken = || {
            let waiting = lock(&queue.waiting);
            waiting.writing && waiting.requests.is_empty()
        };
        while !is_taken() {
            task::yield_now().await;
        }
        abandoned.abort();
        assert!(abandoned.await.unwrap_err().is_cancelled());
        let last = spawn(&queue, "b\n");
        queued(&queue, "b\n").await;
        other.unlock().unwrap();
        last.await.unwrap().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "b\n");
    }

    #[tokio::test]
    async fn a_writer_that_panics_fails_its_requests_and_the_next_one_works() {
        let (queue, _seen, say) = gate();
        let first = spawn(&queue, "a\n");
        drop(say);
        assert!(first.await.unwrap().is_err());
        // The verdict's sender is gone, so the sink panics again; what counts is that a new turn was taken.
        assert!(spawn(&queue, "b\n").await.unwrap().is_err());
    }
}
