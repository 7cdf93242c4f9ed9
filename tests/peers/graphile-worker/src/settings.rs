//! The settings of the worker: the fastest that were found by trying them in turn, on 20,000 to 60,000 jobs whose handler does
//! nothing, with one and with four workers on two cores.
//!
//! - Jobs are fetched into a local queue of twice the bench's batch and of 1,000 at least. A smaller one and one of ten batches
//!   were slower, and so was a second queue: a little with one worker, and by a fifth with four.
//! - What is completed is gathered for 2 ms. Without, each job costs a statement of its own; 1 ms and 5 ms were no faster.
//! - 8 handlers at a time. 4 and 50 were no faster. With a publisher that takes its time there is one for each message of the
//!   local queue, so that no setting bounds what is published at a time.
//! - The poll interval is that of the package's own benches. A fetch that filled its queue does not wait for it.

use std::time::Duration;

use graphile_worker::{LocalQueueConfig, WorkerOptions};

const LEAST_SIZE: usize = 1000;
const HANDLERS: usize = 8;
const GATHER: Duration = Duration::from_millis(2);
const POLL: Duration = Duration::from_millis(5);

/// Sets what makes the worker fastest.
pub(crate) fn apply(options: WorkerOptions, batch: u32, round_trip: Duration) -> WorkerOptions {
    let batch = usize::try_from(batch).expect("a batch fits into memory");
    let size = (2 * batch).max(LEAST_SIZE);
    let handlers = if round_trip.is_zero() { HANDLERS } else { size };
    options
        .concurrency(handlers)
        .local_queue(LocalQueueConfig::default().with_size(size))
        .complete_job_batch_delay(GATHER)
        .poll_interval(POLL)
}
