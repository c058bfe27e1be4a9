//! Messages about tests: sizes, data and expected values.

use super::error;
use crate::Spec;
use crate::fixture::changed;
use std::path::Path;

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
      = help: a derived size is 0 if its expression is 0
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
