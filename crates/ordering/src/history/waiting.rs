//! O6 and the `hold` of O9: what goes out past a waiting head or past a dead letter.

use super::index::{Index, Story};
use super::sweep::{Bar, Pass, barred};
use super::time::{Marks, Span};
use super::violation::{Found, Rule};
use crate::state::AfterDeath;

/// O6: a hand-over while an earlier message of the key waits for its retry.
pub(super) fn past_a_waiting_head<I>(index: &Index<'_, I>) -> Vec<Found> {
    let mut bars = Vec::new();
    for (message, story, key) in keyed(index) {
        let redriven = story.redriven.iter().map(|(_, span)| *span);
        let next = Marks::of(story.departures().chain(redriven));
        for (lease, span) in &story.failed {
            let held = lease.and_then(|lease| index.leases[lease].position_of(message, *span));
            bars.push(Bar {
                key,
                position: held.unwrap_or(story.position),
                from: span.answered,
                until: next.earliest_from(span.begun).min(story.first_confirmed()),
                message,
                event: span.event,
            });
        }
    }
    barred(Rule::O6, bars, hand_overs(index))
}

/// O9: a claim or a hand-over of anything of a key that a dead letter holds.
pub(super) fn past_a_dead_letter<I>(index: &Index<'_, I>) -> Vec<Found> {
    let mut bars = Vec::new();
    let mut passes = hand_overs(index);
    for (message, story, key) in keyed(index) {
        passes.extend(
            story
                .claims
                .iter()
                .map(|taken| pass(key, message, i64::MAX, taken.span)),
        );
        let operated = story.redriven.iter().map(|(_, span)| *span);
        let operated = Marks::of(operated.chain(story.discarded.iter().copied()));
        for (after, span) in &story.died {
            if *after == AfterDeath::Hold {
                bars.push(Bar {
                    key,
                    // It bars the whole key.
                    position: i64::MIN,
                    from: span.answered,
                    until: operated.earliest_from(span.begun),
                    message,
                    event: span.event,
                });
            }
        }
    }
    barred(Rule::O9, bars, passes)
}

fn keyed<'a, 'b, I>(
    index: &'b Index<'a, I>,
) -> impl Iterator<Item = (usize, &'b Story<'a, I>, usize)> {
    let stories = index.stories.iter().enumerate();
    stories.filter_map(|(message, story)| Some((message, story, story.key?)))
}

fn hand_overs<I>(index: &Index<'_, I>) -> Vec<Pass> {
    let mut passes = Vec::new();
    for lease in &index.leases {
        for (run, span) in &lease.handed_over {
            passes.extend(run.iter().filter_map(|message| {
                let story = &index.stories[*message];
                let position = lease.position_of(*message, *span).unwrap_or(story.position);
                Some(pass(story.key?, *message, position, *span))
            }));
        }
    }
    passes
}

fn pass(key: usize, message: usize, position: i64, span: Span) -> Pass {
    Pass {
        key,
        position,
        begun: span.begun,
        answered: span.answered,
        message,
        event: span.event,
    }
}
