//! All checks of a puzzle, in the order in which they are reported.

use super::bench::{Bench, Loaded};
use super::item::Item;
use super::{bounds, chapter, drawn, kernels, repeat, signatures, sizes};
use diagnostic::Failure;
use puzzle::workbook::Workbook;

/// Runs all checks except mutation testing.
///
/// # Errors
/// The machine lacks something: a compiler, space for temporary files.
pub fn all(bench: &Bench<'_>, loaded: &mut Loaded<'_>) -> Result<Vec<Item>, Failure> {
    let count = loaded.spec.tests.len();
    let spec = format!("in order, {count} test{}", if count == 1 { "" } else { "s" });
    Ok(vec![
        Item::new("spec", spec, needs(bench.workbook, loaded)),
        sizes::check(&loaded.spec),
        signatures::check(bench.workbook, loaded)?,
        kernels::stub(bench, loaded)?,
        {
            let solution = kernels::solution(bench, loaded)?;
            repeat::stated(bench, loaded, solution)?
        },
        bounds::check(&loaded.cases),
        drawn::check(bench, loaded)?,
        kernels::wrong(bench, loaded)?,
        chapter::check(bench.workbook, loaded.puzzle),
    ])
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
