//! `grader export` and `grader launch`, and the Python package that uses them.

use super::{grader, output, root};
use grader::npy;
use puzzle::tensor::DType;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

/// Exports the solution of puzzle 10, and plans its launch for a gradient of 3 x 3 ones and the weights 1 to 9.
fn exported(folder: &Path) -> (Value, Value) {
    let out = grader(&["export", "10", "--solution", "--out", folder.to_str().unwrap()]);
    assert_eq!(out.code, 0, "{}", out.stderr);
    let document: Value =
        serde_json::from_slice(&fs::read(folder.join("launches.json")).unwrap()).unwrap();
    let weights: Vec<f64> = (1..=9).map(f64::from).collect();
    for (name, values) in [("gradient.npy", vec![1.0; 9]), ("filters.npy", weights)] {
        let bytes = npy::to_bytes(DType::F32, &[1, 1, 3, 3], &values);
        fs::write(folder.join(name), bytes).unwrap();
    }
    let tensor = |name: &str, side: usize, access: &str, file: &str| {
        let shape = [1, 1, side, side];
        json!({"name": name, "dtype": "f32", "shape": shape, "access": access, "file": file})
    };
    let ints = [1, 1, 5, 5, 1, 3].map(|int| json!({"int": int, "bytes": 4}));
    let tensors = [0, 1, 2].map(|tensor| json!({"tensor": tensor}));
    let plan = json!({
        "ptx": document["ptx"],
        "source": document["source"],
        "tensors": [
            tensor("grad(output)", 3, "read", "gradient.npy"),
            tensor("filters", 3, "read", "filters.npy"),
            tensor("grad(input)", 5, "write", "result.npy"),
        ],
        "launches": [{
            "kernel": "conv2d_backward_input",
            "symbol": document["launches"][0]["symbol"],
            "grid": [1, 1, 1],
            "block": [256, 1, 1],
            "shared": 0,
            "options": document["launches"][0]["options"],
            "args": ([&tensors[..], &ints[..]].concat()),
            "constants": {},
        }],
    });
    (document, plan)
}

/// Runs a plan: the exit code and what it says on standard error.
fn launch(folder: &Path, plan: &Value) -> (i32, String) {
    let path = folder.join("plan.json");
    fs::write(&path, plan.to_string()).unwrap();
    let out = grader(&["launch", path.to_str().unwrap()]);
    (out.code, out.stderr)
}

#[test]
fn exported_kernels_run_as_they_are_planned() {
    let dir = tempfile::tempdir().unwrap();
    let (document, plan) = exported(dir.path());
    assert_eq!(document["launches"][0]["grid"], json!(["ceil_div(batch*C_in*H*W, 256)"]));
    assert_eq!(document["tensors"]["grad(output)"]["shape"][2], "H_out");
    assert_eq!(document["derived_sizes"][0], json!({"name": "H_out", "is": "H - F + 1"}));
    assert_eq!(launch(dir.path(), &plan), (0, String::new()));
    let result = fs::read(dir.path().join("result.npy")).unwrap();
    let result = npy::from_bytes(DType::F32, &[1, 1, 5, 5], &result).unwrap();
    // The corners met one weight, the middle all nine.
    assert_eq!([result[0], result[1], result[12], result[24]], [1.0, 3.0, 45.0, 9.0]);
}

#[test]
fn a_plan_that_goes_wrong_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let (_, plan) = exported(dir.path());
    let changed = |place: &str, to: Value| {
        let mut plan = plan.clone();
        *plan.pointer_mut(place).unwrap() = to;
        launch(dir.path(), &plan)
    };
    // An image of 6 x 5 in a tensor of 5 x 5: the kernel's fault, at its line.
    let (code, said) = changed("/launches/0/args/5/int", json!(6));
    assert_eq!(code, 1);
    assert!(said.contains("grad(input)") && said.contains("10_conv_backward_input.cu:"), "{said}");
    let (code, said) = changed("/launches/0/block/0", json!(8));
    assert!(code == 1 && said.contains("never written"), "{said}");
    for (place, to, what) in [
        ("/tensors/0/shape/3", json!(4), "gradient.npy is not `grad(output)`"),
        ("/tensors/0/shape/3", json!(1_u64 << 62), "has shape"),
        ("/tensors/0/dtype", json!("f31"), "`f31` is not the name of an element type"),
        ("/tensors/0/file", json!("none.npy"), "cannot read"),
        ("/launches/0/args/0/tensor", json!(7), "there is no tensor 7"),
        ("/launches/0/grid/0", json!(0), "no GPU can launch"),
        ("/launches/0/symbol", json!("none"), "no kernel `conv2d_backward_input`"),
        ("/launches/0/args", json!([]), "conv2d_backward_input"),
        ("/launches/0/grid", json!("1"), "is not a plan of launches"),
    ] {
        let (code, said) = changed(place, to);
        assert!(
            code != 0 && said.contains(what) && !said.contains("bug"),
            "{place}: {code} {said}"
        );
    }
}

/// The tests of the Python package, where Python has the framework; CI has not.
#[test]
fn kernels_are_backward_passes_in_pytorch() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut found = Command::new(&python);
    let found = found.args(["-c", "import torch, numpy"]).output();
    if !found.is_ok_and(|done| done.status.success()) {
        writeln!(io::stderr(), "skipped: {python} has no PyTorch with NumPy").unwrap();
        return;
    }
    let mut tests = Command::new(&python);
    tests.args(["-m", "unittest", "kernels/torch/tests/test_kernels.py"]).current_dir(root());
    let out = output(tests.env("GRADER", env!("CARGO_BIN_EXE_grader")));
    assert_eq!(out.code, 0, "{}", out.stderr);
}
