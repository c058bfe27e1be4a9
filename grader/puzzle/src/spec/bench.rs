//! `[[bench]]`: the sizes at which kernels are timed, and the work that they do there.

use super::arg::Purpose;
use super::data::Data;
use super::fault::{Checked, Fault};
use super::kind::DataKind;
use super::launch::Launch;
use super::sizes::Sizes;
use super::tensors::Tensors;
use super::test::{Terms, Test};
use crate::tensor::{DType, Tensor};
use indexmath::{DimExpr, Dims};
use specfile::{RawBench, RawGemm, RawTest};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// The largest number of elements of all tensors, also of those that only the formula has.
const MAX_ELEMENTS: u64 = 1 << 28;

/// The largest number of multiplications and additions for what kernels are given: some seconds.
const MAX_STEPS: u64 = 1 << 31;

/// The largest number of intermediate values for that.
const MAX_VALUES: u64 = 1 << 27;

/// Where a bench differs from a test: it may be larger, and its data are real numbers, as those of a network are.
const TERMS: Terms = Terms {
    elements: MAX_ELEMENTS,
    steps: MAX_STEPS,
    values: MAX_VALUES,
    data: DataKind::Normal { scale: 1.0, shift: 0.0 },
};

/// Launches at sizes that are worth timing.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Sizes, launches and data.
    pub test: Test,
    /// The floating-point operations of the launches together.
    pub flops: u64,
    /// The bytes that must go to and from memory at least: each input once, and each output once.
    pub bytes: u64,
    /// The number of the puzzle whose solution is timed beside the kernel, at its bench of the same name.
    pub improves: Option<u32>,
    /// The product of matrices that the launches compute, if they do.
    pub gemm: Option<Gemm>,
    /// The expressions of flops and bytes.
    work: [DimExpr; 2],
}

/// A product of row-major matrices: `c[m,n] = a[m,k] * b[k,n]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gemm {
    /// The name of the first factor.
    pub a: String,
    /// The name of the second factor.
    pub b: String,
    /// The name of the product.
    pub c: String,
    /// The rows of the product, its columns, and the terms of each element.
    pub sizes: [u64; 3],
    /// Whether each factor is stored transposed.
    pub transposed: [bool; 2],
}

impl Bench {
    pub(crate) fn read(
        (text, sizes): (&str, &Sizes),
        raw: &RawBench,
        tensors: &Tensors,
        launches: &[Launch],
    ) -> Checked<Self> {
        let like_test = RawTest {
            name: raw.name.clone(),
            about: None,
            kernels: raw.kernels.clone(),
            dims: raw.dims.clone(),
            data: raw.data.clone(),
            expect: BTreeMap::new(),
            check: None,
            tolerance: None,
        };
        let large = Test::read_on((text, sizes), &like_test, (tensors, launches), TERMS)?;
        let given = large.given(tensors);
        if !given.is_empty() {
            large.check_work_on(&given, TERMS)?;
        }
        let data_place = raw.data.as_ref().map_or(raw.name.span(), Spanned::span);
        check_data(&large, &data_place)?;
        let at = At { text, sizes, dims: &large.dims, dims_place: raw.dims.span() };
        let work = [at.expression(&raw.flops)?, at.expression(&raw.bytes)?];
        let (flops, bytes) = (at.count(&raw.flops, 0)?, at.count(&raw.bytes, 1)?);
        let gemm = raw.gemm.as_ref().map(|raw| at.gemm(raw, &large)).transpose()?;
        let improves = raw.improves.as_ref().map(|number| *number.get_ref());
        Ok(Self { test: large, flops, bytes, improves, gemm, work })
    }

    /// Its name, unique in its spec.
    pub fn name(&self) -> &str {
        &self.test.name
    }

    /// Whether it says what a vendor's library would compute.
    pub fn has_vendor(&self) -> bool {
        self.gemm.is_some()
    }

    /// The flops and the bytes at other sizes, such as those of a test.
    pub fn work_at(&self, dims: &Dims) -> Option<(u64, u64)> {
        let [flops, bytes] = &self.work;
        let value = |of: &DimExpr| u64::try_from(of.eval(dims).ok()?).ok();
        Some((value(flops)?, value(bytes)?))
    }
}

/// Refuses data that cannot be made element by element.
fn check_data(test: &Test, place: &Range<usize>) -> Checked<()> {
    for tensor in &test.inputs {
        if matches!(tensor.dtype, DType::I64 | DType::U8) && !tensor.shape.is_empty() {
            let title = format!("`{}` has elements that a bench cannot draw", tensor.name);
            return Err(Fault::at(place.clone(), title)
                .help(format!("their type is {}; it draws floats and i32", tensor.dtype)));
        }
        let by_element = match &test.data[&tensor.name] {
            Data::Values(values) => values.len() == 1,
            Data::Kind(kind) => !matches!(
                kind,
                DataKind::ShuffledArange | DataKind::Digits { .. } | DataKind::DigitLabels { .. }
            ),
        };
        if !by_element {
            let title = format!("`{}` has data that a bench cannot draw", tensor.name);
            return Err(Fault::at(place.clone(), title).help(
                "a GPU draws new data before each run: write \"normal\", \"integers\", \"one-hot\", \"ones\", \"zeros\" or \"arange\"",
            ));
        }
    }
    Ok(())
}

/// The sizes of a bench.
struct At<'a> {
    text: &'a str,
    sizes: &'a Sizes,
    dims: &'a Dims,
    dims_place: Range<usize>,
}

impl At<'_> {
    /// An expression of sizes.
    fn expression(&self, raw: &Spanned<String>) -> Checked<DimExpr> {
        let place = raw.span();
        let expr = DimExpr::parse(raw.get_ref()).map_err(|e| Fault::math(self.text, &place, e))?;
        self.sizes.check_names(self.text, &expr, &place)?;
        Ok(expr)
    }

    /// The value of an expression of sizes.
    fn count(&self, raw: &Spanned<String>, least: u64) -> Checked<u64> {
        let (place, expr) = (raw.span(), self.expression(raw)?);
        let value = expr.eval(self.dims).map_err(|e| Fault::math(self.text, &place, e))?;
        u64::try_from(value).ok().filter(|value| *value >= least).ok_or_else(|| {
            Fault::at(place, format!("this is {value} at the sizes of the bench"))
                .also(self.dims_place.clone(), "these sizes")
                .help(format!("it must be {least} at least"))
        })
    }

    fn gemm(&self, raw: &RawGemm, test: &Test) -> Checked<Gemm> {
        let sizes = [self.count(&raw.m, 1)?, self.count(&raw.n, 1)?, self.count(&raw.k, 1)?];
        let [rows, columns, terms] = sizes;
        let a = matrix(test, &raw.a, [rows, terms], false)?;
        let b = matrix(test, &raw.b, [terms, columns], false)?;
        let c = matrix(test, &raw.c, [rows, columns], true)?;
        if a.dtype != b.dtype || !a.dtype.is_float() {
            let title = format!("`{}` is {}, but `{}` is {}", a.name, a.dtype, b.name, b.dtype);
            return Err(Fault::at(raw.b.span(), title)
                .help("both factors of a matrix product have the same type, which is not i32"));
        }
        if c.dtype != a.dtype && c.dtype != DType::F32 {
            let title = format!("a product of {} matrices cannot be {}", a.dtype, c.dtype);
            return Err(Fault::at(raw.c.span(), title).help("it has their type, or f32"));
        }
        let transposed = match &raw.transposed {
            None => [false, false],
            Some(word) => match word.get_ref().as_str() {
                "" => [false, false],
                "a" => [true, false],
                "b" => [false, true],
                "ab" => [true, true],
                _ => {
                    return Err(Fault::at(
                        word.span(),
                        "`transposed` names the factors that are stored transposed",
                    )
                    .help("write \"a\", \"b\", \"ab\" or \"\""));
                }
            },
        };
        let name = |of: &Tensor| of.name.clone();
        Ok(Gemm { a: name(a), b: name(b), c: name(c), sizes, transposed })
    }
}

/// The tensor with this name, if it has as many elements as the matrix.
fn matrix<'t>(
    test: &'t Test,
    name: &Spanned<String>,
    [rows, columns]: [u64; 2],
    computed: bool,
) -> Checked<&'t Tensor> {
    let fits = |purpose| (purpose == Purpose::Output) == computed;
    let known = || test.buffers.iter().filter(|b| fits(b.purpose)).map(|b| &b.tensor);
    let found = known().find(|tensor| tensor.name == *name.get_ref()).ok_or_else(|| {
        let role = if computed { "computes" } else { "reads" };
        let title = format!("no launch of this bench {role} `{}`", name.get_ref().escape_debug());
        let names = known().map(|tensor| tensor.name.as_str());
        Fault::at(name.span(), title).suggest(name.get_ref(), names, "tensor")
    })?;
    if found.len() as u64 == rows.saturating_mul(columns) {
        return Ok(found);
    }
    let title = format!("`{}` has {} elements, not {rows} x {columns}", found.name, found.len());
    Err(Fault::at(name.span(), title).help("c has m x n elements, a has m x k, and b has k x n"))
}

/// Checks that no two of them have the same name.
pub(crate) fn check_names(benches: &[Bench]) -> Checked<()> {
    for (i, bench) in benches.iter().enumerate() {
        if let Some(first) = benches[..i].iter().find(|other| other.name() == bench.name()) {
            let title = format!("two benches are named `{}`", bench.name());
            return Err(Fault::at(bench.test.place.clone(), title)
                .also(first.test.place.clone(), "the first one")
                .help("give each its own name"));
        }
    }
    Ok(())
}
