//! For those who write stores: the pure parts of an adapter over tables, so that each database decides alike. Relays and applications need
//! nothing of it.
//!
//! - [`fences`], [`confirmed`] and [`plan`] sort what a settlement asks by kind, for a fixed number of statements.
//! - [`OldestDead`] says whether ids of the inbox may be forgotten; [`spoiled`] is what a handler is told that broke its transaction.
//! - [`RawMessage`] reads a message from the columns of a row; [`encode_headers`] is how headers are stored.
//! - [`replay_headers`] marks what is published again.
//! - [`millis`] and [`until`] count durations as a database does.
//!
//! What a claim hands out of what it read is in `outbox-ordering`.

mod inbox;
mod plan;
mod raw;
mod replay;
mod times;

pub use inbox::{OldestDead, spoiled};
pub use plan::{Confirmed, Failed, Fence, Mark, Next, Plan, confirmed, fences, plan};
pub use raw::{RawMessage, any_key, decode_headers, encode_headers};
pub use replay::{MOST_LOOKED_AT, looked_at, replay_headers, replay_stored_headers};
pub use times::{millis, until};
