//! Fuzzes the decoders: `cargo xtask fuzz decode`.
#![no_main]

use outbox_fuzz::laws;

libfuzzer_sys::fuzz_target!(|body: &[u8]| laws::decode(body));
