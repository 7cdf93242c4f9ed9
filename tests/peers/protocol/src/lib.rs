//! What the benches say to a peer's driver and what it answers: its arguments, its lines, and the payload of a message. What
//! talks to the peer is not here; README.md of this workspace says what each word of it means.
//!
//! ```text
//! DRIVER prepare URL MESSAGES KEYS              makes the peer's schema anew, with so many pending messages
//! DRIVER relay URL BATCH [ROUND_TRIP_MS]        `ready`; after the line `go`: `done COUNT MICROSECONDS`, again and again
//! DRIVER left URL                               the number of messages that are not recorded as done
//! DRIVER save URL WRITERS PER_TRANSACTION SECONDS   `saved COUNT SECONDS`
//! ```

mod call;
mod done;
mod order;
mod stdin;

pub use call::{Call, Command};
pub use done::Done;
pub use order::{Order, PAYLOAD};
pub use stdin::{wait_for_end, wait_for_go};

/// What went wrong, for the person who runs the benches.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
