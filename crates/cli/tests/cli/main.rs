//! The program as a shell sees it: what it prints, how it ends, what it does to the store. Killing it is in `crash.rs`.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod brokers;
mod by_hand;
mod config;
mod dead;
mod demo;
mod deploy;
mod documented;
mod endpoints;
mod errors;
mod help;
mod main_job;
mod postgres;
#[path = "../support/program.rs"]
mod program;
mod purge;
mod redriving;
mod routes;
mod save;
#[path = "../support/schema.rs"]
mod schema;
mod stop;
mod topics;
