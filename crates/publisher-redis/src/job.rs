//! Whether a payload can be a job of Laravel. Its workers take a job from the queue and count its attempts in one script,
//! so one that has none to count is gone before any worker saw it.

use std::fmt;

use serde::{
    Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use thiserror::Error;

/// Why a payload is no job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the payload is no job of Laravel, which is a JSON object with a number as attempts; \
     a worker would lose it"
)]
pub(crate) struct NotAJob;

/// Looks whether a worker can count this job's attempts.
pub(crate) fn check(payload: &[u8]) -> Result<(), NotAJob> {
    let mut deserializer = serde_json::Deserializer::from_slice(payload);
    let has_attempts = deserializer.deserialize_map(Job).map_err(|_| NotAJob)?;
    deserializer.end().map_err(|_| NotAJob)?;
    if has_attempts { Ok(()) } else { Err(NotAJob) }
}

/// Finds whether the last member `attempts` is a number.
struct Job;

impl<'de> Visitor<'de> for Job {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a job")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut has_attempts = false;
        while let Some(name) = map.next_key::<String>()? {
            if name == "attempts" {
                let value: serde_json::Value = map.next_value()?;
                has_attempts = value.is_number();
            } else {
                map.next_value::<IgnoredAny>().map_err(A::Error::custom)?;
            }
        }
        Ok(has_attempts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_an_object_with_a_number_as_attempts() {
        for job in [
            r#"{"attempts":0}"#,
            r#" {"job":"urn:a","data":{"attempts":"x","n":[1e400]},"attempts":2} "#,
            r#"{"attempts":null,"attempts":1}"#,
        ] {
            assert_eq!(check(job.as_bytes()), Ok(()), "{job}");
        }
        for other in [
            "",
            "1",
            "[]",
            "{}",
            "null",
            r#"{"attempts":null}"#,
            r#"{"attempts":"0"}"#,
            r#"{"attempts":1,"attempts":{}}"#,
            r#"{"data":{"attempts":0}}"#,
            r#"{"attempts":0}x"#,
            r#"{"attempts":0"#,
            "\u{feff}{\"attempts\":0}",
        ] {
            assert_eq!(check(other.as_bytes()), Err(NotAJob), "{other}");
        }
        assert_eq!(check(&[0xFF, 0]), Err(NotAJob));
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!(
            r#"{{"data":{}{},"attempts":0}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(check(deep.as_bytes()), Ok(()));
    }
}
