//! Private servers for the tests of the outbox toolkit: throwaway Postgres clusters and a pgbouncer in front of one, brokers
//! (RabbitMQ, NATS, Redis, Kafka) and a [`Proxy`] that breaks connections to one, and the same servers to play with. They are
//! made of the server programs that are on the machine; nothing is downloaded here (the program for Kafka, which no system
//! has a package of, is brought by `cargo xtask`), and no driver is used: what speaks to the servers from here are their
//! own programs.
//!
//! A server listens on the loopback device only, on a port of its own, and trusts whoever connects: nothing of value
//! belongs into it. `initdb` runs once; every throwaway cluster begins as a copy of its result, with `fsync` off. Root
//! runs no Postgres, so for root the servers run as `postgres`, or else as `nobody`. A server that outlives a killed
//! program is found by its pid file and stopped when the next server is started.
//!
//! ```no_run
//! use outbox_test_servers::{Options, PgBouncer, Postgres};
//!
//! # fn main() -> Result<(), outbox_test_servers::Error> {
//! let mut cluster = Postgres::find()?.start(Options::default())?;
//! let pooler = PgBouncer::start(&cluster, 4)?;
//! println!("{} and {}", cluster.url("postgres"), pooler.url("postgres"));
//! cluster.stop_immediate()?;
//! cluster.start()?; // The same data on the same port.
//! # Ok(())
//! # }
//! ```
//!
//! The brokers are handled all alike, as [`Server`] says. Where any server will do, [`Server::shared`] saves the start of
//! one for each test.
//!
//! ```no_run
//! use outbox_test_servers::{Proxy, RabbitMq, RabbitMqOptions, Redis};
//!
//! # fn main() -> Result<(), outbox_test_servers::Error> {
//! let mut rabbitmq = RabbitMq::start(RabbitMqOptions { tls: true, ..RabbitMqOptions::default() })?;
//! let proxy = Proxy::start(rabbitmq.port())?;
//! proxy.cut_after(1_000);
//! rabbitmq.set_memory_alarm(true)?;
//! rabbitmq.kill()?;
//! rabbitmq.start_again()?; // The same data on the same ports.
//! println!("{} and {}", rabbitmq.url(), Redis::shared()?.url());
//! # Ok(())
//! # }
//! ```

mod account;
mod binaries;
mod broker;
mod certificates;
mod cluster;
mod error;
mod home;
mod kafka;
mod kind;
mod launch;
mod missing;
mod nats;
mod needs;
mod objects;
mod os;
mod pgbouncer;
mod port;
mod postgres;
mod process;
mod proxy;
mod rabbitmq;
mod redis;
mod server;
mod services;
mod shared;
mod standby;
mod template;
mod wire;

pub use broker::Broker;
pub use cluster::Cluster;
pub use error::{Error, Result};
pub use kafka::{Kafka, KafkaOptions};
pub use missing::{Missing, missing};
pub use nats::{Nats, NatsOptions};
pub use objects::Objects;
pub use pgbouncer::PgBouncer;
pub use postgres::{Options, Postgres};
pub use proxy::Proxy;
pub use rabbitmq::{RabbitMq, RabbitMqOptions};
pub use redis::{Redis, RedisOptions};
pub use server::Server;
pub use services::{Service, Services};
pub use shared::Shared;
