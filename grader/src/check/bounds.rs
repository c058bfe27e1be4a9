//! Finds tests whose error bounds are so wide that wrong kernels pass.

use super::item::Item;
use indexmath::Approx;
use puzzle::case::{Case, CaseTensor};

/// Checks that each output of each test is held to less than a coarse mistake changes.
pub fn check(cases: &[Case]) -> Item {
    let problems: Vec<String> = cases.iter().flat_map(too_wide).collect();
    Item::new("bounds", "narrower than what a dropped term changes".to_owned(), problems)
}

/// A sentence for each output of which no element would show a coarse mistake.
fn too_wide(case: &Case) -> impl Iterator<Item = String> {
    let wanted = case.tensors.iter().filter_map(CaseTensor::wanted);
    wanted.filter_map(|(tensor, expected)| {
        let first = expected.first().filter(|_| !expected.iter().any(is_sharp))?;
        let Approx { value, bound, .. } = *first;
        let (name, test) = (&tensor.name, &case.test);
        Some(format!(
            "{test}: rounding may change `{name}` by {bound:.1e} where it is {value:.1e}, and by as much in all of it: a kernel that \
             stores zeros or leaves out every fifth term could pass. Draw \"integers\", whose sums are exact, or give the \
             test fewer terms"
        ))
    })
}

/// Whether a kernel that leaves out every fifth term would be noticed: that changes a sum by a fifth if its terms have one sign, and
/// by that part of their random walk otherwise. An element that must be equal notices everything, and where 0 is right, a 0 is no mistake.
fn is_sharp(expected: &Approx) -> bool {
    let Approx { value, bound, magnitude, terms } = *expected;
    let change = (value.abs() / 5.0).max(magnitude / (5.0 * terms.max(1) as f64).sqrt());
    bound == 0.0 || value == 0.0 || bound < change || !value.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::oracle;
    use puzzle::spec::Spec;
    use std::path::Path;

    /// What is said of a test of a sum of `n` values.
    fn of_a_sum(n: usize, data: &str) -> Vec<String> {
        let spec = format!(
            r#"
title = "sum"
[dims]
free = ["n"]
[tensors]
x = "f32[n]"
y = "f32[]"
[math]
forward = "y = sum[i] x[i]"
[[launch]]
kernel = "sum"
args   = ["x", "y", "n"]
block  = 64
grid   = 1
[[test]]
name = "t"
dims = {{ n = {n} }}
data = {{ x = {data} }}
[[test]]
name = "u"
dims = {{ n = 3 }}
"#
        );
        let spec = Spec::parse(&spec, Path::new("mini.toml"));
        let spec = spec.unwrap_or_else(|f| panic!("{}", f.render(false)));
        let case = oracle::build_case(&spec, &spec.tests[0], 1);
        let case = case.unwrap_or_else(|f| panic!("{}", f.render(false)));
        too_wide(&case).collect()
    }

    #[test]
    fn a_bound_as_wide_as_the_value_is_refused() {
        let said = of_a_sum(1_100_000, "\"normal\"");
        assert!(
            said.len() == 1 && said[0].starts_with("t: rounding may change `y` by "),
            "{said:?}"
        );
    }

    #[test]
    fn what_shows_a_dropped_term_is_not_refused() {
        for (n, data) in [
            (100_000, "\"integers\""),
            (65_536, "\"normal\""),
            // Terms of one sign: a fifth less is far outside, although the bound is wide.
            (100_000, "{ kind = \"normal\", shift = 3.0 }"),
            // Zero, because two terms cancel, and nothing else may be there.
            (2, "[0.1, -0.1]"),
        ] {
            assert_eq!(of_a_sum(n, data), [""; 0], "{n} {data}");
        }
    }
}
