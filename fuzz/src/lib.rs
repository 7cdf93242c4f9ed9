//! The laws that the programs of this crate fuzz. They stand beside the test that replays the corpus.

#[path = "../../crates/envelope/tests/corpus/laws.rs"]
pub mod laws;
