//! A formula at fixed sizes, and what can be asked of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bound::Approx;
use crate::error::{Error, Result, list};
use crate::exec::{Data, run};
use crate::ir::{Program, like};
use crate::lower::Lowered;
use crate::shape::Dims;
use crate::span::Span;
use crate::terms::{Term, expand};

/// Dense values by tensor name, row-major, in f64 (already rounded to the tensor's dtype).
pub type Values = BTreeMap<String, Vec<f64>>;

/// One element of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementRef {
    /// Tensor name, e.g. `grad(output)`.
    pub tensor: String,
    /// Coordinates, one for each axis.
    pub coords: Vec<i64>,
}

/// A formula at fixed sizes.
#[derive(Clone, Debug)]
pub struct Concrete {
    pub(crate) program: Arc<Program>,
    pub(crate) lowered: Lowered,
    pub(crate) dims: Dims,
}

impl Concrete {
    pub(crate) fn new(program: Arc<Program>, dims: &Dims) -> Result<Self> {
        let lowered = Lowered::new(&program, dims)?;
        Ok(Self { program, lowered, dims: dims.clone() })
    }

    /// Shape of a tensor (of `grad(X)` and `X'`: the shape of X).
    pub fn shape(&self, tensor: &str) -> Option<&[usize]> {
        let mut tensor = tensor;
        loop {
            if let Some(&id) = self.lowered.by_name.get(tensor) {
                return Some(&self.lowered.tensors[id].shape);
            }
            tensor = like(tensor)?;
        }
    }

    /// Evaluates all that `wanted` needs. Every input of it must be in `known` with the right length.
    /// Where `known` has a tensor that is assigned, statements read these values, without an error of
    /// their own; asked for itself, the tensor is computed. Bounds are for a kernel that accumulates in
    /// f32 (f64 for f64 tensors) in any order and stores in the tensor's dtype.
    ///
    /// # Errors
    /// Inputs that are missing or of the wrong length, names that the formula does not know, elements of
    /// integer tensors that lead a subscript outside, and data that leave a result open
    /// ([`Error::is_ambiguous`]).
    pub fn evaluate(
        &self,
        known: &Values,
        wanted: &[&str],
    ) -> Result<BTreeMap<String, Vec<Approx>>> {
        let ids = wanted.iter().map(|name| self.tensor(name)).collect::<Result<Vec<usize>>>()?;
        let mut computed = self.compute(known, &ids, &[])?;
        let mut results = BTreeMap::new();
        for (name, id) in wanted.iter().zip(ids) {
            let elements = match computed.results[id].take() {
                Some(elements) => elements,
                None => match results.get(*name) {
                    // Asked for twice.
                    Some(_) => continue,
                    None => self.input(known, id)?.iter().map(|&value| exact(value)).collect(),
                },
            };
            results.insert((*name).to_owned(), elements);
        }
        Ok(results)
    }

    /// One element, without computing the others of its tensor.
    ///
    /// # Errors
    /// As [`Self::evaluate`], and coordinates outside the tensor.
    pub fn element(&self, known: &Values, at: &ElementRef) -> Result<Approx> {
        let id = self.tensor(&at.tensor)?;
        let flat = self.flat(id, &at.coords)?;
        let Some(place) = self.statement(id) else {
            return Ok(exact(self.input(known, id)?[flat]));
        };
        let nests = &self.lowered.statements[place];
        let computed = self.compute(known, &[], &nests.reads)?;
        let elements = run(&self.lowered, nests, &computed.data, Some(&at.coords))?;
        elements.first().copied().ok_or_else(|| Error::new(Span::default(), "no such element"))
    }

    /// The terms of one element as a sum of products of input elements, at most `limit`;
    /// `Ok(None)` when there are more, or when the element is not such a sum.
    ///
    /// # Errors
    /// As [`Self::element`].
    pub fn terms(
        &self,
        known: &Values,
        at: &ElementRef,
        limit: usize,
    ) -> Result<Option<Vec<Term>>> {
        let id = self.tensor(&at.tensor)?;
        self.flat(id, &at.coords)?;
        expand(self, known, id, &at.coords, limit)
    }

    pub(crate) fn tensor(&self, name: &str) -> Result<usize> {
        self.lowered.by_name.get(name).copied().ok_or_else(|| {
            let known = list(self.lowered.by_name.keys().map(String::as_str));
            Error::new(Span::default(), format!("the formula has no tensor `{name}`"))
                .help(format!("its tensors: {known}"))
        })
    }

    /// The statement that assigns the tensor.
    pub(crate) fn statement(&self, tensor: usize) -> Option<usize> {
        self.lowered.statements.iter().position(|nests| nests.target == tensor)
    }

    /// The place of an element in its tensor's values.
    pub(crate) fn flat(&self, tensor: usize, coords: &[i64]) -> Result<usize> {
        let layout = &self.lowered.tensors[tensor];
        let inside = coords.len() == layout.shape.len()
            && coords.iter().zip(&layout.shape).all(|(&at, &size)| at >= 0 && at < size as i64);
        if !inside {
            let message = format!("`{}` has no element {coords:?}", layout.name);
            return Err(Error::new(Span::default(), message)
                .help(format!("its shape is {:?}", layout.shape)));
        }
        Ok(coords.iter().zip(&layout.strides).map(|(at, stride)| at * stride).sum::<i64>() as usize)
    }

    /// The values of an input.
    pub(crate) fn input<'a>(&self, known: &'a Values, tensor: usize) -> Result<&'a [f64]> {
        let layout = &self.lowered.tensors[tensor];
        let name = &layout.name;
        let Some(values) = known.get(name) else {
            return Err(Error::new(Span::default(), format!("the input `{name}` has no values"))
                .help(format!("inputs with values: {}", list(known.keys().map(String::as_str)))));
        };
        if values.len() != layout.len {
            let message = format!("`{name}` has {} values, not {}", values.len(), layout.len);
            return Err(Error::new(Span::default(), message)
                .help(format!("its shape is {:?}", layout.shape)));
        }
        Ok(values)
    }

    /// Runs the statements of `wanted`, and those that they or the tensors in `read` need: what `known` has needs none.
    pub(crate) fn compute<'a>(
        &self,
        known: &'a Values,
        wanted: &[usize],
        read: &[usize],
    ) -> Result<Computed<'a>> {
        let statements = &self.lowered.statements;
        let flags = |ids: &[usize]| {
            let mut flags = vec![false; self.lowered.tensors.len()];
            for &id in ids {
                flags[id] = true;
            }
            flags
        };
        let (mut runs, mut read) = (flags(wanted), flags(read));
        for nests in statements.iter().rev() {
            let target = nests.target;
            runs[target] |= read[target] && !self.is_known(known, target);
            if runs[target] {
                for &id in &nests.reads {
                    read[id] = true;
                }
            }
        }
        let mut data: Vec<Option<Data<'a>>> = vec![None; read.len()];
        let mut results = vec![None; read.len()];
        for id in (0..read.len()).filter(|&id| read[id] && self.is_known(known, id)) {
            data[id] = Some(Data::exact(self.input(known, id)?));
        }
        for nests in statements.iter().filter(|nests| runs[nests.target]) {
            let elements = run(&self.lowered, nests, &data, None)?;
            data[nests.target].get_or_insert_with(|| Data::computed(&elements));
            results[nests.target] = Some(elements);
        }
        Ok(Computed { data, results })
    }

    /// Are the values that statements read those of `known`?
    pub(crate) fn is_known(&self, known: &Values, tensor: usize) -> bool {
        self.statement(tensor).is_none() || known.contains_key(&self.lowered.tensors[tensor].name)
    }
}

/// By tensor; only what was needed.
pub(crate) struct Computed<'a> {
    pub data: Vec<Option<Data<'a>>>,
    results: Vec<Option<Vec<Approx>>>,
}

/// A value that was given.
fn exact(value: f64) -> Approx {
    Approx { value, bound: 0.0, magnitude: value.abs(), terms: 1 }
}
