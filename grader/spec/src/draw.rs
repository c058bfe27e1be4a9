//! `[draw]`: the sizes and the data that each run draws beside its tests.

use super::constant::Constant;
use super::data::is_kind;
use super::fault::{Checked, Fault};
use super::quoted::inner_span;
use super::sizes::Sizes;
use super::tensors::Tensors;
use super::test::{ORDINARY, Terms, Test};
use super::{Launch, Spec};
use indexmath::{DimExpr, Dims};
use specfile::{BySize, RawDraw, RawTest, Table, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::Spanned;

/// The name under which the drawn cases are reported; no test can have it.
pub const DRAWN: &str = "drawn_sizes";

/// The largest size that a range allows: more than an f32 counts. Cases with too many elements are not drawn.
const MAX_SIZE: i64 = 1 << 25;

/// A drawn test may be larger than one of the spec: where an index passes what f32 counts, each tensor has as many elements.
const TERMS: Terms = Terms { elements: 1 << 26, values: 1 << 26, ..ORDINARY };

/// What a run draws beside the tests.
#[derive(Clone, Debug)]
pub enum Draw {
    /// Cases with these sizes.
    Sizes(DrawnSizes),
    /// Nothing, for this reason: the shapes are fixed.
    Fixed(String),
}

/// The sizes and data of drawn cases.
#[derive(Clone, Debug)]
pub struct DrawnSizes {
    /// The range of each free size, in the order of `[dims]`.
    pub ranges: Vec<SizeRange>,
    constraints: Vec<Constraint>,
    data: Option<Spanned<Value>>,
    /// Data of cases that launch the kernel of this name.
    data_with: BTreeMap<String, Table>,
    /// Whether the result of a sum with an infinite term must be what adding the terms up gives: infinite, unless the terms have
    /// infinities of both signs. A compensated sum gives NaN there, so a chapter has to say it.
    pub infinite_terms: bool,
    place: Range<usize>,
}

/// The values that a free size takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeRange {
    /// Name of the size.
    pub name: String,
    /// Its smallest value.
    pub min: i64,
    /// Its largest value in small cases.
    pub max: i64,
    /// Its largest value in a case in which it is the long one.
    pub longest: i64,
}

/// A comparison of two expressions of sizes that must hold.
#[derive(Clone, Debug)]
struct Constraint {
    left: DimExpr,
    compare: fn(&i64, &i64) -> bool,
    right: DimExpr,
}

type Comparison = (&'static str, fn(&i64, &i64) -> bool);

/// The longer ones first, so that none is taken for its beginning.
const COMPARISONS: [Comparison; 6] = [
    ("<=", i64::le),
    (">=", i64::ge),
    ("==", i64::eq),
    ("!=", i64::ne),
    ("<", i64::lt),
    (">", i64::gt),
];

impl Draw {
    pub(crate) fn read(
        text: &str,
        raw: Spanned<RawDraw>,
        sizes: &Sizes,
        (tensors, launches): (&Tensors, &[Launch]),
    ) -> Checked<Self> {
        let place = raw.span();
        let RawDraw { fixed, dims, longest, r#where: constraints, data, data_with, infinite_terms } =
            raw.into_inner();
        if let Some(reason) = fixed {
            let other =
                dims.map(|d| d.span()).or(longest.map(|d| d.span())).or(data.map(|d| d.span()));
            let other = other.or(constraints.first().map(Spanned::span));
            if let Some(other) = other {
                return Err(Fault::at(other, "nothing is drawn where the shapes are fixed")
                    .also(reason.span(), "fixed")
                    .help("remove one of the two"));
            }
            if reason.get_ref().trim().is_empty() {
                return Err(Fault::at(reason.span(), "the reason is missing")
                    .help("say why no other sizes are possible"));
            }
            return Ok(Self::Fixed(reason.into_inner()));
        }
        let Some(dims) = dims else {
            return Err(Fault::at(place, "[draw] has no `dims`")
                .help("give each free size a range, as in dims = { batch = [1, 6], N = [1, 40] }")
                .help("or say why the shapes cannot change: fixed = \"...\""));
        };
        let ranges = read_ranges(&dims, longest.as_ref(), sizes)?;
        let read = |raw| Constraint::read(text, raw, sizes);
        let constraints = constraints.iter().map(read).collect::<Checked<_>>()?;
        if let Some(Value::Table(table)) = data.as_ref().map(Spanned::get_ref) {
            check_inputs(table, tensors, &["kind", "min", "max", "scale", "shift", "skip"])?;
        }
        for (kernel, table) in &data_with {
            let known = || launches.iter().map(|launch| launch.kernel.as_str());
            if !known().any(|name| name == kernel.get_ref()) {
                let title = format!("no launch has a kernel `{}`", kernel.get_ref().escape_debug());
                return Err(Fault::at(kernel.span(), title).suggest(
                    kernel.get_ref(),
                    known(),
                    "kernel",
                ));
            }
            check_inputs(table.get_ref(), tensors, &[])?;
        }
        let data_with =
            data_with.into_iter().map(|(k, t)| (k.into_inner(), t.into_inner())).collect();
        Ok(Self::Sizes(DrawnSizes { ranges, constraints, data, data_with, infinite_terms, place }))
    }
}

/// Checks that the keys are inputs of the formula, or some of these others.
fn check_inputs(table: &Table, tensors: &Tensors, others: &[&str]) -> Checked<()> {
    let known = || tensors.inputs.iter().map(String::as_str);
    let is_known = |key: &str| known().chain(others.iter().copied()).any(|k| k == key);
    match table.keys().find(|key| !is_known(key.get_ref())) {
        None => Ok(()),
        Some(key) => {
            let title =
                format!("`{}` is not an input of the formula", key.get_ref().escape_debug());
            Err(Fault::at(key.span(), title).suggest(key.get_ref(), known(), "input"))
        }
    }
}

fn read_ranges(
    dims: &Spanned<BySize<[i64; 2]>>,
    longest: Option<&Spanned<BySize<i64>>>,
    sizes: &Sizes,
) -> Checked<Vec<SizeRange>> {
    let free = || sizes.free.iter().map(String::as_str);
    let check = |key: &Spanned<String>| {
        if sizes.free.contains(key.get_ref()) {
            return Ok(());
        }
        let title = format!("`{}` is not a free size", key.get_ref().escape_debug());
        Err(Fault::at(key.span(), title).suggest(key.get_ref(), free(), "free size"))
    };
    dims.get_ref().keys().try_for_each(check)?;
    let caps = || longest.iter().flat_map(|table| table.get_ref());
    caps().map(|(key, _)| key).try_for_each(check)?;
    let range = |name: &String| {
        let Some((_, given)) = dims.get_ref().iter().find(|(key, _)| key.get_ref() == name) else {
            let fault = Fault::at(dims.span(), format!("`{name}` has no range"));
            return Err(fault.help(format!("every free size needs one: {name} = [1, 9]")));
        };
        let [min, max] = *given.get_ref();
        let least = i64::from(!sizes.may_be_zero.contains(name));
        if min < least || max < min || max > MAX_SIZE {
            let title = format!("`{name}` cannot be from {min} to {max}");
            return Err(Fault::at(given.span(), title)
                .help(format!("a range is [smallest, largest], from {least} to {MAX_SIZE}")));
        }
        let cap = caps().find(|(key, _)| key.get_ref() == name).map(|(_, cap)| cap);
        if let Some(cap) = cap.filter(|cap| !(max..=MAX_SIZE).contains(cap.get_ref())) {
            let title = format!("`{name}` cannot be {} where it is long", cap.get_ref());
            return Err(Fault::at(cap.span(), title)
                .help(format!("from {max}, the end of its range, to {MAX_SIZE}")));
        }
        // One value: there is nothing to draw.
        let all = if min == max { max } else { MAX_SIZE };
        let longest = cap.map_or(all, |cap| *cap.get_ref());
        Ok(SizeRange { name: name.clone(), min, max, longest })
    };
    sizes.free.iter().map(range).collect()
}

impl Constraint {
    fn read(text: &str, raw: &Spanned<String>, sizes: &Sizes) -> Checked<Self> {
        let (whole, place) = (raw.get_ref(), raw.span());
        let found = COMPARISONS.iter().filter_map(|c| Some((whole.find(c.0)?, c)));
        let Some((at, (sign, compare))) = found.min_by_key(|(at, c)| (*at, 2 - c.0.len())) else {
            return Err(Fault::at(place, "this compares nothing")
                .help("a constraint is two expressions of sizes, as in \"F <= H\""));
        };
        let side = |range: Range<usize>| {
            let inside = inner_span(text, &place, &range);
            let expr = DimExpr::parse(&whole[range])
                .map_err(|e| Fault::at(inside, e.message).label("in this comparison"))?;
            sizes.check_names(text, &expr, &place)?;
            Ok(expr)
        };
        let (left, right) = (side(0..at)?, side(at + sign.len()..whole.len())?);
        Ok(Self { left, compare: *compare, right })
    }

    fn holds(&self, dims: &Dims) -> bool {
        let sides = self.left.eval(dims).ok().zip(self.right.eval(dims).ok());
        sides.is_some_and(|(left, right)| (self.compare)(&left, &right))
    }
}

impl DrawnSizes {
    /// Whether these free sizes are in their ranges, short or long, and keep the constraints.
    pub fn allows(&self, spec: &Spec, free: &Dims) -> bool {
        let inside =
            |r: &SizeRange| free.get(&r.name).is_some_and(|v| (r.min..=r.longest).contains(v));
        self.ranges.iter().all(inside) && self.holds(&spec.text, &spec.sizes, free)
    }

    fn holds(&self, text: &str, sizes: &Sizes, free: &Dims) -> bool {
        let dims = sizes.derive(text, free.clone());
        dims.is_ok_and(|dims| self.constraints.iter().all(|c| c.holds(&dims)))
    }

    /// The free sizes that stand in a constraint with this one: where it is long, one of them has to be long as well.
    pub fn partners(&self, size: &str) -> BTreeSet<String> {
        let names = |c: &Constraint| {
            let both = c.left.names().into_iter().chain(c.right.names());
            both.map(|(name, _)| name).collect::<BTreeSet<_>>()
        };
        let shared = self.constraints.iter().map(names).filter(|names| names.contains(size));
        shared.flatten().filter(|name| name != size).collect()
    }

    /// The inputs whose data `[draw]` gives in cases that launch these kernels; `None` if it gives those of all.
    pub fn given(&self, tensors: &Tensors, kernels: &[String]) -> Option<BTreeSet<&str>> {
        let with = kernels.iter().filter_map(|kernel| self.data_with.get(kernel));
        let with = with.flat_map(BTreeMap::keys).map(|key| key.get_ref().as_str());
        match self.data.as_ref().map(Spanned::get_ref) {
            None => Some(with.collect()),
            Some(Value::Table(table)) if !is_kind(table, tensors) => {
                Some(table.keys().map(|key| key.get_ref().as_str()).chain(with).collect())
            }
            Some(_) => None,
        }
    }

    /// The test of this name that launches `kernels` at the sizes `free`.
    ///
    /// # Errors
    /// The spec allows no such test.
    pub fn test(
        &self,
        (text, sizes): (&str, &Sizes),
        (tensors, launches): (&Tensors, &[Launch]),
        name: &str,
        kernels: &[String],
        free: &Dims,
    ) -> Checked<Test> {
        let place = &self.place;
        let at = |name: &String| Spanned::new(place.clone(), name.clone());
        let dims = free.iter().map(|(name, size)| (at(name), Spanned::new(place.clone(), *size)));
        let raw = RawTest {
            name: at(&name.to_owned()),
            about: None,
            kernels: Some(Spanned::new(place.clone(), kernels.iter().map(at).collect())),
            dims: Spanned::new(place.clone(), dims.collect()),
            before: None,
            data: self.data_for(tensors, launches, kernels),
            expect: BTreeMap::new(),
            check: None,
            tolerance: None,
        };
        let drawn = Test::read_on((text, sizes), &raw, (tensors, launches), TERMS)?;
        drawn.check_work(tensors, TERMS)?;
        Ok(drawn)
    }

    /// The data of cases that launch these kernels, without those of tensors that these write themselves.
    fn data_for(
        &self,
        tensors: &Tensors,
        launches: &[Launch],
        kernels: &[String],
    ) -> Option<Spanned<Value>> {
        let run = launches.iter().filter(|launch| kernels.contains(&launch.kernel));
        let results: BTreeSet<&str> = run.flat_map(Launch::results).collect();
        let mut table = match self.data.as_ref().map(Spanned::get_ref) {
            None => Table::new(),
            Some(Value::Table(table)) if !is_kind(table, tensors) => table.clone(),
            Some(_) => return self.data.clone(),
        };
        for more in kernels.iter().filter_map(|kernel| self.data_with.get(kernel)) {
            table.extend(more.clone());
        }
        table.retain(|key, _| !results.contains(key.get_ref().as_str()));
        let place = self.data.as_ref().map_or(self.place.clone(), Spanned::span);
        Some(Spanned::new(place, Value::Table(table)))
    }

    /// Checks that some sizes are possible, with the smallest ones and others of the ranges.
    pub(crate) fn check(
        &self,
        (text, sizes): (&str, &Sizes),
        (tensors, launches): (&Tensors, &[Launch]),
        tests: &[Test],
    ) -> Checked<()> {
        const TRIES: i64 = 200;
        for constant in launches.iter().flat_map(|launch| &launch.constants) {
            self.check_end(constant, (text, sizes), tensors)?;
        }
        let sets = kernel_sets(tests, launches);
        let Some(kernels) = sets.first() else { return Ok(()) };
        let mut last = None;
        for i in 0..TRIES {
            // Different steps for different sizes, so that all combinations come up.
            let value = |(r, step): (&SizeRange, i64)| {
                let count = r.max - r.min + 1;
                (r.name.clone(), r.min + (i * step + i / count) % count)
            };
            let free: Dims = self.ranges.iter().zip(1..).map(value).collect();
            if !self.holds(text, sizes, &free) {
                continue;
            }
            match self.test((text, sizes), (tensors, launches), DRAWN, kernels, &free) {
                Ok(_) => return Ok(()),
                Err(fault) => last = Some(fault),
            }
        }
        Err(last.unwrap_or_else(|| {
            Fault::at(self.place.clone(), "no sizes of these ranges keep the constraints")
                .help("the constraints are those of `where`; derived sizes must be 1 or more")
        }))
    }
}

impl DrawnSizes {
    /// Checks that a constant has an end: the sizes on which its tensor depends are in `longest`.
    fn check_end(
        &self,
        constant: &Constant,
        (text, sizes): (&str, &Sizes),
        tensors: &Tensors,
    ) -> Checked<()> {
        let Some((name, _)) = constant.arg.buffer(tensors) else { return Ok(()) };
        let bytes = |long: &str| {
            let size = |r: &SizeRange| if r.name == long { r.max + 1 } else { r.max };
            let free = self.ranges.iter().map(|r| (r.name.clone(), size(r))).collect();
            let dims = sizes.derive(text, free).ok()?;
            Some(tensors.at(text, name, &dims).ok()?.bytes())
        };
        let endless = |r: &&SizeRange| r.longest == MAX_SIZE && bytes(&r.name) != bytes("");
        let Some(range) = self.ranges.iter().find(endless) else { return Ok(()) };
        let (symbol, size) = (&constant.symbol, &range.name);
        let title = format!("`{size}` has no end, so the constant `{symbol}` has none either");
        Err(Fault::at(self.place.clone(), title)
            .help(format!("say how long it may be in drawn cases: longest = {{ {size} = 64 }}")))
    }
}

/// The sets of kernels that the tests launch, each once, larger ones first.
pub fn kernel_sets(tests: &[Test], launches: &[Launch]) -> Vec<Vec<String>> {
    let mut sets: Vec<Vec<String>> = Vec::new();
    for test in tests {
        let mut kernels: Vec<String> = Vec::new();
        for call in &test.calls {
            let kernel = &launches[call.launch].kernel;
            if !kernels.contains(kernel) {
                kernels.push(kernel.clone());
            }
        }
        if !sets.contains(&kernels) {
            sets.push(kernels);
        }
    }
    sets.sort_by_key(|kernels| std::cmp::Reverse(kernels.len()));
    sets
}
