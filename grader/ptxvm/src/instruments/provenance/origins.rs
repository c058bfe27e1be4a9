//! Which elements of tensors does a value depend on, and how much? Dynamic slicing (Korel and Laski, 1988) down to the inputs, and reverse
//! accumulation of derivatives (Griewank and Walther, "Evaluating Derivatives") back to them.

use super::Provenance;
use super::arena::Node;
use super::slice::{Rule, Slice, StoredElement};
use crate::memory::buffer::BufferId;
use crate::source_loc::SourceLoc;

/// Values that an element is computed from, at most: each is looked at once.
const MAX_VALUES: usize = 200_000;

/// An element of a tensor, as it was before any kernel wrote it, that another one was computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// Its tensor's buffer, and its place there.
    pub place: (BufferId, i64),
    /// How the value changes with it: the derivative. NaN where a function on the way has none that is known.
    pub slope: f64,
    /// The line that loaded it.
    pub loc: Option<SourceLoc>,
}

impl Provenance {
    /// The elements that an element of a named tensor was computed from; one that several lines loaded stands there for each of them.
    /// `None` where it was not followed to its end, or was computed from too much.
    pub fn origins(&self, element: StoredElement<'_>) -> Option<Vec<Origin>> {
        if !self.node_of(element)?.0.is_some() {
            return Some(Vec::new());
        }
        let slice = self.slice(element, MAX_VALUES)?;
        if slice.rules.iter().any(|rule| matches!(rule, Rule::Unknown(None))) {
            return None;
        }
        let slopes = slice.slopes();
        let origin = |(at, &node)| match self.arena.get(node) {
            Node::Element(buffer, byte, place) => Some(Origin {
                place: (BufferId(buffer), byte),
                slope: slopes[at],
                loc: self.loc(place),
            }),
            _ => None,
        };
        Some(slice.nodes.iter().enumerate().filter_map(origin).collect())
    }
}

impl Slice {
    /// The derivative of the result with respect to each value, by reverse accumulation.
    fn slopes(&self) -> Vec<f64> {
        let mut slopes = vec![0.0; self.rules.len()];
        if let Some(result) = slopes.last_mut() {
            *result = 1.0;
        }
        for (at, rule) in self.rules.iter().enumerate().rev() {
            let slope = slopes[at];
            // What does not reach the result lets nothing through.
            if slope == 0.0 {
                continue;
            }
            let value = |at: usize| self.values[at];
            match rule {
                Rule::Given | Rule::Unknown(None) => {}
                Rule::Add(a, b) => {
                    slopes[*a] += slope;
                    slopes[*b] += slope;
                }
                Rule::Mul(a, b) => {
                    slopes[*a] += slope * value(*b);
                    slopes[*b] += slope * value(*a);
                }
                Rule::Neg(a) => slopes[*a] -= slope,
                Rule::Dot(sum, pairs) => {
                    slopes[*sum] += slope;
                    for (a, b) in pairs {
                        slopes[*a] += slope * value(*b);
                        slopes[*b] += slope * value(*a);
                    }
                }
                Rule::Function("div", [a, b]) => {
                    slopes[*a] += slope / value(*b);
                    slopes[*b] -= slope * value(at) / value(*b);
                }
                Rule::Function(name, [a, b]) => {
                    slopes[*a] += slope * derivative(name, value(*a), value(at));
                    if a != b {
                        slopes[*b] = f64::NAN;
                    }
                }
                Rule::Unknown(Some(all)) => {
                    for &source in all {
                        slopes[source] = f64::NAN;
                    }
                }
            }
        }
        slopes
    }
}

/// The derivative of a function of one value, where that is `a` and the function's `result`; roundings have that of no rounding.
fn derivative(name: &str, a: f64, result: f64) -> f64 {
    match name {
        "exp2" => result * std::f64::consts::LN_2,
        "log2" => (a * std::f64::consts::LN_2).recip(),
        "sqrt" => 0.5 / result,
        "rsqrt" => -0.5 * result / a,
        "sin" => a.cos(),
        "cos" => -a.sin(),
        "tanh" => 1.0 - result * result,
        "f16" | "f16 bits" | "bf16" | "bf16 bits" => 1.0,
        _ => f64::NAN,
    }
}
