//! A formula at fixed sizes, and the queries on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::evaluate::cost::{Cost, cost, gather_steps};
use crate::evaluate::data::{Results, TensorData, Values};
use crate::evaluate::parallel::in_parallel;
use crate::evaluate::program::{Computed, compute, compute_for, input, steps_for};
use crate::evaluate::sampling::sharpen;
use crate::evaluate::statement::run_statement;
use crate::integer::evaluate::{Dims, evaluate_size};
use crate::lower::nest::{LoweredProgram, LoweredStatement, TensorId};
use crate::lower::program::lower;
use crate::program::ir::{Program, base_tensor};
use crate::rounding::bound::Approx;
use crate::terms::expansion::{ElementRef, Source, Term, expand};

/// So many elements of a tensor are computed one by one in any case.
const FEW: usize = 8;

/// The work of an evaluation that [`SizedFormula::evaluate_sharply`] repeats, at most.
const MAX_SAMPLED_STEPS: u64 = 1 << 21;

/// A formula at fixed sizes: it can be evaluated, and every plain subscript is proved to stay inside its tensor.
#[derive(Clone, Debug)]
pub struct SizedFormula {
    program: Arc<Program>,
    lowered: LoweredProgram,
    dims: Dims,
}

impl SizedFormula {
    pub(crate) fn new(program: Arc<Program>, dims: &Dims) -> Result<Self> {
        let lowered = lower(&program, dims)?;
        Ok(Self { program, lowered, dims: dims.clone() })
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn dims(&self) -> &Dims {
        &self.dims
    }

    /// The shape of a tensor; of `grad(X)` and `X'` the shape of X, if the formula does not have them. `None` for a name that
    /// it does not know.
    pub fn shape(&self, tensor: &str) -> Option<&[usize]> {
        let mut tensor = tensor;
        loop {
            if let Some(&id) = self.lowered.by_name.get(tensor) {
                return Some(&self.lowered.tensors[id].shape);
            }
            tensor = base_tensor(tensor)?;
        }
    }

    /// The shape that a tensor would have at other sizes; `None` if one is missing, or for a name that the formula does not know.
    pub fn shape_at(&self, tensor: &str, dims: &Dims) -> Option<Vec<i64>> {
        let mut tensor = tensor;
        loop {
            if let Some(ty) = self.program.tensors.get(tensor) {
                let sizes = ty.shape.iter().map(|size| evaluate_size(&size.int, dims).ok());
                return sizes.collect();
            }
            tensor = base_tensor(tensor)?;
        }
    }

    /// The tensors that a tensor is computed from, directly or not, as far as the formula assigns them.
    pub fn sources(&self, tensor: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![tensor.to_owned()];
        while let Some(next) = open.pop() {
            for statement in self.program.statements.iter().filter(|s| s.target == next) {
                statement.reads(&mut |read| {
                    if found.insert(read.tensor.clone()) {
                        open.push(read.tensor.clone());
                    }
                });
            }
        }
        found
    }

    /// The cost of [`Self::evaluate`] for `wanted`; names that the formula does not know cost nothing.
    pub fn cost(&self, wanted: &[&str]) -> Cost {
        cost(&self.lowered, wanted)
    }

    /// The number of iterations of kernels that look for the terms of each element of the tensors `wanted`, where the formula adds terms
    /// to elements that data or several indices choose, as the gradient of a convolution does: the elements times the indices
    /// that they leave open. `is_size` says whether an index runs over a size that the formula is given, and not over one that
    /// follows from others: a kernel runs through a filter, and not through an output that is as long as the image without it.
    pub fn gather_steps(&self, wanted: &[&str], is_size: &dyn Fn(i64) -> bool) -> u64 {
        gather_steps(&self.lowered, wanted, is_size)
    }

    /// Evaluates the tensors `wanted`, row-major. Every input that they need must be in `known` with the right length.
    /// Where `known` has a tensor that is assigned, statements read these values, without an error of
    /// their own; asked for itself, the tensor is computed. Bounds are for a kernel that accumulates in
    /// f32 (f64 for f64 tensors) in any order and stores in the tensor's dtype.
    ///
    /// # Errors
    /// Inputs that are missing or of the wrong length, names that the formula does not know, elements of
    /// integer tensors that lead a subscript outside, and data for which rounding decides a result
    /// ([`Error::is_ambiguous`]).
    pub fn evaluate(
        &self,
        known: &Values,
        wanted: &[&str],
    ) -> Result<BTreeMap<String, Vec<Approx>>> {
        let ids = self.ids(wanted)?;
        let computed = compute(&self.lowered, known, &ids, &[])?;
        self.results(known, wanted, &ids, computed)
    }

    /// As [`Self::evaluate`], with narrower bounds where errors come through intermediate tensors: they are followed along all
    /// paths together, so that those cancel which cancel in every kernel. Where that would take too long, or the data do not
    /// allow it, the bounds remain. It takes as long as about ten evaluations.
    ///
    /// # Errors
    /// Those of [`Self::evaluate`].
    pub fn evaluate_sharply(
        &self,
        known: &Values,
        wanted: &[&str],
    ) -> Result<BTreeMap<String, Vec<Approx>>> {
        let ids = self.ids(wanted)?;
        let mut computed = compute(&self.lowered, known, &ids, &[])?;
        if self.cost(wanted).steps <= MAX_SAMPLED_STEPS {
            sharpen(&self.lowered, known, &ids, &mut computed.results);
        }
        self.results(known, wanted, &ids, computed)
    }

    fn ids(&self, names: &[&str]) -> Result<Vec<TensorId>> {
        names.iter().map(|name| self.lowered.tensor(name)).collect()
    }

    fn results(
        &self,
        known: &Values,
        wanted: &[&str],
        ids: &[TensorId],
        mut computed: Computed<'_>,
    ) -> Result<BTreeMap<String, Vec<Approx>>> {
        let mut results = BTreeMap::new();
        for (name, &id) in wanted.iter().zip(ids) {
            let elements = match computed.results[id].take() {
                Some(elements) => elements,
                // Asked for twice.
                None if results.contains_key(*name) => continue,
                None => {
                    let values = input(&self.lowered, known, id)?;
                    values.iter().map(|&value| given(value)).collect()
                }
            };
            results.insert((*name).to_owned(), elements);
        }
        Ok(results)
    }

    /// Evaluates one element, without computing the others of its tensor.
    ///
    /// # Errors
    /// Those of [`Self::evaluate`], and coordinates outside the tensor.
    pub fn element(&self, known: &Values, at: &ElementRef) -> Result<Approx> {
        let elements = self.elements(known, &at.tensor, std::slice::from_ref(&at.coords))?;
        elements.first().copied().ok_or_else(|| Error::unplaced("no such element"))
    }

    /// About how many iterations it takes to evaluate some elements of a tensor, beyond what it takes for any; `u64::MAX` if they cannot be
    /// evaluated, because they read the whole of a tensor that is too large. `known` has the
    /// intermediate tensors that are given.
    ///
    /// # Errors
    /// Those of [`Self::element`].
    pub fn steps_of(&self, known: &Values, tensor: &str, at: &[Vec<i64>]) -> Result<u64> {
        let (id, flats) = self.flats(tensor, at)?;
        let statement = self.lowered.statement_of(id).map(|i| &self.lowered.statements[i]);
        Ok(statement.map_or(0, |it| steps_for(&self.lowered, known, (it, flats))))
    }

    fn flats(&self, tensor: &str, at: &[Vec<i64>]) -> Result<(TensorId, Vec<usize>)> {
        let id = self.lowered.tensor(tensor)?;
        let flats = at.iter().map(|coords| self.lowered.tensors[id].flat(coords));
        Ok((id, flats.collect::<Result<_>>()?))
    }

    /// Evaluates some elements of a tensor, by their coordinates.
    ///
    /// # Errors
    /// Those of [`Self::element`].
    pub fn elements(&self, known: &Values, tensor: &str, at: &[Vec<i64>]) -> Result<Vec<Approx>> {
        Ok(self.elements_of(known, &[(tensor, at)])?.swap_remove(0))
    }

    /// Evaluates some elements of each of several tensors. What they read is computed once for all, and where that is too much
    /// as a whole, only as far as they read it.
    ///
    /// # Errors
    /// Those of [`Self::element`].
    pub fn elements_of(
        &self,
        known: &Values,
        wanted: &[(&str, &[Vec<i64>])],
    ) -> Result<Vec<Vec<Approx>>> {
        let mut computed = Vec::new();
        for (tensor, at) in wanted {
            let (id, flats) = self.flats(tensor, at)?;
            if let Some(statement) = self.lowered.statement_of(id) {
                computed.push((&self.lowered.statements[statement], flats));
            }
        }
        let data = compute_for(&self.lowered, known, &computed)?;
        let of = |&(tensor, at): &(&str, &[Vec<i64>])| {
            let (id, flats) = self.flats(tensor, at)?;
            let Some(statement) = self.lowered.statement_of(id) else {
                let values = input(&self.lowered, known, id)?;
                return Ok(flats.into_iter().map(|flat| given(values[flat])).collect());
            };
            self.computed_elements(&self.lowered.statements[statement], &data, at, &flats)
        };
        wanted.iter().map(of).collect()
    }

    /// Elements of a statement's target, at the coordinates `at` and positions `flats`.
    fn computed_elements(
        &self,
        statement: &LoweredStatement,
        data: &[Option<TensorData<'_>>],
        at: &[Vec<i64>],
        flats: &[usize],
    ) -> Result<Vec<Approx>> {
        if flats.len() > FEW && statement.is_scattered_by_data() {
            let all = run_statement(&self.lowered, statement, data, None)?;
            return Ok(flats.iter().map(|&flat| all[flat]).collect());
        }
        let one = |i: usize| {
            let found = run_statement(&self.lowered, statement, data, Some(&at[i]))?;
            found.first().copied().ok_or_else(|| Error::unplaced("no such element"))
        };
        let found = if at.len() > FEW {
            in_parallel(at.len(), one)
        } else {
            (0..at.len()).map(one).collect()
        };
        found.into_iter().collect()
    }

    /// The terms of one element as a sum of products of input elements, at most `limit`;
    /// `Ok(None)` when there are more, or when the element is not such a sum.
    ///
    /// # Errors
    /// Those of [`Self::element`].
    pub fn terms(
        &self,
        known: &Values,
        at: &ElementRef,
        limit: usize,
    ) -> Result<Option<Vec<Term>>> {
        self.terms_with(known, &|_| None, at, limit)
    }

    /// [`Self::terms`], where `results` gives what [`Self::evaluate`] computed before from the same `known`, by the names of
    /// the tensors. A choice by a value of another statement (a maximum, a condition) then costs no evaluation of all before it.
    ///
    /// # Errors
    /// Those of [`Self::element`].
    pub fn terms_with<'a>(
        &'a self,
        known: &'a Values,
        results: Results<'a>,
        at: &ElementRef,
        limit: usize,
    ) -> Result<Option<Vec<Term>>> {
        let Self { program, lowered, dims } = self;
        let id = lowered.tensor(&at.tensor)?;
        lowered.tensors[id].flat(&at.coords)?;
        expand(Source { program, lowered, dims, known, results }, id, &at.coords, limit)
    }
}

/// A value that was given: a single term without an error.
fn given(value: f64) -> Approx {
    Approx { value, bound: 0.0, magnitude: value.abs(), terms: 1 }
}
