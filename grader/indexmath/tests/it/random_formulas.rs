//! Random formulas: gradients against central differences, single elements and terms against the
//! whole, printed text against the formula it was printed from.

use std::collections::BTreeMap;

use crate::common::{self, Random, dims, inputs, tensors};
use indexmath::{Approx, ElementRef, Formula, SizedFormula, TensorType, Values};
use proptest::prelude::*;
use proptest::sample::select;

fn declared() -> BTreeMap<String, TensorType> {
    tensors(&[
        ("a", "f64[N, M]"),
        ("b", "f64[K, M]"),
        ("c", "f64[N, K]"),
        ("u", "f64[N + K - 1]"),
        ("v", "f64[N]"),
        ("w", "f64[M]"),
        ("r", "f64[K]"),
        ("z", "f64[2*N + K]"),
        ("s", "f64[]"),
        ("count", "i32[N]"),
        ("t", "f64[N]"),
        ("m", "f64[M, N]"),
        ("y", "f64[N, M]"),
    ])
}

/// Reads for the indices they need: i < N, j < M, p < K, q < N.
const READS: [(&str, &str); 43] = [
    ("", "s"),
    ("", "1.5"),
    ("", "N"),
    ("", "v[0]"),
    ("", "a[N-1,M-1]"),
    ("i", "v[i]"),
    ("i", "v[N-1-i]"),
    ("i", "count[i]"),
    ("i", "index((count[i] ^ i) & 0x7)"),
    ("i", "index(~count[i] << 1 | i >> 1)"),
    ("i", "index(1 << i)"),
    ("i", "v?[i-1]"),
    ("i", "v?[2*i-1]"),
    ("i", "z[2*i+1]"),
    ("i", "z[i+i]"),
    ("i", "v[div(i,2)]"),
    ("i", "a[i,mod(i,M)]"),
    ("i", "z?[i*i-2]"),
    ("i", "a?[i+1,i]"),
    ("j", "w[j]"),
    ("j", "z[j/2+j%2]"),
    ("ij", "a[i,j]"),
    ("ij", "a?[i-j,j+i-1]"),
    ("ij", "z[min(i,j)]"),
    ("p", "r[p]"),
    ("p", "b[K-1-p,0]"),
    ("p", "index(1 << p)"),
    ("p", "r[div(p,p+1)]"),
    ("ip", "index((count[i] & 0xff) >> p & 3)"),
    ("ip", "v[i>>p]"),
    ("ip", "c[i,p]"),
    ("ip", "u[i+p]"),
    ("ip", "u[N-1-i+p]"),
    ("ip", "z[2*i+p]"),
    ("ip", "v?[i+p-1]"),
    ("ip", "c[i,mod(p+i,K)]"),
    ("jp", "b[p,j]"),
    ("ijp", "a?[i+p-2,j]"),
    ("q", "v[q]"),
    ("iq", "z[i+q]"),
    ("jq", "a[q,j]"),
    ("pq", "c[q,p]"),
    ("ipq", "z?[i+2*p-q]"),
];

fn read(scope: &str, extra: &[&'static str]) -> BoxedStrategy<String> {
    let possible = READS.iter().filter(|(needs, _)| needs.chars().all(|c| scope.contains(c)));
    let mut reads: Vec<&str> = possible.map(|(_, text)| *text).collect();
    reads.extend(extra);
    select(reads).prop_map(str::to_owned).boxed()
}

/// An expression over the indices of `scope`; denominators stay away from 0.
fn expr(depth: u32, scope: &'static str, extra: &'static [&'static str]) -> BoxedStrategy<String> {
    if depth == 0 {
        return read(scope, extra);
    }
    let inner = move || expr(depth - 1, scope, extra);
    let mut choices = vec![
        (2, read(scope, extra)),
        (2, (inner(), inner()).prop_map(|(a, b)| format!("({a} + {b})")).boxed()),
        (1, (inner(), inner()).prop_map(|(a, b)| format!("({a} - {b})")).boxed()),
        (4, (inner(), inner()).prop_map(|(a, b)| format!("{a} * {b}")).boxed()),
        (1, inner().prop_map(|a| format!("-{a}")).boxed()),
        (1, (inner(), inner()).prop_map(|(a, b)| format!("({a} / (3 + ({b}) * ({b})))")).boxed()),
        (1, inner().prop_map(|a| format!("({a} / N)")).boxed()),
    ];
    for (index, alone, wider) in [
        ("p", "r[p]", scope_with(scope, 'p')),
        ("q", "v[q]", scope_with(scope, 'q')),
        ("q < N", "(z[q+1] + 1)", scope_with(scope, 'q')),
        ("p < 2", "z?[2*i+p-1]", scope_with(scope, 'p').filter(|_| scope.contains('i'))),
        ("p < K", "z?[K*q+p]", scope_with(scope, 'p').filter(|_| scope.contains('q'))),
    ] {
        if let Some(wider) = wider {
            let body = expr(depth - 1, wider, extra);
            let sum = body.prop_map(move |body| format!("(sum[{index}] {alone} * ({body}))"));
            choices.push((2, sum.boxed()));
        }
    }
    prop::strategy::Union::new_weighted(choices).boxed()
}

fn scope_with(scope: &str, index: char) -> Option<&'static str> {
    let wider = ["ip", "iq", "ipq", "ijp", "ijq", "ijpq"];
    wider.into_iter().find(|wider| {
        !scope.contains(index)
            && wider.len() == scope.len() + 1
            && wider.contains(index)
            && scope.chars().all(|c| wider.contains(c))
    })
}

fn formula() -> impl Strategy<Value = String> {
    const NONE: &[&str] = &[];
    const T: &[&str] = &["t[i]", "t?[i+1]", "t[0]", "t[i]"];
    const TM: &[&str] = &["t[i]", "t?[i-1]", "m[j,i]", "m?[j,i+1]", "m[0,i]"];
    prop_oneof![
        expr(3, "ij", NONE).prop_map(|y| format!("y[i,j] = {y}")),
        (expr(2, "i", NONE), expr(2, "ij", T))
            .prop_map(|(t, y)| format!("t[i] = {t}\ny[i,j] = {y}")),
        (expr(2, "i", NONE), expr(2, "ij", T), expr(2, "ij", TM)).prop_map(|(t, m, y)| {
            format!("t[i] = {t}; m[j,i] = {m} # comment\ny[i,j] = {y}\n")
        }),
    ]
}

fn each_element(concrete: &SizedFormula, tensor: &str) -> Vec<ElementRef> {
    let shape = concrete.shape(tensor).unwrap_or_default();
    let mut coords: Vec<Vec<i64>> = vec![Vec::new()];
    for &size in shape {
        coords = coords
            .iter()
            .flat_map(|head| (0..size as i64).map(move |at| [head.as_slice(), &[at]].concat()))
            .collect();
    }
    coords.into_iter().map(|coords| ElementRef { tensor: tensor.to_owned(), coords }).collect()
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= scale * (1.0 + a.abs() + b.abs())
}

struct Case {
    text: String,
    /// Of the forward formula.
    outputs: Vec<String>,
    formula: Formula,
    concrete: SizedFormula,
    known: Values,
}

impl Case {
    fn new(text: String, sizes: (i64, i64, i64), seed: u64) -> Self {
        let formula = Formula::parse(&text, &declared()).unwrap_or_else(|e| panic!("{text}: {e}"));
        let outputs = formula.outputs();
        let formula = formula.differentiate().unwrap();
        let dims = dims(&[("N", sizes.0), ("M", sizes.1), ("K", sizes.2)]);
        let concrete = formula.at(&dims).unwrap_or_else(|e| panic!("{text}: {e}"));
        let mut random = Random::new(seed);
        let mut known = inputs(&formula, &concrete, || random.normal());
        // The only tensor of integers.
        for count in known.get_mut("count").into_iter().flatten() {
            *count = (*count * 8.0).round();
        }
        Self { text, outputs, formula, concrete, known }
    }

    /// Tensors that get a gradient and reach the formula.
    fn variables(&self) -> Vec<String> {
        let inputs = self.formula.inputs().into_iter();
        inputs.filter(|name| !name.starts_with("grad(") && name != "count").collect()
    }

    fn evaluate(&self, known: &Values, wanted: &str) -> Vec<Approx> {
        let mut results = self.concrete.evaluate(known, &[wanted]).unwrap();
        results.remove(wanted).unwrap()
    }
}

/// Every read stays inside for all these sizes.
fn case() -> impl Strategy<Value = Case> {
    (formula(), (2_i64..5, 2_i64..4, 2_i64..5), any::<u64>())
        .prop_map(|(text, sizes, seed)| Case::new(text, sizes, seed))
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\nbecomes\n{}", self.text, self.formula)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gradients_equal_central_differences(case in case()) {
        let loss = |known: &Values| -> f64 {
            let outputs = case.outputs.iter().map(|name| {
                let Some(seed) = known.get(&format!("grad({name})")) else { return 0.0 };
                let values = case.evaluate(known, name);
                values.iter().zip(seed).map(|(y, g)| y.value * g).sum()
            });
            outputs.sum()
        };
        for name in case.variables() {
            let gradient = case.evaluate(&case.known, &format!("grad({name})"));
            for (place, got) in gradient.iter().enumerate() {
                let step = 1e-4;
                let moved = |by: f64| {
                    let mut known = case.known.clone();
                    known.get_mut(&name).unwrap()[place] += by;
                    loss(&known)
                };
                // Of fourth order: the error is far below the tolerance.
                let narrow = (moved(step) - moved(-step)) / (2.0 * step);
                let wide = (moved(2.0 * step) - moved(-2.0 * step)) / (4.0 * step);
                let want = (4.0 * narrow - wide) / 3.0;
                let noise = 1e-10 * loss(&case.known).abs();
                prop_assert!(
                    close(got.value, want, 1e-6 + noise) || (got.value - want).abs() <= 1e-9 * got.magnitude,
                    "grad({}) at {}: {:?}, but {}", name, place, got, want
                );
            }
        }
    }

    #[test]
    fn elements_and_terms_equal_the_whole(case in case()) {
        let assigned = case.formula.assigned();
        let results: BTreeMap<String, Vec<Approx>> =
            assigned.iter().map(|name| (name.clone(), case.evaluate(&case.known, name))).collect();
        let result = |name: &str| results.get(name).map(Vec::as_slice);
        for name in assigned {
            let all = results[&name].clone();
            for (at, want) in each_element(&case.concrete, &name).into_iter().zip(all) {
                let got = case.concrete.element(&case.known, &at).unwrap();
                prop_assert!(close(got.value, want.value, 1e-12) && got.terms == want.terms
                    && close(got.magnitude, want.magnitude, 1e-12)
                    && (close(got.bound, want.bound, 1e-12)), "{:?}: {:?}, {:?}", at, got, want);
                let terms = case.concrete.terms(&case.known, &at, 2000).unwrap();
                prop_assert_eq!(&terms, &case.concrete.terms_with(&case.known, &result, &at, 2000).unwrap());
                if let Some(terms) = terms {
                    let sum: f64 = terms.iter().map(|term| term.value).sum();
                    let size: f64 = terms.iter().map(|term| term.value.abs()).sum();
                    prop_assert!((sum - want.value).abs() <= 1e-12 * (1.0 + size), "{:?}: {} for {:?}", at, sum, want);
                    for term in terms {
                        let factors = term.factors.iter().map(|factor| {
                            let place = each_element(&case.concrete, &factor.tensor)
                                .iter().position(|other| other == factor).unwrap();
                            case.known[&factor.tensor][place]
                        });
                        let product: f64 = term.coefficient * factors.product::<f64>();
                        prop_assert!(close(product, term.value, 1e-12));
                    }
                }
            }
        }
    }

    #[test]
    fn printed_text_means_the_same(case in case()) {
        let assigned = case.formula.assigned();
        let mut known = case.known.clone();
        let all: Vec<Vec<Approx>> =
            assigned.iter().map(|name| case.evaluate(&case.known, name)).collect();
        for (name, elements) in assigned.iter().zip(&all) {
            known.insert(name.clone(), common::values(elements));
        }
        let size = |tensor: &str, axis: usize| case.concrete.shape(tensor).unwrap()[axis] as i64;
        let dims = dims(&[("N", size("a", 0)), ("M", size("a", 1)), ("K", size("b", 0))]);
        for (name, want) in assigned.iter().zip(&all) {
            let text = case.formula.text_of(name).unwrap();
            let again = Formula::parse(&text, &declared());
            let again = again.unwrap_or_else(|error| panic!("{text}\n{error:?}"));
            prop_assert_eq!(again.to_string(), text.clone());
            let concrete = again.at(&dims).unwrap_or_else(|error| panic!("{text}\n{error:?}"));
            let got = concrete.evaluate(&known, &[name]).unwrap().remove(name).unwrap();
            for (got, want) in got.iter().zip(want) {
                prop_assert!(
                    (got.value - want.value).abs() <= 1e-11 * (1.0 + want.magnitude),
                    "{}: {:?}, {:?}", text, got, want
                );
            }
        }
    }
}
