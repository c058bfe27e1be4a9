//! Tests of the messages for a wrong spec: this file has those about keys and counts.
//!
//! - [`formula`]: sizes, tensors and the formula;
//! - [`launches`]: launches and their outputs;
//! - [`tests`]: sizes, data and expected values of tests.

mod formula;
mod launches;
mod tests;

use super::Spec;
use crate::fixture::SPEC;
use std::path::Path;

/// The message for `SPEC` with one replacement.
fn error(from: &str, to: &str) -> String {
    error_in(SPEC, from, to)
}

/// The message for a valid spec with one replacement, which must change something.
pub(super) fn error_in(spec: &str, from: &str, to: &str) -> String {
    assert!(spec.contains(from), "`{from}` is not in the spec");
    match Spec::parse(&spec.replacen(from, to, 1), Path::new("puzzles/01_x.toml")) {
        Ok(_) => "no error".into(),
        Err(failure) => failure.render(false),
    }
}

#[test]
fn the_spec_itself_is_valid() {
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
    insta::assert_snapshot!(error("kernel = \"correlate\"\n", "kernel = \"correlate\"\nwork = \"f32[N]\"\n"), @r#"
    error: unknown key `work`
      --> puzzles/01_x.toml:17:1
       |
    17 | work = "f32[N]"
       | ^^^^
       |
       = help: declare it once, [workspace] with work = "f32[N]", and pass it: args = ["work"]
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
