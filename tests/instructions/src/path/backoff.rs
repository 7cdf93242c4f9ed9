//! The delays after 1 to 20 failures, by the policy that a relay has by default and by the costliest of the others.

use std::hint::black_box;
use std::time::Duration;

use outbox_backoff::{Backoff, Multiplier, Sample};

use super::Path;

pub(super) fn paths() -> [Path; 3] {
    let (base, cap) = (Backoff::BASE, Backoff::CAP);
    let decorrelated = Backoff::decorrelated_jitter(base, cap).expect("10 s are below an hour");
    let multiplier = Multiplier::new(1.5).expect("it is above 1");
    let geometric =
        Backoff::geometric_full_jitter(base, multiplier, cap).expect("10 s are below an hour");
    [
        path("backoff: 20 delays, exponential", Backoff::default()),
        path("backoff: 20 delays, decorrelated", decorrelated),
        path("backoff: 20 delays, geometric", geometric),
    ]
}

fn path(name: &str, backoff: Backoff) -> Path {
    Path::new(name, move |meter| {
        let longest = meter.count(|| delays(black_box(&backoff)));
        assert!(longest > Some(Duration::ZERO));
    })
}

/// The longest of them.
fn delays(backoff: &Backoff) -> Option<Duration> {
    let delays =
        (0..20).map(|attempts| backoff.delay(black_box(attempts), black_box(Sample::HALF)));
    delays.max()
}
