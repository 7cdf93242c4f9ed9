//! The relay: it claims messages from a store, publishes them in order, and settles what happened.
//!
//! # Where to find things
//!
//! * what a user starts: [`Relay`], its settings [`RelayConfig`], its [`Report`]
//! * how a failure is judged: the rules F1 to F5 of the contract, in one pure function
//! * what is published of a death: [`DeathNotices`]
//! * what keeps a message that kills its process from being handed over beside others: [`Gate`]
//!
//! A message's way through this crate: the driver claims lanes and admits their messages; each lane's rules (in
//! `outbox-ordering`) say which run may start; a task hands it to the publisher; the end of the call is judged; the
//! outcomes of a lane are recorded together, and the lane is given back.
//!
//! The engine reaches no driver and no broker: it knows the two ports only. A handler that consumes messages is
//! served by implementing [`Publisher`](outbox_publisher::Publisher).

mod circuit;
mod clock;
mod config;
mod driver;
mod error;
mod gate;
mod held;
mod in_time;
mod judge;
mod notice;
mod poll;
mod probed;
mod relay;
mod report;
mod serve;
mod settle;
mod stops;

pub use config::{InvalidConfig, RelayConfig};
pub use error::RelayError;
pub use gate::Gate;
pub use notice::{Death, DeathNotices};
pub use relay::{Relay, Waker};
pub use report::Report;
