//! When a relay of the command line stops: at a signal, when its time is over, or when nothing is left.

use std::{future::Future, time::Duration};

use outbox::store::{OutboxOperator, Status};
use tokio::time::{Instant, sleep};

use super::Ended;

/// How often the store is asked whether anything is left.
const ASK: Duration = Duration::from_millis(200);

/// Asking costs as much as the backlog is long; it takes at most this part of the time.
const SHARE: u32 = 20;

/// Completes with the first of the reasons, and notes which one it was.
pub(super) async fn first(
    ended: &mut Ended,
    signal: impl Future<Output = ()> + Send,
    time: Option<Duration>,
    emptied: Option<&dyn OutboxOperator>,
) {
    let time = async {
        match time {
            Some(time) => sleep(time).await,
            None => std::future::pending().await,
        }
    };
    let emptied = async {
        match emptied {
            Some(store) => empty(store).await,
            None => std::future::pending().await,
        }
    };
    *ended = tokio::select! {
        () = signal => Ended::Signal,
        () = time => Ended::Time,
        () = emptied => Ended::Empty,
    };
}

/// Completes when nothing is pending but what no relay can publish now or by waiting for a retry.
async fn empty(store: &dyn OutboxOperator) {
    loop {
        let asked = Instant::now();
        match store.status().await {
            Ok(status) if nothing_to_wait_for(&status) => return,
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "the store did not say what is left"),
        }
        sleep(ASK.max(asked.elapsed() * SHARE)).await;
    }
}

fn nothing_to_wait_for(status: &Status) -> bool {
    status.pending() <= status.held + status.later + status.paused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduled_and_held_messages_are_not_waited_for_and_retries_are() {
        let status = Status {
            line: 1,
            waiting: 2,
            scheduled: 3,
            held: 2,
            later: 3,
            ..Status::default()
        };
        assert!(!nothing_to_wait_for(&status));
        assert!(nothing_to_wait_for(&Status {
            line: 0,
            ..status.clone()
        }));
        let retry_without_key = Status {
            line: 0,
            later: 2,
            ..status
        };
        assert!(!nothing_to_wait_for(&retry_without_key));
        assert!(nothing_to_wait_for(&Status::default()));
    }
}
