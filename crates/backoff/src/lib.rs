//! When a message is tried again after a counted failure.
//!
//! A [`Backoff`] is a policy; [`Backoff::delay`] is a pure function of the attempts that were counted before this
//! failure and of a [`Sample`], the one random number it needs. Nothing here reads a clock, draws a random number or
//! decides whether a message is given up on: the relay does that, and hands the numbers in.
//!
//! ```
//! use std::time::Duration;
//! use outbox_backoff::{Backoff, Sample};
//!
//! let backoff = Backoff::default(); // exponential with equal jitter, 10 s to 3600 s
//! let sample = Sample::from_random_bits(0x9e37_79b9_7f4a_7c15); // the relay draws it
//!
//! let first = backoff.delay(0, sample);
//! assert!(first >= Duration::from_secs(5) && first <= Duration::from_secs(10));
//! ```
//!
//! Every policy answers every input: delays saturate at the policy's cap and at [`Backoff::MAX_DELAY`], and are never
//! negative.

mod error;
mod multiplier;
mod policy;
mod sample;

pub use error::{InvalidBackoff, InvalidMultiplier, InvalidSample};
pub use multiplier::Multiplier;
pub use policy::Backoff;
pub use sample::Sample;
