//! A picture of the slice with the most wrong elements: right, slightly off, far off, never written.

use super::number::list;
use super::style::{Style, Tone};
use crate::verdict::{Deviation, TensorDiff};

/// Cells from top to bottom.
const MAX_ROWS: usize = 14;
/// Characters from left to right.
const MAX_WIDTH: usize = 64;
/// Smallest error, as a part of the largest one, for each shade but the first.
const SHADES: [f64; 3] = [0.01, 0.1, 0.5];

/// The worst of the elements that a cell stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Right,
    Off(usize),
    Unwritten,
    Nan,
}

/// Title and rows; empty where there is nothing to see: a single element, or one wrong one among the listed few.
pub(super) fn lines(diff: &TensorDiff, style: Style) -> Vec<String> {
    let (rows, columns) = match *diff.tensor.shape {
        [] => return Vec::new(),
        [columns] => (1, columns),
        [.., rows, columns] => (rows, columns),
    };
    let per_slice = rows * columns;
    if per_slice < 2 || diff.unwritten_count == diff.tensor.len() {
        return Vec::new();
    }
    let wrong_in = |slice: &[bool]| slice.iter().filter(|&&w| w).count();
    let counts: Vec<usize> = diff.wrong.chunks(per_slice).map(wrong_in).collect();
    let worst = counts.iter().max().copied().unwrap_or(0);
    let slice = counts.iter().position(|&n| n == worst).unwrap_or(0);
    let errors = &diff.errors[slice * per_slice..][..per_slice];

    // Characters are twice as high as wide: a cell of one element is two characters wide, where that fits.
    let tall = rows.div_ceil(MAX_ROWS);
    let chars = if tall == 1 && 2 * columns <= MAX_WIDTH { 2 } else { 1 };
    let wide = (columns * chars).div_ceil(MAX_WIDTH);
    let largest = errors.iter().map(|e| if let Deviation::Off(e) = e { *e } else { 0.0 });
    let largest = largest.filter(|e| e.is_finite()).fold(0.0, f64::max);
    let mut cells = Vec::new();
    for top in (0..rows).step_by(tall) {
        let line = (0..columns).step_by(wide).map(|left| {
            let down = top..rows.min(top + tall);
            let within = down.flat_map(|r| (left..columns.min(left + wide)).map(move |c| (r, c)));
            within.map(|(r, c)| cell(errors[r * columns + c], largest)).max().unwrap_or(Cell::Right)
        });
        cells.push(line.collect::<Vec<Cell>>());
    }

    let mut lines = vec![title(diff, slice, (tall, wide), &cells, style)];
    let label_width = (rows - 1).to_string().len();
    lines.push(ruler(cells[0].len(), wide, chars, label_width, style));
    for (index, line) in cells.iter().enumerate() {
        let label = style.paint(Tone::Faint, &format!("{:>1$}", index * tall, label_width));
        lines.push(format!("    {label} {}", paint_row(line, chars, style)));
    }
    lines
}

fn cell(error: Deviation, largest: f64) -> Cell {
    match error {
        Deviation::Right => Cell::Right,
        Deviation::Unwritten => Cell::Unwritten,
        Deviation::Nan => Cell::Nan,
        Deviation::Off(error) => {
            Cell::Off(SHADES.iter().filter(|&&part| error >= part * largest).count())
        }
    }
}

fn symbol(cell: Cell, style: Style) -> (char, Tone) {
    let shades = style.either(['░', '▒', '▓', '█'], ['-', '+', '*', '#']);
    match cell {
        Cell::Right => (style.either('·', '.'), Tone::Faint),
        Cell::Off(shade) => (shades[shade], if shade < 2 { Tone::Warn } else { Tone::Bad }),
        Cell::Unwritten => ('?', Tone::Odd),
        Cell::Nan => ('!', Tone::Odd),
    }
}

/// Neighbours of one tone are painted together, to keep escape codes few.
fn paint_row(cells: &[Cell], chars: usize, style: Style) -> String {
    let mut row = String::new();
    for run in cells.chunk_by(|&a, &b| symbol(a, style).1 == symbol(b, style).1) {
        let mut text = String::new();
        for &cell in run {
            // Blocks fill their cell; marks stand apart.
            let (c, _) = symbol(cell, style);
            text.push(c);
            if chars == 2 {
                text.push(if matches!(cell, Cell::Off(_)) && style.unicode { c } else { ' ' });
            }
        }
        row.push_str(&style.paint(symbol(run[0], style).1, &text));
    }
    row.trim_end().to_owned()
}

fn title(
    diff: &TensorDiff,
    slice: usize,
    (tall, wide): (usize, usize),
    cells: &[Vec<Cell>],
    style: Style,
) -> String {
    let rank = diff.tensor.shape.len();
    let shown = rank.min(2);
    let flat = slice * diff.tensor.shape[rank - shown..].iter().product::<usize>();
    let mut coords: Vec<String> =
        diff.tensor.coords(flat).iter().map(ToString::to_string).collect();
    coords[rank - shown..].fill("*".into());
    let mut kinds: Vec<(Cell, &str)> = vec![
        (Cell::Right, "right"),
        (Cell::Off(3), "wrong"),
        (Cell::Unwritten, "never written"),
        (Cell::Nan, "NaN"),
    ];
    let is_off = |c: &&Cell| matches!(c, Cell::Off(_));
    let mut shades: Vec<&Cell> = cells.iter().flatten().filter(is_off).collect();
    shades.sort();
    shades.dedup();
    kinds.retain(|(kind, _)| match kind {
        Cell::Off(_) => !shades.is_empty(),
        _ => cells.iter().flatten().any(|cell| cell == kind),
    });
    if shades.len() > 1 {
        for kind in &mut kinds {
            if let (Cell::Off(_), text) = kind {
                *text = "slightly to far off";
            }
        }
    }
    let legend: Vec<String> = kinds
        .iter()
        .map(|&(kind, text)| {
            let symbols: String = match kind {
                Cell::Off(_) => shades.iter().map(|&&s| symbol(s, style).0).collect(),
                _ => symbol(kind, style).0.to_string(),
            };
            format!("{} {text}", style.paint(symbol(kind, style).1, &symbols))
        })
        .collect();
    let zoom = if tall * wide > 1 {
        format!(", {tall}x{wide} elements a cell, the worst counts")
    } else {
        String::new()
    };
    format!("    {}{}{zoom}:  {}", diff.tensor.name, list(&coords), legend.join("  "))
}

/// Numbers every few columns.
fn ruler(cells: usize, wide: usize, chars: usize, label_width: usize, style: Style) -> String {
    let mut ruler = String::new();
    for cell in (0..cells).step_by(if chars == 2 { 5 } else { 10 }) {
        while ruler.len() < cell * chars {
            ruler.push(' ');
        }
        ruler.push_str(&(cell * wide).to_string());
    }
    style.paint(Tone::Faint, &format!("    {:label_width$} {ruler}", ""))
}
