//! The one question behind most rules: is there an earlier position that stands in the way?

use super::time::Stamp;
use super::violation::{Found, Rule};

/// For a time, nothing behind this position of this key may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bar {
    pub(super) key: usize,
    pub(super) position: i64,
    /// It stands for certain after this and before `until`.
    pub(super) from: Stamp,
    pub(super) until: Stamp,
    pub(super) message: usize,
    pub(super) event: usize,
}

/// Something goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    pub(super) key: usize,
    pub(super) position: i64,
    /// It happened at one instant from `begun` to `answered`.
    pub(super) begun: Stamp,
    pub(super) answered: Stamp,
    pub(super) message: usize,
    pub(super) event: usize,
}

/// Finds the passes that a bar with a smaller position stood against during all of the pass, each
/// with the bar that stands longest. Of the passes of one event and key only that of the smallest
/// position is reported.
pub(super) fn barred(rule: Rule, mut bars: Vec<Bar>, mut passes: Vec<Pass>) -> Vec<Found> {
    bars.sort_by_key(|bar| (bar.key, bar.from));
    passes.sort_by_key(|pass| (pass.key, pass.begun, pass.event, pass.position));
    let mut found: Vec<Found> = Vec::new();
    let mut bars = bars.as_slice();
    for passes in passes.chunk_by(|a, b| a.key == b.key) {
        let key = passes[0].key;
        let skip = bars.partition_point(|bar| bar.key < key);
        let len = bars[skip..].partition_point(|bar| bar.key == key);
        let mut waiting = bars[skip..skip + len].iter();
        bars = &bars[skip + len..];
        let mut standing = Standing::over(waiting.as_slice());
        let mut last = None;
        for pass in passes {
            while let Some(bar) = waiting
                .as_slice()
                .first()
                .filter(|bar| bar.from < pass.begun)
            {
                standing.raise(bar);
                waiting.next();
            }
            if let Some(bar) = standing.longest_before(pass.position)
                && bar.until > pass.answered
                && last != Some(pass.event)
            {
                last = Some(pass.event);
                found.push(Found {
                    event: pass.event,
                    rule,
                    second: pass.message,
                    first: bar.message,
                    reason: bar.event,
                });
            }
        }
    }
    found
}

/// The raised bars of one key: a Fenwick tree of prefix maxima over their positions.
struct Standing<'a> {
    positions: Vec<i64>,
    longest: Vec<Option<&'a Bar>>,
}

impl<'a> Standing<'a> {
    fn over(bars: &[Bar]) -> Self {
        let mut positions: Vec<_> = bars.iter().map(|bar| bar.position).collect();
        positions.sort_unstable();
        positions.dedup();
        let longest = vec![None; positions.len() + 1];
        Self { positions, longest }
    }

    fn raise(&mut self, bar: &'a Bar) {
        let mut at = self
            .positions
            .partition_point(|position| *position <= bar.position);
        while let Some(slot) = self.longest.get_mut(at) {
            if slot.is_none_or(|known| known.until < bar.until) {
                *slot = Some(bar);
            }
            at += at & at.wrapping_neg();
        }
    }

    fn longest_before(&self, position: i64) -> Option<&'a Bar> {
        let mut at = self.positions.partition_point(|other| *other < position);
        let mut longest: Option<&Bar> = None;
        while at > 0 {
            if let Some(bar) = self.longest[at]
                && longest.is_none_or(|known| known.until < bar.until)
            {
                longest = Some(bar);
            }
            at -= at & at.wrapping_neg();
        }
        longest
    }
}
