//! `f16` and `bf16` from the spec to the verdict: the bound passes every kernel that adds up in float, in whatever order,
//! and none that adds up or multiplies in sixteen bits.

use crate::mini::Bench;
use judge::grade::Detail;
use judge::verdict::TestVerdict;
use puzzle::case::{Case, CaseTensor, Role};
use puzzle::tensor::{decode, encode};
use std::ops::Range;

/// One thread for each row, `y[r] = sum[k] a[r,k] * b[r,k]`, in several ways for each type of element and result.
const KERNELS: &str = r#"
#include <cuda_fp16.h>
#include <cuda_bf16.h>

__device__ float up(half x) { return __half2float(x); }
__device__ float up(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ void put(half* y, float x) { *y = __float2half(x); }
__device__ void put(__nv_bfloat16* y, float x) { *y = __float2bfloat16(x); }
__device__ void put(float* y, float x) { *y = x; }
// Operations on __nv_bfloat16 need compute capability 8.0; before that, this is what they do.
__device__ half mul16(half a, half b) { return __hmul(a, b); }
__device__ half fma16(half a, half b, half c) { return __hfma(a, b, c); }
__device__ __nv_bfloat16 mul16(__nv_bfloat16 a, __nv_bfloat16 b) { return __float2bfloat16(up(a) * up(b)); }
__device__ __nv_bfloat16 fma16(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
    return __float2bfloat16(fmaf(up(a), up(b), up(c)));
}

#define ROW int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= R) return; a += r * K; b += r * K;

#define KERNELS(T, OUT, NAME) \
extern "C" __global__ void forwards_##NAME(const T* a, const T* b, OUT* y, int R, int K) { \
    ROW float sum = 0; \
    for (int k = 0; k < K; k++) sum += up(a[k]) * up(b[k]); \
    put(y + r, sum); } \
extern "C" __global__ void backwards_##NAME(const T* a, const T* b, OUT* y, int R, int K) { \
    ROW float sum = 0; \
    for (int k = K - 1; k >= 0; k--) sum = __fadd_rn(sum, __fmul_rn(up(a[k]), up(b[k]))); \
    put(y + r, sum); } \
extern "C" __global__ void strided_##NAME(const T* a, const T* b, OUT* y, int R, int K) { \
    ROW float sum[4] = {0, 0, 0, 0}; \
    for (int k = 0; k < K; k++) sum[k % 4] += up(a[k]) * up(b[k]); \
    put(y + r, (sum[0] + sum[1]) + (sum[2] + sum[3])); } \
extern "C" __global__ void sum16_##NAME(const T* a, const T* b, OUT* y, int R, int K) { \
    ROW T sum; put(&sum, 0); \
    for (int k = 0; k < K; k++) sum = fma16(a[k], b[k], sum); \
    put(y + r, up(sum)); } \
extern "C" __global__ void stored16_##NAME(const T* a, const T* b, OUT* y, int R, int K) { \
    ROW T sum; put(&sum, 0); \
    for (int k = 0; k < K; k++) put(&sum, up(sum) + up(a[k]) * up(b[k])); \
    put(y + r, up(sum)); } \
extern "C" __global__ void product16_##NAME(const T* a, const T* b, OUT* y, int R, int K) { \
    ROW float sum = 0; \
    for (int k = 0; k < K; k++) sum += up(mul16(a[k], b[k])); \
    put(y + r, sum); }

KERNELS(half, half, f16_f16)
KERNELS(half, float, f16_f32)
KERNELS(__nv_bfloat16, __nv_bfloat16, bf16_bf16)
KERNELS(__nv_bfloat16, float, bf16_f32)
"#;

const RIGHT: [&str; 3] = ["forwards", "backwards", "strided"];
const WRONG: [&str; 3] = ["sum16", "stored16", "product16"];
const TYPES: [(&str, &str); 4] =
    [("f16", "f16"), ("f16", "f32"), ("bf16", "bf16"), ("bf16", "f32")];

fn spec(kernel: &str, (input, output): (&str, &str), k: u32, data: &str) -> String {
    format!(
        r#"
title = "dot products"
[dims]
free = ["R", "K"]
[tensors]
a = "{input}[R, K]"
b = "{input}[R, K]"
y = "{output}[R]"
[math]
forward = "y[r] = sum[k] a[r,k] * b[r,k]"
[[launch]]
kernel = "{kernel}_{input}_{output}"
args   = ["a", "b", "y", "R", "K"]
block  = 64
grid   = "ceil_div(R, 64)"
[[test]]
name = "t"
dims = {{ R = 50, K = {k} }}
data = {data}
"#
    )
}

fn inputs(case: &Case) -> impl Iterator<Item = (&CaseTensor, &[f64])> {
    case.tensors.iter().filter_map(|tensor| match &tensor.role {
        Role::Input(values) => Some((tensor, values.as_slice())),
        Role::Output(_) | Role::InPlace { .. } | Role::Result | Role::Workspace => None,
    })
}

/// What passes and what does not, without following the values of every wrong result.
fn brief(bench: &Bench, spec: &str, seeds: Range<u64>) -> Vec<(Case, TestVerdict)> {
    bench.judge_with(Detail::Brief, spec, seeds)
}

#[test]
fn a_float_accumulator_always_passes_and_one_of_sixteen_bits_never() {
    let bench = Bench::new(KERNELS);
    for types in TYPES {
        for (k, seeds) in [(40, 0..8), (700, 0..2)] {
            for kernel in RIGHT {
                for data in ["\"normal\"", "\"integers\""] {
                    for (case, verdict) in
                        brief(&bench, &spec(kernel, types, k, data), seeds.clone())
                    {
                        assert!(verdict.passed(), "{kernel} {types:?} {data}, seed {}", case.seed);
                    }
                }
            }
            for kernel in WRONG {
                for (case, verdict) in
                    brief(&bench, &spec(kernel, types, k, "\"normal\""), seeds.clone())
                {
                    assert!(!verdict.passed(), "{kernel} {types:?}, {k} terms, seed {}", case.seed);
                }
            }
        }
    }
}

/// From 2,048 on a half has only every second integer.
#[test]
fn integers_show_an_accumulator_of_sixteen_bits_once_partial_sums_pass_2048() {
    let bench = Bench::new(KERNELS);
    let data = r#"{ kind = "integers", min = 1, max = 3 }"#;
    for types in [("f16", "f32"), ("bf16", "f32")] {
        for (kernel, right) in [("forwards", true), ("sum16", false), ("stored16", false)] {
            for (case, verdict) in brief(&bench, &spec(kernel, types, 1200, data), 0..6) {
                assert_eq!(verdict.passed(), right, "{kernel} {types:?}, seed {}", case.seed);
                let right = case.tensors.iter().filter_map(CaseTensor::wanted);
                assert!(right.flat_map(|(_, values)| values).all(|value| value.bound == 0.0));
            }
        }
    }
}

#[test]
fn inputs_are_rounded_to_their_type_before_anything_is_computed() {
    let bench = Bench::new(KERNELS);
    for types in TYPES {
        for (case, _) in bench.judge(&spec("forwards", types, 33, "\"normal\""), 0..3) {
            let [(a, x), (b, w)] = inputs(&case).collect::<Vec<_>>()[..] else {
                panic!("2 inputs")
            };
            for (tensor, values) in [(a, x), (b, w)] {
                let dtype = tensor.tensor.dtype;
                assert_eq!(decode(dtype, &encode(dtype, values)), values, "{types:?}");
                assert!(values.iter().any(|v| v.fract() != 0.0));
            }
            let (_, right) = case.tensors.iter().find_map(CaseTensor::wanted).unwrap();
            let exact: f64 = x[..33].iter().zip(&w[..33]).map(|(x, w)| x * w).sum();
            assert!((right[0].value - exact).abs() < 1e-12, "of the rounded values");
        }
    }
}

/// The default data: every result is a value of its type, so the comparison is equality.
#[test]
fn drawn_integers_stay_representable_in_the_type_of_the_result() {
    let bench = Bench::new(KERNELS);
    for types in [("f16", "f16"), ("bf16", "bf16")] {
        for k in [5, 40, 700] {
            for (case, _) in bench.judge(&spec("forwards", types, k, "\"integers\""), 0..6) {
                let (tensor, right) = case.tensors.iter().find_map(CaseTensor::wanted).unwrap();
                for value in right {
                    let stored = decode(tensor.dtype, &encode(tensor.dtype, &[value.value]));
                    assert_eq!((stored[0], value.bound), (value.value, 0.0), "{types:?} {k}");
                }
            }
        }
    }
}

/// Two halves share a word: stores of two threads, warps or blocks to its two sides are no race, and none gets lost.
const NEIGHBOURS: &str = r#"
#include <cuda_fp16.h>

extern "C" __global__ void neighbours(const half* x, half* y, half scale, int n) {
    __shared__ half tile[33];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int round = 0; round < 20; round++) {
        if (i < n) tile[threadIdx.x] = x[i];
        __syncthreads();
        sum += __half2float(tile[(threadIdx.x + round) % 33 < n - blockIdx.x * 33 ? (threadIdx.x + round) % 33 : 0]);
        __syncthreads();
    }
    if (i < n) y[i] = __float2half(__half2float(scale) * __half2float(x[i]) + 0 * sum);
}
"#;

#[test]
fn halves_that_share_a_word_do_not_race() {
    let bench = Bench::new(NEIGHBOURS);
    let spec = r#"
title = "scale"
[dims]
free = ["N"]
[tensors]
x = "f16[N]"
y = "f16[N]"
scale = "f16[]"
[math]
forward = "y[i] = scale * x[i]"
[[launch]]
kernel = "neighbours"
args   = ["x", "y", "scale", "N"]
block  = 33
grid   = "ceil_div(N, 33)"
[[test]]
name = "t"
dims = { N = 20001 }
"#;
    for (_, verdict) in bench.judge(spec, 0..3) {
        assert!(verdict.passed(), "{:?} {:?}", verdict.findings, verdict.diffs.first());
    }
}
