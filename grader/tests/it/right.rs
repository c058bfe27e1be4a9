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

/// A row sum of tiles of 4 rows, of which the last ones may be beyond the matrix.
const ROWS: &str = r#"
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int n)
{
    __shared__ float tile[4][33];
    int lane = threadIdx.x, row = blockIdx.x * 4 + threadIdx.y;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 32) {
        LOAD
        __syncthreads();
        if (lane == 0)
            for (int k = 0; k < 32; k++) ADD;
        __syncthreads();
    }
    if (lane == 0 && row < rows) y[row] = sum;
}
"#;

/// A row sum whose tiles come by asynchronous copies.
const COPIED: &str = r#"
#include <cuda_pipeline.h>
extern "C" __global__ void row_sum(const float* x, float* y, int rows, int n)
{
    __shared__ float tile[4][32];
    int lane = threadIdx.x, row = blockIdx.x * 4 + threadIdx.y;
    float sum = 0.0f;
    for (int first = 0; first < n; first += 32) {
        if (row < rows && first + lane < n)
            __pipeline_memcpy_async(&tile[threadIdx.y][lane], &x[row * n + first + lane], 4);
        else
            tile[threadIdx.y][lane] = 0.0f;
        __pipeline_commit();
        WAIT
        __syncthreads();
        if (lane == 0)
            for (int k = 0; k < 32; k++) sum += tile[threadIdx.y][k];
        __syncthreads();
    }
    if (lane == 0 && row < rows) y[row] = sum;
}
"#;

const ROWS_SPEC: &str = r#"
title = "rows"
needs = []

[dims]
free = ["rows", "n"]

[tensors]
x = "f32[rows, n]"
y = "f32[rows]"

[math]
forward = "y[r] = sum[i] x[r,i]"

[[launch]]
kernel = "row_sum"
args   = ["x", "y", "rows", "n"]
block  = [32, 4]
grid   = "ceil_div(rows, 4)"

[[test]]
name  = "rest"
about = "A rest of rows and of columns."
dims  = { rows = 6, n = 37 }

[draw]
fixed = "the test has the sizes that count"
"#;

/// Rows of the tile that have no output stay as they are, and are added up all the same.
#[test]
fn what_nobody_wrote_may_be_read_where_no_result_depends_on_it() {
    let load = "if (row < rows) tile[threadIdx.y][lane] = first + lane < n ? x[row * n + first + lane] : 0.0f;";
    let kernel = ROWS.replace("LOAD", load).replace("ADD", "sum += tile[threadIdx.y][k]");
    for (_, verdict) in Bench::new(&kernel).judge(ROWS_SPEC, 0..1) {
        assert!(verdict.passed(), "{:?}", verdict.findings);
        assert!(verdict.notes[0].contains("no result depends on it"), "{:?}", verdict.notes);
    }
}

/// A word that nobody writes is added, times 0, as the larger or smaller of two numbers, as a condition, as the difference of two.
#[test]
fn what_nobody_wrote_may_not_decide_a_result() {
    let load = "tile[threadIdx.y][lane] = row < rows && first + lane < n ? x[row * n + first + lane] : 0.0f;";
    for term in [
        "tile[0][32]",
        "0.0f * tile[0][32]",
        "fmaxf(0.0f, tile[0][32])",
        "fminf(0.0f, tile[0][32])",
        "(__float_as_int(tile[0][32]) > 5)",
        "(fabsf(tile[0][32]) < 10.0f && tile[0][32] != 0.0f)",
        "(__float_as_int(tile[0][32]) > 0 && __float_as_int(tile[0][32]) < 300)",
        "(__float_as_int(tile[0][32]) - __float_as_int(tile[1][32]))",
    ] {
        let add = format!("sum += tile[threadIdx.y][k] + {term}");
        let kernel = ROWS.replace("LOAD", load).replace("ADD", &add);
        for (_, verdict) in Bench::new(&kernel).judge(ROWS_SPEC, 0..1) {
            let names: Vec<_> = verdict.findings.iter().map(|f| f.problem.name()).collect();
            assert_eq!(names, ["uninitialised"], "{term}: {:?}", verdict.notes);
        }
    }
}

/// Shared memory is no cache between blocks: what one leaves there may be found by the next one, or not.
#[test]
fn what_a_block_left_may_not_decide_a_result() {
    let load = "bool left = first == 0 && tile[threadIdx.y][32] == 12345.0f; if (left) sum += 1.0f; __syncwarp(); \
        tile[threadIdx.y][32] = 12345.0f; \
        tile[threadIdx.y][lane] = row < rows && first + lane < n ? x[row * n + first + lane] : 0.0f;";
    let kernel = ROWS.replace("LOAD", load).replace("ADD", "sum += tile[threadIdx.y][k]");
    let spec = ROWS_SPEC.replace("rows = 6", "rows = 198");
    for (_, verdict) in Bench::new(&kernel).judge(&spec, 0..1) {
        let names: Vec<_> = verdict.findings.iter().map(|f| f.problem.name()).collect();
        assert_eq!(names, ["uninitialised"], "{:?}", verdict.notes);
    }
}

/// For older GPUs these copies are ordinary ones, and nobody would have to wait.
#[test]
fn asynchronous_copies_are_so_and_must_be_waited_for() {
    for (wait, found) in [("__pipeline_wait_prior(0);", None), ("", Some("copy-in-flight"))] {
        let kernel = COPIED.replace("WAIT", wait);
        let of_header = Bench::new("#include \"rows.cuh\"").with_header("rows.cuh", &kernel);
        let benches = [Bench::new(&kernel), of_header];
        for (_, verdict) in benches.iter().flat_map(|bench| bench.judge(ROWS_SPEC, 0..1)) {
            let name = verdict.findings.first().map(|finding| finding.problem.name());
            assert_eq!((verdict.passed(), name), (found.is_none(), found));
        }
    }
}
