//! Draws what a spec wants drawn, as SVG. The only file that knows plotters.

use judge::verdict::Picture;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use puzzle::case::{PictureKind, PictureStyle};
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Width and height of a curve, in pixels.
const CURVE: (u32, u32) = (720, 420);
/// Width and height of a matrix, in pixels.
const MATRIX: (u32, u32) = (560, 560);
/// The colours of the lines, in turn.
const COLOURS: [RGBColor; 4] =
    [RGBColor(31, 119, 180), RGBColor(214, 39, 40), RGBColor(44, 160, 44), RGBColor(148, 103, 189)];
/// Of the largest element of a matrix; white is 0.
const DARK: RGBColor = RGBColor(8, 81, 156);
/// Where dark colours are preferred, light and dark change places and hues stay.
const DARK_SCHEME: &str = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) } }</style>";
/// An element darker than this has a white number.
const HALF: f64 = 0.5;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Writes a picture into `folder`, which is made if it is missing, and returns its path.
///
/// # Errors
/// The file cannot be written, or the picture cannot be drawn.
pub fn write(picture: &Picture, folder: &Path, stem: &str) -> io::Result<PathBuf> {
    let text = svg(picture).map_err(|error| io::Error::other(error.to_string()))?;
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{stem}_{}.svg", picture.tensor.name));
    fs::write(&path, text)?;
    Ok(path)
}

fn svg(picture: &Picture) -> Result<String, Box<dyn Error>> {
    let Picture { style, tensor, values } = picture;
    let columns = tensor.shape.last().copied().unwrap_or(1).max(1);
    let rows: Vec<&[f64]> = values.chunks(columns).collect();
    let mut text = String::new();
    {
        let size = if style.kind == PictureKind::Curve { CURVE } else { MATRIX };
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        match style.kind {
            PictureKind::Curve => curves(&area, style, &rows)?,
            PictureKind::Matrix => matrix(&area, style, &rows)?,
        }
        area.present()?;
    }
    let head = text.find('>').map_or(0, |end| end + 1);
    text.insert_str(head, DARK_SCHEME);
    Ok(text)
}

/// A line for each row, from 0 or below to its largest value.
fn curves(area: &Area<'_>, style: &PictureStyle, rows: &[&[f64]]) -> Result<(), Box<dyn Error>> {
    let seen = || rows.iter().copied().flatten().copied().filter(|value| value.is_finite());
    let (low, high) = (seen().fold(0.0, f64::min), seen().fold(0.0, f64::max));
    let high = if high > low { high } else { low + 1.0 };
    let steps = rows.iter().map(|row| row.len()).max().unwrap_or(0).max(2);
    let mut chart = ChartBuilder::on(area)
        .caption(&style.title, ("sans-serif", 20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(60)
        .build_cartesian_2d(1.0..steps as f64, low..high * 1.05)?;
    let count = |x: &f64| format!("{x:.0}");
    chart
        .configure_mesh()
        .x_desc(&style.x)
        .y_desc(&style.y)
        .x_label_formatter(&count)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 13))
        .draw()?;
    for (row, colour) in rows.iter().zip(COLOURS.iter().cycle()) {
        let points = (1..).zip(row.iter()).filter(|(_, value)| value.is_finite());
        let points = points.map(|(step, &value)| (f64::from(step), value));
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    }
    Ok(())
}

/// A field for each element, with its value.
fn matrix(area: &Area<'_>, style: &PictureStyle, rows: &[&[f64]]) -> Result<(), Box<dyn Error>> {
    let width = rows.first().map_or(1, |row| row.len());
    let largest = rows.iter().copied().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(&style.title, ("sans-serif", 20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(50)
        // These ranges have their ends; the first row is at the top.
        .build_cartesian_2d(
            (0..width.saturating_sub(1)).into_segmented(),
            (0..rows.len().saturating_sub(1)).into_segmented(),
        )?;
    let place = |at: &SegmentValue<usize>| match at {
        SegmentValue::Exact(n) | SegmentValue::CenterOf(n) => n.to_string(),
        SegmentValue::Last => String::new(),
    };
    let from_top = |at: &SegmentValue<usize>| match at {
        SegmentValue::Exact(n) | SegmentValue::CenterOf(n) => {
            rows.len().saturating_sub(n + 1).to_string()
        }
        SegmentValue::Last => String::new(),
    };
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc(&style.x)
        .y_desc(&style.y)
        .x_labels(width)
        .y_labels(rows.len())
        .x_label_formatter(&place)
        .y_label_formatter(&from_top)
        .label_style(("sans-serif", 13))
        .draw()?;
    for (row, values) in rows.iter().enumerate() {
        let y = rows.len() - 1 - row;
        for (x, &value) in values.iter().enumerate() {
            let part = if value.is_finite() { (value / largest).clamp(0.0, 1.0) } else { 0.0 };
            let corners = [
                (SegmentValue::Exact(x), SegmentValue::Exact(y)),
                (SegmentValue::Exact(x + 1), SegmentValue::Exact(y + 1)),
            ];
            let field = Rectangle::new(corners, shade(part).filled());
            let colour = if part > HALF { &WHITE } else { &BLACK };
            let centre = (SegmentValue::CenterOf(x), SegmentValue::CenterOf(y));
            let look = ("sans-serif", 13).into_font().color(colour);
            let look = look.pos(Pos::new(HPos::Center, VPos::Center));
            let number = Text::new(format!("{value}"), centre, look);
            chart.draw_series([field])?;
            if value != 0.0 {
                chart.draw_series([number])?;
            }
        }
    }
    Ok(())
}

/// White for 0, dark for 1.
fn shade(part: f64) -> RGBColor {
    let mix = |dark: u8| (255.0 - part * f64::from(255 - dark)).round() as u8;
    RGBColor(mix(DARK.0), mix(DARK.1), mix(DARK.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::tensor::{DType, Tensor};

    fn picture(kind: PictureKind, shape: &[usize], values: &[f64]) -> Picture {
        let style = PictureStyle {
            kind,
            title: "Loss <of> a batch".into(),
            x: "batch".into(),
            y: "loss".into(),
        };
        let tensor = Tensor { name: "loss".into(), dtype: DType::F32, shape: shape.to_vec() };
        Picture { style, tensor, values: values.to_vec() }
    }

    #[test]
    fn a_curve_has_a_line_for_each_row() {
        let text =
            svg(&picture(PictureKind::Curve, &[2, 3], &[3.0, 2.0, 1.0, 2.0, 1.0, 0.5])).unwrap();
        assert_eq!(text.matches("stroke-width=\"2\"").count(), 2, "{text}");
        for word in ["Loss &lt;of&gt; a batch", "loss", "batch"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        let dark = text.find(DARK_SCHEME).unwrap();
        assert!(text.starts_with("<svg") && text[..dark].ends_with('>'), "{text}");
    }

    #[test]
    fn what_is_missing_or_infinite_is_left_out() {
        for values in [[f64::NAN; 4], [f64::INFINITY, 1.0, f64::NAN, 2.0], [0.0; 4], [-1.0; 4]] {
            for (kind, shape) in [(PictureKind::Curve, vec![4]), (PictureKind::Matrix, vec![2, 2])]
            {
                let text = svg(&picture(kind, &shape, &values)).unwrap();
                assert!(text.ends_with("</svg>\n"), "{text}");
            }
        }
        assert!(svg(&picture(PictureKind::Curve, &[1], &[1.0])).is_ok());
    }

    #[test]
    fn a_matrix_has_a_field_for_each_element_and_numbers_where_they_are_not_0() {
        let text = svg(&picture(PictureKind::Matrix, &[2, 2], &[7.0, 0.0, 0.0, 5.0])).unwrap();
        assert_eq!(text.matches("#08519C").count(), 1, "{text}");
        assert_eq!(text.matches("#FFFFFF").count(), 1 + 2 + 2, "{text}");
    }

    #[test]
    fn a_picture_has_a_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("pictures");
        let path = write(&picture(PictureKind::Curve, &[2], &[1.0, 0.5]), &inside, "15_t").unwrap();
        assert_eq!(path.file_name().unwrap(), "15_t_loss.svg");
        assert!(fs::read_to_string(path).unwrap().starts_with("<svg"));
        fs::write(folder.path().join("file"), "").unwrap();
        let error = write(
            &picture(PictureKind::Curve, &[2], &[1.0, 0.5]),
            &folder.path().join("file"),
            "t",
        );
        assert!(error.is_err());
    }
}
