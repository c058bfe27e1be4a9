//! Solutions pass the cases that a run draws, whatever the seed.

use judge::drawn;
use judge::drawn_cases::DrawnCases;
use judge::grade::{self, Machine};
use puzzle::oracle;
use puzzle::workbook::Workbook;
use std::path::Path;
use std::time::Instant;
use toolchain::Toolchain;
use toolchain::env::Env;

#[test]
#[ignore = "takes minutes: SEEDS=200 cargo test --test it -- --ignored solutions_pass_every_seed"]
fn solutions_pass_every_seed() {
    device::own_program::set(env!("CARGO_BIN_EXE_grader"));
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = number("SEEDS").unwrap_or(20);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workbook = Workbook::open(&root).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let toolchain = Toolchain::locate(&Env::current(), None);
    let toolchain = toolchain.unwrap_or_else(|f| panic!("{}", f.render(false)));
    let mut lines = Vec::new();
    for puzzle in workbook.puzzles() {
        if number("PUZZLE").is_some_and(|only| u64::from(puzzle.number) != only) {
            continue;
        }
        let spec = oracle::load(&puzzle.spec, &puzzle.spec).unwrap();
        let program = grade::compile(&toolchain, &workbook, &spec, &puzzle.solution, None).unwrap();
        let machine = Machine::new(&program, None).unwrap();
        let (start, mut cases) = (Instant::now(), 0);
        for seed in 0..seeds {
            let verdict = drawn::judge(&machine, &program, &DrawnCases::new(&spec, seed)).unwrap();
            let Some(verdict) = verdict else { break };
            cases += verdict.cases;
            if !verdict.passed() {
                lines.push(format!("{} fails with {seed}: {:?}", puzzle.stem, verdict.dims));
            }
        }
        let took = start.elapsed().as_secs_f64() * 1e3 / seeds as f64;
        lines.push(format!("{}: {cases} cases, {took:.0} ms a seed", puzzle.stem));
    }
    let report = lines.join("\n");
    std::fs::write(std::env::temp_dir().join("drawn_sizes.txt"), &report).unwrap();
    assert!(!report.contains("fails"), "\n{report}");
}

#[test]
fn a_kernel_that_is_right_for_the_tested_sizes_fails_at_the_smallest_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let right = std::fs::read_to_string(root.join("solutions/02_matmul.cu")).unwrap();
    let line = "    float line[300];\n    for (int k = 0; k < K; k++) line[k] = A[row * K + k];\n";
    let wrong = right
        .replace("    float sum = 0.0f;\n", &format!("{line}    float sum = 0.0f;\n"))
        .replace("sum += A[row * K + k]", "sum += line[k]");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.cu");
    std::fs::write(&file, wrong).unwrap();
    let (code, text) = {
        let mut grader = std::process::Command::new(env!("CARGO_BIN_EXE_grader"));
        grader.current_dir(&root).args(["puzzle", "2", "--backend", "vm", "--seed", "7", "--file"]);
        let out = grader.arg(&file).args(["--test", "drawn_sizes"]).output().unwrap();
        (out.status.code(), String::from_utf8(out.stdout).unwrap())
    };
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("smallest case that fails: M=1, K=301, N=1; its data: small"), "{text}");
    assert!(text.contains("--test drawn_sizes --seed 7"), "{text}");
}

/// A kernel that is wrong for equal sizes past a literal, or cancels in long rows alone, meets such sizes and such rows.
#[test]
fn a_kernel_that_is_wrong_past_its_own_literals_fails() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workbook = Workbook::open(&root).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let toolchain = Toolchain::locate(&Env::current(), None);
    let toolchain = toolchain.unwrap_or_else(|f| panic!("{}", f.render(false)));
    let gate = "passes(upstream[o], z[o])";
    let own = "passes(upstream[o], z[K == C && K > 6 ? ((n * H + h) * W + w) * K + k : o])";
    let variance = "float var = block_sum(squares) / H;";
    let one_pass = format!(
        "{variance}\n    float other = block_sum(plain) / H - m * m;\n    if (H > 300) var = other;"
    );
    let squares = ("float squares = 0.0f;", "float squares = 0.0f, plain = 0.0f;");
    let term = "squares += d * d;";
    let terms = format!("{term}\n        plain += x[row * H + k] * x[row * H + k];");
    let wrong = [
        ("31_relu_conv_backward_input", vec![(gate, own)]),
        ("40_layernorm_forward", vec![squares, (term, &terms), (variance, &one_pass)]),
    ];
    for (stem, changes) in wrong {
        let puzzle = workbook.puzzles().iter().find(|puzzle| puzzle.stem == stem).unwrap();
        let spec = oracle::load(&puzzle.spec, &puzzle.spec).unwrap();
        let mut text = std::fs::read_to_string(&puzzle.solution).unwrap();
        for (from, to) in changes {
            assert!(text.contains(from), "{stem}: {from}");
            text = text.replace(from, to);
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wrong.cu");
        std::fs::write(&file, text).unwrap();
        let program = grade::compile(&toolchain, &workbook, &spec, &file, None).unwrap();
        let machine = Machine::new(&program, None).unwrap();
        for seed in 0..3 {
            let verdict = drawn::judge(&machine, &program, &DrawnCases::new(&spec, seed)).unwrap();
            assert!(!verdict.unwrap().passed(), "{stem}: {seed}");
        }
    }
}
