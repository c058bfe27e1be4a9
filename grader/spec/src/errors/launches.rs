//! Messages about launches and their outputs.

use super::error;
use crate::Spec;
use crate::fixture::changed;
use std::path::Path;

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
fn constants_hold_inputs() {
    let constants = |value: &str| error("block  = 64", &format!("block = 64\nconstants = {value}"));
    assert_eq!(constants("{ taps = \"w\" }"), "no error");
    let all = [
        "{ taps = \"y\" }",
        "{ taps = \"given(y)\" }",
        "{ taps = \"v\" }",
        "{ taps = \"N\" }",
        "{ \"my taps\" = \"w\" }",
        "[\"w\"]",
    ];
    insta::assert_snapshot!(all.map(constants).join("\n\n"));
    let large = error(
        "[[test]]",
        "[[test]]\nname = \"large\"\ndims = { B = 1, N = 30000, F = 20000 }\n[[test]]",
    );
    assert_eq!(large, "no error");
    let both = changed(&[
        ("block  = 64", "block = 64\nconstants = { taps = \"w\" }"),
        ("B = 3, N = 9, F = 2", "B = 1, N = 30000, F = 20000"),
    ]);
    let failure = Spec::parse(&both, Path::new("puzzles/01_x.toml")).unwrap_err();
    insta::assert_snapshot!(failure.render(false));
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
