//! `[[gate]]`: a kernel with the right values at too high a price fails, and is told the line that spends most.

use crate::mini::Bench;
use device::finding::{Finding, Problem};
use puzzle::counter::Counter;
use puzzle::relation::Relation;
use puzzle::spec::Spec;
use std::path::Path;

/// Transposes a matrix, rows of `n` to columns of `n`, in three ways.
const KERNELS: &str = r#"
extern "C" __global__ void strided(const float* x, float* y, int n) {
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8)
        y[column * n + row + i] =
            x[(row + i) * n + column];
}
extern "C" __global__ void conflicts(const float* x, float* y, int n) {
    __shared__ float tile[32][32];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * n + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) y[(row + i) * n + column] = tile[threadIdx.x][threadIdx.y + i];
}
extern "C" __global__ void padded(const float* x, float* y, int n) {
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * n + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) y[(row + i) * n + column] = tile[threadIdx.x][threadIdx.y + i];
}
"#;

fn spec(kernel: &str, gates: &str) -> String {
    format!(
        r#"
title = "transpose"
[dims]
free = ["T"]
n = "32 * T"
[tensors]
x = "f32[n, n]"
y = "f32[n, n]"
[math]
forward = "y[i,j] = x[j,i]"
[[launch]]
kernel = "{kernel}"
args   = ["x", "y", "n"]
block  = [32, 8]
grid   = ["T", "T"]
{gates}
[[test]]
name = "t"
dims = {{ T = 3 }}
[[test]]
name = "u"
dims = {{ T = 1 }}
"#
    )
}

const GATES: &str = r#"
[[gate]]
bound = "global_store_sectors <= n*n*4 / 32"
about = "store side by side"
[[gate]]
bound = "shared_bank_conflicts == 0"
"#;

fn findings(kernel: &str) -> Vec<Finding> {
    let bench = Bench::new(KERNELS);
    let mut verdicts = bench.judge(&spec(kernel, GATES), 0..1);
    let (_, verdict) = verdicts.remove(0);
    assert!(verdict.diffs.is_empty());
    verdict.findings
}

/// 96 x 96 elements: 288 warps store 32 each, 4 sectors side by side or 32 apart.
#[test]
fn a_launch_over_its_bound_is_told_with_the_line_that_spends_most() {
    let found = findings("strided");
    let [Finding { problem, line: Some(line), kernel, .. }] = &found[..] else {
        panic!("{found:?}")
    };
    let expected = Problem::OverGate {
        counter: Counter::GlobalStoreSectors,
        tensor: None,
        spent: 288 * 32,
        bound: 288 * 4,
        relation: Relation::AtMost,
        of_line: 288 * 32,
        about: Some("store side by side".into()),
    };
    assert_eq!((problem, kernel.as_str()), (&expected, "strided"));
    let text = KERNELS.lines().nth(line.line as usize - 1).unwrap();
    assert!(text.contains("y[column"), "line {}: {text}", line.line);

    let found = findings("conflicts");
    let [Finding { problem, .. }] = &found[..] else { panic!("{found:?}") };
    let expected = Problem::OverGate {
        counter: Counter::SharedBankConflicts,
        tensor: None,
        spent: 288 * 31,
        bound: 0,
        relation: Relation::Equal,
        of_line: 288 * 31,
        about: None,
    };
    assert_eq!(problem, &expected);
}

/// Each of the 96 x 96 elements is read once and written once; half the bytes are too few.
#[test]
fn bytes_are_counted_in_all_memory_and_in_one_tensor() {
    let right = "[[gate]]\nbound = \"global_bytes_read == 4*n*n\"\n\
                 [[gate]]\nbound = \"bytes_read(x) == 4*n*n\"\n\
                 [[gate]]\nbound = \"bytes_read(y) == 0\"\n\
                 [[gate]]\nbound = \"bytes_written(x) == 0\"\n\
                 [[gate]]\nbound = \"bytes_written(y) == 4*n*n\"\n";
    let bench = Bench::new(KERNELS);
    let found = |gates: &str| bench.judge(&spec("padded", gates), 0..1).remove(0).1.findings;
    assert_eq!(found(right), []);
    assert_eq!(found("[[gate]]\nbound = \"bytes_written(y) >= 4*n*n\"\n"), []);
    let under = found("[[gate]]\nbound = \"matrix_multiplications >= n\"\n");
    let [Finding { problem: Problem::OverGate { spent: 0, relation, .. }, line: None, .. }] =
        &under[..]
    else {
        panic!("{under:?}")
    };
    assert_eq!(*relation, Relation::AtLeast);
    let over = found("[[gate]]\nbound = \"bytes_written( y ) <= 2*n*n\"\n");
    let [Finding { problem: Problem::OverGate { counter, tensor, spent, bound, .. }, .. }] =
        &over[..]
    else {
        panic!("{over:?}")
    };
    assert_eq!((*counter, tensor.as_deref()), (Counter::GlobalBytesWritten, Some("y")));
    assert_eq!((*spent, *bound), (4 * 96 * 96, 2 * 96 * 96));
}

#[test]
fn a_launch_that_keeps_its_bounds_passes() {
    assert_eq!(findings("padded"), []);
}

fn error(gates: &str) -> String {
    match Spec::parse(&spec("padded", gates), Path::new("puzzles/01_x.toml")) {
        Ok(spec) => format!("no error, {} gates", spec.gates.len()),
        Err(failure) => failure.render(false),
    }
}

#[test]
fn gates_that_bound_nothing_are_refused() {
    let gate = |keys: &str| error(&format!("[[gate]]\n{keys}"));
    assert_eq!(error(GATES), "no error, 2 gates");
    let all = [
        "bound = \"global_sectors <= n\"",
        "bound = \"barriers < n\"",
        "bound = \"bytes_red(x) <= n\"",
        "bound = \"bytes_read(n) <= n\"",
        "bound = \"bytes_read(grad(x)) <= n\"",
        "bound = \"global_bytes_read(x) <= n\"",
        "bound = \"barriers <= 2 * m\"",
        "bound = \"barriers == 2 *\"",
        "bound = \"barriers <= n - 50\"",
        "bound = \"barriers <= n\"\ntests = [\"t\", \"v\"]",
        "bound = \"barriers <= n\"\nkernel = \"pad\"",
    ];
    insta::assert_snapshot!(all.map(gate).join("\n"));
}
