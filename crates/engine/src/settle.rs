//! Recording outcomes in the store: together as a rule, and after a failure lane by lane, then row by row (contract F7).

use outbox_message::{Lane, Position};
use outbox_store::{LaneSettlement, OutboxStore, Settlement, StoreError};

/// How a settlement that failed before is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    Together,
    LaneByLane,
    RowByRow,
}

impl Care {
    /// After this many failures in a row.
    pub(crate) fn after(failures: u32) -> Self {
        match failures {
            0 => Self::Together,
            1 => Self::LaneByLane,
            _ => Self::RowByRow,
        }
    }
}

/// What became of the settlement of one lane.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) lane: Lane,
    /// The outcomes that the store took, and of these the positions where they changed nothing.
    pub(crate) taken: Vec<Settlement>,
    pub(crate) missed: Vec<Position>,
    /// The token was stale.
    pub(crate) lost: bool,
    /// The lane was given back.
    pub(crate) released: bool,
    /// The outcomes that the store did not take.
    pub(crate) unrecorded: Vec<Settlement>,
    /// The store did not take all of it.
    pub(crate) failed: bool,
    /// What the store said at each failed call; once for a call that was to record several lanes.
    pub(crate) errors: Vec<StoreError>,
}

/// Records `lanes`, and says for each what became of it.
pub(crate) async fn settle(
    store: &dyn OutboxStore,
    lanes: Vec<LaneSettlement>,
    care: Care,
) -> Vec<Recorded> {
    match care {
        Care::Together => together(store, lanes).await,
        Care::LaneByLane => {
            let mut all = Vec::with_capacity(lanes.len());
            for lane in lanes {
                all.extend(together(store, vec![lane]).await);
            }
            all
        }
        Care::RowByRow => {
            let mut all = Vec::with_capacity(lanes.len());
            for lane in lanes {
                all.push(row_by_row(store, lane).await);
            }
            all
        }
    }
}

async fn together(store: &dyn OutboxStore, lanes: Vec<LaneSettlement>) -> Vec<Recorded> {
    match store.settle(&lanes).await {
        Ok(settled) => lanes
            .into_iter()
            .zip(settled)
            .map(|(lane, settled)| Recorded {
                lane: lane.token.lane,
                taken: lane.outcomes,
                missed: settled.missed,
                lost: settled.lost,
                released: lane.release,
                unrecorded: Vec::new(),
                failed: false,
                errors: Vec::new(),
            })
            .collect(),
        Err(error) => {
            let mut error = Some(error);
            let failed = |lane: LaneSettlement| Recorded {
                lane: lane.token.lane,
                taken: Vec::new(),
                missed: Vec::new(),
                lost: false,
                released: false,
                unrecorded: lane.outcomes,
                failed: true,
                errors: error.take().into_iter().collect(),
            };
            lanes.into_iter().map(failed).collect()
        }
    }
}

/// Records each outcome alone, and gives the lane back only if all of them were recorded. Three failures in a row
/// are the database's, not the rows': the rest is left for the next try.
async fn row_by_row(store: &dyn OutboxStore, lane: LaneSettlement) -> Recorded {
    let LaneSettlement {
        token,
        outcomes,
        release,
    } = lane;
    let mut all = Recorded {
        lane: token.lane,
        taken: Vec::new(),
        missed: Vec::new(),
        lost: false,
        released: false,
        unrecorded: Vec::new(),
        failed: false,
        errors: Vec::new(),
    };
    let mut failures_in_a_row = 0;
    for outcome in outcomes {
        if failures_in_a_row == 3 {
            all.unrecorded.push(outcome);
            continue;
        }
        let row = LaneSettlement {
            token: token.clone(),
            outcomes: vec![outcome],
            release: false,
        };
        for row in together(store, vec![row]).await {
            failures_in_a_row = if row.failed { failures_in_a_row + 1 } else { 0 };
            all.failed |= row.failed;
            all.taken.extend(row.taken);
            all.missed.extend(row.missed);
            all.unrecorded.extend(row.unrecorded);
            all.lost |= row.lost;
            all.errors.extend(row.errors);
        }
    }
    if release && all.unrecorded.is_empty() {
        let rest = LaneSettlement {
            token,
            outcomes: Vec::new(),
            release,
        };
        for rest in together(store, vec![rest]).await {
            all.released = rest.released;
            all.failed |= rest.failed;
            all.lost |= rest.lost;
            all.errors.extend(rest.errors);
        }
    }
    all
}
