//! A store in memory: the reference for what a store of the outbox toolkit does, to read, to test against, and for the tests of
//! applications. It has the semantics of the SQL stores, transactions included; it forgets everything when it is dropped.
//!
//! # Where to find things
//!
//! * to make one and move its clock: [`MemoryStore`], [`MemoryConfig`]
//! * to save: [`MemoryStore::begin`] gives a [`MemoryTx`], which [`MemoryStore::save`] writes into
//! * to handle what was received, once: [`MemoryStore::once`]
//! * to test what becomes of rows that other programs spoiled: [`MemoryStore::corrupt`], [`Damage`]
//! * to relay and operate: the traits of `outbox-store`, which [`MemoryStore`] implements
//!
//! To understand a store, read `state.rs` (the tables), then `claim/lane.rs` (what is handed out, and why in that order), then
//! `settle.rs` (what becomes of it). Everything runs under one mutex, so what other stores buy with locks is plain code here.
//!
//! ```
//! use outbox_message::Message;
//! use outbox_store::{ClaimRequest, LaneFilter, OutboxStore};
//! use outbox_store_memory::MemoryStore;
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = MemoryStore::new();
//! let message = Message::new("orders", r#"{"id":1042}"#)?.with_key("order-1042")?;
//!
//! let mut tx = store.begin();
//! store.save(&mut tx, &message).await?;
//! tx.commit();
//!
//! let claim = store
//!     .claim(&ClaimRequest {
//!         relay: "example".into(),
//!         limit: 100,
//!         max_bytes: 16 << 20,
//!         max_lanes: 8,
//!         lease: Duration::from_secs(30),
//!         lanes: LaneFilter::All,
//!         read_on: Vec::new(),
//!     })
//!     .await?;
//! assert_eq!(claim.entries.len(), 1);
//! # Ok(())
//! # }
//! ```

mod audit;
mod blocks;
mod claim;
mod clock;
mod damage;
mod hints;
mod inbox;
mod line;
mod locks;
mod operator;
mod published;
mod replay;
mod saved_ids;
mod settle;
mod state;
mod status;
mod stops;
mod store;
mod tx;
mod writer;

pub use damage::Damage;
pub use store::{MemoryClock, MemoryConfig, MemoryStore};
pub use tx::MemoryTx;
