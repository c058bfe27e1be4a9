//! Kernels that are right in an unusual way pass.

use crate::mini::Bench;

/// Every thread of a block helps to load a whole tile for each channel and multiplies what it finds there, whether an output belongs to
/// it or not.
#[test]
fn a_padded_block_may_do_the_work_of_a_full_one() {
    let bench = Bench::new(
        r#"
extern "C" __global__ void conv(const float* X, const float* w, float* Y, int C, int H, int W)
{
    __shared__ float tile[31][31];
    int h = blockIdx.y * 16 + threadIdx.y, v = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int c = 0; c < C; c++) {
        for (int i = threadIdx.y * 16 + threadIdx.x; i < 31 * 31; i += 16 * 16) {
            int y = blockIdx.y * 16 + i / 31, x = blockIdx.x * 16 + i % 31;
            tile[i / 31][i % 31] = y < H && x < W ? X[(c * H + y) * W + x] : 0.0f;
        }
        __syncthreads();
        sum += tile[threadIdx.y][threadIdx.x] * w[c];
        __syncthreads();
    }
    if (h < H && v < W) Y[h * W + v] = sum;
}
"#,
    );
    let spec = r#"
title = "channels"
needs = []

[dims]
free = ["C", "H", "W"]

[tensors]
X = "f32[C, H, W]"
w = "f32[C]"
Y = "f32[H, W]"

[math]
forward = "Y[h,v] = sum[c] X[c,h,v] * w[c]"

[[launch]]
kernel = "conv"
args   = ["X", "w", "Y", "C", "H", "W"]
block  = [16, 16]
grid   = ["ceil_div(W, 16)", "ceil_div(H, 16)"]

[[test]]
name  = "one_pixel"
about = "One pixel of many channels: 255 threads of the block have no output."
dims  = { C = 16398, H = 1, W = 1 }

[draw]
fixed = "the test has the sizes that count"
"#;
    for (_, verdict) in bench.judge(spec, 0..1) {
        assert!(verdict.passed(), "{:?}", verdict.findings);
    }
}
