//! One plot a scenario: the median of each system in each variant, with the spread of its rounds.

use std::path::Path;

use plotters::prelude::*;

use crate::{Result, measurement::Measurement};

/// The name of the file, beside the page.
pub(crate) fn file(scenario: u8) -> String {
    format!("performance/scenario-{scenario}.svg")
}

/// Draws throughput, or the first figure of a scenario without one: a bar for each measurement.
pub(crate) fn draw(file: &Path, title: &str, rows: &[&Measurement]) -> Result {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let bars: Vec<Bar> = rows.iter().filter_map(|row| Bar::of(row)).collect();
    let what = match rows.first() {
        Some(row) if row.messages_per_s.is_some() => "messages/s",
        Some(row) => row.figures.first().map_or("", |(name, _)| name),
        None => "",
    };
    let count = i32::try_from(bars.len())?;
    let height = 90 + 26 * u32::try_from(bars.len())?;
    let top = bars.iter().map(|bar| bar.high).fold(0.0, f64::max) * 1.05;
    let root = SVGBackend::new(file, (900, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 18))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(330)
        .build_cartesian_2d(0.0..top, (0..count).into_segmented())?;
    let label = |segment: &SegmentValue<i32>| match segment {
        SegmentValue::CenterOf(place) => usize::try_from(count - 1 - place)
            .ok()
            .and_then(|it| bars.get(it))
            .map_or(String::new(), |bar| bar.label.clone()),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_desc(what)
        .y_labels(bars.len())
        .y_label_formatter(&label)
        .x_label_formatter(&|it| crate::report::thousands(*it))
        .label_style(("sans-serif", 13))
        .draw()?;
    for (place, bar) in (0..count).rev().zip(&bars) {
        let (from, to) = (SegmentValue::Exact(place), SegmentValue::Exact(place + 1));
        let mut rectangle = Rectangle::new([(0.0, from), (bar.median, to)], bar.color.filled());
        rectangle.set_margin(4, 4, 0, 0);
        chart.draw_series([rectangle])?;
        let center = SegmentValue::CenterOf(place);
        chart.draw_series([PathElement::new(
            vec![(bar.low, center.clone()), (bar.high, center)],
            BLACK.stroke_width(1),
        )])?;
    }
    root.present()?;
    Ok(())
}

struct Bar {
    label: String,
    median: f64,
    low: f64,
    high: f64,
    color: RGBColor,
}

impl Bar {
    fn of(row: &Measurement) -> Option<Self> {
        let first = row.figures.first().map(|(_, rounds)| rounds);
        let rounds = row.messages_per_s.as_ref().or(first)?;
        let (low, high) = rounds.spread();
        let how = if row.relays > 0 {
            format!(", {} relays, {}", row.relays, row.batch)
        } else {
            String::new()
        };
        Some(Self {
            label: format!("{}: {}{how}", row.variant, row.system),
            median: rounds.median,
            low,
            high,
            color: color(&row.system),
        })
    }
}

/// Ours stands out; the plain queues are gray.
fn color(system: &str) -> RGBColor {
    if system.starts_with("outbox") {
        RGBColor(31, 119, 180)
    } else if system.starts_with("plain") {
        RGBColor(170, 170, 170)
    } else {
        RGBColor(214, 137, 16)
    }
}
