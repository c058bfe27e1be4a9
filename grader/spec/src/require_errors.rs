//! Tests of the messages for a wrong `[[require]]`.

use super::Spec;
use super::errors::error_in;
use std::path::Path;

const SPEC: &str = r#"title = "Roots"

[dims]
free = ["n"]

[tensors]
a = "f32[n]"
root = "f32[n]"
off = "f32[n]"
twice = "f32[n]"

[math]
forward = """
off[i] = abs(root[i] * root[i] - a[i])
twice[i] = 2 * a[i]
"""

[[launch]]
kernel = "roots"
args = ["a", "result(root)", "twice", "n"]
block = 32
grid = 1

[[require]]
holds = "off <= 1e-5"
tests = ["tiny"]
about = "the square of a root"

[[test]]
name = "tiny"
dims = { n = 5 }
data = "ones"
"#;

fn parsed(text: &str) -> Spec {
    Spec::parse(text, Path::new("puzzles/01_x.toml")).unwrap()
}

/// The message for `SPEC` with one replacement.
fn error(from: &str, to: &str) -> String {
    error_in(SPEC, from, to)
}

#[test]
fn a_result_is_no_input_of_its_test() {
    let spec = parsed(SPEC);
    let test = &spec.tests[0];
    let names =
        |tensors: &[tensor::Tensor]| tensors.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&test.inputs), ["a"]);
    assert_eq!(names(&test.results().cloned().collect::<Vec<_>>()), ["root"]);
    assert_eq!(test.outputs(), ["twice"]);
    assert!(spec.requirements[0].counts_in(test));
}

/// Each change of the spec, and the message for it.
#[test]
fn every_mistake_is_told_with_its_place() {
    let changes = [
        ("off <= 1e-5", "off < 1e-5"),
        ("off <= 1e-5", "of <= 1e-5"),
        ("off <= 1e-5", "off <= a"),
        ("off <= 1e-5", "off <= inf"),
        ("off <= 1e-5\"\ntests = [\"tiny\"]", "off <= 1\"\n[[require]]\nholds = \"twice <= 1e5\""),
        ("off <= 1e-5", "root <= 1e5"),
        ("tests = [\"tiny\"]", "tests = [\"tinny\"]"),
        ("tests = [\"tiny\"]", "test = [\"tiny\"]"),
        (
            "[[require]]\nholds = \"off <= 1e-5\"\ntests = [\"tiny\"]\nabout = \"the square of a root\"",
            "",
        ),
        ("result(root)", "result(off)"),
        ("result(root)", "result(rot)"),
        ("result(root)", "root"),
        ("\"twice\", \"n\"", "\"twice\", \"off\", \"n\""),
        ("\"twice\", \"n\"", "\"twice\", \"root\", \"n\""),
        ("data = \"ones\"", "data = { root = \"ones\" }"),
        ("abs(root[i] * root[i] - a[i])", "sum[j < 100000, k < 100000] index(j + k) * root[i]"),
    ];
    let page: String = changes.iter().map(|(from, to)| error(from, to) + "\n\n----\n\n").collect();
    insta::assert_snapshot!(page);
}
