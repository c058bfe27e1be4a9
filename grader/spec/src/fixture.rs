//! Valid specs that the tests of this crate and of `puzzle` change.

/// A spec without mistakes: a correlation in one dimension.
pub const SPEC: &str = r#"title = "Correlation"

[dims]
free  = ["B", "N", "F"]
N_out = "N - F + 1"

[tensors]
x = "f32[B, N]"
w = "f32[F]"
y = "f32[B, N_out]"

[math]
forward = "y[b,i] = sum[f] x[b,i+f] * w[f]"

[[launch]]
kernel = "correlate"
args   = ["x", "w", "y", "B", "N", "F"]
block  = 64
grid   = "ceil_div(B*N_out, 64)"

[[test]]
name   = "tiny"
dims   = { B = 1, N = 5, F = 3 }
data   = { x = [1, 2, 3, 4, 5], w = [1, 10, 100] }
expect = { y = [321, 432, 543] }

[[test]]
name = "batch"
dims = { B = 3, N = 9, F = 2 }
"#;

/// `SPEC` with replacements, each of which must change something.
pub fn changed(replacements: &[(&str, &str)]) -> String {
    let mut text = SPEC.to_owned();
    for (from, to) in replacements {
        assert!(text.contains(from), "`{from}` is not in the spec");
        text = text.replacen(from, to, 1);
    }
    text
}

/// A mean in two launches, which share a workspace.
pub const MEAN: &str = r#"title = "Mean"

[dims]
free = ["n"]
parts = "ceil_div(n, 64)"

[tensors]
x = "f32[n]"
mean = "f32[1]"

[workspace]
partial = "f32[parts]"

[math]
forward = "mean[k] = sum[i] x[i] / n"

[[launch]]
kernel = "partial_sums"
args = ["x", "partial", "n"]
block = 64
grid = "parts"
repeat = "bit-equal"

[[launch]]
kernel = "total"
args = ["partial", "mean", "n"]
block = 64
grid = 1
repeat = "bit-equal"

[[test]]
name = "several"
dims = { n = 200 }
data = "normal"
"#;
