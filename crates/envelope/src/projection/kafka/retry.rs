//! Retries on Kafka, which delivers nothing later: a record is parked in a topic whose records all wait equally long, a tier, and
//! brought back to its topic when it is due. Leaves out who brings it back.

use std::time::Duration;

use thiserror::Error;

use super::retry_topic;

/// The header that says, in milliseconds, how long a parked record was to wait.
pub const DELAY: &str = "bq-delay";

/// The header that names the topic from which a parked record came.
pub const ORIGINAL_TOPIC: &str = "bq-original-topic";

/// How long the records of each tier wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiers(Vec<Duration>);

/// The recommended tiers: 5 s, 30 s, 5 min and 30 min.
impl Default for Tiers {
    fn default() -> Self {
        Self([5, 30, 300, 1800].map(Duration::from_secs).to_vec())
    }
}

/// Where a record is parked, and what it carries there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parked {
    /// The tier's topic.
    pub topic: String,
    /// How long the tier waits.
    pub tier: Duration,
    /// Headers, which take the place of those of the same name. Key and other headers stay.
    pub headers: Vec<(&'static str, String)>,
}

/// Why a record cannot be parked, or tiers are none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoTier {
    /// There are no tiers.
    #[error("there are no tiers to retry in; configure some")]
    None,
    /// A delay is longer than the longest tier waits.
    #[error("a delay of {delay:?} is longer than the longest tier, {longest:?}; add a tier")]
    TooLong {
        /// The delay that was asked for.
        delay: Duration,
        /// The longest tier.
        longest: Duration,
    },
    /// Tiers must be whole milliseconds, each longer than the one before, the first longer than none.
    #[error("tier {tier:?} is no whole number of milliseconds, or not longer than the one before")]
    NotAscending {
        /// The tier that is not.
        tier: Duration,
    },
}

impl Tiers {
    /// Tiers that wait so long, the shortest first.
    ///
    /// # Errors
    ///
    /// [`NoTier::NotAscending`].
    pub fn new(tiers: impl Into<Vec<Duration>>) -> Result<Self, NoTier> {
        let tiers = tiers.into();
        let mut before = Duration::ZERO;
        for &tier in &tiers {
            if tier <= before || tier.subsec_nanos() % 1_000_000 > 0 {
                return Err(NoTier::NotAscending { tier });
            }
            before = tier;
        }
        Ok(Self(tiers))
    }

    /// The waits, the shortest first.
    pub fn as_slice(&self) -> &[Duration] {
        &self.0
    }

    /// Parks a record of `topic` that is not to be handled before `delay` has passed: in the shortest tier that waits as long.
    ///
    /// # Errors
    ///
    /// [`NoTier`] if none does. The delay is never cut short.
    pub fn delayed(&self, topic: &str, delay: Duration) -> Result<Parked, NoTier> {
        let longest = *self.0.last().ok_or(NoTier::None)?;
        let place = self.0.iter().position(|tier| *tier >= delay);
        let place = place.ok_or(NoTier::TooLong { delay, longest })?;
        Ok(self.parked(topic, place, delay, None))
    }

    /// Parks a record of `topic` that was not handled and had `attempts` before, as [`attempts`](super::attempts) has them: each
    /// attempt in the next tier, and all further ones in the last. No other backoff applies on Kafka.
    ///
    /// The payload gets one attempt more, by [`retried`](crate::settlement::retried).
    ///
    /// # Errors
    ///
    /// [`NoTier::None`].
    pub fn retried(&self, topic: &str, attempts: i64) -> Result<Parked, NoTier> {
        let last = self.0.len().checked_sub(1).ok_or(NoTier::None)?;
        let attempts = attempts.max(0);
        let place = usize::try_from(attempts).map_or(last, |attempts| attempts.min(last));
        let delay = self.0[place];
        Ok(self.parked(topic, place, delay, Some(attempts.saturating_add(1))))
    }

    fn parked(&self, topic: &str, place: usize, delay: Duration, attempts: Option<i64>) -> Parked {
        let number = u32::try_from(place).unwrap_or(u32::MAX).saturating_add(1);
        let attempts = attempts.map(|attempts| ("bq-attempts", attempts.to_string()));
        let waits = [
            (DELAY, delay.as_millis().to_string()),
            (ORIGINAL_TOPIC, topic.to_owned()),
        ];
        Parked {
            topic: retry_topic(topic, number),
            tier: self.0[place],
            headers: attempts.into_iter().chain(waits).collect(),
        }
    }
}

/// When a parked record is due, in Unix milliseconds: `tier` after its timestamp, or after now if it has none.
///
/// That is never before `now_ms` and never longer than `tier` from it, whatever clock the timestamp is of.
pub fn due_at(timestamp_ms: Option<i64>, tier: Duration, now_ms: i64) -> i64 {
    let tier = i64::try_from(tier.as_millis()).unwrap_or(i64::MAX);
    let latest = now_ms.saturating_add(tier);
    timestamp_ms.map_or(latest, |timestamp| {
        timestamp.saturating_add(tier).clamp(now_ms, latest)
    })
}
