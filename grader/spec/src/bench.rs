//! `[[bench]]`: the sizes at which kernels are timed, and the work that they do there.

use super::bench_sizes::At;
use super::data::Data;
use super::fault::{Checked, Fault};
use super::kind::DataKind;
use super::launch::Launch;
use super::sizes::Sizes;
use super::tensors::Tensors;
use super::test::{Terms, Test};
use super::vendor::Vendor;
use indexmath::{DimExpr, Dims};
use specfile::{RawBench, RawTest};
use std::collections::BTreeMap;
use std::ops::Range;
use tensor::DType;
use toml::Spanned;

/// The largest number of elements of all tensors, also of those that only the formula has.
const MAX_ELEMENTS: u64 = 1 << 29;

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
    /// What a vendor's library would compute in the place of the launches.
    pub vendor: Option<Vendor>,
    /// The expressions of flops and bytes.
    work: [DimExpr; 2],
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
            before: None,
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
        let vendor = Vendor::read(&at, raw, &large)?;
        let improves = raw.improves.as_ref().map(|number| *number.get_ref());
        Ok(Self { test: large, flops, bytes, improves, vendor, work })
    }

    /// Its name, unique in its spec.
    pub fn name(&self) -> &str {
        &self.test.name
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
