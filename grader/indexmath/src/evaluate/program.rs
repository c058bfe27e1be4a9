//! Runs the statements that a result needs.

use crate::error::{Error, Result, list};
use crate::evaluate::cost::iterations;
use crate::evaluate::data::{TensorData, Values};
use crate::evaluate::demand::{Demand, Wanted, demands, marked, steps};
use crate::evaluate::parallel::in_parallel;
use crate::evaluate::statement::run_statement;
use crate::lower::nest::{LoweredProgram, LoweredStatement, TensorId};
use crate::rounding::bound::Approx;
use crate::span::Span;

/// The number of iterations of a loop nest, at most.
const MAX_ITERATIONS: u64 = 1 << 28;

/// What was computed, by tensor; only what was needed.
pub(crate) struct Computed<'a> {
    /// The data that statements read.
    pub data: Vec<Option<TensorData<'a>>>,
    /// The elements of the tensors that were computed.
    pub results: Vec<Option<Vec<Approx>>>,
}

/// Runs the statements of the tensors `wanted`, and those that they or the tensors in `read` need: a tensor that `known` has
/// needs none.
///
/// # Errors
/// Inputs that are missing or of the wrong length, and the errors of [`run_statement`].
pub(crate) fn compute<'a>(
    lowered: &LoweredProgram,
    known: &'a Values,
    wanted: &[TensorId],
    read: &[TensorId],
) -> Result<Computed<'a>> {
    let Needed { runs, read } = needed(lowered, known, wanted, read);
    for statement in lowered.statements.iter().filter(|statement| runs[statement.target]) {
        check_iterations(lowered, statement)?;
    }
    let mut data = given(lowered, known, &read)?;
    let mut results = vec![None; read.len()];
    for statement in lowered.statements.iter().filter(|statement| runs[statement.target]) {
        let elements = run_statement(lowered, statement, &data, None)?;
        data[statement.target].get_or_insert_with(|| TensorData::computed(&elements));
        results[statement.target] = Some(elements);
    }
    Ok(Computed { data, results })
}

/// The data of all that statements read for some elements of their targets. Where a tensor on the way is too large to be
/// computed as a whole, only those elements of each are computed that are needed; the others are zeros.
///
/// # Errors
/// Those of [`compute`].
pub(crate) fn compute_for<'a>(
    lowered: &LoweredProgram,
    known: &'a Values,
    wanted: &[Wanted<'_>],
) -> Result<Vec<Option<TensorData<'a>>>> {
    let reads = reads(wanted);
    if !is_heavy(lowered, known, &reads) {
        return Ok(compute(lowered, known, &[], &reads)?.data);
    }
    compute_parts(lowered, known, wanted)
}

/// The tensors that statements read.
fn reads(wanted: &[Wanted<'_>]) -> Vec<TensorId> {
    wanted.iter().flat_map(|(statement, _)| statement.reads.iter().copied()).collect()
}

/// As [`compute_for`], whatever the tensors on the way take.
///
/// # Errors
/// Those of [`compute`].
pub(crate) fn compute_parts<'a>(
    lowered: &LoweredProgram,
    known: &'a Values,
    wanted: &[Wanted<'_>],
) -> Result<Vec<Option<TensorData<'a>>>> {
    let Needed { runs, read } = needed(lowered, known, &[], &reads(wanted));
    let demands = demands(lowered, &runs, wanted);
    let mut data = given(lowered, known, &read)?;
    for statement in lowered.statements.iter().filter(|statement| runs[statement.target]) {
        let layout = &lowered.tensors[statement.target];
        let flats = match &demands[statement.target] {
            Demand::Nothing => continue,
            Demand::All => {
                check_iterations(lowered, statement)?;
                let elements = run_statement(lowered, statement, &data, None)?;
                data[statement.target] = Some(TensorData::computed(&elements));
                continue;
            }
            Demand::Some(marks, _) => marked(marks),
        };
        let found = in_parallel(flats.len(), |i| {
            run_statement(lowered, statement, &data, Some(&layout.coords(flats[i])))
        });
        let nothing = Approx { value: 0.0, bound: 0.0, magnitude: 0.0, terms: 0 };
        let mut elements = vec![nothing; layout.len];
        for (flat, found) in flats.into_iter().zip(found) {
            elements[flat] = found?[0];
        }
        data[statement.target] = Some(TensorData::computed(&elements));
    }
    Ok(data)
}

/// Whether one of the tensors `read` takes too many iterations as a whole.
fn is_heavy(lowered: &LoweredProgram, known: &Values, read: &[TensorId]) -> bool {
    let Needed { runs, .. } = needed(lowered, known, &[], read);
    let mut needed = lowered.statements.iter().filter(|statement| runs[statement.target]);
    needed.any(|statement| check_iterations(lowered, statement).is_err())
}

/// About how many iterations [`compute_for`] and the elements themselves take, less those that they would take for any elements;
/// `u64::MAX` where they read the whole of a tensor that is too large for that.
pub(crate) fn steps_for(lowered: &LoweredProgram, known: &Values, wanted: Wanted<'_>) -> u64 {
    let (statement, flats) = &wanted;
    let own = steps(lowered, statement, flats.len());
    if !is_heavy(lowered, known, &statement.reads) {
        return own;
    }
    let Needed { runs, .. } = needed(lowered, known, &[], &statement.reads);
    let demands = demands(lowered, &runs, &[wanted]);
    let of = |statement: &LoweredStatement| match demands[statement.target] {
        Demand::All if check_iterations(lowered, statement).is_err() => u64::MAX,
        Demand::Nothing | Demand::All => 0,
        Demand::Some(_, count) => steps(lowered, statement, count),
    };
    lowered.statements.iter().map(of).fold(own, u64::saturating_add)
}

/// What a result takes, by tensor.
pub(crate) struct Needed {
    /// The tensors whose statements run.
    pub runs: Vec<bool>,
    /// The tensors that are read.
    pub read: Vec<bool>,
}

/// What the tensors `wanted` take, and those in `read`.
pub(crate) fn needed(
    lowered: &LoweredProgram,
    known: &Values,
    wanted: &[TensorId],
    read: &[TensorId],
) -> Needed {
    let flags = |ids: &[TensorId]| {
        let mut flags = vec![false; lowered.tensors.len()];
        for &id in ids {
            flags[id] = true;
        }
        flags
    };
    let (mut runs, mut read) = (flags(wanted), flags(read));
    for statement in lowered.statements.iter().rev() {
        let target = statement.target;
        runs[target] |= read[target] && !is_known(lowered, known, target);
        if runs[target] {
            for &id in &statement.reads {
                read[id] = true;
            }
        }
    }
    Needed { runs, read }
}

/// The data of the tensors in `read` that `known` has.
///
/// # Errors
/// Values that are missing or of the wrong length.
pub(crate) fn given<'a>(
    lowered: &LoweredProgram,
    known: &'a Values,
    read: &[bool],
) -> Result<Vec<Option<TensorData<'a>>>> {
    let mut data: Vec<Option<TensorData<'a>>> = vec![None; read.len()];
    for id in (0..read.len()).filter(|&id| read[id] && is_known(lowered, known, id)) {
        data[id] = Some(TensorData::exact(input(lowered, known, id)?));
    }
    Ok(data)
}

/// Refuses a statement that would be evaluated for minutes or more.
///
/// # Errors
/// A loop nest with more than [`MAX_ITERATIONS`] iterations.
fn check_iterations(lowered: &LoweredProgram, statement: &LoweredStatement) -> Result<()> {
    for nest in statement.contributions.iter().flat_map(|contribution| &contribution.nests) {
        let iterations = iterations(lowered, &nest.loops);
        if iterations <= MAX_ITERATIONS {
            continue;
        }
        let name = &lowered.tensors[statement.target].name;
        let longest = nest.loops.iter().max_by_key(|&&id| lowered.ranges[id]);
        let (span, range) = longest.map_or((Span::default(), String::new()), |&id| {
            let range =
                format!("; `{}` alone has {} values", lowered.names[id], lowered.ranges[id]);
            (lowered.spans[id], range)
        });
        let message = format!("`{name}` would take {iterations} iterations{range}");
        return Err(Error::new(span, message)
            .help("a statement may take 2^28; choose smaller sizes, or a shorter range"));
    }
    Ok(())
}

/// Whether the values that statements read of a tensor are those of `known`.
pub(crate) fn is_known(lowered: &LoweredProgram, known: &Values, tensor: TensorId) -> bool {
    lowered.statement_of(tensor).is_none() || known.contains_key(&lowered.tensors[tensor].name)
}

/// The values of a tensor in `known`.
///
/// # Errors
/// Values that are missing or of the wrong length.
pub(crate) fn input<'a>(
    lowered: &LoweredProgram,
    known: &'a Values,
    tensor: TensorId,
) -> Result<&'a [f64]> {
    let layout = &lowered.tensors[tensor];
    let name = &layout.name;
    let Some(values) = known.get(name) else {
        return Err(Error::unplaced(format!("the input `{name}` has no values"))
            .help(format!("inputs with values: {}", list(known.keys().map(String::as_str)))));
    };
    if values.len() != layout.len {
        let message = format!("`{name}` has {} values, not {}", values.len(), layout.len);
        return Err(Error::unplaced(message).help(format!("its shape is {:?}", layout.shape)));
    }
    Ok(values)
}
