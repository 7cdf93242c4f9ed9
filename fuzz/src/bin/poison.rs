//! Fuzzes the verdict on poison: `cargo xtask fuzz poison`.
#![no_main]

use outbox_fuzz::laws;

libfuzzer_sys::fuzz_target!(|body: &[u8]| laws::poison(body));
