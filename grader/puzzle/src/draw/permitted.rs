//! Which special values an input may take, decided from the formula: those for which every correct kernel gives the same
//! result, whatever the order of its additions and the way in which it treats what lies outside a tensor.

use super::drawn;
use spec::{Data, Spec, Test, grad_of};

/// What the formula allows in the tests of a spec with these outputs.
pub(super) struct Permitted {
    /// The statements that are computed: the target, and its text.
    pub(super) statements: Vec<(String, String)>,
}

/// What an input may hold beside ordinary numbers.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of the formula")]
pub(super) struct Allowed {
    /// NaN: everything that depends on the element is NaN.
    pub nan: bool,
    /// Which infinities the element may be.
    pub infinite: Infinite,
    /// Values near the ends of the type's range.
    pub extreme: bool,
    /// Large values, all of one sign: what reads the input compares it first, and a comparison may begin with a value that is too
    /// near to 0.
    pub compared: bool,
    /// Subnormal numbers: not where they are added, since an atomic addition of floats may take them for 0 (PTX ISA, `atom`).
    pub subnormal: bool,
    /// It is multiplied with nothing: tensor cores cut off what they add to a larger product.
    pub alone: bool,
    /// The values that are not finite which tests of the spec give to this input, and so define what they lead to.
    pub stated: Vec<f64>,
    /// Positive numbers below [`SMALL`] that stand in what is computed from the input: a constant that keeps a root or a
    /// denominator from 0.
    pub constants: Vec<f64>,
    /// Numbers that the kernel compares with.
    pub literals: Vec<f64>,
    /// A root or a logarithm is computed from it, which negative values may not allow.
    pub under_root: bool,
    /// It is only multiplied and added, so that sums of small integers are exact.
    pub linear: bool,
    /// All that is computed is, so that sums of products of small integers are exact.
    pub exact: bool,
    /// An exponential is computed from it.
    pub exponent: bool,
}

/// Where an input may hold infinities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Infinite {
    /// In no element: one order of the operations gives NaN, another does not.
    #[default]
    Nowhere,
    /// In a few: they are multiplied and added, in a sum of products.
    Few,
    /// In all: they are only compared and copied.
    Everywhere,
}

/// Whether a statement of the formula does nothing but choose elements.
pub(super) fn chooses(spec: &Spec) -> bool {
    let formula = &spec.tensors.formula;
    let texts = spec.tensors.computed.iter().filter_map(|name| formula.text_of(name));
    texts
        .filter_map(|text| right_side(&text))
        .any(|text| only_chooses(&text) || text.contains("max["))
}

impl Permitted {
    /// What is computed in `test`.
    pub fn of(spec: &Spec, test: &Test) -> Self {
        let formula = &spec.tensors.formula;
        let given = test.given(&spec.tensors);
        let outputs = test.outputs();
        let required = spec.requirements.iter().filter(|r| r.counts_in(test));
        let required = required.map(|r| r.tensor.as_str());
        let wanted = outputs.iter().map(String::as_str).chain(given).chain(required);
        let mut names: Vec<String> = Vec::new();
        for step in wanted.flat_map(|name| formula.steps(name)) {
            if !names.contains(&step) {
                names.push(step);
            }
        }
        let statement = |name: String| Some((name.clone(), right_side(&formula.text_of(&name)?)?));
        Self { statements: names.into_iter().filter_map(statement).collect() }
    }

    /// What `input` may hold.
    pub fn for_input(&self, spec: &Spec, input: &str) -> Allowed {
        let reached: Vec<&(String, String)> = self
            .statements
            .iter()
            .filter(|(name, _)| spec.tensors.formula.sources(name).contains(input))
            .collect();
        // Outside a padded tensor a kernel may skip the product, or multiply by 0; with NaN only the first gives a number.
        let padded = reached.iter().any(|(_, text)| {
            outside_brackets(text).contains(['*', '/']) && padded(text).any(|name| name != input)
        });
        // Outside a range that depends on an index or on data it may do the same.
        let cut = reached.iter().any(|(name, _)| spec.tensors.formula.has_cut_ranges(name));
        // A derivative is linear in the cotangent: it is only multiplied and added, or not taken at all.
        let linear =
            grad_of(input).is_some() || reached.iter().all(|(_, text)| is_polynomial(text));
        let nan = linear && !padded && !cut;
        let infinite = if !reached.is_empty() && reached.iter().all(|(_, text)| only_chooses(text))
        {
            Infinite::Everywhere
        } else if nan
            // What no output depends on tells nothing.
            && !reached.is_empty()
            && self.products(spec, input) <= 1
            && reached.iter().all(|(_, text)| is_sum_of_products(text) && !self.uses_parts(text))
            // A compensated sum (Kahan, 1965) subtracts an infinite sum from itself.
            && (drawn(spec).is_some_and(|drawn| drawn.infinite_terms)
                || !reached.iter().any(|(_, text)| is_sum_of_several(text)))
        {
            Infinite::Few
        } else {
            Infinite::Nowhere
        };
        Allowed {
            nan,
            infinite,
            extreme: self.products(spec, input) <= 1,
            compared: reached.iter().any(|(_, text)| only_chooses(text) && reads(text, input)),
            alone: self.products(spec, input) == 0,
            subnormal: !reached.iter().any(|(_, text)| is_sum_of_several(text)),
            stated: stated(spec, input),
            constants: small_constants(spec, &reached),
            literals: Vec::new(),
            under_root: reached.iter().any(|(_, text)| calls(text).any(|f| ROOTS.contains(&f))),
            linear,
            exact: self.statements.iter().all(|(_, text)| is_polynomial(text)),
            exponent: reached.iter().any(|(_, text)| calls(text).any(|f| f == "exp")),
        }
    }

    /// Whether it has a product and reads what another statement computes: one kernel multiplies by that sum, another one by its terms,
    /// which is `inf - inf` where the factor is infinite.
    fn uses_parts(&self, text: &str) -> bool {
        outside_brackets(text).contains('*')
            && self.statements.iter().any(|(name, _)| reads(text, name))
    }

    /// The largest number of products on the way from the input to an output; many for a division or a function. Beyond one,
    /// the order of the factors decides whether something overflows in between.
    fn products(&self, spec: &Spec, input: &str) -> usize {
        let formula = &spec.tensors.formula;
        let reached = |name: &str| formula.sources(name).contains(input);
        let of = |text: &str| match outside_brackets(text) {
            // A product, or the steps of a recurrence.
            _ if text.contains("prod[") || text.contains('\n') || text.contains("total(") => MANY,
            text if text.contains('/') || calls(&text).any(|f| !EXACT.contains(&f)) => MANY,
            text => text.matches('*').count(),
        };
        let total = |(name, _): &(String, String)| -> usize {
            let steps = formula.steps(name);
            let on_the_way =
                self.statements.iter().filter(|(n, _)| steps.contains(n) && reached(n));
            on_the_way.map(|(_, text)| of(text)).sum()
        };
        self.statements.iter().filter(|(n, _)| reached(n)).map(total).max().unwrap_or(0)
    }
}

/// A constant of this size and more is no correction of what it is added to.
const SMALL: f64 = 0.01;

/// Functions that only positive numbers have.
const ROOTS: [&str; 4] = ["sqrt", "rsqrt", "log", "pow"];

/// More products than are allowed.
const MANY: usize = 1000;

/// Functions and reductions that compute nothing new from their arguments.
const EXACT: [&str; 12] = [
    "max", "min", "abs", "select", "argmax", "argmin", "index", "sum", "grad", "div", "mod",
    "ceil_div",
];

/// Words before a bracket that keep a formula a polynomial.
const POLYNOMIAL: [&str; 6] = ["sum", "grad", "index", "div", "mod", "ceil_div"];

/// Functions and reductions that choose, or multiply.
const CHOICES: [&str; 7] = ["max", "min", "argmax", "argmin", "select", "abs", "prod"];

/// The text after the first `=` or `+=`, in which what is added to an element is written as a sum.
fn right_side(statement: &str) -> Option<String> {
    let (at, sign) =
        [" = ", " += "].iter().filter_map(|sign| Some((statement.find(sign)?, sign))).min()?;
    let text = &statement[at + sign.len()..];
    Some(if *sign == " += " { format!("sum[terms] {text}") } else { text.to_owned() })
}

/// The names of tensors that are read with padding: the `x` of `x?[...]`.
fn padded(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("?[").map(|(at, _)| {
        let before = &text[..at];
        let start = match before.strip_suffix(')') {
            Some(inner) => inner.rfind("grad(").unwrap_or(0),
            None => before.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1),
        };
        &before[start..]
    })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

/// The text without integers: what stands in square brackets, and in `index(...)`.
fn outside_brackets(text: &str) -> String {
    let mut open: Vec<bool> = Vec::new();
    let mut outside = String::new();
    for c in text.chars() {
        match c {
            '[' => open.push(true),
            '(' => open.push(open.last() == Some(&true) || outside.ends_with("index")),
            _ => {}
        }
        if open.last() != Some(&true) {
            outside.push(c);
        }
        if matches!(c, ']' | ')') {
            open.pop();
        }
    }
    outside
}

/// The words that stand before a round bracket, and the reductions.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('(').filter_map(|(at, _)| {
        let before = &text[..at];
        let start = before.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
        (start < at).then_some(&before[start..])
    })
}

/// Whether it has sums, differences and products only.
fn is_polynomial(text: &str) -> bool {
    let outside = outside_brackets(text);
    let words = outside.split(|c: char| !is_word(c));
    !outside.contains(['/', '<', '>', '='])
        && calls(&outside).all(|name| POLYNOMIAL.contains(&name))
        && !words.into_iter().any(|word| CHOICES.contains(&word))
}

/// Whether it has no sums in brackets, which one kernel multiplies out and another does not.
fn is_sum_of_products(text: &str) -> bool {
    is_polynomial(text)
        && calls(&outside_brackets(text)).count() == outside_brackets(text).matches('(').count()
}

/// Whether it adds up terms whose number depends on sizes or data.
fn is_sum_of_several(text: &str) -> bool {
    text.contains("sum[")
}

/// Whether it has an element of this tensor.
fn reads(text: &str, tensor: &str) -> bool {
    text.match_indices(&format!("{tensor}[")).any(|(at, _)| !text[..at].ends_with(is_word))
}

/// Whether it has nothing but elements, maxima and minima of them, and their positions.
fn only_chooses(text: &str) -> bool {
    let outside = outside_brackets(text);
    let words = outside.split(|c: char| !is_word(c));
    let chooses = |word: &str| ["max", "min", "argmax", "argmin"].contains(&word);
    !text.contains("?[")
        && !outside.contains(['+', '-', '*', '/', '<', '>', '=', '(', '\n'])
        && words.into_iter().any(chooses)
        && !outside.contains("sum")
        && !outside.contains("prod")
}

/// The constants of these statements that are small, and the values of their scalars that are, in any test.
fn small_constants(spec: &Spec, statements: &[&(String, String)]) -> Vec<f64> {
    let mut all: Vec<f64> = Vec::new();
    for (name, text) in statements {
        all.extend(numbers(&outside_brackets(text)));
        let sources = spec.tensors.formula.sources(name);
        let scalars =
            spec.tests.iter().flat_map(|test| &test.data).filter(|(of, _)| sources.contains(*of));
        for (_, data) in scalars {
            if let Data::Values(values) = data
                && let [value] = values[..]
            {
                all.push(value);
            }
        }
    }
    all.retain(|value| 0.0 < *value && *value < SMALL);
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// The numbers that stand in a formula.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| c.is_ascii_digit() || is_word(c))?;
        let word = &rest[start..];
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let mut before = ' ';
        let end = word.find(|c: char| {
            let sign = is_number && before == 'e' && matches!(c, '-' | '+');
            before = c;
            !(is_word(c) || sign || (is_number && c == '.'))
        });
        let (word, after) = word.split_at(end.unwrap_or(word.len()));
        rest = after;
        Some(word.parse().ok().filter(|_| is_number))
    })
    .flatten()
}

/// The values of `input` that are not finite in some test.
fn stated(spec: &Spec, input: &str) -> Vec<f64> {
    let of = |test: &Test| match test.data.get(input) {
        Some(Data::Values(values)) => values.iter().copied().filter(|v| !v.is_finite()).collect(),
        _ => Vec::new(),
    };
    let mut all: Vec<f64> = spec.tests.iter().flat_map(of).collect();
    all.sort_by(f64::total_cmp);
    all.dedup_by_key(|value| value.to_bits());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_apart() {
        let text = "sum[k,fh,fw] grad(output)?[b,k,h-fh,w-fw] * filters[k,c,fh,fw]";
        assert_eq!(padded(text).collect::<Vec<_>>(), ["grad(output)"]);
        assert!(is_polynomial(text));
        assert_eq!(padded("max[p < 2] x?[i+p] + y'?[i]").collect::<Vec<_>>(), ["x", "y'"]);
        for other in ["select(x[i] <= 0, 0, x[i])", "max[p < 2] x[i+p]", "x[i] / n", "exp(x[i])"] {
            assert!(!is_polynomial(other), "{other}");
        }
        assert_eq!(
            outside_brackets("x[i+(2*j)] - index(a*(b-1)) * (y - 1)"),
            "x - index * (y - 1)"
        );
        for text in ["max[p < 2] x[i+p]", "argmax[p < 2] x[2*i+p]"] {
            assert!(only_chooses(text), "{text}");
        }
        for other in
            ["max[p < 2] x?[i+p]", "max[p < 2] x[i+p] + y[p]", "abs(x[i])", "sum[p] x[p]", "x[i]"]
        {
            assert!(!only_chooses(other), "{other}");
        }
        assert!(is_sum_of_products("b[n] + sum[k] grad(A)[m,k] * B[k,n+(2*k)]"));
        assert!(!is_sum_of_products("sum[k] (A[m,k] - mean[m]) * B[k,n]"));
        let text = "0.5 * x2 + max(1e-8, 3.25) * rsqrt(x + 0.00001) - 7e+3";
        assert_eq!(numbers(text).collect::<Vec<_>>(), [0.5, 1e-8, 3.25, 1e-5, 7e3]);
        assert_eq!(calls("log(max(a, 1)) * grad(x)").collect::<Vec<_>>(), ["log", "max", "grad"]);
    }
}
