//! The scenarios of `cargo xtask soak`. Data only: a new one is a row, and a test that has a long form when `OUTBOX_SOAK`
//! is set.

/// A long test.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// What holds if it ends well.
    pub(crate) shows: &'static str,
    /// Which test program it is in, as words for `cargo test`.
    pub(crate) tests: &'static str,
    /// Which of its tests, as words for the test program; none means all.
    pub(crate) filter: &'static str,
}

#[rustfmt::skip]
pub(crate) const SCENARIOS: &[Scenario] = &[
    scenario("crash", "a program killed again and again loses nothing and keeps the order", "-p outbox-cli --test crash", ""),
    scenario("kill", "relay processes on Postgres that are killed, cut off or frozen lose nothing and keep the order", "-p outbox-cli --test crash_on_postgres", ""),
    scenario("memory", "large payloads go through byte for byte within 128 MiB", "-p outbox-cli --test memory", ""),
    scenario("stand", "four relays publish each message once and in order, through failures and under every isolation level", "-p outbox-tests --test on_postgres", "stand::"),
    scenario("outages", "a Postgres that ends sessions, restarts, crashes or fails over costs nothing that survived", "-p outbox-tests --test killing_on_postgres", ""),
    scenario("histories", "random histories of relays, crashes and operators at once break no rule and lose nothing", "-p outbox-tests --test on_postgres", "histories::"),
    scenario("commit-order", "with the order lock messages go out in commit order, without it none is lost", "-p outbox-tests --test on_postgres", "commit_order::"),
    scenario("redrive", "50,000 dead letters are redriven while relays run", "-p outbox-tests --test on_postgres", "case_22"),
    scenario("broker-down", "a broker that is away for 1,800 probes over 10,000 messages costs no attempt and no message", "-p outbox-tests --test on_postgres", "case_18"),
    scenario("brokers", "20,000 messages of 500 keys arrive in order at each broker, through refusals, two restarts and a killed relay", "-p outbox-tests --test on_brokers", "storm::"),
    scenario("brokers-down", "real brokers that are away for 1,800 probes, or under the memory alarm for half an hour, cost no attempt", "-p outbox-tests --test on_brokers", "outage:: alarm::"),
    scenario("stops", "stops, pauses, kills and outages at once lose nothing, keep the order and leave no trace", "-p outbox-tests --test on_postgres", "stopping::"),
    scenario("meetings", "relays, writers and operators that meet on the same lanes for a minute end no transaction of each other", "-p outbox-store-postgres-sqlx --test interleavings", "case42"),
    scenario("drain", "400,000 messages are drained beside a session that holds a snapshot, at claims that cost what the first did", "-p outbox-store-postgres-sqlx --test interleavings", "case43"),
    scenario("held-snapshot", "ten minutes beside a transaction that is held, claims cost what they cost in the first", "-p outbox-store-postgres-sqlx --test cost", "snapshot::"),
    scenario("volume", "no plan and no claim grows with a million messages, and a million published ones are purged in steps", "-p outbox-store-postgres-sqlx --test cost", "plans:: volume::"),
];

const fn scenario(
    name: &'static str,
    shows: &'static str,
    tests: &'static str,
    filter: &'static str,
) -> Scenario {
    Scenario {
        name,
        shows,
        tests,
        filter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_scenario_has_a_name_of_its_own_and_names_its_package() {
        let names: BTreeSet<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), SCENARIOS.len());
        for scenario in SCENARIOS {
            assert!(scenario.tests.starts_with("-p outbox-"), "{scenario:?}");
        }
    }
}
