//! Scenarios 1 to 3: a filled table is drained, by one relay and by four.

use super::{Bench, Comparison};
use crate::{
    Result,
    system::{Relaying, System},
    template::Fill,
};

/// Relays with a publisher that confirms at once.
pub(crate) fn relaying(relays: usize, batch: usize) -> Relaying {
    Relaying {
        relays,
        batch,
        round_trip_ms: 0,
    }
}

/// The systems that keep no promise but to take each message at least once, and ours.
fn own(relays: usize, batch: usize) -> Vec<(System, Relaying)> {
    [System::Outbox, System::Plain, System::PlainHeld]
        .map(|system| (system, relaying(relays, batch)))
        .into()
}

impl Bench<'_> {
    fn peers(&self, relays: usize, batch: usize) -> Vec<(System, Relaying)> {
        let peers = self.peers.iter().cloned();
        peers
            .map(|peer| (System::Peer(peer), relaying(relays, batch)))
            .collect()
    }
}

/// 1: one key, 1,000 messages and 20,000, one relay and four.
pub(crate) async fn one_key(bench: &mut Bench<'_>) -> Result {
    let rounds = bench.rounds(5);
    for (variant, messages) in [("1,000 messages", 1_000), ("20,000 messages", 20_000)] {
        let messages = bench.messages(messages);
        let mut contenders = own(1, 500);
        contenders.extend(own(4, 500));
        // The time of some peers grows with the square of the messages of a key.
        if messages <= 1_000 {
            contenders.extend(bench.peers(1, 500));
        }
        let what = Comparison {
            scenario: 1,
            variant,
            fill: Fill::of(messages, 1),
            messages,
            rounds,
            contenders,
        };
        bench.compare(what).await?;
    }
    Ok(())
}

/// 2: 20,000 messages over 5,000 keys, one relay and four, batches of 100 and of 500.
pub(crate) async fn many_keys(bench: &mut Bench<'_>) -> Result {
    let messages = bench.messages(20_000);
    let mut contenders = Vec::new();
    for relays in [1, 4] {
        for batch in [100, 500] {
            contenders.extend(own(relays, batch));
            contenders.extend(bench.peers(relays, batch));
        }
    }
    let what = Comparison {
        scenario: 2,
        variant: "5,000 keys",
        fill: Fill::of(messages, messages / 4),
        messages,
        rounds: bench.rounds(5),
        contenders,
    };
    bench.compare(what).await
}

/// 3: 100,000 messages without a key.
pub(crate) async fn unkeyed(bench: &mut Bench<'_>) -> Result {
    let messages = bench.messages(100_000);
    let mut contenders = own(1, 500);
    contenders.extend(own(4, 500));
    contenders.extend(bench.peers(1, 500));
    let what = Comparison {
        scenario: 3,
        variant: "no key",
        fill: Fill::of(messages, 0),
        messages,
        rounds: bench.rounds(5),
        contenders,
    };
    bench.compare(what).await
}
