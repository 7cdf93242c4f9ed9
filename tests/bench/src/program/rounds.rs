//! Claims and settlements without a relay: to warm a store up, and to time them alone.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use outbox::store::{
    Claim, ClaimRequest, Entry, LaneFilter, LaneSettlement, OutboxStore, Outcome, Settlement,
    Target,
};

use crate::Result;

/// A claim like those of a relay.
pub(crate) fn request(limit: usize) -> ClaimRequest {
    ClaimRequest {
        relay: Arc::from("bench"),
        limit,
        max_bytes: 16 << 20,
        max_lanes: 8,
        lease: Duration::from_secs(30),
        lanes: LaneFilter::All,
        read_on: Vec::new(),
    }
}

/// Gives all lanes of a claim back, each message with this outcome.
pub(crate) fn settlements(claim: Claim, outcome: &Outcome) -> Vec<LaneSettlement> {
    let mut outcomes: BTreeMap<_, Vec<Settlement>> = BTreeMap::new();
    for entry in claim.entries {
        let target = match &entry {
            Entry::Message(delivery) => Target::from(delivery),
            Entry::Unreadable(row) => Target::from(row),
        };
        let outcome = outcome.clone();
        let settlement = Settlement { target, outcome };
        outcomes.entry(entry.lane()).or_default().push(settlement);
    }
    let lanes = claim.lanes.into_iter();
    let settlement = |lane: outbox::store::LaneLease| LaneSettlement {
        outcomes: outcomes.remove(&lane.token.lane).unwrap_or_default(),
        token: lane.token,
        release: true,
    };
    lanes.map(settlement).collect()
}

/// Claims a message and gives it back, until each connection of a pool of three has planned its statements for good: a
/// server plans a prepared statement anew the first five times. Connections are taken in turn, so claims and settlements
/// meet all of an odd number.
pub(crate) async fn warm_up(store: &dyn OutboxStore) -> Result {
    for _ in 0..21 {
        let claim = store.claim(&request(1)).await?;
        let settlements = settlements(claim, &Outcome::Release);
        if !settlements.is_empty() {
            store.settle(&settlements).await?;
        }
    }
    Ok(())
}
