//! Checks that stub and solution have the same signature: a student who compares them must find the same kernel.

use super::bench::{Loaded, read};
use super::item::Item;
use cpptext::functions::{Function, functions};
use diagnostic::Failure;
use puzzle::workbook::Workbook;

pub fn check(workbook: &Workbook, loaded: &Loaded<'_>) -> Result<Item, Failure> {
    let stub = read(workbook, &loaded.puzzle.stub)?;
    let (stubs, solutions) = (functions(&stub), functions(&loaded.solution));
    let mut problems = Vec::new();
    for launch in &loaded.spec.launches {
        let (stub, solution) =
            (written(&stubs, &launch.kernel), written(&solutions, &launch.kernel));
        if let (Some(stub), Some(solution)) = (stub, solution)
            && parameters(stub) != parameters(solution)
        {
            problems.push(format!(
                "the parameters of {} differ: the stub has ({}), the solution ({})",
                launch.kernel,
                parameters(stub).join(", "),
                parameters(solution).join(", ")
            ));
        }
    }
    Ok(Item::new("signatures", "the same in stub and solution".to_owned(), problems))
}

fn written<'f, 'a>(functions: &'f [Function<'a>], name: &str) -> Option<&'f Function<'a>> {
    functions.iter().find(|f| f.name == name && f.has_body)
}

/// The types and names of the parameters, with single blanks.
fn parameters(function: &Function<'_>) -> Vec<String> {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    function.params.iter().map(|p| squeezed(p.text)).collect()
}
