//! The stateful property test: anything that writers, relays, crashes, time and operators can do to a store, done to the store
//! and to the pure model of `outbox-ordering` side by side; what happened is then judged by the history checker.
//!
//! It is deterministic: the same program tests the same histories. `OUTBOX_PROPTEST_CASES` asks for more of them.

mod op;
mod record;
mod relay;
mod stops;
mod world;

use std::env;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use crate::{Harness, conformance::run};

/// Runs the property test on stores of this harness.
///
/// # Panics
///
/// With the shortest history found that the store gets wrong.
#[doc(hidden)]
pub fn stateful<H: Harness>() {
    let cases = env::var("OUTBOX_PROPTEST_CASES").ok();
    let config = Config {
        cases: cases
            .and_then(|cases| cases.parse().ok())
            .unwrap_or(H::HISTORIES),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let outcome = runner.run(&op::history(), |history| {
        run(async {
            let mut world = world::World::<H>::new(history.relays, history.keys).await;
            for op in &history.ops {
                world.step(op).await;
            }
            world.finish().await;
        });
        Ok::<(), TestCaseError>(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
