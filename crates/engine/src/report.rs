//! What a relay did, in counts.

/// What a relay did. A message counts once for each outcome that the store recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Confirmed by the broker, and removed from the store.
    pub published: u64,
    /// Failed, and to be tried again.
    pub retried: u64,
    /// Given up on.
    pub dead: u64,
    /// Given back untried, or with nothing known about them.
    pub released: u64,
    /// Outcomes that changed nothing, because the lease was lost or they were recorded before.
    pub lost: u64,
    /// Messages left to their lease: their outcome could not be recorded before the end.
    pub left: u64,
    /// Calls of the store that failed; each was tried again.
    pub store_errors: u64,
}
