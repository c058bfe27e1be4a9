//! The roofline: operations per second over operations per byte, below what memory and arithmetic allow. As text and as SVG.

use crate::model::Rates;
use plotters::prelude::*;
use std::error::Error;

/// A kernel in the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// What it is called.
    pub label: String,
    /// Operations per byte.
    pub intensity: f64,
    /// Operations per second.
    pub rate: f64,
}

/// Columns and rows of the text.
const TEXT: (usize, usize) = (60, 14);
/// Width and height of the picture in pixels.
const PICTURE: (u32, u32) = (760, 480);
/// The colours of the points, in turn.
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(127, 127, 127),
];
/// Where dark colours are preferred, light and dark change places and hues stay.
const DARK_SCHEME: &str = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) } }</style>";

/// The ranges of both axes: what the points and the ridge need, with some room.
fn ranges(rates: Rates, points: &[Point]) -> Option<([f64; 2], [f64; 2])> {
    let flops = rates.flops?;
    let ridge = flops / rates.bandwidth;
    let shown = || points.iter().filter(|point| point.intensity > 0.0 && point.rate > 0.0);
    shown().next()?;
    let low = shown().map(|point| point.intensity).fold(ridge, f64::min) / 4.0;
    let high = shown().map(|point| point.intensity).fold(ridge, f64::max) * 4.0;
    let least = shown().map(|point| point.rate).fold(rates.roof(low), f64::min) / 2.0;
    Some(([low, high], [least, flops * 3.0]))
}

/// The name of a point in the text: a letter.
fn letter(index: usize) -> char {
    char::from(b'a' + (index % 26) as u8)
}

/// The picture in characters, a letter for each point; empty if there is nothing to show.
pub fn text(rates: Rates, points: &[Point]) -> Vec<String> {
    let Some((x, y)) = ranges(rates, points) else { return Vec::new() };
    let (columns, rows) = TEXT;
    let part = |value: f64, [low, high]: [f64; 2]| (value / low).ln() / (high / low).ln();
    let column = |value: f64| (part(value, x) * (columns - 1) as f64).round() as usize;
    let row = |value: f64| rows - 1 - (part(value, y) * (rows - 1) as f64).round() as usize;
    let mut cells = vec![vec![' '; columns]; rows];
    let roofs = (0..columns).map(|at| {
        let intensity = x[0] * (x[1] / x[0]).powf(at as f64 / (columns - 1) as f64);
        let roof = rates.roof(intensity);
        (at, roof, if rates.flops.is_some_and(|flops| roof < flops) { '/' } else { '-' })
    });
    for (at, roof, drawn) in roofs {
        cells[row(roof).min(rows - 1)][at] = drawn;
    }
    for (index, point) in points.iter().enumerate() {
        if point.intensity > 0.0 && point.rate > 0.0 {
            let (at, height) = (column(point.intensity), row(point.rate));
            cells[height.min(rows - 1)][at.min(columns - 1)] = letter(index);
        }
    }
    let mut lines = vec!["FLOP/s".to_owned()];
    for (at, cells) in cells.iter().enumerate() {
        let value = y[0] * (y[1] / y[0]).powf((rows - 1 - at) as f64 / (rows - 1) as f64);
        let label = if at % 4 == 0 { rate(value) } else { String::new() };
        let drawn: String = cells.iter().collect();
        lines.push(format!("{label:>9} |{}", drawn.trim_end()));
    }
    lines.push(format!("{:>9} +{}", "", "-".repeat(columns)));
    let ends = (format!("{:.3}", x[0]), format!("{:.0} FLOP per byte", x[1]));
    let gap = columns.saturating_sub(ends.0.len() + ends.1.len());
    lines.push(format!("{:>9}  {}{}{}", "", ends.0, " ".repeat(gap), ends.1));
    let shown = points.iter().enumerate().filter(|(_, point)| point.rate > 0.0);
    let names = shown.map(|(i, p)| format!("{} {}", letter(i), p.label));
    lines.push(format!("{:>9}  {}", "", names.collect::<Vec<_>>().join(", ")));
    lines
}

/// Operations per second with a unit: `1.2 T`.
pub fn rate(value: f64) -> String {
    let (value, unit) = match value {
        1e15.. => (value / 1e15, "P"),
        1e12.. => (value / 1e12, "T"),
        1e9.. => (value / 1e9, "G"),
        _ => (value / 1e6, "M"),
    };
    let digits = usize::from(value < 10.0);
    format!("{value:.digits$} {unit}")
}

/// The picture as SVG; `None` if there is nothing to show.
///
/// # Errors
/// It cannot be drawn.
pub fn svg(title: &str, rates: Rates, points: &[Point]) -> Result<Option<String>, Box<dyn Error>> {
    let Some((x, y)) = ranges(rates, points) else { return Ok(None) };
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, PICTURE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 20))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d((x[0]..x[1]).log_scale(), (y[0]..y[1]).log_scale())?;
        let label = |value: &f64| rate(*value);
        let plain = |value: &f64| format!("{value}");
        chart
            .configure_mesh()
            .x_desc("FLOP per byte")
            .y_desc("FLOP per second")
            .x_label_formatter(&plain)
            .y_label_formatter(&label)
            .light_line_style(TRANSPARENT)
            .label_style(("sans-serif", 13))
            .draw()?;
        let ridge = rates.flops.unwrap_or(y[1]) / rates.bandwidth;
        let roof = [x[0], ridge, x[1]].map(|intensity| (intensity, rates.roof(intensity)));
        chart.draw_series(LineSeries::new(roof, BLACK.stroke_width(2)))?;
        let shown = points.iter().filter(|point| point.intensity > 0.0 && point.rate > 0.0);
        for (point, colour) in shown.zip(COLOURS.iter().cycle()) {
            let at = (point.intensity, point.rate);
            chart.draw_series([Circle::new(at, 5, colour.filled())])?;
            let name = Text::new(point.label.clone(), (8, -6), ("sans-serif", 14).into_font());
            chart.draw_series([EmptyElement::at(at) + name])?;
        }
        area.present()?;
    }
    let head = text.find('>').map_or(0, |end| end + 1);
    text.insert_str(head, DARK_SCHEME);
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = Rates { bandwidth: 4e12, flops: Some(4e13) };

    fn points() -> Vec<Point> {
        let point = |label: &str, intensity, rate| Point { label: label.into(), intensity, rate };
        vec![
            point("your kernel", 2.5, 1e12),
            point("solution <1>", 2.5, 9e12),
            point("im2col", 0.0, 0.0),
        ]
    }

    #[test]
    fn points_lie_below_the_roof() {
        insta::assert_snapshot!(text(RATES, &points()).join("\n"));
        assert_eq!(text(RATES, &points()[2..]), Vec::<String>::new());
        assert_eq!(text(Rates { flops: None, ..RATES }, &points()), Vec::<String>::new());
    }

    #[test]
    fn a_picture_has_a_circle_for_each_kernel_that_computes() {
        let picture = svg("Puzzle <46>", RATES, &points()).unwrap().unwrap();
        assert_eq!(picture.matches("<circle").count(), 2, "{picture}");
        for word in ["Puzzle &lt;46&gt;", "your kernel", "solution &lt;1&gt;", "FLOP per byte"] {
            assert!(picture.contains(word), "{word}: {picture}");
        }
        assert!(picture.starts_with("<svg") && picture.contains(DARK_SCHEME));
        assert_eq!(svg("x", RATES, &[]).unwrap(), None);
    }
}
