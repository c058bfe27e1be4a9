//! All checks of a puzzle, in the order in which they are reported.

use super::bench::{Bench, Loaded, SEED};
use super::item::Item;
use super::named_line::NamedLine;
use super::{bounds, chapter, drawn, kernels, repeat, signatures, sizes};
use diagnostic::Failure;
use judge::drawn_cases::DrawnCases;
use puzzle::workbook::Workbook;

/// Runs all checks except mutation testing; with the lines that the reports on wrong kernels name.
///
/// # Errors
/// The machine lacks something: a compiler, space for temporary files.
pub fn all(
    bench: &Bench<'_>,
    loaded: &mut Loaded<'_>,
) -> Result<(Vec<Item>, Vec<NamedLine>), Failure> {
    let count = loaded.spec.tests.len();
    let spec = format!("in order, {count} test{}", if count == 1 { "" } else { "s" });
    let mut items = vec![
        Item::new("spec", spec, needs(bench.workbook, loaded)),
        sizes::check(&loaded.spec),
        signatures::check(bench.workbook, loaded)?,
        kernels::stub(bench, loaded)?,
        {
            let solution = kernels::solution(bench, loaded)?;
            repeat::stated(bench, loaded, solution)?
        },
    ];
    let loaded = &*loaded;
    let drawn_cases = DrawnCases::new(&loaded.spec, SEED);
    items.push(bounds::check(&loaded.cases));
    items.push(drawn::check(bench, loaded, &drawn_cases)?);
    let (wrong, lines) = kernels::wrong(bench, loaded, &drawn_cases)?;
    items.extend([wrong, chapter::check(bench.workbook, loaded.puzzle)]);
    Ok((items, lines))
}

/// Problems with the puzzles to be solved before this one: they do not exist, or come later.
fn needs(workbook: &Workbook, loaded: &Loaded<'_>) -> Vec<String> {
    let own = loaded.puzzle.number;
    let known = |number: u32| workbook.puzzles().iter().any(|puzzle| puzzle.number == number);
    let problem = |&number: &u32| match number {
        later if later >= own => {
            Some(format!("needs {number}: only puzzles before {own} can be solved before it"))
        }
        missing if !known(missing) => Some(format!("needs {number}: that puzzle does not exist")),
        _ => None,
    };
    loaded.spec.needs.iter().filter_map(problem).collect()
}
