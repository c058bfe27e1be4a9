//! Explains an element: the products that a kernel added beside those of the formula, over a whole test.

use crate::expansion::{self, ElementTerms};
use crate::judgement;
use device::backend::{Backend, Run};
use device::finding::{Finding, ThreadId};
use device::provenance::Place;
use device::vm::VmBackend;
use device::vm::expansion::{Effort, Followed};
use diagnostic::{Failure, FailureKind};
use puzzle::case::Case;
use puzzle::tensor::Tensor;

/// An element and, beyond it, all outputs of a test.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Name of the test.
    pub test: String,
    /// Seed of its data.
    pub seed: u64,
    /// The tensor that the element belongs to.
    pub tensor: Tensor,
    /// Its position in row-major order.
    pub flat: usize,
    /// The value that the formula gives.
    pub expected: f64,
    /// The kernel's; None if it never wrote the element.
    pub got: Option<f64>,
    /// It is as near to the expected value as a correct kernel's is.
    pub correct: bool,
    /// The products; None where they could not be followed or compared.
    pub terms: Option<ElementTerms>,
    /// The thread that wrote it last, where its products could be followed.
    pub writer: Option<ThreadId>,
    /// All elements of all outputs.
    pub all: Comparison,
    /// Mistakes of the run.
    pub findings: Vec<Finding>,
    /// Whether the whole test passes.
    pub passed: bool,
}

/// How many elements are made of the expected products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// How many are made of the same products as the formula.
    pub equal: usize,
    /// How many are made of other products.
    pub different: usize,
    /// How many cannot be compared.
    pub unknown: usize,
    /// Neither kernel nor formula looks at values to decide what to add.
    pub general: bool,
}

impl Comparison {
    /// Right for every input of these sizes, but for rounding.
    pub fn proves(&self) -> bool {
        self.general && self.equal > 0 && self.different == 0 && self.unknown == 0
    }
}

/// Products that are compared of all elements: about a second.
const MAX_WORK: usize = 500_000;

/// Explains `at` of a kernel in `source` after a `run` of the case; by default the first wrong element, or the one with most
/// products if all are correct. It runs the case once more, to follow its values.
///
/// # Errors
/// The machine cannot run the case, or it has no output.
pub fn explain(
    vm: &VmBackend,
    case: &Case,
    run: Run,
    at: Option<Place>,
    source: &str,
) -> Result<Explanation, Failure> {
    let verdict = judgement::judge(case, &run);
    let followed = vm.follow(case, Effort::LONG, None)?;
    // What a race leaves behind holds for one order of the threads.
    let general = is_float(case) && verdict.findings.is_empty();
    let mut all = Comparison { general, ..Comparison::default() };
    let mut work = 0;
    let mut first_wrong = None;
    let mut longest: Option<(usize, Place)> = None;
    for (tensor, given) in case.tensors.iter().enumerate() {
        let Some((wanted, _)) = given.wanted() else { continue };
        for flat in 0..wanted.len() {
            let place = Place { tensor, flat };
            let compared = (work < MAX_WORK).then(|| terms(case, &run, followed.as_ref(), place));
            let Some(terms) = compared.flatten() else {
                all.unknown += 1;
                continue;
            };
            work += terms.rows.len() + 1;
            if !terms.equal() {
                all.different += 1;
                first_wrong.get_or_insert(place);
                continue;
            }
            all.equal += 1;
            let formula = || expansion::formula_is_general(case, &wanted, flat);
            all.general = all.general && terms.general && formula();
            if longest.is_none_or(|(most, _)| terms.rows.len() > most) {
                longest = Some((terms.rows.len(), place));
            }
        }
    }
    let first = || case.tensors.iter().position(|t| t.wanted().is_some());
    let place = at
        .or_else(|| {
            judgement::element_to_trace(case, &verdict).map(|(tensor, flat)| Place { tensor, flat })
        })
        .or(first_wrong)
        .or(longest.map(|(_, place)| place))
        .or_else(|| Some(Place { tensor: first()?, flat: 0 }))
        .ok_or_else(|| {
            Failure::new(FailureKind::Usage, "the test has no output", "choose another test")
        })?;
    let given = &case.tensors[place.tensor];
    let result = &run.tensors[place.tensor];
    let Some((wanted, expected)) = given.wanted() else {
        let title = format!("`{}` is an input of the kernel", given.tensor.name);
        return Err(Failure::new(FailureKind::Usage, title, "name an element of an output"));
    };
    let mut shown = terms(case, &run, followed.as_ref(), place);
    let sum = followed.as_ref().and_then(|f| f.sum(case, place));
    if let (Some(terms), Some(sum)) = (&mut shown, &sum) {
        expansion::name_line(terms, case, &wanted, place.flat, sum, source);
    }
    Ok(Explanation {
        test: case.test.clone(),
        seed: case.seed,
        flat: place.flat,
        expected: expected[place.flat].value,
        correct: !verdict.diffs.iter().any(|d| d.tensor == wanted && d.wrong[place.flat]),
        got: result.written[place.flat].then_some(result.values[place.flat]),
        terms: shown,
        writer: sum.map(|sum| sum.writer),
        all,
        passed: verdict.passed(),
        tensor: wanted,
        findings: run.findings,
    })
}

/// Integers among the inputs choose elements.
fn is_float(case: &Case) -> bool {
    case.tensors.iter().all(|t| t.tensor.dtype.is_float())
}

fn terms(case: &Case, run: &Run, followed: Option<&Followed>, at: Place) -> Option<ElementTerms> {
    let result = &run.tensors[at.tensor];
    let sum = followed?.sum(case, at).filter(|_| result.written[at.flat])?;
    let (wanted, _) = case.tensors[at.tensor].wanted()?;
    expansion::element_terms(case, &wanted, at.flat, &sum, result.values[at.flat])
}

/// The case to explain, with its run: the first that fails by its values, else the first that fails, else the one with the
/// smallest tensors. Each case runs once at most; None if there is no case.
///
/// # Errors
/// The machine cannot run one of them.
fn first_to_explain<'c>(
    vm: &VmBackend,
    cases: &'c [Case],
) -> Result<Option<(&'c Case, Run)>, Failure> {
    let mut first_failing = None;
    let mut smallest: Option<(&Case, Run)> = None;
    for case in cases {
        let run = vm.run(case)?;
        let verdict = judgement::judge(case, &run);
        if verdict.diffs.iter().any(|diff| diff.terms.mismatch.got.is_some()) {
            return Ok(Some((case, run)));
        }
        if !verdict.passed() {
            first_failing.get_or_insert((case, run));
        } else if smallest.as_ref().is_none_or(|(least, _)| case.elements() < least.elements()) {
            smallest = Some((case, run));
        }
    }
    Ok(first_failing.or(smallest))
}

/// The first case with its run, where a test was chosen by name; otherwise the one to explain.
///
/// # Errors
/// The machine cannot run it.
pub fn case_to_explain<'c>(
    vm: &VmBackend,
    cases: &'c [Case],
    is_chosen: bool,
) -> Result<Option<(&'c Case, Run)>, Failure> {
    match cases.first() {
        Some(case) if is_chosen => Ok(Some((case, vm.run(case)?))),
        _ => first_to_explain(vm, cases),
    }
}

/// Finds an element by its name, such as `grad_input[0,0,2,2]` or `grad(input)[0, 0, 2, 2]`.
///
/// # Errors
/// The case has no such output, or the tensor no such element.
pub fn place(case: &Case, text: &str) -> Result<Place, Failure> {
    let usage = |title: String, help: String| Failure::new(FailureKind::Usage, title, help);
    let outputs: Vec<&str> = case
        .tensors
        .iter()
        .filter(|t| t.wanted().is_some())
        .map(|t| t.tensor.name.as_str())
        .collect();
    let outputs = outputs.join(", ");
    let (name, coords) =
        text.trim().strip_suffix(']').and_then(|text| text.split_once('[')).ok_or_else(|| {
            let help = format!("write it as in \"{outputs}[0, 1]\"");
            usage(format!("`{text}` is not an element"), help)
        })?;
    // In a kernel the cotangent grad(x) is called grad_x.
    let plain = |name: &str| name.replace('(', "_").replace([')', ' ', '\''], "");
    let tensor = case
        .tensors
        .iter()
        .position(|t| t.wanted().is_some() && plain(&t.tensor.name) == plain(name))
        .ok_or_else(|| {
            usage(
                format!("the test has no output `{}`", name.trim()),
                format!("its outputs: {outputs}"),
            )
        })?;
    let shape = &case.tensors[tensor].tensor;
    let coords: Result<Vec<i64>, _> = if coords.trim().is_empty() {
        Ok(Vec::new())
    } else {
        coords.split(',').map(|coord| coord.trim().parse()).collect()
    };
    let flat = coords.ok().and_then(|coords| shape.flat(&coords)).ok_or_else(|| {
        usage(
            format!("`{}` has no element `{text}`", shape.name),
            format!("its shape in this test is {:?}", shape.shape),
        )
    })?;
    Ok(Place { tensor, flat })
}
