//! A picture of the slice with the most wrong elements: correct, slightly off, far off, never written.

use super::number::list;
use super::style::{Style, Tone};
use judge::verdict::{Deviation, TensorDiff};

/// Cells from top to bottom.
const MAX_ROWS: usize = 14;
/// Characters from left to right.
const MAX_WIDTH: usize = 64;
/// Slices that are named of each kind.
const MAX_SLICES: usize = 2;
/// Smallest error, as a part of the largest one, for each shade but the first.
const SHADES: [f64; 3] = [0.01, 0.1, 0.5];

/// The worst of the elements that a cell stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Correct,
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
            within
                .map(|(r, c)| cell(errors[r * columns + c], largest))
                .max()
                .unwrap_or(Cell::Correct)
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
    lines.extend(by_slice(diff, &counts, per_slice, style));
    lines
}

/// How the errors spread over the slices, where there is more than one.
fn by_slice(diff: &TensorDiff, counts: &[usize], per_slice: usize, style: Style) -> Option<String> {
    if counts.len() < 2 {
        return None;
    }
    let outer = diff.tensor.shape.len() - 2;
    let names = |test: &dyn Fn(usize) -> bool| {
        let slices: Vec<usize> = (0..counts.len()).filter(|&s| test(counts[s])).collect();
        let coords = |s: &usize| list(&diff.tensor.coords(s * per_slice)[..outer]);
        let shown: Vec<String> = slices.iter().take(MAX_SLICES).map(coords).collect();
        let more = slices.len().saturating_sub(MAX_SLICES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!slices.is_empty()).then(|| format!("{}{more}", shown.join(" ")))
    };
    let kinds = [
        ("all wrong", names(&|n| n == per_slice)),
        ("partly wrong", names(&|n| n > 0 && n < per_slice)),
        ("right", names(&|n| n == 0)),
    ];
    let kinds: Vec<String> =
        kinds.into_iter().filter_map(|(kind, names)| Some(format!("{} {kind}", names?))).collect();
    Some(style.paint(Tone::Faint, &format!("    slices: {}", kinds.join("; "))))
}

fn cell(error: Deviation, largest: f64) -> Cell {
    match error {
        Deviation::Correct => Cell::Correct,
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
        Cell::Correct => (style.either('·', '.'), Tone::Faint),
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
        (Cell::Correct, "right"),
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
                *text = "wrong, from small to large errors";
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
        format!("; a cell is the worst of {tall}x{wide}")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::diff;
    use proptest::prelude::*;

    const UNICODE: Style = Style { colour: false, unicode: true };

    fn picture(shape: &[usize], errors: &[Deviation], style: Style) -> String {
        lines(&diff(shape, errors), style).join("\n")
    }

    #[test]
    fn every_kind_of_cell_has_its_mark() {
        use Deviation::{Correct, Nan, Off, Unwritten};
        let errors = [
            Off(0.001),
            Off(0.05),
            Off(0.2),
            Off(1.0),
            Correct,
            Correct,
            Unwritten,
            Nan,
            Off(f64::INFINITY),
        ];
        insta::assert_snapshot!(picture(&[3, 3], &errors, UNICODE), @r#"
        t[*, *]:  · right  ░▒▓█ wrong, from small to large errors  ? never written  ! NaN
          0
        0 ░░▒▒▓▓
        1 ██· ·
        2 ? ! ██
        "#);
        insta::assert_snapshot!(picture(&[3, 3], &errors, Style::PLAIN), @r#"
        t[*, *]:  . right  -+*# wrong, from small to large errors  ? never written  ! NaN
          0
        0 - + *
        1 # . .
        2 ? ! #
        "#);
    }

    #[test]
    fn the_worst_slice_is_shown_and_the_others_are_named() {
        let mut errors = vec![Deviation::Correct; 3 * 2 * 2 * 4];
        errors[1] = Deviation::Off(1.0);
        errors[16..24].fill(Deviation::Off(1.0));
        insta::assert_snapshot!(picture(&[3, 2, 2, 4], &errors, Style::PLAIN), @r#"
        t[1, 0, *, *]:  # wrong
          0
        0 # # # #
        1 # # # #
        slices: [1, 0] all wrong; [0, 0] partly wrong; [0, 1] [1, 1] and 2 more right
        "#);
    }

    #[test]
    fn a_large_slice_is_shown_whole_with_several_elements_a_cell() {
        let mut errors = vec![Deviation::Correct; 40 * 150];
        (0..40).for_each(|i| errors[i * 150 + 3 * i] = Deviation::Off(1.0));
        insta::assert_snapshot!(picture(&[40, 150], &errors, Style::PLAIN), @r#"
        t[*, *]; a cell is the worst of 3x3:  . right  # wrong
           0         30        60        90        120
         0 ###...............................................
         3 ...###............................................
         6 ......###.........................................
         9 .........###......................................
        12 ............###...................................
        15 ...............###................................
        18 ..................###.............................
        21 .....................###..........................
        24 ........................###.......................
        27 ...........................###....................
        30 ..............................###.................
        33 .................................###..............
        36 ....................................###...........
        39 .......................................#..........
        "#);
    }

    #[test]
    fn a_vector_is_one_row() {
        let errors: Vec<Deviation> = (0..300)
            .map(|i| if i < 256 { Deviation::Correct } else { Deviation::Unwritten })
            .collect();
        insta::assert_snapshot!(picture(&[300], &errors, Style::PLAIN), @r#"
        t[*]; a cell is the worst of 1x5:  . right  ? never written
          0         50        100       150       200       250
        0 ...................................................?????????
        "#);
    }

    proptest! {
        #[test]
        fn any_shape_fits_on_a_screen(
            shape in prop::collection::vec(1usize..70, 0..3),
            outer in prop::collection::vec(1usize..3, 0..3),
            wrong in 0.0..1.0,
        ) {
            let shape = [outer, shape].concat();
            let n: usize = shape.iter().product();
            let mut errors = vec![Deviation::Correct; n];
            errors[(wrong * n as f64) as usize] = Deviation::Off(1.0);
            let lines = lines(&diff(&shape, &errors), Style::PLAIN);
            prop_assert!(lines.len() <= MAX_ROWS + 3);
            prop_assert!(lines.iter().all(|line| line.len() <= 100), "{lines:?}");
            // A slice of one element is no picture.
            let per_slice: usize = shape.iter().rev().take(2).product();
            prop_assert!(per_slice < 2 || lines.iter().any(|line| line.contains('#')), "{lines:?}");
        }
    }
}
