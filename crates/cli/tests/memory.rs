//! Large payloads through the real program: byte for byte, and in the long form (`OUTBOX_SOAK=1`) within 128 MiB (P4, case 33).
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "support/program.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod program;
#[path = "support/schema.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod schema;

use std::{
    env, fs,
    io::{BufRead, BufReader},
    thread,
    time::Duration,
};

use program::Place;

const PAYLOAD: usize = 8 << 20;

#[test]
fn p4_case_33_payloads_of_8_mib_are_relayed_whole_in_bounded_memory() {
    let soak = env::var_os("OUTBOX_SOAK").is_some();
    let messages = if soak { 100 } else { 6 };
    let place = Place::migrated();
    for index in 0..messages {
        let payload = "a".repeat(PAYLOAD);
        let line = format!(
            r#"{{"topic":"t","key":"k{}","payload_text":"{payload}"}}"#,
            index % 10
        );
        place.run(&["save"], &line).expect(0);
    }
    let to = place.to_file();
    let mut relay = place
        .program(&["relay", "--to", &to, "--until-empty"])
        .spawn()
        .unwrap();
    let mut peak = 0;
    while relay.try_wait().unwrap().is_none() {
        peak = peak_of(relay.id()).unwrap_or(peak);
        thread::sleep(Duration::from_millis(20));
    }
    assert!(relay.wait().unwrap().success());
    let published = BufReader::new(fs::File::open(place.path("published.ndjson")).unwrap());
    let mut count = 0;
    for line in published.lines() {
        let line = line.unwrap();
        let begin = line.find(r#""payload_text":""#).unwrap() + r#""payload_text":""#.len();
        let payload = &line[begin..line.len() - 2];
        assert!(payload.len() == PAYLOAD && payload.bytes().all(|byte| byte == b'a'));
        count += 1;
    }
    assert_eq!(count, messages);
    assert!(!soak || peak < 128 << 10, "{} MiB", peak >> 10);
}

/// The most memory the process ever had, in KiB.
fn peak_of(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
