//! One plot a scenario: the median of each system in each variant, with the spread of its rounds.

mod panel;

use std::path::Path;

use plotters::{
    backend::SVGBackend,
    coord::Shift,
    drawing::{DrawingArea, IntoDrawingArea},
    element::{PathElement, Rectangle, Text},
    style::{
        Color, FontStyle, IntoFont, RGBColor, ShapeStyle, WHITE,
        text_anchor::{HPos, Pos, VPos},
    },
};

use self::panel::{Bar, Panel, tick_label, ticks};
use crate::{Result, measurement::Measurement, report::number};

/// Pixels.
const WIDTH: i32 = 900;
const MARGIN: i32 = 16;
const TITLE: i32 = 44;
const UNIT: i32 = 26;
const HEADING: i32 = 30;
const BAR: i32 = 22;
const AXIS: i32 = 42;
/// For the number at the end of a bar.
const NUMBER: i32 = 90;

const INK: RGBColor = RGBColor(40, 40, 40);
const PALE: RGBColor = RGBColor(110, 110, 110);
const GRID: RGBColor = RGBColor(225, 225, 225);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The name of the file, beside the page.
pub(crate) fn file(scenario: u8) -> String {
    format!("performance/scenario-{scenario}.svg")
}

/// Draws throughput, or the first figure where there is none: a bar for each measurement.
pub(crate) fn draw(file: &Path, title: &str, rows: &[&Measurement]) -> Result {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let panels = Panel::of(rows);
    let whole = TITLE + panels.iter().map(height).sum::<i32>();
    let size = (u32::try_from(WIDTH)?, u32::try_from(whole)?);
    let area = SVGBackend::new(file, size).into_drawing_area();
    area.fill(&WHITE)?;
    write(&area, title, (MARGIN, TITLE / 2), HPos::Left, &Words::TITLE)?;
    let mut y = TITLE;
    for panel in &panels {
        draw_panel(&area, panel, y)?;
        y += height(panel);
    }
    Ok(area.present()?)
}

fn height(panel: &Panel) -> i32 {
    let heights = panel.groups.iter().map(|group| {
        let bars = i32::try_from(group.bars.len()).unwrap_or_default() * BAR;
        bars + group.heading.as_ref().map_or(0, |_| HEADING)
    });
    UNIT + heights.sum::<i32>() + AXIS
}

/// Where the bars of a panel are, from left to right.
struct Axis {
    left: i32,
    top: f64,
}

impl Axis {
    /// Leaves room for the longest label: about 7 pixels a character.
    fn of(panel: &Panel) -> Self {
        let longest = panel.bars().map(|bar| bar.label.chars().count()).max();
        let longest = i32::try_from(longest.unwrap_or_default()).unwrap_or_default();
        Self {
            left: MARGIN + (longest * 7 + 14).clamp(120, 420),
            top: panel.top(),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a place on the plot")]
    fn x(&self, value: f64) -> i32 {
        let wide = f64::from(WIDTH - NUMBER - self.left);
        self.left + (value / self.top * wide).round() as i32
    }
}

fn draw_panel(area: &Area<'_>, panel: &Panel, y: i32) -> Result {
    let axis = Axis::of(panel);
    let bottom = y + height(panel) - AXIS + 4;
    for tick in ticks(axis.top) {
        let x = axis.x(tick);
        line(area, [(x, y + UNIT), (x, bottom)], GRID)?;
        let text = tick_label(tick);
        write(area, &text, (x, bottom + 12), HPos::Center, &Words::SMALL)?;
    }
    let end = (axis.left, y + UNIT / 2);
    write(area, &panel.what, end, HPos::Left, &Words::SMALL)?;
    let mut y = y + UNIT;
    for group in &panel.groups {
        if let Some(heading) = &group.heading {
            let at = (MARGIN, y + HEADING * 2 / 3);
            write(area, heading, at, HPos::Left, &Words::HEADING)?;
            y += HEADING;
        }
        for bar in &group.bars {
            draw_bar(area, &axis, bar, y)?;
            y += BAR;
        }
    }
    Ok(())
}

fn draw_bar(area: &Area<'_>, axis: &Axis, bar: &Bar, y: i32) -> Result {
    let middle = y + BAR / 2;
    let end = (axis.left - 8, middle);
    write(area, &bar.label, end, HPos::Right, &Words::LABEL)?;
    let corners = [(axis.left, y + 3), (axis.x(bar.median), y + BAR - 3)];
    area.draw(&Rectangle::new(corners, color(&bar.system).filled()))?;
    let (low, high) = (axis.x(bar.low), axis.x(bar.high));
    line(area, [(low, middle), (high, middle)], INK)?;
    for x in [low, high] {
        line(area, [(x, middle - 3), (x, middle + 3)], INK)?;
    }
    let after = (high.max(axis.x(bar.median)) + 7, middle);
    write(area, &number(bar.median), after, HPos::Left, &Words::LABEL)
}

fn line(area: &Area<'_>, ends: [(i32, i32); 2], color: RGBColor) -> Result {
    let style: ShapeStyle = color.stroke_width(1);
    Ok(area.draw(&PathElement::new(ends, style))?)
}

/// How words look.
struct Words {
    size: i32,
    style: FontStyle,
    color: RGBColor,
}

impl Words {
    const TITLE: Self = Self::new(20, FontStyle::Bold, INK);
    const HEADING: Self = Self::new(14, FontStyle::Bold, INK);
    const LABEL: Self = Self::new(13, FontStyle::Normal, INK);
    const SMALL: Self = Self::new(12, FontStyle::Normal, PALE);

    const fn new(size: i32, style: FontStyle, color: RGBColor) -> Self {
        Self { size, style, color }
    }
}

/// Writes text whose left, middle or right is at a place.
fn write(area: &Area<'_>, text: &str, at: (i32, i32), from: HPos, words: &Words) -> Result {
    let font = ("sans-serif", words.size).into_font().style(words.style);
    let style = font.color(&words.color).pos(Pos::new(from, VPos::Center));
    Ok(area.draw(&Text::new(text.to_owned(), at, style))?)
}

/// Ours stands out; the plain queues are gray.
fn color(system: &str) -> RGBColor {
    if system.starts_with("outbox") {
        RGBColor(49, 116, 173)
    } else if system.starts_with("plain") {
        RGBColor(178, 178, 178)
    } else {
        RGBColor(219, 152, 52)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Rounds;

    #[test]
    fn a_plot_holds_every_bar_with_its_number_within_its_width() {
        let mut rows = Vec::new();
        for (system, rate) in [
            ("outbox", 41_000.0),
            ("plain", 45_500.0),
            ("omni-box", 612.0),
        ] {
            for relays in [1, 4] {
                let mut row = Measurement::new(2, "20,000 messages over 5,000 keys", system);
                (row.relays, row.batch) = (relays, 500);
                row.messages_per_s = Some(Rounds::of(vec![rate, rate * 0.95, rate * 1.04]));
                rows.push(row);
            }
        }
        for (variant, ms) in [
            ("1,000,000 over 10 keys", 2.5),
            ("1,000 over 10 keys", 1.25),
        ] {
            let mut row = Measurement::new(2, variant, "outbox");
            row.figures = vec![("claim p50, ms", Rounds::of(vec![ms]))];
            rows.push(row);
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plots/it.svg");
        draw(&file, "A title", &rows.iter().collect::<Vec<_>>()).unwrap();
        let svg = std::fs::read_to_string(&file).unwrap();
        for text in [
            "A title",
            "omni-box, 4 relays, batch 500",
            "45,500",
            "1,000,000 over 10 keys",
            "1.25",
        ] {
            assert!(svg.contains(text), "{text}");
        }
        let axis = Axis {
            left: 300,
            top: 45_500.0,
        };
        assert_eq!((axis.x(0.0), axis.x(45_500.0)), (300, WIDTH - NUMBER));
    }
}
