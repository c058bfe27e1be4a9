//! Submissions that are after something else than a verdict.

use super::{STEADY, grader, root};
use std::fs;

/// Grades a file of this name as puzzle 10; the exit code, and all that was printed.
fn graded(name: &str, text: &str) -> (i32, String) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("mine.cuh"), "__device__ float twice(float x) { return 2 * x; }\n")
        .unwrap();
    let file = dir.path().join(name);
    fs::write(&file, text).unwrap();
    let out = grader(&[&["puzzle", "10", "--file", file.to_str().unwrap()][..], &STEADY].concat());
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 2, "{name}: {left:?}");
    (out.code, out.stdout + &out.stderr)
}

#[test]
fn the_compiler_reads_no_other_files() {
    let solution = root().join("solutions/10_conv_backward_input.cu");
    let text = fs::read_to_string(&solution).unwrap();
    let include = |name: &str| format!("#include \"{name}\"\n");
    for hostile in [
        include("lenet_kernels.cuh"),
        include(solution.to_str().unwrap()),
        include("/etc/passwd"),
        "#define ALL \"lenet_kernels.cuh\"\n#include ALL\n".to_owned(),
        format!("{text}\n#line 1 \"/etc/passwd\"\nint x = y;\n"),
        format!("{text}\n__global__ void z() {{ asm(\".inc\" \"bin \\\"/etc/passwd\\\"\"); }}\n"),
    ] {
        let (code, said) = graded("k.cu", &hostile);
        assert_ne!(code, 0, "{hostile}: {said}");
        assert!(!said.contains("root:"), "{hostile}: {said}");
    }
    let (code, said) = graded("k.cu", &(include("mine.cuh") + &text));
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_name_is_no_command() {
    for name in ["$(touch OWNED).cu", "`touch OWNED`.cu", "-x.cu", "a\"b.cu"] {
        let (code, said) = graded(name, "");
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("rename"), "{said}");
    }
    for name in ["homework (1) final.cu", "über'n Berg; ls & x.cu"] {
        let (code, said) = graded(name, "");
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("conv2d_backward_input"), "{said}");
    }
}
