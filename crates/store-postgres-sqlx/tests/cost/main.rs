//! What statements cost on a real server: how many a batch takes, what their plans touch when the tables are full, and what a snapshot that somebody
//! holds adds. The long forms print a report (`cargo xtask soak`).

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]
#![expect(clippy::print_stdout, reason = "the long forms print a report")]

mod arguments;
mod backlog;
mod counting;
mod counts;
mod explain;
mod place;
mod plans;
mod saves;
#[path = "../support/schema.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod schema;
mod scratch;
mod session;
mod snapshot;
mod stopped;
mod volume;
