//! Which step on the way to an element loses its digits, or is the first that is not finite? The values behind the element are computed
//! once more without rounding, and compared with those that the kernel had (Sanchez-Stern, Panchekha, Lerner and Tatlock, "Finding root
//! causes of floating point error", PLDI 2018).

use super::Provenance;
use super::arena::{LocationId, Node, is_float_function};
use super::slice::{Instead, Rule, Slice, StoredElement};
use crate::source_loc::SourceLoc;

/// Values that an element is computed from, at most: each is computed once more.
const MAX_VALUES: usize = 6_000;
/// The relative error that rounding to `f32` may make (half a unit in the last place).
const UNIT: f64 = 1.0 / (1 << 24) as f64;
/// A step loses digits where the relative error of its result is so many times the largest of its operands.
const GROWN: f64 = 16.0;

/// A step of a computation, with the values that the kernel had there.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputedStep {
    /// `+` and `*`, or the function: `exp2`, `log2`, `sqrt`, `rsqrt`, `div`, `f16`, `bf16` ...; `dot` is a row times a column, added to a
    /// third value.
    pub operation: &'static str,
    /// What it was computed from; of a function of one value it stands there twice, and of a `dot` nothing does.
    pub operands: [f64; 2],
    /// What came out.
    pub value: f64,
    /// What would have come out, had nothing been rounded before; NaN if that is not known.
    pub exact: f64,
    /// The line that computed it.
    pub loc: Option<SourceLoc>,
}

impl Provenance {
    /// The line where the digits of an element go: without any rounding the element would have been one for which `is_right` holds, and it
    /// would be so too if only the results of that line were exact, which are far less so than what they are computed from. The step of
    /// that line with the largest error; `None` if there is no such line.
    pub fn loses_digits(
        &self,
        element: StoredElement<'_>,
        is_right: &dyn Fn(f64) -> bool,
    ) -> Option<ComputedStep> {
        let slice = self.slice(element, MAX_VALUES)?;
        let exact = slice.exact();
        if !is_right(*exact.last()?) {
            return None;
        }
        let error = |at: usize| (slice.values[at] - exact[at]).abs() / exact[at].abs();
        let loses = |at: &usize| {
            let (Rule::Add(a, b) | Rule::Function(_, [a, b])) = &slice.rules[*at] else {
                return false;
            };
            self.step(&slice, *at).is_some()
                && error(*at) > GROWN * error(*a).max(error(*b)).max(UNIT)
        };
        let steps: Vec<(usize, LocationId)> =
            (0..exact.len()).filter(loses).map(|at| (at, self.place_at(&slice, at))).collect();
        let unchanged = slice.unchanged();
        let is_right_without = |place: LocationId| {
            let exact = |at: usize| steps.contains(&(at, place)).then(|| Instead::Value(exact[at]));
            is_right(slice.with(&unchanged, 0, exact))
        };
        let place = steps.iter().map(|step| step.1).find(|&place| is_right_without(place))?;
        let there = steps.iter().filter(|step| step.1 == place).map(|step| step.0);
        let worst = there.max_by(|a, b| error(*a).total_cmp(&error(*b)))?;
        Some(ComputedStep { exact: exact[worst], ..self.step(&slice, worst)? })
    }

    /// The first step on the way to an element for which `holds` does not, while it does for all that the step is computed from: to be
    /// finite, or a number.
    pub fn first_without(
        &self,
        element: StoredElement<'_>,
        holds: fn(f64) -> bool,
    ) -> Option<ComputedStep> {
        let slice = self.slice(element, MAX_VALUES)?;
        let holds = |at: &usize| holds(slice.values[*at]);
        let is_first = |at: &usize| {
            !holds(at)
                && match &slice.rules[*at] {
                    Rule::Add(a, b) | Rule::Mul(a, b) | Rule::Function(_, [a, b]) => {
                        holds(a) && holds(b)
                    }
                    Rule::Dot(sum, pairs) => {
                        holds(sum) && pairs.iter().all(|(a, b)| holds(a) && holds(b))
                    }
                    Rule::Given | Rule::Neg(_) | Rule::Unknown(_) => false,
                }
        };
        let first = (0..slice.values.len()).find(is_first)?;
        self.step(&slice, first)
    }

    /// A value of a slice as the result of a step; `None` of what is not computed from floats.
    fn step(&self, slice: &Slice, at: usize) -> Option<ComputedStep> {
        let (operation, operands) = match &slice.rules[at] {
            Rule::Add(a, b) => ("+", [*a, *b]),
            Rule::Mul(a, b) => ("*", [*a, *b]),
            Rule::Dot(sum, _) => ("dot", [*sum; 2]),
            Rule::Function(name, operands) => {
                let is_half = matches!(*name, "f16" | "f16 bits" | "bf16" | "bf16 bits");
                let name = name.strip_suffix(" bits").unwrap_or(name);
                (is_half || is_float_function(name)).then_some((name, *operands))?
            }
            Rule::Given | Rule::Neg(_) | Rule::Unknown(_) => return None,
        };
        Some(ComputedStep {
            operation,
            operands: operands.map(|at| slice.values[at]),
            value: slice.values[at],
            exact: f64::NAN,
            loc: self.loc(self.place_at(slice, at)),
        })
    }

    fn place_at(&self, slice: &Slice, at: usize) -> LocationId {
        match self.arena.get(slice.nodes[at]) {
            Node::Add(_, _, place)
            | Node::Mul(_, _, place)
            | Node::Function(_, _, place)
            | Node::Rounded(_, _, place) => place,
            Node::Dot(number, row, column) => self.arena.dot(number, row, column).2,
            _ => 0,
        }
    }
}
