//! The kinds of servers: how one is found again by the file with its process id, and how it is told to end.

use crate::process::Signal;

/// What runs in a folder and has written its process id there.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    pub(crate) name: &'static str,
    pub(crate) pid_file: &'static str,
    /// Lets it write everything down.
    gently: Signal,
    /// Ends it as a crash does.
    at_once: Signal,
}

/// How a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Gently,
    AtOnce,
}

pub(crate) const POSTGRES: Kind = Kind {
    name: "postgres",
    pid_file: "postmaster.pid",
    gently: Signal::Interrupt,
    at_once: Signal::Quit,
};
/// A pooler has nothing to write down, and whatever else it is told it may have been started to ignore.
pub(crate) const PGBOUNCER: Kind = Kind {
    name: "pgbouncer",
    pid_file: "pgbouncer.pid",
    gently: Signal::Kill,
    at_once: Signal::Kill,
};
pub(crate) const RABBITMQ: Kind = broker("rabbitmq", "rabbitmq.pid");
/// The name server of one RabbitMQ. It ends last, as RabbitMQ starts another when there is none.
pub(crate) const EPMD: Kind = Kind {
    name: "epmd",
    pid_file: "epmd.pid",
    gently: Signal::Kill,
    at_once: Signal::Kill,
};
pub(crate) const NATS: Kind = broker("nats", "nats.pid");
pub(crate) const REDIS: Kind = broker("redis", "redis.pid");
pub(crate) const KAFKA: Kind = broker("kafka", "kafka.pid");

/// All of them, in the order in which they are shown and ended.
pub(crate) const ALL: [&Kind; 7] = [
    &POSTGRES, &PGBOUNCER, &RABBITMQ, &EPMD, &NATS, &REDIS, &KAFKA,
];

impl Kind {
    pub(crate) fn signal(&self, end: End) -> Signal {
        match end {
            End::Gently => self.gently,
            End::AtOnce => self.at_once,
        }
    }
}

const fn broker(name: &'static str, pid_file: &'static str) -> Kind {
    Kind {
        name,
        pid_file,
        gently: Signal::Terminate,
        at_once: Signal::Kill,
    }
}
