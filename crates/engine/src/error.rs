//! Why a relay ended although nobody told it to.

use outbox_publisher::PublishError;
use outbox_store::StoreError;
use thiserror::Error;

use crate::{InvalidConfig, Report};

/// Why a relay ended by itself. A database that does not answer is no such reason: it is asked again for ever.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RelayError {
    /// The settings do not fit the publisher, whose calls may take longer than the relay waits for them. Nothing was published.
    #[error("the relay's settings do not fit its publisher")]
    Settings(#[source] InvalidConfig),
    /// The store cannot be used by this program, such as another schema version.
    #[error("the relay cannot use its store")]
    Store(#[source] StoreError),
    /// A round ended, but the outcome of some messages could not be recorded before their lease did: they may come twice.
    #[error("the outcome of {} messages could not be recorded", report.left)]
    Unrecorded {
        /// What the round did all the same.
        report: Report,
        /// Why the last try failed.
        source: StoreError,
    },
    /// The publisher cannot go on at all, such as a pipe whose reader is gone.
    #[error("the relay's publisher has closed")]
    Closed(#[source] PublishError),
}
