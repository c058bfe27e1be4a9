//! `constants` of a `[[launch]]`: tensors that are copied into `__constant__` variables before it.

use crate::mini::Bench;
use judge::verdict::TestVerdict;

/// A filter in constant memory, of at most 8 taps.
const KERNELS: &str = r#"
__constant__ float taps[8];
extern "C" __global__ void right(const float* x, float* y, int n, int f) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i > n - f) return;
    float sum = 0.0f;
    for (int k = 0; k < f; k++) sum += x[i + k] * taps[k];
    y[i] = sum;
}
extern "C" __global__ void flipped(const float* x, float* y, int n, int f) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i > n - f) return;
    float sum = 0.0f;
    for (int k = 0; k < f; k++) sum += x[i + k] * taps[f - 1 - k];
    y[i] = sum;
}
extern "C" __global__ void all_eight(const float* x, float* y, int n, int f) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i > n - f) return;
    float sum = 0.0f;
    for (int k = 0; k < 8; k++) sum += (k < f ? x[i + k] : 1.0f) * taps[k];
    y[i] = sum;
}
extern "C" __global__ void past(const float* x, float* y, int n, int f) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i <= n - f) y[i] = x[i] * taps[f + 3];
}
"#;

fn judge(kernel: &str) -> TestVerdict {
    let spec = format!(
        r#"
title = "filter"
[dims]
free = ["n", "f"]
m = "n - f + 1"
[tensors]
x = "f32[n]"
w = "f32[f]"
y = "f32[m]"
[math]
forward = "y[i] = sum[k] x[i+k] * w[k]"
[[launch]]
kernel = "{kernel}"
args   = ["x", "y", "n", "f"]
block  = 32
grid   = "ceil_div(m, 32)"
constants = {{ taps = "w" }}
[[gate]]
bound  = "bytes_read(x) == 4 * m * f"
[[gate]]
bound  = "global_bytes_read == 4 * m * f"
[[gate]]
bound  = "bytes_written(y) == 4 * m"
[[test]]
name = "t"
dims = {{ n = 40, f = 5 }}
"#
    );
    Bench::new(KERNELS).judge(&spec, 0..1).remove(0).1
}

#[test]
fn a_kernel_finds_the_tensor_in_its_constant() {
    let verdict = judge("right");
    assert!(verdict.passed(), "{:?} {:?}", verdict.findings, verdict.diffs);
}

/// The report's terms name elements of the tensor, not plain numbers.
#[test]
fn products_with_constants_are_products_of_elements() {
    let verdict = judge("flipped");
    let terms = format!("{:?}", verdict.diffs[0].terms);
    assert!(terms.contains("tensor: \"w\""), "{terms}");
    assert!(terms.contains("Extra") && terms.contains("Missing"), "{terms}");
}

#[test]
fn what_lies_behind_the_tensor_is_poison() {
    let verdict = judge("all_eight");
    let got = verdict.diffs[0].terms.mismatch.got;
    assert!(got.is_some_and(f64::is_nan), "{got:?}");
}

#[test]
fn what_lies_behind_the_only_constant_is_named_after_it() {
    let findings = format!("{:?}", judge("past").findings);
    assert!(findings.contains("space: Const") && findings.contains("name: \"taps\""), "{findings}");
}
