//! Durations as the database counts them: whole milliseconds. The clock itself is the database's.

use std::time::Duration;

/// Whole milliseconds, rounded up, so that nothing is early.
pub fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// How long from `now` until `at`, both in milliseconds; zero when it is past.
pub fn until(at: i64, now: i64) -> Duration {
    Duration::from_millis(u64::try_from(at.saturating_sub(now)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_millisecond_is_a_whole_one() {
        assert_eq!(millis(Duration::ZERO), 0);
        assert_eq!(millis(Duration::from_nanos(1)), 1);
        assert_eq!(millis(Duration::from_millis(7)), 7);
        assert_eq!(millis(Duration::MAX), i64::MAX);
    }

    #[test]
    fn what_is_past_is_due_now() {
        assert_eq!(until(5, 7), Duration::ZERO);
        assert_eq!(until(7, 5), Duration::from_millis(2));
        assert_eq!(until(i64::MIN, i64::MAX), Duration::ZERO);
    }
}
