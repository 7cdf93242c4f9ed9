//! A broker far away: it keeps nothing, and confirms each message of a run after a round trip, one after another.

use std::{
    borrow::Cow,
    cmp::Reverse,
    collections::BinaryHeap,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use outbox::{
    message::Topic,
    publisher::{Published, Publisher, Run},
};
use tokio::sync::oneshot;

/// Confirms at once, or after a round trip.
#[derive(Debug)]
pub(crate) struct Broker {
    round_trip: Duration,
    calls: Option<Sender<Call>>,
}

/// A run on its way, and until when.
#[derive(Debug)]
struct Call {
    until: Instant,
    confirm: oneshot::Sender<()>,
}

/// What is due within this time is confirmed together.
const TOGETHER: Duration = Duration::from_micros(50);

impl Broker {
    /// A thread keeps the time: the timers of the runtime are a millisecond late, half a round trip.
    pub(crate) fn new(round_trip: Duration) -> Self {
        let calls = (!round_trip.is_zero()).then(|| {
            let (calls, called) = channel();
            thread::spawn(move || confirm_in_time(&called));
            calls
        });
        Self { round_trip, calls }
    }
}

fn confirm_in_time(called: &Receiver<Call>) {
    let mut under_way: BinaryHeap<Reverse<ByTime>> = BinaryHeap::new();
    loop {
        let next = match under_way.peek() {
            None => called.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(Reverse(ByTime(first))) => {
                called.recv_timeout(first.until.saturating_duration_since(Instant::now()))
            }
        };
        match next {
            Ok(call) => under_way.push(Reverse(ByTime(call))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let due = Instant::now() + TOGETHER;
        while under_way.peek().is_some_and(|first| first.0.0.until <= due) {
            if let Some(Reverse(ByTime(call))) = under_way.pop() {
                // The call may have been dropped.
                let _ = call.confirm.send(());
            }
        }
    }
}

struct ByTime(Call);

impl PartialEq for ByTime {
    fn eq(&self, other: &Self) -> bool {
        self.0.until == other.0.until
    }
}

impl Eq for ByTime {}

impl PartialOrd for ByTime {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByTime {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.until.cmp(&other.0.until)
    }
}

#[async_trait]
impl Publisher for Broker {
    fn destination<'a>(&'a self, _topic: &'a Topic) -> Cow<'a, str> {
        "broker".into()
    }

    /// A run is confirmed long before the relay gives it up.
    fn longest_run(&self) -> usize {
        if self.calls.is_some() {
            100
        } else {
            usize::MAX
        }
    }

    async fn publish(&self, run: Run<'_>) -> Published {
        if let Some(calls) = &self.calls {
            let messages = u32::try_from(run.messages.len()).unwrap_or(u32::MAX);
            let until = Instant::now() + self.round_trip * messages;
            let (confirm, confirmed) = oneshot::channel();
            if calls.send(Call { until, confirm }).is_ok() {
                let _ = confirmed.await;
            }
        }
        Published::all(run)
    }
}
