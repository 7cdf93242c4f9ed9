//! Waking a relay by notifications: a task that listens on a connection of its own. They are a hint: whatever goes wrong here, polling finds the work.
//! It never stops reading, for the driver keeps what nobody reads.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use diesel_async::{
    AsyncPgConnection, SimpleAsyncConnection,
    pooled_connection::deadpool::{Object, Pool},
};
use futures_util::StreamExt;
use tokio::{sync::Notify, task::JoinHandle, time::sleep};

use crate::error::DieselError;

/// All outboxes of a database share the channel; the payload is the name of the schema.
const LISTEN: &str = "LISTEN outbox";

/// The pause after a connection was lost or not made, doubled each time up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_secs(1);

/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The task that listens, from the first call on, and what it heard.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    heard: Arc<Notify>,
    /// A session listens.
    listens: Arc<AtomicBool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Listener {
    /// Completes when something was heard since it completed last, and once after each connect, for what was missed until then. What is heard while nobody
    /// waits is kept for the next call.
    pub(crate) async fn heard(&self, pool: &Pool<AsyncPgConnection>, schema: &str) {
        self.start(pool, schema);
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

    fn start(&self, pool: &Pool<AsyncPgConnection>, schema: &str) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        // A task ends before its time with the runtime that it was started on.
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            let (pool, schema) = (pool.clone(), schema.to_owned());
            let heard = Arc::clone(&self.heard);
            let listens = Arc::clone(&self.listens);
            *task = Some(tokio::spawn(async move {
                listen(&pool, &schema, &heard, &listens).await;
            }));
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let task = self.task.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task.take() {
            task.abort();
        }
    }
}

/// Listens until the pool is closed.
async fn listen(
    pool: &Pool<AsyncPgConnection>,
    schema: &str,
    heard: &Notify,
    listens: &AtomicBool,
) {
    let mut failures = 0;
    while !pool.is_closed() {
        if let Ok(mut connection) = connect(pool).await {
            failures = 0;
            listens.store(true, Ordering::Release);
            heard.notify_one();
            // After an error the connection must not be asked again.
            let mut notifications = pin!(connection.notifications_stream());
            while let Some(Ok(notification)) = notifications.next().await {
                if notification.payload == schema {
                    heard.notify_one();
                }
            }
            listens.store(false, Ordering::Release);
        }
        sleep(pause(failures)).await;
        failures = failures.saturating_add(1);
    }
}

/// Takes a connection out of the pool for good; the pool makes another in its place.
async fn connect(pool: &Pool<AsyncPgConnection>) -> Result<AsyncPgConnection, DieselError> {
    let mut connection = Object::take(pool.get().await?);
    connection.batch_execute(LISTEN).await?;
    Ok(connection)
}

fn pause(failures: u32) -> Duration {
    let factor = 2_u32.saturating_pow(failures);
    PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pauses_grow_up_to_half_a_minute() {
        let pauses = [0, 1, 2, 4, 5, 31, u32::MAX].map(|failures| pause(failures).as_secs());
        assert_eq!(pauses, [1, 2, 4, 16, 30, 30, 30]);
    }
}
