//! A kernel that no GPU could start with its block fails, even if its values would be right.

use crate::mini::Bench;
use device::finding::{Finding, Problem, Refusal};
use puzzle::case::Case;

/// Doubles `x`. `many` keeps 96 values of a thread in registers, `bounded` does so within the registers that its block has.
const KERNELS: &str = r#"
__device__ float twice(const float* x, int i, int n) {
    float kept[96];
#pragma unroll
    for (int k = 0; k < 96; k++) kept[k] = x[(i + k) % n];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 96; k++) sum += kept[k] * (k == 0 ? 2 : 0 * kept[95 - k]);
    return sum;
}
extern "C" __global__ void many(const float* x, float* y, int n) {
    int i = threadIdx.x;
    float value = twice(x, i, n);
    if (i < n) y[i] = value;
}
extern "C" __global__ void __launch_bounds__(1024) bounded(const float* x, float* y, int n) {
    int i = threadIdx.x;
    float value = twice(x, i, n);
    if (i < n) y[i] = value;
}
extern "C" __global__ void
__launch_bounds__(128) small_blocks(const float* x, float* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void shared(const float* x, float* y, int n) {
    __shared__ float own[8192];
    extern __shared__ float more[];
    int i = threadIdx.x;
    own[i] = x[i % n];
    more[i] = own[i];
    if (i < n) y[i] = own[i] + more[i];
}
"#;

fn judge(bench: &Bench, kernel: &str, threads: u32, shared: u32) -> Vec<Finding> {
    let spec = format!(
        r#"
title = "twice"
[dims]
free = ["n"]
[tensors]
x = "f32[n]"
y = "f32[n]"
[math]
forward = "y[i] = 2 * x[i]"
[[launch]]
kernel = "{kernel}"
args   = ["x", "y", "n"]
block  = {threads}
grid   = 1
shared = {shared}
[[test]]
name = "t"
dims = {{ n = 100 }}
"#
    );
    let [(_, verdict)]: [(Case, _); 1] = bench.judge(&spec, 0..1).try_into().unwrap();
    assert!(!verdict.findings.is_empty() || verdict.passed());
    verdict.findings
}

#[test]
fn a_kernel_that_no_gpu_could_start_fails() {
    let bench = Bench::new(KERNELS);
    let refusal = |kernel, threads, shared| match &judge(&bench, kernel, threads, shared)[..] {
        [] => None,
        [Finding { problem: Problem::Refused(refusal), line: Some(line), .. }] => {
            Some((*refusal, line.line))
        }
        other => panic!("{kernel}: {other:?}"),
    };
    let Some((Refusal::Registers { registers: 97.., threads: 1024 }, 12)) =
        refusal("many", 1024, 0)
    else {
        panic!("{:?}", refusal("many", 1024, 0));
    };
    for (kernel, threads) in [("many", 256), ("bounded", 1024), ("small_blocks", 128)] {
        assert_eq!(refusal(kernel, threads, 0), None, "{kernel}");
    }
    let (Some((bounds, _)), Some((memory, _)), None) = (
        refusal("small_blocks", 256, 0),
        refusal("shared", 128, 200_000),
        refusal("shared", 128, 199_000),
    ) else {
        panic!("bounds and memory are noticed, and only if they are exceeded");
    };
    assert_eq!(bounds, Refusal::LaunchBounds { bound: 128, threads: 256 });
    assert_eq!(memory, Refusal::SharedMemory { fixed: 32_768, dynamic: 200_000 });
}
