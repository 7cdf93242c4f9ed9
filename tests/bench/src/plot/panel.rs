//! What a plot shows: a panel for each figure, in it the variants, in each of them a bar for each system.

use crate::{
    measurement::{Measurement, Rounds},
    report::number,
};

/// Measurements that share an axis.
#[derive(Debug, Default)]
pub(super) struct Panel {
    /// The unit of the axis.
    pub(super) what: String,
    pub(super) groups: Vec<Group>,
}

/// Bars to be compared with each other.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Stands above the bars. Without it each bar says for itself what it is of.
    pub(super) heading: Option<String>,
    pub(super) bars: Vec<Bar>,
}

/// One measurement.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) system: String,
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Panel {
    /// Throughput, or the first figure of measurements without one, in the order in which they were made.
    pub(super) fn of(rows: &[&Measurement]) -> Vec<Self> {
        let shown: Vec<_> = rows
            .iter()
            .filter_map(|row| Some((*row, shown(row)?)))
            .collect();
        shown
            .chunk_by(|one, next| one.1.0 == next.1.0)
            .map(|rows| Self {
                what: rows[0].1.0.to_owned(),
                groups: groups(rows),
            })
            .collect()
    }

    /// The end of its axis: no bar and no spread is longer.
    pub(super) fn top(&self) -> f64 {
        let ends = self.bars().map(|bar| bar.high.max(bar.median));
        ends.fold(f64::MIN_POSITIVE, f64::max)
    }

    pub(super) fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }
}

type Shown<'m> = (&'m str, &'m Rounds);

fn shown(row: &Measurement) -> Option<Shown<'_>> {
    match &row.messages_per_s {
        Some(rounds) => Some(("messages/s", rounds)),
        None => row.figures.first().map(|(name, rounds)| (*name, rounds)),
    }
}

/// A heading is needed where a variant has several bars, or bars are of several systems.
fn groups(rows: &[(&Measurement, Shown<'_>)]) -> Vec<Group> {
    let one_each = rows.chunk_by(|one, next| one.0.variant == next.0.variant);
    let single = one_each.clone().all(|rows| rows.len() == 1)
        && rows.iter().all(|row| row.0.system == rows[0].0.system);
    if single {
        let bars = rows
            .iter()
            .map(|(row, it)| bar(row, it.1, row.variant.clone()));
        return vec![Group {
            heading: None,
            bars: bars.collect(),
        }];
    }
    let group = |rows: &[(&Measurement, Shown<'_>)]| Group {
        heading: Some(rows[0].0.variant.clone()),
        bars: rows
            .iter()
            .map(|(row, it)| bar(row, it.1, label(row)))
            .collect(),
    };
    one_each.map(group).collect()
}

fn bar(row: &Measurement, rounds: &Rounds, label: String) -> Bar {
    let (low, high) = rounds.spread();
    Bar {
        label,
        system: row.system.clone(),
        median: rounds.median,
        low,
        high,
    }
}

fn label(row: &Measurement) -> String {
    let relays = match row.relays {
        0 => return row.system.clone(),
        1 => "1 relay".to_owned(),
        relays => format!("{relays} relays"),
    };
    format!("{}, {relays}, batch {}", row.system, row.batch)
}

/// A tick in words, no longer than it must be.
pub(super) fn tick_label(tick: f64) -> String {
    let text = number(tick);
    match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => text,
    }
}

/// Round numbers from zero to `top`, from four to ten of them.
pub(super) fn ticks(top: f64) -> Vec<f64> {
    let power = 10_f64.powf((top / 4.0).log10().floor());
    let steps = [5.0, 2.0, 1.0].map(|it| it * power);
    let step = steps
        .into_iter()
        .find(|step| step * 4.0 <= top * (1.0 + 1e-9));
    let step = step.unwrap_or(power);
    (0..=10)
        .map(|n| f64::from(n) * step)
        .take_while(|it| *it <= top * (1.0 + 1e-9))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(variant: &str, system: &str, relays: usize) -> Measurement {
        let mut it = Measurement::new(2, variant, system);
        (it.relays, it.batch) = (relays, 500);
        it.messages_per_s = Some(Rounds::of(vec![1.0, 3.0, 2.0]));
        it
    }

    fn labels(panel: &Panel) -> Vec<&str> {
        panel.bars().map(|bar| bar.label.as_str()).collect()
    }

    #[test]
    fn a_variant_with_several_bars_has_a_heading() {
        let rows = [
            measurement("a", "outbox", 1),
            measurement("a", "plain", 4),
            measurement("b", "outbox", 1),
        ];
        let panels = Panel::of(&rows.iter().collect::<Vec<_>>());
        let [panel] = &panels[..] else {
            panic!("one panel: {panels:?}")
        };
        let headings: Vec<_> = panel
            .groups
            .iter()
            .map(|it| it.heading.as_deref())
            .collect();
        assert_eq!(headings, [Some("a"), Some("b")]);
        let expected = [
            "outbox, 1 relay, batch 500",
            "plain, 4 relays, batch 500",
            "outbox, 1 relay, batch 500",
        ];
        assert_eq!(labels(panel), expected);
        assert!((panel.top() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_bar_alone_is_labeled_by_its_variant() {
        let rows = [measurement("a", "outbox", 1), measurement("b", "outbox", 1)];
        let panels = Panel::of(&rows.iter().collect::<Vec<_>>());
        assert_eq!(labels(&panels[0]), ["a", "b"]);
        assert_eq!(panels[0].groups[0].heading, None);
    }

    #[test]
    fn what_has_another_unit_has_a_panel_of_its_own() {
        let mut claims = Measurement::new(4, "a", "outbox");
        claims.figures = vec![("claim p50, ms", Rounds::of(vec![1.0]))];
        let rows = [&claims, &measurement("a", "outbox", 1)];
        let panels = Panel::of(&rows);
        let units: Vec<_> = panels.iter().map(|it| it.what.as_str()).collect();
        assert_eq!(units, ["claim p50, ms", "messages/s"]);
    }

    #[test]
    fn a_tick_says_no_digits_that_are_nothing() {
        let labels = [0.0, 0.5, 10.0, 100.0, 20_000.0].map(tick_label);
        assert_eq!(labels, ["0", "0.5", "10", "100", "20,000"]);
    }

    #[test]
    fn ticks_are_round_and_do_not_pass_the_end() {
        assert_eq!(
            ticks(45_000.0),
            [0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0]
        );
        assert_eq!(ticks(8.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        for top in [0.013, 1.0, 3.9, 7.0, 99.0, 123_456.0] {
            let count = ticks(top).len();
            assert!((4..=11).contains(&count), "{count} of {top}");
        }
    }
}
