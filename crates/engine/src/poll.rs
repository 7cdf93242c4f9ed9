//! How soon a relay asks its store again: at once after work, ever later while there is none.

use std::time::Duration;

/// Adaptive polling between two bounds.
#[derive(Debug)]
pub(crate) struct Poll {
    min: Duration,
    max: Duration,
    next: Duration,
}

impl Poll {
    pub(crate) fn new(min: Duration, max: Duration) -> Self {
        Self {
            min,
            max,
            next: min,
        }
    }

    /// There was work, or a hint of it.
    pub(crate) fn reset(&mut self) {
        self.next = self.min;
    }

    /// There was none: how long to sleep, not past the time when the next message falls due.
    pub(crate) fn idle(&mut self, next_due: Option<Duration>) -> Duration {
        let delay = self.next;
        self.next = (self.next * 2).min(self.max);
        // A due time that is this moment already would make the relay spin: the store has just been asked.
        next_due.map_or(delay, |due| delay.min(due.max(Duration::from_millis(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_doubles_up_to_its_bound_and_starts_again_after_work() {
        let mut poll = Poll::new(Duration::from_millis(100), Duration::from_secs(1));
        let intervals: Vec<_> = (0..6).map(|_| poll.idle(None).as_millis()).collect();
        assert_eq!(intervals, [100, 200, 400, 800, 1000, 1000]);
        poll.reset();
        assert_eq!(poll.idle(None), Duration::from_millis(100));
    }

    #[test]
    fn a_message_that_falls_due_earlier_is_waited_for() {
        let mut poll = Poll::new(Duration::from_millis(100), Duration::from_secs(1));
        assert_eq!(
            poll.idle(Some(Duration::from_millis(30))),
            Duration::from_millis(30)
        );
        assert_eq!(
            poll.idle(Some(Duration::from_secs(9))),
            Duration::from_millis(200)
        );
    }
}
