//! P4, case 33: what a relay holds of large payloads is bounded. Alone in its process, because it measures all of it.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "sqlite/scratch.rs"]
#[expect(dead_code, reason = "this binary uses a part of it")]
mod scratch;

use outbox_store::Outcome;
use scratch::{Scratch, message};

const PAYLOAD: usize = 8 << 20;
const MESSAGES: usize = 100;

/// The most memory this process ever had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    kilobytes.parse::<usize>().unwrap() << 10
}

#[tokio::test]
async fn case_33_a_hundred_payloads_of_8_mib_are_drained_within_128_mib() {
    let scratch = Scratch::with_connections(1).await;
    scratch.sql("PRAGMA synchronous = OFF").await;
    for _ in 0..MESSAGES {
        scratch.save(&[message(None, vec![7; PAYLOAD])]).await;
    }
    let mut left = MESSAGES;
    while left > 0 {
        let claim = scratch.claim(100).await;
        assert!(!claim.entries.is_empty());
        left -= claim.entries.len();
        scratch.settle(&claim, &Outcome::Published).await;
    }
    assert!(peak() < 128 << 20, "{} MiB", peak() >> 20);
}
