use super::*;
use crate::examples::{Conv, line, outside, run_info, verdict};
use device::finding::Element;
use insta::assert_snapshot;

fn document(events: impl FnOnce(&mut JsonReporter<&mut Vec<u8>>)) -> Value {
    let mut out = Vec::new();
    events(&mut JsonReporter::new(&mut out));
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("{\n  \"schema_version\": 1,") && text.ends_with("}\n"), "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_run_with_a_wrong_test() {
    let correct = verdict("tiny", |memory, at| Some(Conv::CORRECT.sum(memory, at)));
    let mut wrong = verdict("tiny", |memory, at| match at {
        [0, 0, 1, 1] => Some(f64::NAN),
        [0, 0, 4, _] => None,
        _ => Some(Conv::CORRECT.sum(memory, at)),
    });
    let place = Element { tensor: "filters".into(), shape: vec![1, 1, 3, 3], flat: 9 };
    wrong.findings.push(Finding {
        problem: outside(place),
        kernel: "conv2d_backward_input".into(),
        line: Some(line(4, 26)),
        thread: Some(ThreadId { block: [0; 3], thread: [3, 0, 0] }),
        count: 2,
    });
    let document = document(|reporter| {
        reporter.start(&run_info()).unwrap();
        reporter.test_finished(&correct).unwrap();
        reporter.test_finished(&wrong).unwrap();
        reporter.finish(&Summary { total: 2, passed: 1 }).unwrap();
    });
    assert_eq!(document["passed"], false);
    assert_eq!(document["exit_code"], 1);
    assert_eq!(document["compile"]["millis"], 812.0);
    assert_eq!(document["tests"][0]["passed"], true);
    assert_eq!(document["tests"][0]["tensors"], json!([]));
    let tensor = &document["tests"][1]["tensors"][0];
    assert_eq!([&tensor["wrong"], &tensor["unwritten"], &tensor["nan"]], [6, 5, 1]);
    assert_eq!(tensor["mismatches"][0]["got"], "NaN");
    assert_eq!(tensor["mismatches"][1]["got"], Value::Null);
    let shown = json!({
        "finding": document["tests"][1]["findings"][0],
        "mismatch": tensor["mismatches"][1],
        "terms": tensor["terms"]["formula"][0],
        "thread": tensor["terms"]["thread"],
    });
    assert_snapshot!(serde_json::to_string_pretty(&shown).unwrap(), @r#"
    {
      "finding": {
        "count": 2,
        "help": [
          "filters has 9 elements, shape [1, 1, 3, 3]",
          "the last is number 8, filters[0, 0, 2, 2]; this is number 9",
          "first in block (0,0,0) thread (3,0,0) of conv2d_backward_input; 1 more such at this line"
        ],
        "kernel": "conv2d_backward_input",
        "kind": "out-of-bounds",
        "line": {
          "column": 26,
          "file": "/tmp/x/10_conv_backward_input.cu",
          "line": 4
        },
        "message": "out-of-bounds read of filters, 1 past its last element",
        "thread": {
          "block": [
            0,
            0,
            0
          ],
          "thread": [
            3,
            0,
            0
          ]
        }
      },
      "mismatch": {
        "allowed": 0.0,
        "difference": null,
        "element": [
          0,
          0,
          4,
          0
        ],
        "expected": 7.0,
        "got": null
      },
      "terms": {
        "coefficient": 1.0,
        "factors": [
          {
            "element": [
              0,
              0,
              1,
              1
            ],
            "tensor": "filters"
          },
          {
            "element": [
              0,
              0,
              0,
              0
            ],
            "tensor": "grad(output)"
          }
        ],
        "indices": {
          "fh": 1,
          "fw": 1,
          "k": 0
        },
        "value": 5.0
      },
      "thread": {
        "extra": [],
        "id": {
          "block": [
            0,
            0,
            0
          ],
          "thread": [
            6,
            0,
            0
          ]
        },
        "line": {
          "column": 5,
          "file": "/tmp/x/10_conv_backward_input.cu",
          "line": 6
        },
        "missing": [
          {
            "element": [
              0,
              0,
              1,
              1
            ],
            "tensor": "filters"
          },
          {
            "element": [
              0,
              0,
              0,
              0
            ],
            "tensor": "grad(output)"
          },
          {
            "element": [
              0,
              0,
              1,
              0
            ],
            "tensor": "filters"
          },
          {
            "element": [
              0,
              0,
              0,
              1
            ],
            "tensor": "grad(output)"
          },
          {
            "element": [
              0,
              0,
              0,
              1
            ],
            "tensor": "filters"
          },
          {
            "element": [
              0,
              0,
              1,
              0
            ],
            "tensor": "grad(output)"
          },
          {
            "element": [
              0,
              0,
              0,
              0
            ],
            "tensor": "filters"
          },
          {
            "element": [
              0,
              0,
              1,
              1
            ],
            "tensor": "grad(output)"
          }
        ],
        "outside": [],
        "reads": 0
      }
    }
    "#);
}

#[test]
fn a_pass() {
    let correct = verdict("tiny", |memory, at| Some(Conv::CORRECT.sum(memory, at)));
    let document = document(|reporter| {
        reporter.start(&run_info()).unwrap();
        reporter.test_finished(&correct).unwrap();
        reporter.finish(&Summary { total: 1, passed: 1 }).unwrap();
    });
    assert_snapshot!(serde_json::to_string_pretty(&document).unwrap(), @r#"
    {
      "backend": "vm",
      "backend_description": "PTX virtual machine, 2 threads",
      "compile": {
        "cached": false,
        "millis": 812.0
      },
      "exit_code": 0,
      "file": "puzzles/10_conv_backward_input.cu",
      "passed": true,
      "puzzle": 10,
      "schema_version": 1,
      "seed": 42,
      "tests": [
        {
          "about": "One 5x5 image, one 3x3 filter of 1..9, a gradient of ones: small enough to check by hand.",
          "dims": {
            "C_in": 1,
            "C_out": 1,
            "F": 3,
            "H": 5,
            "H_out": 3,
            "W": 5,
            "W_out": 3,
            "batch": 1
          },
          "findings": [],
          "millis": 3.21,
          "name": "tiny",
          "passed": true,
          "printed": "",
          "seed": 42,
          "tensors": []
        }
      ],
      "title": "Conv2D backward: input gradient",
      "warnings": []
    }
    "#);
}

#[test]
fn a_failure_before_the_run() {
    let failure =
        Failure::new(FailureKind::Environment, "no C++ compiler was found", "install g++");
    let document = document(|reporter| reporter.failed(&failure).unwrap());
    assert_snapshot!(serde_json::to_string_pretty(&document).unwrap(), @r#"
    {
      "error": {
        "diagnostics": [
          {
            "help": [
              "install g++"
            ],
            "message": "no C++ compiler was found",
            "severity": "error",
            "source": null
          }
        ],
        "kind": "environment"
      },
      "exit_code": 3,
      "passed": false,
      "schema_version": 1,
      "tests": []
    }
    "#);
}

#[test]
fn numbers_that_json_lacks_are_names() {
    let texts = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.1]
        .map(|x| serde_json::to_string(&Number(x)).unwrap());
    assert_eq!(texts, ["\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "0.1"]);
}
