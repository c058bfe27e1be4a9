//! `[[require]]`: results that the formula does not fix are judged by what it makes of them.

use crate::mini::Bench;
use device::finding::{Finding, Problem};
use puzzle::relation::Relation;

/// Square roots: either sign will do.
const KERNELS: &str = r#"
extern "C" __global__ void either(const float* a, float* root, int* place, int n) {
    int i = threadIdx.x;
    if (i < n) root[i] = i % 2 ? sqrtf(a[i]) : -sqrtf(a[i]);
    if (i < n) place[i] = n - 1 - i;
}
extern "C" __global__ void wrong(const float* a, float* root, int* place, int n) {
    int i = threadIdx.x;
    if (i < n) root[i] = i < 3 ? sqrtf(a[i]) : a[i] + 1;
    if (i < n) place[i] = i;
}
extern "C" __global__ void imaginary(const float* a, float* root, int* place, int n) {
    int i = threadIdx.x;
    if (i < n) root[i] = sqrtf(-1 - a[i]);
    if (i < n) place[i] = i;
}
extern "C" __global__ void short_of(const float* a, float* root, int* place, int n) {
    int i = threadIdx.x;
    if (i < n - 2) root[i] = sqrtf(a[i]);
    if (i < n) place[i] = i;
}
extern "C" __global__ void outside(const float* a, float* root, int* place, int n) {
    int i = threadIdx.x;
    if (i < n) root[i] = sqrtf(a[i]);
    if (i < n) place[i] = i + 1;
}
extern "C" __global__ void twice(const float* a, float* root, int* place, int n) {
    int i = threadIdx.x;
    if (i < n) root[i] = sqrtf(a[i]);
    if (i < n) place[i] = 0;
}
"#;

fn findings(kernel: &str) -> Vec<Finding> {
    let spec = format!(
        r#"
title = "roots"
[dims]
free = ["n"]
[tensors]
a = "f32[n]"
root = "f32[n]"
place = "i32[n]"
off = "f32[n]"
there = "f32[n]"
seen = "f32[n]"
[math]
forward = """
off[i] = abs(root[i] * root[i] - a[i])
there[i] = a[place[i]]
seen[j] = sum[i] select(place[i] == index(j), 1, 0)
"""
[[launch]]
kernel = "{kernel}"
args   = ["a", "result(root)", "result(place)", "n"]
block  = 32
grid   = 1
[[require]]
holds = "off <= 1e-4"
about = "a root's square"
[[require]]
holds = "there >= 0"
[[require]]
holds = "seen == 1"
[[test]]
name = "t"
dims = {{ n = 7 }}
data = {{ kind = "integers", min = 2, max = 30 }}
"#
    );
    let bench = Bench::new(KERNELS);
    let (_, verdict) = bench.judge(&spec, 0..1).remove(0);
    assert!(verdict.diffs.is_empty());
    verdict.findings
}

#[test]
fn whatever_meets_the_requirements_passes() {
    assert_eq!(findings("either"), []);
}

#[test]
fn the_first_element_that_does_not_is_told() {
    let found = findings("wrong");
    let [
        Finding {
            problem: Problem::UnmetRequirement { place, value, relation, bound, about, same: None },
            count,
            ..
        },
    ] = &found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!((place.tensor.as_str(), place.flat, *count), ("off", 3, 4));
    assert_eq!((*relation, *bound), (Relation::AtMost, 1e-4));
    assert!(*value > 1.0, "{value}");
    assert_eq!(about.as_deref(), Some("a root's square"));
    let found = findings("twice");
    let [Finding { problem: Problem::UnmetRequirement { place, value, .. }, count: 7, .. }] =
        &found[..]
    else {
        panic!("{found:?}")
    };
    assert_eq!((place.tensor.as_str(), place.flat, *value), ("seen", 0, 7.0));
}

#[test]
fn nan_and_what_is_missing_or_leads_outside_never_pass() {
    let kinds = |kernel| findings(kernel).into_iter().map(|f| f.problem).collect::<Vec<_>>();
    let found = kinds("imaginary");
    assert!(matches!(&found[..], [Problem::UnmetRequirement { value, .. }] if value.is_nan()));
    let found = kinds("short_of");
    assert!(matches!(&found[..], [Problem::Unwritten { place }] if place.flat == 5), "{found:?}");
    let found = kinds("outside");
    assert!(
        matches!(&found[..], [Problem::NotMeasurable { tensor, .. }, ..] if tensor == "there"),
        "{found:?}"
    );
}
