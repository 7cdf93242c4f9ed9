//! A blocking connection that an async test can drive: it lives on a thread of its own, which runs what is sent to it, one after another.

use std::{sync::mpsc, thread};

use diesel::{Connection, PgConnection};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce(&mut PgConnection) + Send>;

/// Dropping it closes the connection after what was sent before.
pub(crate) struct Blocking(mpsc::Sender<Job>);

impl Blocking {
    pub(crate) fn connect(url: String) -> Self {
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::spawn(move || {
            let mut connection = PgConnection::establish(&url).unwrap();
            for job in queue {
                job(&mut connection);
            }
        });
        Self(jobs)
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut PgConnection) -> T + Send + 'static,
    ) -> T {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // Nobody waits any more when the test went on without the answer.
            answer.send(work(connection)).ok();
        });
        self.0.send(job).unwrap();
        answered.await.unwrap()
    }
}
