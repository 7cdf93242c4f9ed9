//! When a receiver says to try again: `Retry-After`, in seconds or as a date (contract F4). Pure: the time comes from outside.

use std::time::{Duration, SystemTime};

/// More than this is not waited for; the relay has a limit of its own, which is lower.
const LONGEST: Duration = Duration::from_hours(366 * 24);

/// How long to wait, if the value says so. A date is held against `answered`, the receiver's own clock where it is known, and
/// one in the past means now. What is neither seconds nor a date says nothing.
pub(crate) fn read(value: &str, answered: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only a number that is too large for 64 bits fails.
        let seconds = value.parse().map_or(LONGEST, Duration::from_secs);
        return Some(seconds.min(LONGEST));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let delay = date.duration_since(answered).unwrap_or_default();
    Some(delay.min(LONGEST))
}

/// The moment of an answer: its `Date`, or the clock here if it has none. A receiver's date is then held against the
/// receiver's clock.
pub(crate) fn moment(date: Option<&str>, now: SystemTime) -> SystemTime {
    let date = date.and_then(|date| httpdate::parse_http_date(date).ok());
    date.unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        // 6 November 1994, 08:49:37: the date of the examples in RFC 9110.
        SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)
    }

    fn seconds(value: &str) -> Option<u64> {
        read(value, now()).map(|delay| delay.as_secs())
    }

    #[test]
    fn f4_seconds_and_the_three_forms_of_a_date_are_read() {
        assert_eq!(seconds("120"), Some(120));
        assert_eq!(seconds(" 0 "), Some(0));
        assert_eq!(seconds("007"), Some(7));
        for date in [
            "Sun, 06 Nov 1994 08:50:37 GMT",
            "Sunday, 06-Nov-94 08:50:37 GMT",
            "Sun Nov  6 08:50:37 1994",
        ] {
            assert_eq!(seconds(date), Some(60), "{date}");
        }
    }

    #[test]
    fn f4_a_date_in_the_past_is_now_and_one_far_away_is_bounded() {
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:36 GMT"), Some(0));
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        let longest = Some(LONGEST.as_secs());
        assert_eq!(seconds("Fri, 31 Dec 9999 23:59:59 GMT"), longest);
        assert_eq!(seconds("99999999999"), longest);
        assert_eq!(seconds(&"9".repeat(400)), longest);
    }

    #[test]
    fn what_is_neither_says_nothing() {
        for value in [
            "",
            " ",
            "soon",
            "-5",
            "+5",
            "1.5",
            "5s",
            "1e3",
            "٣",
            "Sun, 32 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(seconds(value), None, "{value}");
        }
    }

    #[test]
    fn the_receivers_own_clock_is_believed_if_it_is_told() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let here = now() + Duration::from_hours(1);
        assert_eq!(moment(Some(date), here), now());
        assert_eq!(moment(Some("today"), here), here);
        assert_eq!(moment(None, here), here);
    }
}
