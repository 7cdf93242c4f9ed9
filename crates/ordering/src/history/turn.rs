//! O5: under a lease, a message of a key goes only after the one before it was confirmed or dead, if that one was there by then: a holder that
//! reads on may meet it later.

use std::collections::{BTreeMap, HashMap};

use super::index::{Index, Lease, Story};
use super::time::{Marks, Span, Stamp};
use super::violation::{Found, Rule};

/// One message in its place in a lease's line of a key.
#[derive(Debug, Clone, Copy)]
struct Place {
    position: i64,
    message: usize,
    claim: Span,
    /// When it was confirmed, dead or discarded, at the earliest.
    served: Stamp,
    /// The place up to here, this one included, that was served last.
    slowest: usize,
}

/// Finds what was handed over, or tried, out of its turn.
pub(super) fn out_of_turn<I>(index: &Index<'_, I>) -> Vec<Found> {
    let mut found = Vec::new();
    for lease in &index.leases {
        let lines = lines(index, lease);
        let mut handed = HashMap::new();
        for (run, span) in &lease.handed_over {
            for message in run {
                handed.entry(*message).or_insert(*span);
            }
        }
        found.extend(
            lines
                .values()
                .flat_map(|line| tried_past_a_failure(lease, line, &handed)),
        );
        for (run, span) in &lease.handed_over {
            let mut runs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for message in run {
                if let Some(key) = index.stories[*message].key {
                    runs.entry(key).or_default().push(*message);
                }
            }
            for (key, run) in runs {
                if let Some(line) = lines.get(&key) {
                    found.extend(handed_over_early(lease, line, &run, *span));
                }
            }
        }
    }
    found
}

/// What a lease held of each key, in position order.
fn lines<I>(index: &Index<'_, I>, lease: &Lease) -> BTreeMap<usize, Vec<Place>> {
    let mut lines: BTreeMap<usize, Vec<Place>> = BTreeMap::new();
    for (message, position, claim) in &lease.held {
        let story = &index.stories[*message];
        if let Some(key) = story.key {
            lines.entry(key).or_default().push(Place {
                position: *position,
                message: *message,
                claim: *claim,
                served: served(story, *claim),
                slowest: 0,
            });
        }
    }
    for line in lines.values_mut() {
        line.sort_by_key(|place| (place.position, place.claim.answered));
        // One that failed, was recorded and came again has its first place.
        line.dedup_by_key(|place| place.position);
        let mut slowest = 0;
        for at in 0..line.len() {
            if line[slowest].served < line[at].served {
                slowest = at;
            }
            line[at].slowest = slowest;
        }
    }
    lines
}

impl Place {
    /// Whether its holder had it when it did this. Of one claim it had all.
    fn was_there(&self, claim: Span, done: Span) -> bool {
        self.claim.event == claim.event || self.claim.answered <= done.begun
    }
}

/// When the message was first confirmed, dead or discarded, since its last redrive that surely was before this claim: one that may have
/// come after it takes nothing back that the claim went by.
fn served<I>(story: &Story<'_, I>, claim: Span) -> Stamp {
    let redriven = story.redriven.iter().map(|(_, span)| span);
    let before = redriven.filter(|redriven| redriven.answered < claim.begun);
    let since = before.map(|redriven| redriven.begun).max();
    let served = Marks::of(story.terminals());
    served.earliest_from(since.unwrap_or(Stamp::start_of(i64::MIN)))
}

/// "A retry of *n* releases the rest of the run untried."
fn tried_past_a_failure(
    lease: &Lease,
    line: &[Place],
    handed: &HashMap<usize, Span>,
) -> Vec<Found> {
    let mut found = Vec::new();
    let mut ahead: Option<(Place, Span)> = None;
    for place in line {
        let confirmed = first_of(&lease.confirmed, place.message);
        let failed = first_of(&lease.failed, place.message);
        let outcome = confirmed
            .into_iter()
            .chain(failed)
            .min_by_key(|span| span.answered);
        if let (Some((waits, reason)), Some(outcome)) = (ahead, outcome)
            && waits.served > outcome.answered
            && waits.was_there(
                place.claim,
                *handed.get(&place.message).unwrap_or(&place.claim),
            )
        {
            found.push(Found {
                event: outcome.event,
                rule: Rule::O5,
                second: place.message,
                first: waits.message,
                reason: reason.event,
            });
        }
        if let Some(failed) = failed
            && ahead.is_none_or(|(known, _)| known.served < place.served)
        {
            ahead = Some((*place, failed));
        }
    }
    found
}

/// The first event of a message in a list that is sorted by message.
fn first_of(events: &[(usize, Span)], message: usize) -> Option<Span> {
    let at = events.partition_point(|(other, _)| *other < message);
    events
        .get(at)
        .filter(|(other, _)| *other == message)
        .map(|(_, span)| *span)
}

/// A hand-over of a run while something of the line before it is neither served nor part of the run,
/// or in another order than that of the line.
fn handed_over_early(lease: &Lease, line: &[Place], run: &[usize], span: Span) -> Vec<Found> {
    let at = |message: &usize| {
        let position = lease.position_of(*message, span)?;
        line.binary_search_by_key(&position, |place| place.position)
            .ok()
    };
    let mut run: Vec<usize> = run.iter().filter_map(at).collect();
    let early = |first: &Place, second: &Place| Found {
        event: span.event,
        rule: Rule::O5,
        second: second.message,
        first: first.message,
        reason: first.claim.event,
    };
    let swapped = run.windows(2).find(|pair| pair[0] > pair[1]);
    let swapped = swapped.map(|pair| early(&line[pair[1]], &line[pair[0]]));
    run.sort_unstable();
    run.dedup();
    let skipped = run.iter().enumerate().find_map(|(nth, place)| {
        let slowest = match nth.checked_sub(1) {
            None => {
                let before = line.get(place.checked_sub(1)?)?;
                let slowest = &line[before.slowest];
                if slowest.was_there(line[*place].claim, span) {
                    Some(slowest)
                } else {
                    slowest_there(&line[..*place], line[*place].claim, span)
                }
            }
            Some(last) => slowest_there(&line[run[last] + 1..*place], line[*place].claim, span),
        };
        let first = slowest.filter(|first| first.served > span.answered)?;
        Some(early(first, &line[*place]))
    });
    swapped.into_iter().chain(skipped).collect()
}

/// Of these places the one that was served last, of those that were there.
fn slowest_there(places: &[Place], claim: Span, done: Span) -> Option<&Place> {
    let there = places.iter().filter(|place| place.was_there(claim, done));
    there.max_by_key(|place| place.served)
}
