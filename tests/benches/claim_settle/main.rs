//! What a claim of 100 messages and its settlement cost on SQLite and on Postgres, and how that stays the same with the depth of the backlog,
//! the number of keys, and what waits behind a key. There is no publisher, but in the drains one that confirms at once.
//!
//! `cargo xtask bench` runs it; with `OUTBOX_BENCH_SMALL=1` on small stores, which shows only that it works.

mod files;
mod round;
mod schemas;
mod shape;
mod stores;

use std::{env, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput};
use tokio::runtime::Runtime;

use files::Files;
use round::{BATCH, Round};
use schemas::Schemas;
use shape::{Keys, Shape};
use stores::Kind;

/// How large the stores are.
struct Scale {
    pending: &'static [u64],
    waiting: &'static [u64],
    keys: u64,
    drained: u64,
    measured_for: Duration,
}

const FULL: Scale = Scale {
    pending: &[1_000, 100_000, 1_000_000],
    waiting: &[1_000, 1_000_000],
    keys: 100_000,
    drained: 20_000,
    measured_for: Duration::from_secs(5),
};

const SMALL: Scale = Scale {
    pending: &[1_000, 5_000],
    waiting: &[1_000, 5_000],
    keys: 500,
    drained: 1_000,
    measured_for: Duration::from_millis(200),
};

/// Claims and settlements on a line of constant depth: what is published is saved again behind it, unmeasured.
fn rounds<K: Kind>(c: &mut Criterion, runtime: &Runtime, kind: &K, scale: &Scale) {
    let mut group = c.benchmark_group(K::ROUNDS);
    group
        .throughput(Throughput::Elements(BATCH))
        .measurement_time(scale.measured_for);
    let shapes = [
        (
            "pending of one key",
            scale.pending,
            Shape::pending as fn(u64, Keys) -> Shape,
            Keys::One,
        ),
        (
            "pending of many keys",
            scale.pending,
            Shape::pending,
            Keys::Many(scale.keys),
        ),
        (
            "waiting behind one key",
            scale.waiting,
            Shape::waiting,
            Keys::Many(scale.keys),
        ),
    ];
    for (name, depths, shape, keys) in shapes {
        for depth in depths {
            // Opened by the first call, so that a bench that was not asked for prepares nothing.
            let mut opened = None;
            group.bench_function(BenchmarkId::new(name, depth), |b| {
                let round =
                    opened.get_or_insert_with(|| runtime.block_on(open(kind, shape(*depth, keys))));
                b.iter_custom(|rounds| runtime.block_on(round.timed(rounds)));
            });
            if let Some(round) = opened {
                runtime.block_on(round.close());
            }
        }
    }
    group.finish();
}

/// A relay that works until nothing is left.
fn drains<K: Kind>(c: &mut Criterion, runtime: &Runtime, kind: &K, scale: &Scale) {
    let mut group = c.benchmark_group(K::DRAINS);
    group
        .throughput(Throughput::Elements(scale.drained))
        .measurement_time(scale.measured_for)
        .sample_size(10);
    for (name, keys) in [("one key", Keys::One), ("no key", Keys::None)] {
        let shape = Shape::pending(scale.drained, keys);
        group.bench_function(BenchmarkId::new(name, scale.drained), |b| {
            b.iter_custom(|drains| {
                runtime.block_on(async {
                    let mut total = Duration::ZERO;
                    for _ in 0..drains {
                        let round = open(kind, shape).await;
                        total += round.timed_drain(scale.drained).await;
                        round.close().await;
                    }
                    total
                })
            });
        });
    }
    group.finish();
}

async fn open<K: Kind>(kind: &K, shape: Shape) -> Round<K::Opened> {
    Round::new(kind.open(shape).await)
}

fn main() {
    let scale = if env::var_os("OUTBOX_BENCH_SMALL").is_some() {
        SMALL
    } else {
        FULL
    };
    let runtime = Runtime::new().expect("a runtime starts");
    let files = Files::new();
    let mut c = Criterion::default()
        .sample_size(20)
        .warm_up_time(scale.measured_for / 5)
        .configure_from_args();
    rounds(&mut c, &runtime, &files, &scale);
    drains(&mut c, &runtime, &files, &scale);
    let schemas = Schemas::new();
    rounds(&mut c, &runtime, &schemas, &scale);
    drains(&mut c, &runtime, &schemas, &scale);
    c.final_summary();
}
