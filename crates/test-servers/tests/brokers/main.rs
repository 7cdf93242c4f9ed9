//! Private brokers, and the proxy in front of one.

mod kafka;
mod nats;
mod proxy;
mod rabbitmq;
mod redis;
mod shared;
mod support;
