//! What only a RabbitMQ does: exchanges, messages that come back, full queues, permissions and alarms.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where something goes wrong"
)]

#[path = "../support/broker.rs"]
#[allow(dead_code, reason = "each program of tests uses its part")]
mod broker;

mod alarm;
mod closing;
mod exchanges;
mod permissions;
#[path = "../support/publishing.rs"]
mod publishing;
mod queues;
mod restarting;
mod silence;
