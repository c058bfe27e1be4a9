//! `grader explain`: the kernel's terms beside the formula's.

use super::{Output, command, output, root};
use insta::assert_snapshot;

/// The solution of puzzle 10 with one replacement.
fn wrong(from: &str, to: &str) -> (tempfile::TempDir, String) {
    let solution = std::fs::read_to_string(root().join("solutions/10_conv_backward_input.cu"));
    let solution = solution.unwrap();
    assert_eq!(solution.matches(from).count(), 1, "{from}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kernel.cu");
    std::fs::write(&path, solution.replace(from, to)).unwrap();
    (dir, path.to_str().unwrap().to_owned())
}

/// What the report looks like must not depend on the locale.
fn grader(args: &[&str]) -> Output {
    output(command(args).env("LC_ALL", "C.UTF-8").env_remove("TERM"))
}

/// Without the line that names the file.
fn body(stdout: &str) -> String {
    stdout.lines().filter(|line| !line.contains("; seed ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_solution_is_right_for_every_input() {
    let out = grader(&["explain", "10", "--solution", "--element", "grad_input[0,0,1,0]"]);
    assert_eq!(out.code, 0, "{}", out.stderr);
    assert_snapshot!(body(&out.stdout));
}

#[test]
fn a_wrong_kernel_shows_extra_and_missing_terms() {
    let (_dir, file) = wrong("int ow = w - fw;", "int ow = w + fw;");
    let out = grader(&["explain", "10", "--file", &file, "--element", "grad(input)[0, 0, 2, 2]"]);
    assert_eq!(out.code, 1, "{}", out.stderr);
    assert_snapshot!(body(&out.stdout));

    let out = grader(&["explain", "10", "--file", &file, "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(document["element"], serde_json::json!([0, 0, 0, 0]), "the first wrong one");
    assert_eq!(document["comparison"]["rows"][0]["kind"], "extra");
    assert_eq!(document["elements"]["equal_for_every_input"], false);
}

#[test]
fn the_smallest_drawn_case_that_fails_is_explained() {
    let (_dir, file) = wrong("int ow = w - fw;", "int ow = w + fw;");
    let drawn = ["--test", "drawn_sizes", "--seed", "7"];
    let out = grader(&[&["explain", "10", "--file", &file], &drawn[..]].concat());
    assert_eq!(out.code, 1, "{} {}", out.stdout, out.stderr);
    let out = grader(&[&["profile", "10", "--file", &file], &drawn[..]].concat());
    assert_eq!(out.code, 0, "{}", out.stderr);
    let out = grader(&[&["explain", "10", "--solution"], &drawn[..]].concat());
    let said = "all drawn sizes of seed 7 pass: there is no failing case to show";
    assert!(out.code == 2 && out.stderr.contains(said), "{} {}", out.code, out.stderr);
}

#[test]
fn the_report_of_a_failing_test_shows_the_terms() {
    let (_dir, file) = wrong("fh < F;", "fh < F - 1;");
    let out = grader(&["puzzle", "10", "--file", &file, "--backend", "vm", "--seed", "7"]);
    // The line stands above, with the cause.
    let place = "look at line 26: for (int fh = 0; fh < F - 1; fh++) {";
    assert!(out.stdout.contains(place), "{}", out.stdout);
    let terms: Vec<&str> = out
        .stdout
        .lines()
        .skip_while(|line| !line.contains("the kernel made it"))
        .take_while(|line| !line.is_empty())
        .collect();
    assert_snapshot!(terms.join("\n"));
}

#[test]
fn a_value_that_is_right_by_chance_is_told() {
    // All cotangents of this test are 1: which of them is taken makes no difference to the values.
    let (_dir, file) = wrong("H_out + oh) * W_out + ow]", "H_out + oh) * W_out + oh]");
    let out = grader(&["explain", "10", "--file", &file, "--test", "conv_backward_input_tiny"]);
    assert_snapshot!(body(&out.stdout).lines().skip(2).take(4).collect::<Vec<_>>().join("\n"));
    assert!(!out.stdout.contains("every input"), "{}", out.stdout);
}

#[test]
fn elements_that_are_not_there_are_refused() {
    for (element, says) in [
        ("grad_input[0,0,9,9]", "its shape in this test is [1, 1, 5, 5]"),
        ("filters[0,0,0,0]", "its outputs: grad(input)"),
        ("nonsense", "is not an element"),
    ] {
        let out = grader(&["explain", "10", "--solution", "--element", element]);
        assert_eq!(out.code, 2, "{element}");
        assert!(out.stderr.contains(says), "{}", out.stderr);
    }
}
