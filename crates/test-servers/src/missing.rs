//! Which packages are not installed on this machine.

use crate::binaries::{self, Binaries};
use crate::broker::Broker;
use crate::needs::Origin;
use crate::{NatsOptions, RabbitMqOptions, RedisOptions};

/// A server that cannot be started here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name of Debian's package.
    pub package: &'static str,
    /// The environment variable with the URL of a server for tests, if one can stand in.
    pub variable: Option<&'static str>,
}

/// Finds what is not installed. Kafka, which no package has, is not among it: see [`Kafka::program`](crate::Kafka::program).
pub fn missing() -> Vec<Missing> {
    let postgres = Binaries::find().is_ok();
    let pgbouncer = binaries::program("pgbouncer").is_some();
    let brokers = [
        RabbitMqOptions::NEEDS,
        NatsOptions::NEEDS,
        RedisOptions::NEEDS,
    ];
    let all = [
        (postgres, "postgresql", Some("OUTBOX_TEST_POSTGRES")),
        (pgbouncer, "pgbouncer", None),
    ];
    let brokers = brokers.iter().filter_map(|needs| match needs.origin {
        Origin::Package { name, .. } => Some((needs.find().is_some(), name, Some(needs.variable))),
        Origin::Brought(_) => None,
    });
    all.into_iter()
        .chain(brokers)
        .filter(|(there, ..)| !there)
        .map(|(_, package, variable)| Missing { package, variable })
        .collect()
}
