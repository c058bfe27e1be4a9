//! `grader bench` without a GPU: counters and a model. A GPU's part is tested where there is one.

use super::{grader, root};

#[test]
fn every_step_of_a_ladder_is_right_and_counted() {
    let ladders = std::fs::read_dir(root().join("kernels/ladders")).unwrap();
    let folders = ladders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    for folder in folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        // One size: all are counted in the same test.
        let spec = std::fs::read_to_string(folder.join("ladder.toml")).unwrap();
        let size =
            spec.split("[[bench]]").nth(1).and_then(|bench| bench.split('"').nth(1)).unwrap();
        let out = grader(&["bench", name, "--backend", "vm", "--seed", "7", "--size", size]);
        assert_eq!(out.code, 0, "{}", out.stderr);
        let refused = out.stdout.lines().find(|line| line.contains("is not counted"));
        assert_eq!(refused, None, "{name}");
        let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|e| e == "cu")) {
            let step = file.file_stem().unwrap().to_str().unwrap();
            assert!(out.stdout.contains(step), "{step}: {}", out.stdout);
        }
    }
}

#[test]
fn an_unsolved_puzzle_has_a_bound_and_the_solutions_counters() {
    let out = grader(&["bench", "18", "--backend", "vm", "--model", "t4", "--seed", "7"]);
    assert_eq!(out.code, 0, "{}", out.stderr);
    for words in [
        "nothing here is measured",
        "NVIDIA T4",
        "17 GFLOP, 50 MB",
        "at least 2.121 ms, by its flops",
        "your kernel is not counted: the test",
        "bytes, per byte of work",
    ] {
        assert!(out.stdout.contains(words), "{words}: {}", out.stdout);
    }
}

#[test]
fn what_cannot_be_timed_is_explained() {
    for (args, words) in [
        (&["bench", "1"][..], "puzzle 1 has no [[bench]]"),
        (&["bench", "steps"], "`steps` is neither the number of a puzzle nor a ladder"),
        (&["bench", "18", "--model", "h300"], "known are t4, a100-40gb"),
        (&["bench", "18", "--backend", "vm", "--size", "huge"], "it has square_2048"),
        (
            &["bench", "18", "--compare", "README.md"],
            "`README.md` is not an earlier run: it is no JSON",
        ),
        (&["bench", "18", "--compare", "x", "--format", "json"], "--compare writes text"),
        (&["bench", "lenet_step", "--file", "x.cu"], "--file is for a puzzle"),
    ] {
        let out = grader(args);
        assert_eq!(out.code, 2, "{args:?}: {}", out.stdout);
        assert!(out.stderr.contains(words), "{words}: {}", out.stderr);
    }
}
