//! The policies and their formulas. Each formula says between which two delays the answer lies; the sample picks one.
//! Whether the message is tried again at all is not decided here.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::{InvalidBackoff, Multiplier, Sample};

#[cfg(test)]
mod tests;

/// How long a message waits after a counted failure.
///
/// `attempts` always means the failures counted *before* this one: 0 at the first failure.
///
/// ```
/// use std::time::Duration;
/// use outbox_backoff::{Backoff, Sample};
///
/// let backoff = Backoff::exponential(Duration::from_secs(1), Duration::from_secs(60))?;
/// assert_eq!(backoff.bounds(3), Duration::from_secs(4)..=Duration::from_secs(8));
/// assert_eq!(backoff.delay(3, Sample::HALF), Duration::from_secs(6));
/// assert_eq!(backoff.delay(u32::MAX, Sample::ZERO), Duration::from_secs(30));
/// # Ok::<(), outbox_backoff::InvalidBackoff>(())
/// ```
///
/// A base, step or delay of zero means that the message is due at once, in its place: it then spends its attempts in
/// moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backoff(Policy);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Policy {
    EqualJitter { base: Duration, cap: Duration },
    FullJitter { base: Duration, cap: Duration },
    DecorrelatedJitter { base: Duration, cap: Duration },
    Geometric(Geometric),
    GeometricFullJitter(Geometric),
    Linear { step: Duration, cap: Duration },
    Fixed(Duration),
    List(Vec<Duration>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Geometric {
    base: Duration,
    multiplier: Multiplier,
    cap: Duration,
}

impl Backoff {
    /// The default base of the exponential policies: 10 s.
    pub const BASE: Duration = Duration::from_secs(10);
    /// The default cap of the exponential policies: 3600 s.
    pub const CAP: Duration = Duration::from_hours(1);
    /// The usual step of [`linear`](Self::linear): 0.05 s.
    pub const LINEAR_STEP: Duration = Duration::from_millis(50);
    /// The usual cap of [`linear`](Self::linear): 5 s.
    pub const LINEAR_CAP: Duration = Duration::from_secs(5);
    /// The longest delay any policy answers: 365 days. Longer settings are accepted and clamped to it.
    pub const MAX_DELAY: Duration = Duration::from_hours(365 * 24);

    /// Exponential with equal jitter: uniform in [d/2, d] with d = min(cap, base * 2^attempts).
    ///
    /// With the default base and cap and a limit of 6 attempts, the five delays add up to between 155 s and 310 s.
    /// Source: AWS Architecture Blog, "Exponential Backoff And Jitter" (2015), "Equal Jitter".
    ///
    /// # Errors
    ///
    /// [`InvalidBackoff::BaseAboveCap`] if `base` is longer than `cap`.
    pub fn exponential(base: Duration, cap: Duration) -> Result<Self, InvalidBackoff> {
        check_base(base, cap)?;
        Ok(Self(Policy::EqualJitter { base, cap }))
    }

    /// Exponential with full jitter: uniform in [0, d] with d = min(cap, base * 2^attempts).
    ///
    /// It spreads retries widest; a delay may be next to nothing.
    /// Source: AWS Architecture Blog, "Exponential Backoff And Jitter" (2015), "Full Jitter".
    ///
    /// # Errors
    ///
    /// [`InvalidBackoff::BaseAboveCap`] if `base` is longer than `cap`.
    pub fn full_jitter(base: Duration, cap: Duration) -> Result<Self, InvalidBackoff> {
        check_base(base, cap)?;
        Ok(Self(Policy::FullJitter { base, cap }))
    }

    /// Decorrelated jitter: uniform in [base, min(cap, base * 3^(attempts + 1))].
    ///
    /// The published formula, delay = min(cap, uniform(base, previous delay * 3)) with a first previous delay of
    /// `base`, remembers the previous delay. This policy remembers nothing: it puts the longest delay that the
    /// formula can have reached, base * 3^attempts, in the place of the previous one. At each number of attempts the
    /// range of delays is that of the published formula; inside it this policy leans to longer ones.
    /// Source: AWS Architecture Blog, "Exponential Backoff And Jitter" (2015), "Decorrelated Jitter".
    ///
    /// # Errors
    ///
    /// [`InvalidBackoff::BaseAboveCap`] if `base` is longer than `cap`.
    pub fn decorrelated_jitter(base: Duration, cap: Duration) -> Result<Self, InvalidBackoff> {
        check_base(base, cap)?;
        Ok(Self(Policy::DecorrelatedJitter { base, cap }))
    }

    /// Geometric without jitter: min(cap, base * multiplier^attempts). [`Duration::MAX`] as cap is none, but for
    /// [`MAX_DELAY`](Self::MAX_DELAY).
    ///
    /// It is the backoff of `BabelQueue`'s consumers, whose n-th attempt waits d(n) = min(max, base * multiplier^(n - 1)):
    /// `attempts` is n - 1. The power is computed in doubles, and the delay rounded to a nanosecond.
    /// Source: `BabelQueue`'s ADR-0034, section 9.
    ///
    /// # Errors
    ///
    /// [`InvalidBackoff::BaseAboveCap`] if `base` is longer than `cap`.
    pub fn geometric(
        base: Duration,
        multiplier: Multiplier,
        cap: Duration,
    ) -> Result<Self, InvalidBackoff> {
        Ok(Self(Policy::Geometric(Geometric::new(
            base, multiplier, cap,
        )?)))
    }

    /// Geometric with full jitter: uniform in [0, d] with the d of [`geometric`](Self::geometric).
    ///
    /// # Errors
    ///
    /// [`InvalidBackoff::BaseAboveCap`] if `base` is longer than `cap`.
    pub fn geometric_full_jitter(
        base: Duration,
        multiplier: Multiplier,
        cap: Duration,
    ) -> Result<Self, InvalidBackoff> {
        let geometric = Geometric::new(base, multiplier, cap)?;
        Ok(Self(Policy::GeometricFullJitter(geometric)))
    }

    /// Linear without jitter: min(cap, step * (attempts + 1)).
    ///
    /// # Errors
    ///
    /// [`InvalidBackoff::StepAboveCap`] if `step` is longer than `cap`.
    pub fn linear(step: Duration, cap: Duration) -> Result<Self, InvalidBackoff> {
        if step > cap {
            return Err(InvalidBackoff::StepAboveCap { step, cap });
        }
        Ok(Self(Policy::Linear { step, cap }))
    }

    /// The same delay after each failure.
    pub fn fixed(delay: Duration) -> Self {
        Self(Policy::Fixed(delay))
    }

    /// The listed delays one after another; the last one repeats.
    ///
    /// # Errors
    ///
    /// [`InvalidBackoff::NoDelays`] if the list is empty.
    pub fn list(delays: impl Into<Vec<Duration>>) -> Result<Self, InvalidBackoff> {
        let delays = delays.into();
        if delays.is_empty() {
            return Err(InvalidBackoff::NoDelays);
        }
        Ok(Self(Policy::List(delays)))
    }

    /// Returns how long the message waits after this failure, within [`bounds`](Self::bounds).
    ///
    /// Policies without jitter do not use the sample.
    pub fn delay(&self, attempts: u32, sample: Sample) -> Duration {
        let (shortest, longest) = self.bounds(attempts).into_inner();
        sample.between(shortest, longest)
    }

    /// Returns the shortest and the longest delay after this failure, over all samples.
    pub fn bounds(&self, attempts: u32) -> RangeInclusive<Duration> {
        let one = |delay: Duration| delay..=delay;
        match &self.0 {
            Policy::EqualJitter { base, cap } => {
                let longest = times(*base, power(2, attempts), *cap);
                // The half is rounded up, so that a delay of one nanosecond does not become none.
                longest.saturating_sub(longest / 2)..=longest
            }
            Policy::FullJitter { base, cap } => {
                Duration::ZERO..=times(*base, power(2, attempts), *cap)
            }
            Policy::DecorrelatedJitter { base, cap } => {
                let longest = times(*base, power(3, attempts.saturating_add(1)), *cap);
                times(*base, 1, *cap)..=longest
            }
            Policy::Geometric(geometric) => one(geometric.longest(attempts)),
            Policy::GeometricFullJitter(geometric) => Duration::ZERO..=geometric.longest(attempts),
            Policy::Linear { step, cap } => one(times(*step, u128::from(attempts) + 1, *cap)),
            Policy::Fixed(delay) => one(clamp(*delay)),
            Policy::List(delays) => {
                let last = delays.last().expect("a list policy has a delay");
                let listed = usize::try_from(attempts).ok().and_then(|at| delays.get(at));
                one(clamp(*listed.unwrap_or(last)))
            }
        }
    }
}

/// Exponential with equal jitter, from [`BASE`](Backoff::BASE) to [`CAP`](Backoff::CAP).
impl Default for Backoff {
    fn default() -> Self {
        Self(Policy::EqualJitter {
            base: Self::BASE,
            cap: Self::CAP,
        })
    }
}

/// Names the policy and its settings, for a log line.
impl fmt::Display for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Policy::EqualJitter { base, cap } => {
                write!(
                    f,
                    "exponential with equal jitter, base {base:?}, cap {cap:?}"
                )
            }
            Policy::FullJitter { base, cap } => {
                write!(
                    f,
                    "exponential with full jitter, base {base:?}, cap {cap:?}"
                )
            }
            Policy::DecorrelatedJitter { base, cap } => {
                write!(f, "decorrelated jitter, base {base:?}, cap {cap:?}")
            }
            Policy::Geometric(geometric) => write!(f, "geometric, {geometric}"),
            Policy::GeometricFullJitter(geometric) => {
                write!(f, "geometric with full jitter, {geometric}")
            }
            Policy::Linear { step, cap } => write!(f, "linear, step {step:?}, cap {cap:?}"),
            Policy::Fixed(delay) => write!(f, "fixed, {delay:?}"),
            Policy::List(delays) => write!(f, "list, {delays:?}"),
        }
    }
}

impl Geometric {
    fn new(base: Duration, multiplier: Multiplier, cap: Duration) -> Result<Self, InvalidBackoff> {
        check_base(base, cap)?;
        Ok(Self {
            base,
            multiplier,
            cap,
        })
    }

    /// min(cap, year, base * multiplier^attempts), without overflow.
    fn longest(&self, attempts: u32) -> Duration {
        // Nothing stays nothing; as a float, times infinity, it would be no number.
        if self.base.is_zero() {
            return Duration::ZERO;
        }
        let seconds = self.base.as_secs_f64() * self.multiplier.power(attempts);
        let longest = clamp(self.cap);
        Duration::try_from_secs_f64(seconds).map_or(longest, |delay| delay.min(longest))
    }
}

impl fmt::Display for Geometric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (base, cap, multiplier) = (self.base, self.cap, self.multiplier.value());
        write!(f, "base {base:?}, multiplier {multiplier}, cap {cap:?}")
    }
}

fn check_base(base: Duration, cap: Duration) -> Result<(), InvalidBackoff> {
    if base > cap {
        return Err(InvalidBackoff::BaseAboveCap { base, cap });
    }
    Ok(())
}

fn power(base: u128, exponent: u32) -> u128 {
    base.saturating_pow(exponent)
}

/// min(cap, year, unit * factor), without overflow.
fn times(unit: Duration, factor: u128, cap: Duration) -> Duration {
    let longest = clamp(cap);
    let nanos = unit.as_nanos().saturating_mul(factor);
    u64::try_from(nanos).map_or(longest, |nanos| Duration::from_nanos(nanos).min(longest))
}

fn clamp(delay: Duration) -> Duration {
    delay.min(Backoff::MAX_DELAY)
}
