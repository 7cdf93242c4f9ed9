//! The engine over Postgres, with several relays on one database: the stand test, the scenarios of ordering, writers that do not exclude each other,
//! and cases from the field. What the store alone promises is tested beside its adapters.
//!
//! Tests with a long form take it with `OUTBOX_SOAK=1`. Those that draw at random name their seed; `OUTBOX_SEED` repeats it.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

mod cases;
mod commit_order;
mod dice;
mod doors;
mod histories;
mod ordering;
mod record;
mod schema;
mod shop;
mod stand;
mod stopping;
