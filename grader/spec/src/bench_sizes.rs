//! Expressions of sizes in a bench.

use super::fault::{Checked, Fault};
use super::sizes::Sizes;
use indexmath::{DimExpr, Dims};
use std::ops::Range;
use toml::Spanned;

/// The sizes of a bench.
pub(super) struct At<'a> {
    pub(super) text: &'a str,
    pub(super) sizes: &'a Sizes,
    pub(super) dims: &'a Dims,
    pub(super) dims_place: Range<usize>,
}

impl At<'_> {
    /// An expression of sizes.
    pub(super) fn expression(&self, raw: &Spanned<String>) -> Checked<DimExpr> {
        let place = raw.span();
        let expr = DimExpr::parse(raw.get_ref()).map_err(|e| Fault::math(self.text, &place, e))?;
        self.sizes.check_names(self.text, &expr, &place)?;
        Ok(expr)
    }

    /// The value of an expression of sizes.
    pub(super) fn count(&self, raw: &Spanned<String>, least: u64) -> Checked<u64> {
        let (place, expr) = (raw.span(), self.expression(raw)?);
        let value = expr.eval(self.dims).map_err(|e| Fault::math(self.text, &place, e))?;
        u64::try_from(value).ok().filter(|value| *value >= least).ok_or_else(|| {
            Fault::at(place, format!("this is {value} at the sizes of the bench"))
                .also(self.dims_place.clone(), "these sizes")
                .help(format!("it must be {least} at least"))
        })
    }
}
