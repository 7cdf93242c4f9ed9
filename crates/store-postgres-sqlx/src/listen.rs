//! Wake-up: a task that listens for notifications of savers, on a connection of its own beside the pool. It never stops reading: the server keeps
//! what a session that listens does not read, for all sessions, until there is no room left and writers fail.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{
    PgPool,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::{sync::Notify, task::JoinHandle, time::sleep};

/// The channel of all outboxes of a database. The payload is the name of the schema.
const CHANNEL: &str = "outbox";

/// How long to wait before a lost connection is made again; doubled at each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// What was heard and by whom. The task begins with the first one who waits, and ends with this, or with the pool.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    heard: Arc<Notify>,
    /// A session listens.
    listens: Arc<AtomicBool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Listening {
    /// Completes when something was heard since it completed last. Safe to cancel: what was heard meanwhile is kept for the next call.
    pub(crate) async fn heard(&self, pool: &PgPool, schema: &str) {
        self.begin(pool, schema);
        self.heard.notified().await;
    }

    /// Whether a session listens at this moment.
    pub(crate) fn listens(&self) -> bool {
        self.listens.load(Ordering::Acquire)
    }

    /// Makes [`heard`](Self::heard) complete, as if something had been heard.
    pub(crate) fn wake(&self) {
        self.heard.notify_one();
    }

    fn begin(&self, pool: &PgPool, schema: &str) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        // A task ends before its time with the runtime it was started on.
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            let (pool, schema) = (pool.clone(), schema.to_owned());
            let heard = Arc::clone(&self.heard);
            let listens = Arc::clone(&self.listens);
            *task = Some(tokio::spawn(async move {
                let mut closed = pool.close_event();
                let listen = listen(&pool, &schema, &heard, &listens);
                // The only way out is that the application closed its pool.
                closed.do_until(listen).await.ok();
            }));
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task.take() {
            task.abort();
        }
    }
}

async fn listen(pool: &PgPool, schema: &str, heard: &Notify, listens: &AtomicBool) {
    let mut failures = 0;
    loop {
        if let Ok(mut listener) = connect(pool).await {
            failures = 0;
            listens.store(true, Ordering::Release);
            // What was saved while nobody listened was not heard.
            heard.notify_one();
            while let Ok(Some(notification)) = listener.try_recv().await {
                if notification.payload() == schema {
                    heard.notify_one();
                }
            }
            listens.store(false, Ordering::Release);
        }
        sleep(pause(failures)).await;
        failures += 1;
    }
}

/// The pool may have but few connections, so none of them is kept for this.
async fn connect(pool: &PgPool) -> Result<PgListener, sqlx::Error> {
    let own = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .connect_lazy_with((*pool.connect_options()).clone());
    let mut listener = PgListener::connect_with(&own).await?;
    // Whoever waits is to know of every new connection.
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

fn pause(failures: u32) -> Duration {
    FIRST_PAUSE
        .saturating_mul(2_u32.saturating_pow(failures))
        .min(LAST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_cannot_be_made_is_tried_ever_less_often() {
        let pauses: Vec<_> = (0..7).map(|n| pause(n).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(pause(u32::MAX), LAST_PAUSE);
    }
}
