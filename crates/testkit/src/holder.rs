//! A relay that holds a lane and reads it on, as cases see it: by payload.

use outbox_message::{Delivery, Position};
use outbox_store::{ClaimRequest, LaneFilter, LaneSettlement, Outcome, ReadOn, Settlement};

use crate::{
    Harness,
    scene::{Scene, ask},
    taken::{Taken, payload, target},
};

/// What a relay holds of a lane.
pub(crate) struct Holder {
    pub(crate) first: Taken,
    pub(crate) more: Vec<Taken>,
    /// What the broker confirmed, by payload.
    pub(crate) confirmed: Vec<String>,
    pub(crate) recorded: Vec<Position>,
}

impl Holder {
    pub(crate) fn of(first: Taken) -> Self {
        Self {
            first,
            more: Vec::new(),
            confirmed: Vec::new(),
            recorded: Vec::new(),
        }
    }

    /// Claims what is due of the lane of these keys.
    pub(crate) async fn claim<H: Harness>(s: &Scene<H>, keys: &[String]) -> Self {
        Self::of(s.claim_lane(s.lane(&keys[0])).await)
    }

    pub(crate) fn confirm(&mut self, payloads: &[&str]) {
        self.confirmed
            .extend(payloads.iter().map(ToString::to_string));
    }

    /// What it asks for when it reads on.
    pub(crate) fn read_on(&self) -> ReadOn {
        let takes = std::iter::once(&self.first).chain(&self.more);
        let unrecorded = |position: &Position| !self.recorded.contains(position);
        let positions = takes.clone().flat_map(Taken::positions);
        let open = takes.flat_map(Taken::deliveries).filter(|delivery| {
            unrecorded(&delivery.position) && !self.confirmed.contains(&payload(delivery))
        });
        ReadOn {
            token: self.first.token().clone(),
            in_hand: positions.filter(unrecorded).collect(),
            closed: open.filter_map(Delivery::ordering_key).collect(),
        }
    }

    /// A claim that leases nothing and only reads on.
    pub(crate) fn request(&self) -> ClaimRequest {
        ClaimRequest {
            lanes: LaneFilter::Only(Vec::new()),
            read_on: vec![self.read_on()],
            ..ask()
        }
    }

    /// Reads on, and says what it got.
    pub(crate) async fn read<H: Harness>(&mut self, s: &Scene<H>) -> Vec<String> {
        self.read_with(s, self.request()).await
    }

    pub(crate) async fn read_with<H: Harness>(
        &mut self,
        s: &Scene<H>,
        request: ClaimRequest,
    ) -> Vec<String> {
        let taken = s.claim_with(request).await;
        assert!(taken.claim.lanes.is_empty(), "nothing is leased");
        let payloads = taken.payloads();
        self.more.push(taken);
        payloads
    }

    /// Records the outcome of messages, by payload; what is confirmed goes with it. `release` gives the lane back.
    pub(crate) async fn settle<H: Harness>(
        &mut self,
        s: &Scene<H>,
        outcomes: &[(&str, Outcome)],
        release: bool,
    ) {
        let takes = std::iter::once(&self.first).chain(&self.more);
        let entries: Vec<_> = takes.flat_map(|taken| &taken.claim.entries).collect();
        let deliveries = std::iter::once(&self.first).chain(&self.more);
        let deliveries: Vec<_> = deliveries.flat_map(Taken::deliveries).collect();
        let outcome_of = |position: Position| {
            let delivery = deliveries.iter().find(|it| it.position == position);
            let name = delivery.map(|it| payload(it)).unwrap_or_default();
            let given = outcomes.iter().find(|(wanted, _)| *wanted == name);
            let published = self.confirmed.contains(&name);
            given
                .map(|(_, outcome)| outcome.clone())
                .or(published.then_some(Outcome::Published))
        };
        let settlements = entries.into_iter().filter_map(|entry| {
            let target = target(entry);
            let outcome = outcome_of(target.position)?;
            let fresh = !self.recorded.contains(&target.position);
            fresh.then_some(Settlement { target, outcome })
        });
        let settlement = LaneSettlement {
            token: self.first.token().clone(),
            outcomes: settlements.collect(),
            release,
        };
        let positions = settlement.outcomes.iter().map(|it| it.target.position);
        self.recorded.extend(positions.collect::<Vec<_>>());
        for settled in s.settle_raw(&[settlement]).await {
            assert!(!settled.lost && settled.missed.is_empty(), "{settled:?}");
        }
    }
}
