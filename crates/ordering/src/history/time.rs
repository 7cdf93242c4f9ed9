//! Instants and intervals, and what is certain about their order.

/// When an event took effect, by the store's clock, in any unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum When {
    /// Exactly then. Events at equal instants happened in the order of the list.
    At(i64),
    /// At one unknown instant of this interval, both ends included.
    During {
        /// When the call began.
        begun: i64,
        /// When its answer was seen.
        answered: i64,
    },
}

/// A point of the total order: a time, and a place among the events of that time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp(i64, usize);

impl Stamp {
    /// After everything.
    pub(super) const NEVER: Self = Self(i64::MAX, usize::MAX);

    /// The beginning of a time, before all of its events.
    pub(super) fn start_of(time: i64) -> Self {
        Self(time, 0)
    }
}

/// The earliest and the latest stamp at which an event can have taken effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begun: Stamp,
    pub(super) answered: Stamp,
    /// The event's index in the history.
    pub(super) event: usize,
}

impl Span {
    pub(super) fn new(when: When, event: usize) -> Self {
        let (begun, answered) = match when {
            When::At(time) => (Stamp(time, event + 1), Stamp(time, event + 1)),
            When::During { begun, answered } => (Stamp(begun, 0), Stamp(answered, usize::MAX)),
        };
        Self {
            begun,
            answered,
            event,
        }
    }
}

/// A set of events of which only the first possible one after a given stamp matters.
#[derive(Debug)]
pub(super) struct Marks {
    /// By `answered`, each with the least `begun` of itself and all that follow.
    marks: Vec<(Stamp, Stamp)>,
}

impl Marks {
    pub(super) fn of(spans: impl IntoIterator<Item = Span>) -> Self {
        let mut marks: Vec<_> = spans
            .into_iter()
            .map(|span| (span.answered, span.begun))
            .collect();
        marks.sort_unstable();
        let mut least = Stamp::NEVER;
        for (_, begun) in marks.iter_mut().rev() {
            least = least.min(*begun);
            *begun = least;
        }
        Self { marks }
    }

    /// The earliest stamp at which one of the events that are not certainly before `stamp` can have
    /// taken effect.
    pub(super) fn earliest_from(&self, stamp: Stamp) -> Stamp {
        let at = self
            .marks
            .partition_point(|(answered, _)| *answered < stamp);
        self.marks.get(at).map_or(Stamp::NEVER, |(_, begun)| *begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_instants_are_ordered_by_the_list_and_equal_intervals_are_not() {
        let point = |event| Span::new(When::At(5), event);
        assert!(point(0).answered < point(1).begun);
        let call = |event| {
            Span::new(
                When::During {
                    begun: 5,
                    answered: 5,
                },
                event,
            )
        };
        assert!(call(0).answered >= call(1).begun && call(1).answered >= call(0).begun);
        assert!(point(0).answered >= call(1).begun && call(0).answered >= point(1).begun);
    }

    #[test]
    fn a_mark_that_overlaps_the_stamp_counts_from_its_beginning() {
        let call = |begun, answered| Span::new(When::During { begun, answered }, 0);
        let marks = Marks::of([call(1, 2), call(8, 9), call(3, 6), call(4, 5)]);
        let from = |time| marks.earliest_from(Stamp::start_of(time));
        assert_eq!(from(2), Stamp::start_of(1));
        assert_eq!(from(5), Stamp::start_of(3));
        assert_eq!(from(6), Stamp::start_of(3));
        assert_eq!(from(7), Stamp::start_of(8));
        assert_eq!(from(10), Stamp::NEVER);
    }
}
