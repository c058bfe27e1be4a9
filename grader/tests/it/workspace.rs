//! `[workspace]`: memory that starts undefined, that the launches of a test share, and that nothing compares.

use crate::mini::Bench;
use device::finding::{Check, Finding, FindingKind, Problem};
use judge::verdict::TestVerdict;

/// Sums in two phases: each block adds up its part, then one block adds up the parts.
const KERNELS: &str = r#"
extern "C" __global__ void parts(const float* x, float* partial, int n) {
    __shared__ float sums[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    sums[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; k++) sum += sums[k];
        partial[blockIdx.x] = sum;
    }
}
extern "C" __global__ void forgets_the_last(const float* x, float* partial, int n) {
    int first = blockIdx.x * 64;
    if (threadIdx.x > 0 || first + 64 > n) return;
    float sum = 0.0f;
    for (int k = 0; k < 64; k++) sum += x[first + k];
    partial[blockIdx.x] = sum;
}
extern "C" __global__ void one_too_far(const float* x, float* partial, int n) {
    if (threadIdx.x == 0) partial[blockIdx.x + 1] = x[blockIdx.x * 64];
}
extern "C" __global__ void total(const float* partial, float* sum, int parts) {
    float all = 0.0f;
    for (int k = 0; k < parts; k++) all += partial[k];
    if (threadIdx.x == 0) sum[0] = all;
}
extern "C" __global__ void swapped(const float* partial, float* sum, int parts) {
    float all = 0.0f;
    for (int k = 0; k < parts; k++) all += partial[0];
    if (threadIdx.x == 0) sum[0] = all;
}
"#;

fn judge(first: &str, second: &str) -> TestVerdict {
    let spec = format!(
        r#"
title = "sum"
[dims]
free = ["n"]
parts = "ceil_div(n, 64)"
[tensors]
x = "f32[n]"
whole = "f32[1]"
[workspace]
partial = "f32[parts]"
[math]
forward = "whole[k] = sum[i] x[i]"
[[launch]]
kernel = "{first}"
args   = ["x", "partial", "n"]
block  = 64
grid   = "parts"
repeat = "bit-equal"
[[launch]]
kernel = "{second}"
args   = ["partial", "whole", "parts"]
block  = 32
grid   = 1
repeat = "bit-equal"
[[gate]]
kernel = "{second}"
bound  = "global_store_requests == 1"
[[test]]
name = "t"
dims = {{ n = 200 }}
data = "normal"
"#
    );
    Bench::new(KERNELS).judge(&spec, 0..1).remove(0).1
}

fn only(verdict: &TestVerdict) -> &Finding {
    let [finding] = &verdict.findings[..] else { panic!("{:?}", verdict.findings) };
    finding
}

#[test]
fn what_one_launch_leaves_there_the_next_one_finds() {
    let verdict = judge("parts", "total");
    assert!(verdict.passed(), "{:?}", verdict.findings);
    let verdict = judge("parts", "swapped");
    assert_eq!(verdict.findings, []);
    assert_eq!(verdict.diffs.len(), 1, "only the output is compared");
}

#[test]
fn a_part_that_no_kernel_wrote_is_not_initialised() {
    let verdict = judge("forgets_the_last", "total");
    let Finding { problem: Problem::Check(FindingKind::Uninitialised(read)), .. } = only(&verdict)
    else {
        panic!("{:?}", verdict.findings)
    };
    let place = read.place.as_ref().unwrap();
    assert_eq!((place.tensor.as_str(), place.flat), ("partial", 3));
}

#[test]
fn writing_beside_it_is_out_of_bounds() {
    let verdict = judge("one_too_far", "total");
    let found: Vec<_> = verdict.findings.iter().map(|f| f.problem.name()).collect();
    assert_eq!(found.first(), Some(&"out-of-bounds"), "{:?}", verdict.findings);
    let Problem::Check(FindingKind::OutOfBounds(write)) = &verdict.findings[0].problem else {
        panic!("{:?}", verdict.findings)
    };
    assert_eq!(write.name(), "out-of-bounds");
}
