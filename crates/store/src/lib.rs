//! The store port: what a database adapter does for writers, relays and operators, as numbered obligations.
//!
//! Traits by who calls, because each needs another shape:
//!
//! * [`OutboxWriter`] is bound to the caller's own transaction type and saves inside it ([`SyncOutboxWriter`] likewise, without async)
//! * [`OutboxStore`] is a trait object that a relay claims from and settles with
//! * [`OutboxOperator`] is a trait object for people: status, dead letters, redrive, discard
//! * [`InboxWriter`] is bound to a handler's transaction and records there what was handled ([`SyncInboxWriter`] likewise, without async);
//!   [`Transactions`] opens such transactions for a processor
//!
//! There is no IO here and no driver; [`adapter`] has what adapters over tables decide alike. An adapter shows that it keeps the obligations by passing the conformance
//! suite of `outbox-testkit`.

pub mod adapter;
mod audit;
mod claim;
mod error;
mod inbox;
mod operator;
mod purge;
mod replay;
mod save;
mod settle;
mod status;
mod store;
mod topic;
mod writer;

pub use audit::{Action, AuditLine, AuditPage, Command};
pub use claim::{Claim, ClaimRequest, Entry, LaneFilter, LaneLease, ReadOn, Unreadable};
pub use error::{BoxError, SaveError, StoreError};
pub use inbox::{Consumer, Handled, InboxWriter, SyncInboxWriter, Transactions};
pub use operator::{DeadFilter, DeadLetter, DeadPage, DeadPayload, OutboxOperator, Stepped};
pub use purge::{Purge, PurgeMode, Purged};
pub use replay::{PublishedFilter, PublishedPlace, REPLAY_HEADER, Replay, ReplayMode, Replayed};
pub use save::{Due, Save, SaveOrder, Saved};
pub use settle::{
    AfterDeath, DeathReason, LaneSettled, LaneSettlement, MAX_DELAY, MAX_ERROR_BYTES, Outcome,
    Settlement, Target, clean_error,
};
pub use status::{
    BlockReason, BlockedKey, Circuit, Horizon, HorizonHolder, LaneHolder, Status, TopicBacklog,
};
pub use store::{CircuitChange, OutboxStore};
pub use topic::{DestinationStop, StopCause, StoppedTopic};
pub use writer::{OutboxWriter, SyncOutboxWriter};
