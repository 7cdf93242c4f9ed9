//! Bodies of 64 MiB: each gets a verdict and keeps its bytes on the way to a dead-letter queue and back, and memory grows with the
//! body and no faster. It is the only test of its process, because it measures what the process has.

use std::fs;

use outbox_envelope::{DeadLetter, DeadLetterReason, Received, redrive};

const HUGE: usize = 64 << 20;

/// The most memory since the last call that this process had, in bytes. `None` where the system does not say.
fn peak() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    fs::write("/proc/self/clear_refs", "5").ok()?;
    Some(kilobytes * 1024)
}

/// By how much memory grew at most while `work` was done.
fn grown<T>(work: impl FnOnce() -> T) -> (T, usize) {
    // The first call forgets what was before, the second says what is now.
    let before = peak().and_then(|_| peak());
    let done = work();
    let grown = before.and_then(|before| peak()?.checked_sub(before));
    (done, grown.unwrap_or(0))
}

/// 64 MiB and a little: as much of `unit` as it takes.
fn filled(before: &str, unit: &str, after: &str) -> Vec<u8> {
    let mut body = String::with_capacity(HUGE + 64);
    body.push_str(before);
    while body.len() < HUGE {
        body.push_str(unit);
    }
    body.push_str(after);
    body.into_bytes()
}

/// The same bytes each time, of which most are no text.
fn noise() -> Vec<u8> {
    let mut state: u32 = 7;
    let bytes = (0..HUGE).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    bytes.collect()
}

#[track_caller]
fn judge(name: &str, body: &[u8], is_poison: bool) {
    let dead_letter = DeadLetter::new(DeadLetterReason::Failed, "orders", 3, 1_749_132_730_000);
    let (read, by) = grown(|| Received::read(body).is_err());
    assert_eq!(read, is_poison, "{name}");
    assert!(by <= 2 * HUGE, "{name}: reading took {} MiB", by >> 20);

    let (dead, by) = grown(|| dead_letter.annotate(body));
    assert!(by <= 5 * HUGE, "{name}: annotating took {} MiB", by >> 20);

    let (again, by) = grown(|| redrive(dead.as_bytes()).map(|again| again.payload));
    assert!(by <= 5 * HUGE, "{name}: redriving took {} MiB", by >> 20);
    assert!(
        again.is_ok_and(|again| again == body),
        "{name}: bytes changed"
    );
}

#[test]
fn bodies_of_64_mib_have_a_verdict_and_keep_their_bytes_in_bounded_memory() {
    let start = r#"{"job":"urn:x","attempts":0,"data":{"a":"#;
    let of = |rest: &str| format!("{start}{rest}");
    for (name, before, unit, after, is_poison) in [
        ("a string", of("\""), "abcdefgh", "\"}}", false),
        ("a string of escapes", of("\""), "\\u00e9", "\"}}", false),
        ("an array", of("[0"), ",0", "]}}", false),
        ("an integer", of("7"), "7", "}}", true),
        ("a double", of("0."), "0", "}}", false),
        ("white space", of(""), "\n", "0}}", false),
        ("only white space", String::new(), " ", "", true),
        ("brackets", String::new(), "[", "", true),
        ("a string without an end", of("\""), "\\n", "", true),
    ] {
        judge(name, &filled(&before, unit, after), is_poison);
    }
    judge("noise", &noise(), true);
}
