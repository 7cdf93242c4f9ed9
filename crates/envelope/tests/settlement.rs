//! What a consumer does with what it could not handle, case by case, and what a retry carries.

use outbox_envelope::{
    DeadLetterReason::{Failed, Poison, UnknownUrn as Unknown},
    Malformed,
    settlement::{DeadLetters, Gated, Policy, Settlement, UnknownUrn, retried},
};
use proptest::prelude::*;

fn policy(unknown_urn: UnknownUrn, dead_letters: DeadLetters) -> Policy {
    let mut policy = Policy::default();
    policy.unknown_urn = unknown_urn;
    policy.dead_letters = dead_letters;
    policy
}

const STRATEGIES: [UnknownUrn; 4] = [
    UnknownUrn::Fail,
    UnknownUrn::Delete,
    UnknownUrn::Release,
    UnknownUrn::DeadLetter,
];

const LETTERS: [DeadLetters; 3] = [
    DeadLetters::Written,
    DeadLetters::Dropped,
    DeadLetters::Native,
];

#[test]
fn a_failure_is_retried_until_its_attempts_are_spent_whatever_the_strategy_for_unknown_urns() {
    for strategy in STRATEGIES {
        for letters in LETTERS {
            let policy = policy(strategy, letters);
            assert_eq!(policy.settle(Failed, 0), Settlement::Retry { attempts: 1 });
            assert_eq!(policy.settle(Failed, 1), Settlement::Retry { attempts: 2 });
            let last = match letters {
                DeadLetters::Written => Settlement::DeadLetter { attempts: 3 },
                _ => Settlement::Drop,
            };
            assert_eq!(policy.settle(Failed, 2), last);
        }
    }
}

#[test]
fn what_is_poison_is_never_released_and_never_retried_where_it_can_be_kept() {
    for strategy in STRATEGIES {
        for letters in LETTERS {
            let settled = policy(strategy, letters).settle(Poison, 0);
            let expected = match (strategy, letters) {
                (UnknownUrn::Delete, _) => Settlement::Drop,
                (UnknownUrn::DeadLetter, _) | (_, DeadLetters::Written) => {
                    Settlement::DeadLetter { attempts: 0 }
                }
                (_, DeadLetters::Native) => Settlement::Native,
                _ => Settlement::Retry { attempts: 1 },
            };
            assert_eq!(settled, expected, "{strategy:?} {letters:?}");
        }
    }
}

#[test]
fn an_unknown_urn_is_released_without_being_counted() {
    for letters in LETTERS {
        let policy = policy(UnknownUrn::Release, letters);
        assert_eq!(policy.settle(Unknown, 99), Settlement::Release);
        let gated = match letters {
            DeadLetters::Written => Gated::DeadLetter,
            DeadLetters::Native => Gated::Native,
            _ => Gated::Drop,
        };
        assert_eq!(
            policy.settle_gated(),
            gated,
            "an unknown version would come back for ever"
        );
    }
}

#[test]
fn attempts_that_cannot_be_counted_on_end_the_retries() {
    let mut policy = Policy::default();
    assert_eq!(
        policy.settle(Failed, i64::MAX),
        Settlement::DeadLetter { attempts: i64::MAX }
    );
    assert_eq!(
        policy.settle(Failed, -5),
        Settlement::Retry { attempts: -4 }
    );
    policy.max_attempts = i64::MIN;
    assert_eq!(
        policy.settle(Failed, 0),
        Settlement::DeadLetter { attempts: 1 }
    );
}

#[test]
fn a_retry_keeps_every_byte_but_its_attempts() {
    for (raw, expected) in [
        (
            " {\"attempts\" : 2 ,\"n\":1e400}",
            " {\"attempts\" : 7 ,\"n\":1e400}",
        ),
        (
            "{\"attempts\":null,\"attempts\":\"x\"}",
            "{\"attempts\":7,\"attempts\":7}",
        ),
        ("{\"a\":[{}] }", "{\"a\":[{}] ,\"attempts\":7}"),
        ("{}", "{\"attempts\":7}"),
    ] {
        assert_eq!(retried(raw.as_bytes(), 7).as_deref(), Ok(expected));
    }
    for raw in [&b"[]"[..], b"", b"\xff", b"{\"a\":NaN}"] {
        assert!(matches!(retried(raw, 7), Err(Malformed { .. })));
    }
}

proptest! {
    #[test]
    fn a_message_never_gets_more_deliveries_than_it_may_have(
        attempts in any::<i64>(),
        max_attempts in any::<i64>(),
        strategy in prop::sample::select(STRATEGIES.to_vec()),
        letters in prop::sample::select(LETTERS.to_vec()),
        reason in prop::sample::select(vec![Failed, Unknown, Poison]),
    ) {
        let mut policy = policy(strategy, letters);
        policy.max_attempts = max_attempts;
        if let Settlement::Retry { attempts: next } = policy.settle(reason, attempts) {
            prop_assert!(next > attempts && next < max_attempts);
        }
    }
}
