//! The cases of the conformance suite, one file for each noun. Each is named as a sentence that begins with the rule or the field case it tests.

pub mod audit;
pub mod busy;
pub mod careful;
pub mod dead;
pub mod freed;
pub mod inbox;
pub mod late;
pub mod leases;
pub mod letters;
pub mod limits;
pub mod notice;
pub mod once;
pub mod operators;
pub mod order;
pub mod poison;
pub mod probe;
pub mod replay;
pub mod retention;
pub mod retry;
pub mod scheduled;
pub mod stopped;
pub mod stops;
pub mod unreadable;
pub mod verbatim;
pub mod waiting;
pub mod writing;
