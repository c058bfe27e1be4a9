//! `[[test]]`: sizes, kernels and data.

use super::arg::Purpose;
use super::check::{Check, Tolerance, read_check, read_tolerance};
use super::data::{Data, read_data};
use super::expect::{Expect, read_expect};
use super::fault::{Checked, Fault};
use super::kind::{At, DataKind};
use super::launch::{Call, Launch};
use super::sizes::Sizes;
use super::tensors::{Tensors, grad_of, prime};
use super::workspace;
use indexmath::{Dims, SizedFormula};
use specfile::RawTest;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use tensor::Tensor;
use toml::Spanned;

/// The largest number of elements of all tensors of a test. It bounds the memory that a spec can ask for.
const MAX_ELEMENTS: u64 = 1 << 23;

/// The largest number of multiplications and additions of a test, about a second's worth.
const MAX_STEPS: u64 = 1 << 30;

/// The largest number of multiplications and additions of a numerical gradient.
const MAX_NUMERICAL_STEPS: u64 = 1 << 28;

/// What a test may ask for, and what it gets where it asks for nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// The largest number of elements of all tensors.
    pub elements: u64,
    /// The largest number of multiplications and additions.
    pub steps: u64,
    /// The largest number of intermediate values.
    pub values: u64,
    /// The data of inputs that are not named.
    pub data: DataKind,
}

/// The terms of an ordinary test.
pub(super) const ORDINARY: Terms = Terms {
    elements: MAX_ELEMENTS,
    steps: MAX_STEPS,
    values: 2 * MAX_ELEMENTS,
    data: DataKind::Integers,
};

/// A test of a spec: everything but the random data.
#[derive(Clone, Debug)]
pub struct Test {
    /// The name, unique in its spec.
    pub name: String,
    /// One sentence for the student.
    pub about: Option<String>,
    /// The values of all sizes, free and derived, by name.
    pub dims: Dims,
    /// The names of the sizes that its launches or their tensors use: in the order of the file, free ones first.
    pub used_dims: Vec<String>,
    /// The formula at these sizes.
    pub formula: SizedFormula,
    /// The forward formula with the gradients that the spec states, at these sizes.
    pub closed: Option<SizedFormula>,
    /// The tensors that the launches take, in order of appearance. A tensor that one kernel computes and another is
    /// given has two.
    pub buffers: Vec<Buffer>,
    /// The launches at these sizes, in the order in which they run.
    pub calls: Vec<Call>,
    /// The data of each input of the formula.
    pub data: BTreeMap<String, Data>,
    /// Every input of the formula with its type and shape, except those that its launches write themselves.
    pub inputs: Vec<Tensor>,
    /// What the same launches run before, at other sizes and on other data; its results do not count.
    pub before: Option<Box<Test>>,
    /// Whether that runs in the memory of the test itself, which holds the data of the test only then: at the same sizes.
    pub in_same_memory: bool,
    /// The values computed by hand.
    pub expect: Vec<Expect>,
    /// Where the expected values come from.
    pub check: Check,
    /// A tolerance that replaces the derived bound.
    pub tolerance: Option<Tolerance>,
    /// True for a drawn case, in which infinities that the formula only copies need no `expect`: the maximum of a window
    /// in the padding, say.
    pub is_drawn: bool,
    /// Where the file has its name.
    pub place: Range<usize>,
    /// Where the file gives the sizes.
    pub(super) dims_place: Range<usize>,
}

/// A tensor in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Its name, element type and shape.
    pub tensor: Tensor,
    /// How the launches use it.
    pub purpose: Purpose,
}

impl Buffer {
    /// The name (of the formula) of the tensor that is computed in it: `weights'` for one that is changed in place.
    pub fn computed(&self) -> Option<String> {
        match self.purpose {
            Purpose::Output => Some(self.tensor.name.clone()),
            Purpose::InPlace => Some(prime(&self.tensor.name)),
            Purpose::Input | Purpose::Given | Purpose::Result | Purpose::Workspace => None,
        }
    }
}

impl Test {
    /// The names (of the formula) of the tensors that its launches compute.
    pub fn outputs(&self) -> Vec<String> {
        self.buffers.iter().filter_map(Buffer::computed).collect()
    }

    /// The inputs of the formula that its launches write themselves.
    pub fn results(&self) -> impl Iterator<Item = &Tensor> {
        self.buffers.iter().filter(|b| b.purpose == Purpose::Result).map(|b| &b.tensor)
    }

    /// The computed tensors whose values kernels find in their buffers.
    pub fn given(&self, tensors: &Tensors) -> Vec<&str> {
        let found = self.buffers.iter().filter(|b| b.purpose != Purpose::Output);
        found.map(|b| b.tensor.name.as_str()).filter(|name| tensors.is_computed(name)).collect()
    }

    pub(crate) fn read(
        text: &str,
        raw: &RawTest,
        sizes: &Sizes,
        tensors: &Tensors,
        launches: &[Launch],
    ) -> Checked<Self> {
        let mut read = Self::read_on((text, sizes), raw, (tensors, launches), ORDINARY)?;
        read.check_work(tensors, ORDINARY)?;
        if let Some(dims) = &raw.before {
            let before = RawTest {
                // The name decides about random data.
                name: Spanned::new(raw.name.span(), format!("{}_before", read.name)),
                about: None,
                kernels: raw.kernels.clone(),
                dims: dims.clone(),
                before: None,
                data: raw.data.clone(),
                expect: BTreeMap::new(),
                check: None,
                tolerance: None,
            };
            let mut before = Self::read(text, &before, sizes, tensors, launches)?;
            before.is_drawn = true;
            read.in_same_memory = before.dims == read.dims;
            read.before = Some(Box::new(before));
        }
        Ok(read)
    }

    /// Reads a test on other terms than the ordinary ones. How long its formula takes is not looked at.
    pub(super) fn read_on(
        (text, sizes): (&str, &Sizes),
        raw: &RawTest,
        (tensors, launches): (&Tensors, &[Launch]),
        terms: Terms,
    ) -> Checked<Self> {
        let name = raw.name.get_ref();
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(Fault::at(raw.name.span(), "this is not the name of a test")
                .help("a name has no spaces, so that it can be typed after --test"));
        }
        let dims_place = raw.dims.span();
        let dims = sizes
            .derive(text, free_dims(&raw.dims, sizes)?)
            .map_err(|fault| fault.also(dims_place.clone(), "at these sizes"))?;
        tensors.check_shapes(text, &dims, &dims_place, terms.elements)?;
        let formula = tensors.formula.at(&dims).map_err(|e| {
            Fault::math(text, &tensors.place, e).also(dims_place.clone(), "at these sizes")
        })?;
        let closed = tensors.closed.as_ref().map(|closed| {
            let at = closed.formula.at(&dims);
            at.map_err(|e| {
                Fault::math(text, &closed.place, e).also(dims_place.clone(), "at these sizes")
            })
        });
        let closed = closed.transpose()?;
        let mut shapes = BTreeMap::new();
        for name in tensors.argument_names() {
            shapes.insert(name.to_owned(), tensors.at(text, name, &dims)?);
        }
        let chosen = chosen(raw, launches)?;
        workspace::check_test(chosen.iter().map(|&i| &launches[i]), tensors, &raw.name.span())?;
        let mut buffers: Vec<Buffer> = Vec::new();
        for (name, purpose) in chosen.iter().flat_map(|&i| launches[i].buffers(tensors)) {
            let taken = buffers.iter().any(|b| b.tensor.name == name && b.purpose == purpose);
            if !taken && let Some(tensor) = shapes.get(name) {
                buffers.push(Buffer { tensor: tensor.clone(), purpose });
            }
        }
        let position = |name: &str, purpose: Purpose| {
            buffers.iter().position(|b| b.tensor.name == name && b.purpose == purpose)
        };
        let results: BTreeSet<&str> = chosen.iter().flat_map(|&i| launches[i].results()).collect();
        for &i in &chosen {
            launches[i].check_results(tensors, &results)?;
        }
        let mut calls = Vec::new();
        for &i in &chosen {
            calls.push(launches[i].at(i, (text, tensors), &dims, position, &dims_place)?);
        }
        let used = |size: &&str| chosen.iter().any(|&i| launches[i].uses_dim(size, tensors));
        let used_dims = sizes.names().filter(used).map(str::to_owned).collect();
        let at = At { text, sizes, dims: &dims, place: &dims_place };
        let inputs: Vec<Tensor> = tensors
            .inputs
            .iter()
            .filter(|input| !results.contains(input.as_str()))
            .filter_map(|input| shapes.get(input).cloned())
            .collect();
        let data = read_data(&at, raw.data.as_ref(), terms.data, (tensors, &inputs))?;
        let mut read = Self {
            name: name.clone(),
            about: raw.about.clone(),
            data,
            before: None,
            in_same_memory: false,
            expect: Vec::new(),
            inputs,
            check: Check::Formula,
            tolerance: raw.tolerance.as_ref().map(read_tolerance).transpose()?,
            is_drawn: false,
            dims,
            used_dims,
            formula,
            closed,
            buffers,
            calls,
            place: raw.name.span(),
            dims_place,
        };
        let outputs = read.outputs();
        read.expect = read_expect(&raw.expect, &outputs, &shapes)?;
        if let Some(check) = &raw.check {
            read.check = read_check(check, &outputs, tensors)?;
        }
        Ok(read)
    }

    /// Bounds the time and the memory that a spec can ask for.
    pub(super) fn check_work(&self, tensors: &Tensors, terms: Terms) -> Checked<()> {
        let outputs = self.outputs();
        let wanted: Vec<&str> =
            outputs.iter().map(String::as_str).chain(self.given(tensors)).collect();
        self.check_work_on(&wanted, terms)?;
        if let Check::NumericalGradient { .. } = self.check {
            let moved = self.buffers.iter().filter(|b| b.purpose == Purpose::Output);
            let moved = moved.filter(|b| grad_of(&b.tensor.name).is_some());
            let elements = moved.map(|b| b.tensor.len() as u64).sum();
            check_numerical_work(&self.formula, tensors, elements, &self.dims_place)?;
        }
        Ok(())
    }

    /// Bounds the time and the memory that it takes to compute some tensors.
    pub(super) fn check_work_of(&self, tensors: &[&str]) -> Checked<()> {
        self.check_work_on(tensors, ORDINARY)
    }

    /// The same on other terms than the ordinary ones.
    pub(super) fn check_work_on(&self, tensors: &[&str], terms: Terms) -> Checked<()> {
        let cost = self.formula.cost(tensors);
        for (amount, limit, what) in [
            (cost.steps, terms.steps, "multiplications and additions"),
            (cost.elements, terms.values, "intermediate values"),
        ] {
            if amount > limit {
                let title = format!("the formula takes {amount} {what} in this test");
                return Err(Fault::at(self.dims_place.clone(), title)
                    .label("these sizes")
                    .help(format!("the limit is {limit}; smaller sizes find the same mistakes")));
            }
        }
        Ok(())
    }
}

/// The indices of the launches of a test: all, or those of the kernels that it names.
fn chosen(raw: &RawTest, launches: &[Launch]) -> Checked<Vec<usize>> {
    let Some(kernels) = &raw.kernels else { return Ok((0..launches.len()).collect()) };
    let names = || launches.iter().map(|l| l.kernel.as_str());
    for (i, kernel) in kernels.get_ref().iter().enumerate() {
        let name = kernel.get_ref();
        if !names().any(|n| n == name) {
            let title = format!("no launch has a kernel `{}`", name.escape_debug());
            return Err(Fault::at(kernel.span(), title).suggest(name, names(), "kernel"));
        }
        if kernels.get_ref()[..i].iter().any(|k| k.get_ref() == name) {
            return Err(Fault::at(kernel.span(), format!("`{name}` is listed twice")));
        }
    }
    if kernels.get_ref().is_empty() {
        return Err(Fault::at(kernels.span(), "this test launches no kernel")
            .help("name at least one, or leave `kernels` out to launch all"));
    }
    let wanted = |launch: &Launch| kernels.get_ref().iter().any(|k| *k.get_ref() == launch.kernel);
    Ok((0..launches.len()).filter(|&i| wanted(&launches[i])).collect())
}

/// Bounds the work of a numerical gradient: each of the `elements` that are perturbed costs two evaluations of the
/// forward formula.
fn check_numerical_work(
    formula: &SizedFormula,
    tensors: &Tensors,
    elements: u64,
    dims_place: &Range<usize>,
) -> Checked<()> {
    let forward: Vec<&str> = tensors.outputs.iter().map(String::as_str).collect();
    let once = formula.cost(&forward).steps;
    let steps = once.saturating_mul(elements.saturating_mul(2));
    if steps > MAX_NUMERICAL_STEPS {
        let title = format!("the numerical gradient takes {steps} multiplications and additions");
        return Err(Fault::at(dims_place.clone(), title)
            .label("these sizes")
            .help(format!("the limit is {MAX_NUMERICAL_STEPS}: give this test smaller sizes")));
    }
    Ok(())
}

/// The values of the free sizes, of which the test must give all and no others.
fn free_dims(
    raw: &Spanned<BTreeMap<Spanned<String>, Spanned<i64>>>,
    sizes: &Sizes,
) -> Checked<Dims> {
    let free = || sizes.free.iter().map(String::as_str);
    let mut dims = Dims::new();
    for (key, value) in raw.get_ref() {
        let name = key.get_ref();
        if sizes.derived.iter().any(|(derived, _)| derived == name) {
            return Err(Fault::at(key.span(), format!("`{name}` is derived from other sizes"))
                .help("leave it out"));
        }
        if !sizes.free.contains(name) {
            return Err(Fault::at(key.span(), format!("unknown size `{}`", name.escape_debug()))
                .suggest(name, free(), "free size"));
        }
        let size = *value.get_ref();
        let least = i64::from(!sizes.may_be_zero.contains(name));
        if !(least..=i64::from(i32::MAX)).contains(&size) {
            let mut fault = Fault::at(value.span(), format!("`{name}` cannot be {size}"))
                .help("a size must be at least 1 and fit into an int");
            if size == 0 {
                fault = fault.help(format!(
                    "for a padding or similar, add may_be_zero = [\"{name}\"] to [dims]"
                ));
            }
            return Err(fault);
        }
        dims.insert(name.clone(), size);
    }
    let missing: Vec<String> =
        free().filter(|f| !dims.contains_key(*f)).map(|f| format!("`{f}`")).collect();
    if !missing.is_empty() {
        let title = format!("this test gives no value to {}", missing.join(", "));
        return Err(Fault::at(raw.span(), title).help("every free size of [dims] needs one"));
    }
    Ok(dims)
}
