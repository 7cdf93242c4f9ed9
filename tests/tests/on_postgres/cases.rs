//! Cases from the field that are about the engine on Postgres. Those of the store alone are in the conformance suite.

mod failing;
mod operating;
mod outage;
mod running;
mod server;
mod stopping;
