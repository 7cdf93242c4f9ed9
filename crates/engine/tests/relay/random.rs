//! Relays that crash at random moments while a broker fails at random: nothing is lost, and first deliveries keep their order (O11).

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use outbox_backoff::Backoff;
use outbox_engine::{Gate, RelayConfig};
use outbox_publisher::PublishErrorKind::{Interrupted, Rejected, Unavailable};
use outbox_testkit::{Call, Reply};

use crate::world::{Running, World, pass};

const MESSAGES: usize = 300;
const KEYS: usize = 20;

#[tokio::test(start_paused = true)]
async fn o11_case_6_first_deliveries_keep_their_order_through_crashes_and_failures() {
    for seed in 0..40 {
        storm(seed).await;
    }
}

async fn storm(seed: u64) {
    let mut random = Random(seed * 2 + 1);
    let mut world = World::new();
    world.config = RelayConfig {
        batch: [1, 5, 20, 100][random.below(4)],
        max_attempts: 1_000,
        backoff: Backoff::fixed(Duration::from_millis(50)),
        transient_delay: Duration::from_millis(10),
        lease: Duration::from_secs(3),
        renewal: Duration::from_secs(1),
        publish_timeout: Duration::from_secs(1),
        // The crashes here are no message's fault.
        careful_limit: u32::MAX,
        ..world.config
    };
    let kind = [Rejected, Unavailable, Interrupted][random.below(3)];
    let reply = [
        Reply::Fail(kind),
        Reply::Lose(kind),
        Reply::Panic,
        Reply::Hang,
    ][random.below(4)];
    world.broker.chance(seed, 5, reply);
    world.broker.all(Reply::Late(Duration::from_millis(3)));

    let mut relays: Vec<Running> = (0..3).map(|index| process(&world, index)).collect();
    for index in 0..MESSAGES {
        world
            .save(&format!("{index}"), Some(&format!("k-{}", index % KEYS)))
            .await;
        if random.below(20) == 0 {
            pass(Duration::from_millis(5)).await;
        }
        if random.below(60) == 0 {
            let victim = random.below(relays.len());
            relays.swap_remove(victim).crash().await;
            relays.push(process(&world, 3 + index));
        }
        if random.below(80) == 0 {
            world.store.lose_answer(
                [Call::Settle, Call::Claim, Call::Extend][random.below(3)],
                1,
            );
        }
    }
    while world.status().await.pending() > 0 {
        pass(Duration::from_millis(100)).await;
    }
    for relay in relays {
        relay.stop().await;
    }

    let received = world.broker.received();
    let mut first = HashSet::new();
    let mut last: HashMap<usize, usize> = HashMap::new();
    for id in received.iter().filter(|id| first.insert((*id).clone())) {
        let index: usize = id.parse().expect("ids are numbers");
        let before = last.insert(index % KEYS, index);
        assert!(
            before < Some(index),
            "seed {seed}: {index} came first after {before:?}"
        );
    }
    assert_eq!(
        first.len(),
        MESSAGES,
        "seed {seed}: {} messages are lost",
        MESSAGES - first.len()
    );
}

fn process(world: &World, number: usize) -> Running {
    world.start_with(RelayConfig {
        name: format!("relay-{number}").into(),
        gate: Gate::new(),
        ..world.config.clone()
    })
}

/// xorshift64*: the same storm for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let scrambled = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(scrambled).expect("31 bits fit") % bound
    }
}
