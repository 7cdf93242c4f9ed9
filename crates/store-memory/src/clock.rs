//! The store's clock: the host's, or one that stands still until a test moves it. All other code is given the time as a number.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where a manual clock begins: 2026-01-01 00:00:00 UTC.
const MANUAL_START_MS: i64 = 1_767_225_600_000;

/// Milliseconds since 1970-01-01 UTC. It never goes backwards, also when the host's clock does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    base_ms: i64,
    started: Option<Instant>,
}

impl Clock {
    pub(crate) fn system() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            base_ms: since_epoch.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(0)),
            started: Some(Instant::now()),
        }
    }

    pub(crate) fn manual() -> Self {
        Self {
            base_ms: MANUAL_START_MS,
            started: None,
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        let elapsed = self.started.map_or(0, |start| {
            i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX)
        });
        self.base_ms.saturating_add(elapsed)
    }

    pub(crate) fn advance(&mut self, by: Duration) {
        self.base_ms = self.base_ms.saturating_add(millis(by));
    }
}

/// Whole milliseconds, rounded up, so that nothing falls due or lapses early.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// The time from `now` until `then`, both in milliseconds; zero if it is over.
pub(crate) fn until(then: i64, now: i64) -> Duration {
    Duration::from_millis(u64::try_from(then.saturating_sub(now)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stands_still_until_it_is_moved() {
        let mut clock = Clock::manual();
        assert_eq!(clock.now_ms(), MANUAL_START_MS);
        clock.advance(Duration::from_millis(1_500));
        assert_eq!(clock.now_ms(), MANUAL_START_MS + 1_500);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now_ms(), i64::MAX);
    }

    #[test]
    fn the_system_clock_is_moved_too() {
        let mut clock = Clock::system();
        let before = clock.now_ms();
        clock.advance(Duration::from_hours(1));
        assert!(clock.now_ms() >= before + 3_600_000);
    }

    #[test]
    fn a_part_of_a_millisecond_counts_as_one() {
        assert_eq!(millis(Duration::from_nanos(1)), 1);
        assert_eq!(millis(Duration::from_millis(7)), 7);
        assert_eq!(until(10, 3), Duration::from_millis(7));
        assert_eq!(until(3, 10), Duration::ZERO);
    }
}
