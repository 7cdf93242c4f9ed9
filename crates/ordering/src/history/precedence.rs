//! O2 and O11: what precedes a message when it is claimed, and what the broker received first.

use super::index::{Index, Story};
use super::sweep::{Bar, Pass, barred};
use super::time::{Marks, Span, Stamp};
use super::violation::{Found, Rule};

/// O2: a claim that hands out a message while an earlier one of its key is in line, is in no relay's
/// hands, was never confirmed, and is not handed out with it.
pub(super) fn claims<I>(index: &Index<'_, I>) -> Vec<Found> {
    let mut bars = Vec::new();
    let mut passes = Vec::new();
    for (message, story) in index.stories.iter().enumerate() {
        let Some(key) = story.key else { continue };
        passes.extend(story.claims.iter().map(|taken| Pass {
            key,
            position: taken.position,
            begun: taken.span.begun,
            answered: taken.span.answered,
            message,
            event: taken.span.event,
        }));
        available(index, story, |position, from, until, event| {
            bars.push(Bar {
                key,
                position,
                from,
                until,
                message,
                event,
            });
        });
    }
    barred(Rule::O2, bars, passes)
}

/// Calls `each` with every time in which the message is certainly in line and not held: its position
/// then, the end and the beginning of what frames it, and the event that put it there.
fn available<I>(
    index: &Index<'_, I>,
    story: &Story<'_, I>,
    mut each: impl FnMut(i64, Stamp, Stamp, usize),
) {
    let terminals = Marks::of(story.terminals());
    let departures = Marks::of(story.departures());
    let confirmed = story.first_confirmed();
    let mut stands = |position, begun, answered, event| {
        let until = departures.earliest_from(begun).min(confirmed);
        if until > answered {
            each(position, answered, until, event);
        }
    };
    let joined = story.in_line.iter().map(|span| (story.position, span));
    let redriven = story
        .redriven
        .iter()
        .map(|(position, span)| (*position, span));
    for (position, span) in joined.chain(redriven) {
        stands(position, span.begun, span.answered, span.event);
    }
    for taken in &story.claims {
        let (begun, answered) = index.leases[taken.lease].over();
        // What was confirmed, died or was discarded in the meantime did not come back.
        if terminals.earliest_from(taken.span.begun) >= answered {
            stands(taken.position, begun, answered, taken.span.event);
        }
    }
}

/// O11: a first delivery before the first delivery of a message that precedes it in the claim that
/// sent it, neither having been given up on before.
pub(super) fn first_deliveries<I>(index: &Index<'_, I>) -> Vec<Found> {
    let mut bars = Vec::new();
    let mut passes = Vec::new();
    for (message, story) in index.stories.iter().enumerate() {
        let (Some(key), Some(in_line)) = (story.key, story.in_line) else {
            continue;
        };
        let received = story.received.iter().map(|(_, span)| span.begun);
        let died = story
            .died
            .iter()
            .map(|(_, span)| span.begun)
            .min()
            .unwrap_or(Stamp::NEVER);
        let discarded = story.discarded.iter().map(|span| span.begun);
        let excused = discarded.chain([died]).min().unwrap_or(Stamp::NEVER);
        bars.push(Bar {
            key,
            position: story.position,
            from: in_line.answered,
            until: received.chain([excused]).min().unwrap_or(Stamp::NEVER),
            message,
            event: in_line.event,
        });
        let Some((_, first)) = story.received.iter().min_by_key(|(_, span)| span.answered) else {
            continue;
        };
        if died > first.answered {
            passes.push(Pass {
                key,
                position: story.position,
                begun: claimed_for(story, in_line, *first),
                answered: first.answered,
                message,
                event: first.event,
            });
        }
    }
    barred(Rule::O11, bars, passes)
}

/// When the claim from which the broker first received the message was asked for, at the earliest.
fn claimed_for<I>(story: &Story<'_, I>, in_line: Span, first: Span) -> Stamp {
    let may_be_first = story
        .received
        .iter()
        .filter(|(_, span)| span.begun <= first.answered);
    let claimed = may_be_first.map(|(lease, _)| {
        let claim = story
            .claims
            .iter()
            .find(|taken| Some(taken.lease) == *lease);
        claim.map_or(in_line.begun, |taken| taken.span.begun)
    });
    claimed.min().unwrap_or(in_line.begun)
}
