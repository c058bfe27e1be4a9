//! `repeat = "bit-equal"`: what depends on the order of blocks or warps is found, and nothing else is.

use crate::mini::Bench;
use device::finding::Problem;
use puzzle::spec::Spec;
use std::path::Path;

const KERNELS: &str = r#"
// Adds up x in 8 blocks of 64 threads, in several ways. `work` holds what the blocks leave for each other.
__device__ float own(const float* x, int n) {
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    return sum;
}

// Ties of blocks and of warps are broken by chance.
extern "C" __global__ void atomics(const float* x, float* work, float* y, int n) {
    if (blockIdx.x == 0 && threadIdx.x < 8) work[threadIdx.x] = 0;
    atomicAdd(y, own(x, n));
}
// One block, but its warps come in any order.
extern "C" __global__ void warps(const float* x, float* work, float* y, int n) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    float mine = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine += x[i];
    atomicAdd(&sum, mine);
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x < 8) work[threadIdx.x] = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) *y += sum;
}
// The last block to come adds up what all have left, in the order of their numbers.
extern "C" __global__ void last_block(const float* x, float* work, float* y, int n) {
    __shared__ float sums[64];
    __shared__ bool last;
    static __device__ unsigned arrived = 0;
    sums[threadIdx.x] = own(x, n);
    __syncthreads();
    if (threadIdx.x == 0) {
        float sum = 0;
        for (int t = 0; t < 64; t++) sum += sums[t];
        work[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += ((volatile float*)work)[b];
        *y += sum;
    }
}
// Each block waits for the one before it: right where blocks start in the order of their numbers.
extern "C" __global__ void chain(const float* x, float* work, float* y, int n) {
    static __device__ unsigned turn = 0;
    __shared__ float sums[64];
    sums[threadIdx.x] = own(x, n);
    __syncthreads();
    if (threadIdx.x > 0) return;
    float sum = 0;
    for (int t = 0; t < 64; t++) sum += sums[t];
    while (atomicAdd(&turn, 0) < blockIdx.x) {}
    __threadfence();
    work[blockIdx.x] = sum;
    *(volatile float*)y += sum;
    __threadfence();
    atomicAdd(&turn, 1);
}
"#;

fn spec(kernel: &str, repeat: &str, data: &str) -> String {
    let work = match kernel {
        "last_block" | "chain" => "sum[j < N/512, t < 64] x[j*512 + i*64 + t]",
        _ => "0",
    };
    format!(
        r#"
title = "sum"
[dims]
free = ["N"]
[tensors]
x    = "f32[N]"
work = "f32[8]"
y    = "f32[]"
[math]
forward = """
work[i] = {work}
y' = y + sum[n] x[n]
"""
[[launch]]
kernel = "{kernel}"
args   = ["x", "work", "inplace(y)", "N"]
block  = 64
grid   = 8
{repeat}
[[test]]
name = "t"
dims = {{ N = 4096 }}
data = {{ x = {data}, y = 0 }}
"#
    )
}

const BIT_EQUAL: &str = "repeat = \"bit-equal\"";

#[test]
fn a_sum_in_any_order_is_not_bit_equal() {
    let bench = Bench::new(KERNELS);
    for kernel in ["atomics", "warps"] {
        for (_, verdict) in bench.judge(&spec(kernel, BIT_EQUAL, "\"normal\""), 0..5) {
            let [finding] = &verdict.findings[..] else { panic!("{:?}", verdict.findings) };
            let Problem::NotRepeatable { place, values: [first, other] } = &finding.problem else {
                panic!("{finding:?}")
            };
            assert_eq!((place.tensor.as_str(), place.flat, finding.count), ("y", 0, 1));
            assert!(first != other && (first - other).abs() < 1e-2);
            assert_eq!(
                (finding.kernel.as_str(), finding.problem.name()),
                (kernel, "not-repeatable")
            );
        }
    }
}

#[test]
fn where_the_last_bits_may_differ_it_is_right() {
    let bench = Bench::new(KERNELS);
    for repeat in ["", "repeat = \"last-bits\""] {
        for kernel in ["atomics", "warps"] {
            for (_, verdict) in bench.judge(&spec(kernel, repeat, "\"normal\""), 0..3) {
                assert!(verdict.passed(), "{kernel}: {:?} {:?}", verdict.findings, verdict.diffs);
            }
        }
    }
}

#[test]
fn a_fixed_order_is_bit_equal_however_the_blocks_come() {
    let bench = Bench::new(KERNELS);
    for kernel in ["last_block", "chain"] {
        for (_, verdict) in bench.judge(&spec(kernel, BIT_EQUAL, "\"normal\""), 0..2) {
            assert!(verdict.passed(), "{kernel}: {:?} {:?}", verdict.findings, verdict.diffs);
        }
    }
}

fn error(spec: &str) -> String {
    match Spec::parse(spec, Path::new("puzzles/01_x.toml")) {
        Ok(_) => "no error".into(),
        Err(failure) => failure.render(false),
    }
}

#[test]
fn what_cannot_be_seen_to_be_bit_equal_is_refused() {
    insta::assert_snapshot!(error(&spec("atomics", BIT_EQUAL, "\"integers\"")));
    insta::assert_snapshot!(error(&spec("atomics", "repeat = \"bitequal\"", "\"normal\"")));
    let second = "repeat = \"last-bits\"\n[[launch]]\nkernel = \"after\"\nargs = [\"work\", \"inplace(y)\", \"N\"]\n\
                  block = 64\ngrid = 8\nrepeat = \"bit-equal\"";
    insta::assert_snapshot!(error(&spec("atomics", second, "\"normal\"")));
}
