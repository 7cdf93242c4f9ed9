//! The settings that both adapters share, and what cannot be set.

use std::time::Duration;

use outbox_message::{Lanes, MAX_PAYLOAD_BYTES};
use outbox_migrations::SchemaName;

/// How many lanes a Postgres store has.
pub const LANES: Lanes = Lanes::new(64).expect("64 is not zero");

/// Settings of a Postgres store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// The schema that holds the tables; `outbox` by default.
    pub schema: SchemaName,
    /// The longest payload that `save` takes, in bytes; at most [`MAX_PAYLOAD_BYTES`], which is also the default.
    pub max_payload_bytes: usize,
    /// How the server is reached.
    pub connection: Connection,
    /// Whether relays are woken by saves.
    pub wake_up: WakeUp,
    /// How long published messages are kept; `None`, the default, deletes them when they are settled.
    pub retain: Option<Duration>,
    /// How long the ids of handled messages are kept; `None`, the default, keeps them until they are forgotten by hand. While a dead letter is older, upkeep
    /// forgets none, and a relay warns about it.
    pub retain_inbox: Option<Duration>,
}

/// How the server is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Connection {
    /// Directly: statements are prepared once on each connection.
    #[default]
    Direct,
    /// Through a pooler that gives each transaction another server connection, such as pgbouncer in transaction mode: nothing stays prepared.
    Pooler,
}

/// Whether relays are woken by saves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum WakeUp {
    /// Relays poll; nothing else is needed.
    #[default]
    Poll,
    /// A save notifies, at most once a transaction, and a relay listens on a connection of its own while it is idle. A pooler in transaction mode passes no
    /// notifications on.
    Notify,
}

impl Default for PostgresConfig {
    fn default() -> Self {
        Self {
            schema: SchemaName::default(),
            max_payload_bytes: MAX_PAYLOAD_BYTES,
            connection: Connection::default(),
            wake_up: WakeUp::default(),
            retain: None,
            retain_inbox: None,
        }
    }
}
