//! A history by message and by lease, with dense numbers for keys, messages and tokens.

use std::collections::HashMap;
use std::hash::Hash;

use super::event::{Event, Line, What};
use super::time::{Span, Stamp};
use crate::state::AfterDeath;

#[derive(Debug)]
pub(super) struct Index<'a, I> {
    pub(super) stories: Vec<Story<'a, I>>,
    pub(super) leases: Vec<Lease>,
}

/// All that happened to one message.
#[derive(Debug)]
pub(super) struct Story<'a, I> {
    pub(super) id: &'a I,
    pub(super) key: Option<usize>,
    /// Its first position.
    pub(super) position: i64,
    line: Line,
    /// The event by which it was in line for certain first.
    pub(super) in_line: Option<Span>,
    pub(super) claims: Vec<Taken>,
    pub(super) confirmed: Vec<Span>,
    pub(super) failed: Vec<(Option<usize>, Span)>,
    pub(super) died: Vec<(AfterDeath, Span)>,
    pub(super) redriven: Vec<(i64, Span)>,
    pub(super) discarded: Vec<Span>,
    pub(super) received: Vec<(Option<usize>, Span)>,
}

/// A claim of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) lease: usize,
    pub(super) position: i64,
    pub(super) span: Span,
}

/// All that happened to one lease.
#[derive(Debug, Default)]
pub(super) struct Lease {
    /// Its claims and renewals, each with the end that it set.
    pub(super) ends: Vec<(i64, Span)>,
    /// Releases and lapses.
    pub(super) over: Vec<Span>,
    /// Message, position and claim of what it held; sorted by message.
    pub(super) held: Vec<(usize, i64, Span)>,
    pub(super) handed_over: Vec<(Vec<usize>, Span)>,
    /// What was confirmed under it; sorted by message.
    pub(super) confirmed: Vec<(usize, Span)>,
    /// What failed under it; sorted by message.
    pub(super) failed: Vec<(usize, Span)>,
}

impl<I> Story<'_, I> {
    /// What takes it out of the line for good, unless it is redriven.
    pub(super) fn terminals(&self) -> impl Iterator<Item = Span> + '_ {
        let died = self.died.iter().map(|(_, span)| *span);
        self.confirmed
            .iter()
            .copied()
            .chain(died)
            .chain(self.discarded.iter().copied())
    }

    /// What takes it out of the line, for good or for a while.
    pub(super) fn departures(&self) -> impl Iterator<Item = Span> + '_ {
        self.terminals()
            .chain(self.claims.iter().map(|taken| taken.span))
    }

    /// When the broker confirmed it, at the earliest. From then on its removal may be recorded at any
    /// moment, by a token however stale, so it proves nothing about what comes after it.
    pub(super) fn first_confirmed(&self) -> Stamp {
        self.confirmed
            .iter()
            .map(|span| span.begun)
            .min()
            .unwrap_or(Stamp::NEVER)
    }

    fn joins(&mut self, span: Span) {
        if self
            .in_line
            .is_none_or(|known| span.answered < known.answered)
        {
            self.in_line = Some(span);
        }
    }
}

impl Lease {
    /// When it was over: at the earliest, and for certain.
    pub(super) fn over(&self) -> (Stamp, Stamp) {
        let end = |(end, _): &(i64, Span)| Stamp::start_of(*end);
        let first = self.ends.iter().map(end).min().unwrap_or(Stamp::NEVER);
        let last = self.ends.iter().map(end).max().unwrap_or(Stamp::NEVER);
        self.over.iter().fold((first, last), |(first, last), span| {
            (first.min(span.begun), last.min(span.answered))
        })
    }

    /// The position at which it held a message when that was done: a holder that reads on may meet a message again, redriven.
    pub(super) fn position_of(&self, message: usize, done: Span) -> Option<i64> {
        let first = self.held.partition_point(|(other, ..)| *other < message);
        let held = self.held[first..].iter();
        let held = held.take_while(|(other, ..)| *other == message);
        let there = held
            .clone()
            .filter(|(_, _, claim)| claim.answered <= done.begun);
        let last = there.max_by_key(|(_, _, claim)| claim.answered);
        Some(last.or(held.clone().next())?.1)
    }
}

impl<'a, I: Eq + Hash> Index<'a, I> {
    pub(super) fn of<K: Eq + Hash, T: Eq + Hash>(events: &'a [Event<K, I, T>]) -> Self {
        let mut keys = Numbers::default();
        let mut messages = Numbers::default();
        let mut tokens = Numbers::default();
        let mut stories = Vec::new();
        for event in events {
            match &event.what {
                What::Saved {
                    message,
                    key,
                    position,
                    line,
                } if messages.number(message) == stories.len() => {
                    let key = key.as_ref().map(|key| keys.number(key));
                    stories.push(Story::new(message, key, *position, *line));
                }
                What::Claimed { token, .. } => {
                    tokens.number(token);
                }
                _ => {}
            }
        }
        let leases = tokens.known.iter().map(|_| Lease::default()).collect();
        let mut index = Self { stories, leases };
        for (at, event) in events.iter().enumerate() {
            index.add(&event.what, Span::new(event.when, at), &messages, &tokens);
        }
        for lease in &mut index.leases {
            lease.held.sort_by_key(|(message, ..)| *message);
            lease
                .confirmed
                .sort_by_key(|(message, span)| (*message, span.answered));
            lease
                .failed
                .sort_by_key(|(message, span)| (*message, span.answered));
        }
        index
    }

    fn add<K, T: Eq + Hash>(
        &mut self,
        what: &'a What<K, I, T>,
        span: Span,
        messages: &Numbers<'a, I>,
        tokens: &Numbers<'a, T>,
    ) {
        match what {
            What::Claimed {
                token,
                lease_end,
                messages: claimed,
            } => {
                let Some(lease) = tokens.known(token) else {
                    return;
                };
                self.leases[lease].ends.push((*lease_end, span));
                for (position, message) in claimed {
                    if let Some(message) = messages.known(message) {
                        let position = *position;
                        self.leases[lease].held.push((message, position, span));
                        self.stories[message].claims.push(Taken {
                            lease,
                            position,
                            span,
                        });
                        self.stories[message].joins(span);
                    }
                }
            }
            What::Renewed { token, .. }
            | What::Released { token }
            | What::Lapsed { token }
            | What::HandedOver { token, .. } => {
                let Some(lease) = tokens.known(token) else {
                    return;
                };
                let lease = &mut self.leases[lease];
                match what {
                    What::Renewed { lease_end, .. } => lease.ends.push((*lease_end, span)),
                    What::HandedOver { messages: run, .. } => {
                        let run = run.iter().filter_map(|message| messages.known(message));
                        lease.handed_over.push((run.collect(), span));
                    }
                    _ => lease.over.push(span),
                }
            }
            What::Received { message, token } => {
                let lease = token.as_ref().and_then(|token| tokens.known(token));
                if let Some(message) = messages.known(message) {
                    self.stories[message].received.push((lease, span));
                }
            }
            What::Confirmed { token, message } => {
                let Some(message) = messages.known(message) else {
                    return;
                };
                self.stories[message].confirmed.push(span);
                if let Some(lease) = tokens.known(token) {
                    self.leases[lease].confirmed.push((message, span));
                }
            }
            What::Failed { token, message } => {
                let Some(message) = messages.known(message) else {
                    return;
                };
                let lease = tokens.known(token);
                self.stories[message].failed.push((lease, span));
                if let Some(lease) = lease {
                    self.leases[lease].failed.push((message, span));
                }
            }
            What::Saved { message, .. }
            | What::Committed { message }
            | What::Joined { message }
            | What::Died { message, .. }
            | What::Redriven { message, .. }
            | What::Discarded { message } => {
                if let Some(message) = messages.known(message) {
                    self.stories[message].add(what, span);
                }
            }
        }
    }
}

impl<'a, I> Story<'a, I> {
    fn new(id: &'a I, key: Option<usize>, position: i64, line: Line) -> Self {
        Self {
            id,
            key,
            position,
            line,
            in_line: None,
            claims: Vec::new(),
            confirmed: Vec::new(),
            failed: Vec::new(),
            died: Vec::new(),
            redriven: Vec::new(),
            discarded: Vec::new(),
            received: Vec::new(),
        }
    }

    fn add<K, T>(&mut self, what: &What<K, I, T>, span: Span) {
        match what {
            What::Committed { .. } if self.line == Line::AtOnce => self.joins(span),
            What::Joined { .. } => self.joins(span),
            What::Died { after, .. } => self.died.push((*after, span)),
            What::Redriven { position, .. } => self.redriven.push((*position, span)),
            What::Discarded { .. } => self.discarded.push(span),
            _ => {}
        }
    }
}

/// Gives each value a dense number in the order of appearance.
struct Numbers<'a, V> {
    known: HashMap<&'a V, usize>,
}

impl<V> Default for Numbers<'_, V> {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
        }
    }
}

impl<'a, V: Eq + Hash> Numbers<'a, V> {
    fn number(&mut self, value: &'a V) -> usize {
        let next = self.known.len();
        *self.known.entry(value).or_insert(next)
    }

    fn known(&self, value: &V) -> Option<usize> {
        self.known.get(value).copied()
    }
}
