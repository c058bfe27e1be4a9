//! What an author reads when a spec is wrong.

use super::Spec;
use std::path::Path;

/// A correlation in one dimension.
pub(crate) const SPEC: &str = r#"title = "Correlation"

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
pub(crate) fn changed(replacements: &[(&str, &str)]) -> String {
    let mut text = SPEC.to_owned();
    for (from, to) in replacements {
        assert!(text.contains(from), "`{from}` is not in the spec");
        text = text.replacen(from, to, 1);
    }
    text
}

/// The message for `SPEC` with one replacement.
fn error(from: &str, to: &str) -> String {
    error_in(SPEC, from, to)
}

/// The message for a right spec with one replacement, which must change something.
pub(super) fn error_in(spec: &str, from: &str, to: &str) -> String {
    assert!(spec.contains(from), "`{from}` is not in the spec");
    match Spec::parse(&spec.replacen(from, to, 1), Path::new("puzzles/01_x.toml")) {
        Ok(_) => "no error".into(),
        Err(failure) => failure.render(false),
    }
}

#[test]
fn the_spec_itself_is_right() {
    let spec = Spec::parse(SPEC, Path::new("x.toml")).unwrap();
    assert_eq!(spec.title, "Correlation");
    assert_eq!(spec.tests.len(), 2);
    let batch = spec.test("batch").unwrap();
    assert_eq!(batch.dims["N_out"], 8);
    assert_eq!(batch.calls[0].grid, [1, 1, 1]);
    let shapes: Vec<_> =
        batch.buffers.iter().map(|b| (b.tensor.name.as_str(), &*b.tensor.shape)).collect();
    assert_eq!(shapes, [("x", &[3, 9][..]), ("w", &[2]), ("y", &[3, 8])]);
    assert!(spec.test("large").unwrap_err().diagnostics[0].help[0].contains("tiny, batch"));
}

#[test]
fn keys() {
    insta::assert_snapshot!(error("title", "titel"), @r#"
    error: unknown key `titel`
     --> puzzles/01_x.toml:1:1
      |
    1 | titel = "Correlation"
      | ^^^^^
      |
      = help: did you mean `title`?
    "#);
    insta::assert_snapshot!(error("kernel = \"correlate\"\n", ""), @r#"
    error: the key `kernel` is missing
      --> puzzles/01_x.toml:15:1
       |
    15 | [[launch]]
       | ^^^^^^^^^^
       |
       = help: add kernel = "name_of_the_kernel"
    "#);
    insta::assert_snapshot!(error("name = \"batch\"", "nam = \"batch\""), @r#"
    error: unknown key `nam`
      --> puzzles/01_x.toml:28:1
       |
    28 | nam = "batch"
       | ^^^
       |
       = help: did you mean `name`?
    "#);
    insta::assert_snapshot!(error("[[launch]]", "[launch]"), @r"
    error: this is one table, but a list of tables is expected
      --> puzzles/01_x.toml:15:1
       |
    15 | [launch]
       | ^^^^^^^^
       |
       = help: write it with two brackets, such as [[launch]] and [[test]]
    ");
    insta::assert_snapshot!(error("\"correlate\"", "17"), @r"
    error: this is an integer `17`
      --> puzzles/01_x.toml:16:10
       |
    16 | kernel = 17
       |          ^^
       |
       = help: it must be a string
    ");
    insta::assert_snapshot!(error("title = \"Correlation\"", "title = Correlation"), @r"
    error: invalid TOML: string values must be quoted
     --> puzzles/01_x.toml:1:9
      |
    1 | title = Correlation
      |         ^^^^^^^^^^^
      |
      = help: expected literal string
    ");
}

#[test]
fn counts() {
    let many = (0..300).map(|i| format!("s{i} = 1\n")).collect::<Vec<_>>().concat();
    insta::assert_snapshot!(error("N_out = ", &format!("{many}N_out = ")), @r"
    error: this spec has 302 sizes
     --> puzzles/01_x.toml:3:1
      |
    3 | [dims]
      | ^^^^^^
      |
      = help: the limit is 256: split it into two puzzles
    ");
    let text = SPEC.split("[[test]]").next().unwrap();
    let none = Spec::parse(&text.replace("[dims]", "test = []\n[dims]"), Path::new("x.toml"));
    assert_eq!(none.unwrap_err().diagnostics[0].title, "this spec has no test");
    let none = Spec::parse(text, Path::new("x.toml"));
    assert_eq!(none.unwrap_err().diagnostics[0].title, "the key `test` is missing");
}

#[test]
fn sizes() {
    insta::assert_snapshot!(error("N - F + 1", "N - K + 1"), @r#"
    error: unknown size `K`
     --> puzzles/01_x.toml:5:14
      |
    5 | N_out = "N - K + 1"
      |              ^ not in [dims]
      |
      = help: the sizes are `B`, `N`, `F`, `N_out`
    "#);
    insta::assert_snapshot!(error("N - F + 1", "N - F +"), @r#"
    error: expected an index, a size or an integer, found the end of the text
     --> puzzles/01_x.toml:5:17
      |
    5 | N_out = "N - F +"
      |                 ^
    "#);
    insta::assert_snapshot!(error("N_out = \"N - F + 1\"", "N_out = \"M + 1\"\nM = \"N - N_out\""), @r#"
    error: a size depends on itself: M -> N_out -> M
     --> puzzles/01_x.toml:5:10
      |
    5 | N_out = "M + 1"
      |          ^
      |
      = help: derive each size from the free ones, or from sizes derived before
    "#);
    insta::assert_snapshot!(error("[\"B\", \"N\", \"F\"]", "[\"B\", \"N\", \"B\"]"), @r#"
    error: `B` is listed twice
     --> puzzles/01_x.toml:4:20
      |
    4 | free  = ["B", "N", "B"]
      |                    ^^^
    "#);
    insta::assert_snapshot!(error("free  = [\"B\", \"N\", \"F\"]", "free = \"B\""), @r#"
    error: `free` must be a list of names, but this is a string
     --> puzzles/01_x.toml:4:8
      |
    4 | free = "B"
      |        ^^^
      |
      = help: write free = ["batch", "N"]
    "#);
}

#[test]
fn tensors_and_formula() {
    insta::assert_snapshot!(error("f32[B, N_out]", "f32[B, N_ouut]"), @r#"
    error: unknown size `N_ouut`
      --> puzzles/01_x.toml:10:13
       |
    10 | y = "f32[B, N_ouut]"
       |             ^^^^^^ not in [dims]
       |
       = help: did you mean `N_out`?
    "#);
    insta::assert_snapshot!(error("f32[F]", "float[F]"), @r#"
    error: unknown element type `float`
     --> puzzles/01_x.toml:9:6
      |
    9 | w = "float[F]"
      |      ^^^^^
      |
      = help: element types: `f32`, `f64`, `f16`, `bf16` and `i32`
    "#);
    insta::assert_snapshot!(error("* w[f]", "* v[f]"), @r#"
    error: unknown tensor `v`
      --> puzzles/01_x.toml:13:39
       |
    13 | forward = "y[b,i] = sum[f] x[b,i+f] * v[f]"
       |                                       ^
       |
       = help: declared tensors: `w`, `x` and `y`
    "#);
    let text = changed(&[("w = \"f32[F]\"", "filters = \"f32[F]\""), ("* w[f]", "* filter[f]")]);
    let failure = Spec::parse(&text, Path::new("puzzles/01_x.toml")).unwrap_err();
    insta::assert_snapshot!(failure.render(false), @r#"
    error: unknown tensor `filter`
      --> puzzles/01_x.toml:13:39
       |
    13 | forward = "y[b,i] = sum[f] x[b,i+f] * filter[f]"
       |                                       ^^^^^^
       |
       = help: declared tensors: `filters`, `x` and `y`
       = help: did you mean `filters`?
    "#);
    insta::assert_snapshot!(error("x[b,i+f]", "x[i+f]"), @r#"
    error: `x` has 2 axes, but 1 subscript
      --> puzzles/01_x.toml:13:28
       |
    13 | forward = "y[b,i] = sum[f] x[i+f] * w[f]"
       |                            ^^^^^^
       |
       = help: write 2 subscripts
    "#);
    insta::assert_snapshot!(error("x[b,i+f]", "x[b,i+f+1]"), @r#"
    error: index `i + f + 1` can reach 5, but axis 1 of `x` has size 5 (N)
      --> puzzles/01_x.toml:13:32
       |
    13 | forward = "y[b,i] = sum[f] x[b,i+f+1] * w[f]"
       |                                ^^^^^
    ...
    23 | dims   = { B = 1, N = 5, F = 3 }
       |          ----------------------- at these sizes
       |
       = help: fix the subscript or the shapes; if it should read 0 outside, write `x?[...]`
    "#);
    insta::assert_snapshot!(error(
        "\"y[b,i] = sum[f] x[b,i+f] * w[f]\"",
        "\"\"\"\n  y[b,i] =\n    sum[f] x[b,i+f] * w[q]\"\"\"",
    ), @r#"
    error: `q` is neither an index nor a size
      --> puzzles/01_x.toml:15:25
       |
    15 |     sum[f] x[b,i+f] * w[q]"""
       |                         ^
       |
       = help: name it on the left side or in a reduction like `sum[...]`; indices here: `b`, `i` and `f`; sizes: `B`, `F`, `N` and `N_out`
    "#);
    insta::assert_snapshot!(error("[math]", "unused = \"f32[N]\"\n[math]"), @r#"
    error: the formula does not use `unused`
      --> puzzles/01_x.toml:12:1
       |
    12 | unused = "f32[N]"
       | ^^^^^^
    13 | [math]
    14 | forward = "y[b,i] = sum[f] x[b,i+f] * w[f]"
       |           --------------------------------- the formula
       |
       = help: remove the tensor, or complete the formula
    "#);
}

#[test]
fn launches() {
    insta::assert_snapshot!(error("\"B\", \"N\", \"F\"]\nblock", "\"B\", \"N\", \"K\"]\nblock"), @r#"
    error: `K` is neither a tensor nor a size
      --> puzzles/01_x.toml:17:36
       |
    17 | args   = ["x", "w", "y", "B", "N", "K"]
       |                                    ^^^
       |
       = help: the names are `x`, `w`, `y`, `B`, `N`, `F`, `N_out`
    "#);
    insta::assert_snapshot!(error("\"w\", \"y\", \"B\"", "\"w\", \"B\""), @r#"
    error: `correlate` is given no tensor that the formula computes
      --> puzzles/01_x.toml:16:10
       |
    16 | kernel = "correlate"
       |          ^^^^^^^^^^^ nothing to check
       |
       = help: pass the output: the formula computes `y`
    "#);
    insta::assert_snapshot!(error("block  = 64", "block = [64, 32]"), @r"
    error: the block has 2048 threads
      --> puzzles/01_x.toml:18:10
       |
    18 | block = [64, 32]
       |          ^^
       |
       = help: a block has 1024 threads at most
    ");
    insta::assert_snapshot!(error("block  = 64", "block = []"), @r"
    error: `block` has 0 numbers
      --> puzzles/01_x.toml:18:9
       |
    18 | block = []
       |         ^^
       |
       = help: one to three: x, y, z
    ");
    insta::assert_snapshot!(error("ceil_div(B*N_out, 64)", "B*N_out / 64"), @r#"
    error: the grid in x would have 0 blocks
      --> puzzles/01_x.toml:19:10
       |
    19 | grid   = "B*N_out / 64"
       |          ^^^^^^^^^^^^^^
    ...
    23 | dims   = { B = 1, N = 5, F = 3 }
       |          ----------------------- at these sizes
       |
       = help: it must be 1 to 2147483647
    "#);
    insta::assert_snapshot!(error("ceil_div(B*N_out, 64)", "B*N_out*4000000000"), @r#"
    error: the grid in x would have 12000000000 blocks
      --> puzzles/01_x.toml:19:10
       |
    19 | grid   = "B*N_out*4000000000"
       |          ^^^^^^^^^^^^^^^^^^^^
    ...
    23 | dims   = { B = 1, N = 5, F = 3 }
       |          ----------------------- at these sizes
       |
       = help: it must be 1 to 2147483647
    "#);
    insta::assert_snapshot!(error("block  = 64", "block = 64\nshared = \"N * 1000000\""), @r#"
    error: shared memory would have 5000000 bytes
      --> puzzles/01_x.toml:19:10
       |
    19 | shared = "N * 1000000"
       |          ^^^^^^^^^^^^^
    ...
    24 | dims   = { B = 1, N = 5, F = 3 }
       |          ----------------------- at these sizes
       |
       = help: it must be 0 to 232448
    "#);
    insta::assert_snapshot!(error("ceil_div(B*N_out, 64)", "ceil_div(B*N, B)"), @r#"
    error: the grid size is rounded up, but it divides without remainder in every test
      --> puzzles/01_x.toml:19:11
       |
    19 | grid   = "ceil_div(B*N, B)"
       |           ^^^^^^^^^^^^^^^^ never rounded
       |
       = help: add a test whose size the block does not divide, so that a kernel needs its bounds check
    "#);
}

#[test]
fn every_output_must_be_taken() {
    let two = "f32[B, N_out]\"\ns = \"f32[F]";
    let text = changed(&[("f32[B, N_out]", two), ("* w[f]\"", "* w[f]; s[f] = 2 * w[f]\"")]);
    let failure = Spec::parse(&text, Path::new("puzzles/01_x.toml")).unwrap_err();
    insta::assert_snapshot!(failure.render(false), @r#"
    error: missing output: no launch computes `s`
      --> puzzles/01_x.toml:14:11
       |
    14 | forward = "y[b,i] = sum[f] x[b,i+f] * w[f]; s[f] = 2 * w[f]"
       |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ computed here
       |
       = help: add "s" to the args of the kernel that computes it
    "#);
}

#[test]
fn integers_of_32_bits() {
    let with = |to: &str| {
        let text = changed(&[("f32[F]", "i32[F]"), ("[1, 10, 100]", to)]);
        match Spec::parse(&text, Path::new("puzzles/01_x.toml")) {
            Ok(_) => "no error".into(),
            Err(failure) => failure.render(false),
        }
    };
    insta::assert_snapshot!(with("[1, 10.5, 100]"), @r"
    error: 10.5 does not fit into `w`
      --> puzzles/01_x.toml:24:41
       |
    24 | data   = { x = [1, 2, 3, 4, 5], w = [1, 10.5, 100] }
       |                                         ^^^^
       |
       = help: it holds 32-bit integers
    ");
    insta::assert_snapshot!(with("[1, 10, 4e9]"), @r"
    error: 4000000000.0 does not fit into `w`
      --> puzzles/01_x.toml:24:45
       |
    24 | data   = { x = [1, 2, 3, 4, 5], w = [1, 10, 4e9] }
       |                                             ^^^
       |
       = help: it holds 32-bit integers
    ");
    insta::assert_snapshot!(with("\"normal\""), @r#"
    error: `w` holds integers, but normal values are not integers
      --> puzzles/01_x.toml:24:37
       |
    24 | data   = { x = [1, 2, 3, 4, 5], w = "normal" }
       |                                     ^^^^^^^^
       |
       = help: write "integers"
    "#);
}

#[test]
fn tests() {
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 3, F = 2 }"), @r"
    error: this test gives no value to `N`
      --> puzzles/01_x.toml:29:8
       |
    29 | dims = { B = 3, F = 2 }
       |        ^^^^^^^^^^^^^^^^
       |
       = help: every free size of [dims] needs one
    ");
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 3, n = 9, F = 2 }"), @r"
    error: unknown size `n`
      --> puzzles/01_x.toml:29:17
       |
    29 | dims = { B = 3, n = 9, F = 2 }
       |                 ^
       |
       = help: did you mean `N`?
    ");
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 0, N = 9, F = 2 }"), @r#"
    error: `B` cannot be 0
      --> puzzles/01_x.toml:29:14
       |
    29 | dims = { B = 0, N = 9, F = 2 }
       |              ^
       |
       = help: a size must be at least 1 and fit into an int
       = help: for a padding or similar, add may_be_zero = ["B"] to [dims]
    "#);
    // An axis is never empty, whatever the sizes are.
    let empty = changed(&[
        ("[dims]", "[dims]\nmay_be_zero = [\"B\"]"),
        ("{ B = 3, N = 9, F = 2 }", "{ B = 0, N = 9, F = 2 }"),
    ]);
    let failure = Spec::parse(&empty, Path::new("puzzles/01_x.toml")).unwrap_err();
    assert!(failure.render(false).contains("has size 0 in this test"), "{}", failure.render(false));
    insta::assert_snapshot!(error("[dims]", "[dims]\nmay_be_zero = [\"L\"]"), @r#"
    error: this is not a free size
     --> puzzles/01_x.toml:4:16
      |
    4 | may_be_zero = ["L"]
      |                ^^^
      |
      = help: a derived size is 0 where its expression is
    "#);
    insta::assert_snapshot!(error("[dims]", "[dims]\nmay_be_zero = \"B\""), @r#"
    error: `may_be_zero` must be a list of names, but this is a string
     --> puzzles/01_x.toml:4:15
      |
    4 | may_be_zero = "B"
      |               ^^^
      |
      = help: write may_be_zero = ["pad"]
    "#);
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 3, N = 2, F = 9 }"), @r#"
    error: axis 1 of `y` has size -6 in this test
      --> puzzles/01_x.toml:29:8
       |
    10 | y = "f32[B, N_out]"
       |     --------------- the shape
    ...
    29 | dims = { B = 3, N = 2, F = 9 }
       |        ^^^^^^^^^^^^^^^^^^^^^^^ these sizes
       |
       = help: every axis needs at least one element
    "#);
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 1000000, N = 9000, F = 2 }"), @r"
    error: the tensors of this test have 17999000002 elements
      --> puzzles/01_x.toml:29:8
       |
    29 | dims = { B = 1000000, N = 9000, F = 2 }
       |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ these sizes
       |
       = help: a test may have at most 8388608; smaller sizes find the same mistakes
    ");
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 300, N = 9000, F = 4000 }"), @r"
    error: the formula takes 6001200000 multiplications and additions in this test
      --> puzzles/01_x.toml:29:8
       |
    29 | dims = { B = 300, N = 9000, F = 4000 }
       |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ these sizes
       |
       = help: the limit is 1073741824; smaller sizes find the same mistakes
    ");
    insta::assert_snapshot!(error("name = \"batch\"", "name = \"tiny\""), @r#"
    error: two tests are named `tiny`
      --> puzzles/01_x.toml:28:8
       |
    22 | name   = "tiny"
       |          ------ the first one
    ...
    28 | name = "tiny"
       |        ^^^^^^
       |
       = help: give each its own name
    "#);
    insta::assert_snapshot!(error("x = [1, 2, 3, 4, 5]", "x = [1, 2, 3, 4]"), @r"
    error: `x` has 5 elements in this test, but the list has 4
      --> puzzles/01_x.toml:24:16
       |
    24 | data   = { x = [1, 2, 3, 4], w = [1, 10, 100] }
       |                ^^^^^^^^^^^^
       |
       = help: its shape is [1, 5], row-major
    ");
    insta::assert_snapshot!(error("w = [1, 10, 100]", "y = [1, 10, 100]"), @r"
    error: `y` is computed, it cannot be given
      --> puzzles/01_x.toml:24:33
       |
    24 | data   = { x = [1, 2, 3, 4, 5], y = [1, 10, 100] }
       |                                 ^
       |
       = help: the inputs are `x`, `w`
    ");
    insta::assert_snapshot!(error("w = [1, 10, 100]", "w = \"integer\""), @r#"
    error: unknown kind of data `integer`
      --> puzzles/01_x.toml:24:37
       |
    24 | data   = { x = [1, 2, 3, 4, 5], w = "integer" }
       |                                     ^^^^^^^^^
       |
       = help: did you mean `integers`?
    "#);
    insta::assert_snapshot!(error("w = [1, 10, 100]", "w = [1, 1e39, 100]"), @r"
    error: 1e39 does not fit into `w`
      --> puzzles/01_x.toml:24:41
       |
    24 | data   = { x = [1, 2, 3, 4, 5], w = [1, 1e39, 100] }
       |                                         ^^^^
       |
       = help: the largest value of its type is 3.4e38
    ");
    insta::assert_snapshot!(error("y = [321, 432, 543]", "\"grad(x)\" = [321, 432, 543]"), @r#"
    error: no kernel computes `grad(x)`
      --> puzzles/01_x.toml:25:12
       |
    25 | expect = { "grad(x)" = [321, 432, 543] }
       |            ^^^^^^^^^
       |
       = help: the only output is `y`
    "#);
    insta::assert_snapshot!(error(
        "name = \"batch\"",
        "name = \"batch\"\ncheck = { kind = \"numerical-gradient\", epsilon = 0.5, rtol = 1e-2 }",
    ), @r#"
    error: no kernel of this spec computes a gradient
      --> puzzles/01_x.toml:29:18
       |
    29 | check = { kind = "numerical-gradient", epsilon = 0.5, rtol = 1e-2 }
       |                  ^^^^^^^^^^^^^^^^^^^^
       |
       = help: check a `grad(..)`, or leave the check out
    "#);
    insta::assert_snapshot!(error(
        "name = \"batch\"",
        "name = \"batch\"\ntolerance = { rtol = 1e-3, atol = 0, reason = \" \" }",
    ), @r#"
    error: the reason is empty
      --> puzzles/01_x.toml:29:47
       |
    29 | tolerance = { rtol = 1e-3, atol = 0, reason = " " }
       |                                               ^^^
       |
       = help: say why the bound that the grader derives is not enough
    "#);
    insta::assert_snapshot!(error(
        "name = \"batch\"",
        "name = \"batch\"\ntolerance = { rtol = 1.0, atol = 0, reason = \"a test\" }",
    ), @r#"
    error: `rtol` cannot be 1
      --> puzzles/01_x.toml:29:22
       |
    29 | tolerance = { rtol = 1.0, atol = 0, reason = "a test" }
       |                      ^^^
       |
       = help: from 1 on, an output of zeros would pass
    "#);
}
