//! Fuzzes the records for dead-letter queues: `cargo xtask fuzz splice`.
#![no_main]

use outbox_fuzz::laws;

libfuzzer_sys::fuzz_target!(|body: &[u8]| laws::splice(body));
