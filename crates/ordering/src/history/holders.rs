//! O3: at any time at most one lease holds messages of one ordering key.

use std::collections::BTreeMap;

use super::index::{Index, Lease};
use super::time::Stamp;
use super::violation::{Found, Rule};

/// A time in which a lease certainly held a key.
#[derive(Debug, Clone, Copy)]
struct Hold {
    from: Stamp,
    until: Stamp,
    lease: usize,
    message: usize,
    event: usize,
}

/// Finds every hold that began while another lease had the key.
pub(super) fn overlaps<I>(index: &Index<'_, I>) -> Vec<Found> {
    let mut holds: BTreeMap<usize, Vec<Hold>> = BTreeMap::new();
    for (lease, record) in index.leases.iter().enumerate() {
        let mut seen: BTreeMap<usize, Hold> = BTreeMap::new();
        for (message, _, span) in &record.held {
            if let Some(key) = index.stories[*message].key {
                let (from, event, until) = (span.answered, span.event, Stamp::NEVER);
                let hold = Hold {
                    from,
                    until,
                    lease,
                    message: *message,
                    event,
                };
                let known = seen.entry(key).or_insert(hold);
                if from < known.from {
                    *known = hold;
                }
            }
        }
        for (from, until) in certain(record) {
            for (key, hold) in &seen {
                let from = from.max(hold.from);
                if from < until {
                    holds.entry(*key).or_default().push(Hold {
                        from,
                        until,
                        ..*hold
                    });
                }
            }
        }
    }
    holds.into_values().flat_map(overlapping).collect()
}

/// The times in which a lease certainly ran: from each claim or renewal to the end that it set, cut
/// by a later renewal to an earlier end, and by the release.
fn certain(lease: &Lease) -> Vec<(Stamp, Stamp)> {
    let mut ends = lease.ends.clone();
    ends.sort_by_key(|(_, span)| span.begun);
    let mut cut = lease
        .over
        .iter()
        .map(|span| span.begun)
        .min()
        .unwrap_or(Stamp::NEVER);
    let mut times = Vec::with_capacity(ends.len());
    for (end, span) in ends.into_iter().rev() {
        let end = Stamp::start_of(end);
        times.push((span.answered, end.min(cut)));
        cut = cut.min(end.max(span.begun));
    }
    times
}

fn overlapping(mut holds: Vec<Hold>) -> Vec<Found> {
    holds.sort_by_key(|hold| hold.from);
    let mut found = Vec::new();
    // The holds that reach furthest so far: of any lease, and of any other lease than that one.
    let mut furthest: Option<Hold> = None;
    let mut other: Option<Hold> = None;
    for hold in holds {
        let rival = if furthest.is_some_and(|known| known.lease == hold.lease) {
            other
        } else {
            furthest
        };
        if let Some(rival) = rival.filter(|rival| rival.until > hold.from) {
            found.push(Found {
                event: hold.event,
                rule: Rule::O3,
                second: hold.message,
                first: rival.message,
                reason: rival.event,
            });
        }
        match furthest {
            Some(known) if hold.until <= known.until => {
                if hold.lease != known.lease && other.is_none_or(|other| other.until < hold.until) {
                    other = Some(hold);
                }
            }
            known => {
                if known.is_some_and(|known| known.lease != hold.lease) {
                    other = known;
                }
                furthest = Some(hold);
            }
        }
    }
    found
}
