//! Messages about sizes, tensors and the formula.

use super::error;
use crate::Spec;
use crate::fixture::changed;
use std::path::Path;

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
      = help: element types: `f32`, `f64`, `f16`, `bf16`, `i32`, `i64` and `u8`
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
    let on_the_way = error("y[b,i] =", "m[b] = max[i] x[b,i]; y[b,i] =");
    assert!(on_the_way.contains("on the way is declared in [tensors]"), "{on_the_way}");
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
