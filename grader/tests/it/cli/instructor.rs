//! The instructor's commands: a new puzzle is in order, and what is not is named.

use super::{Output, command, output, root};
use std::fs;
use std::path::{Path, PathBuf};

/// A copy of one puzzle of the workbook, and what belongs to it.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        for folder in ["puzzles", "solutions", "book/src/figures"] {
            fs::create_dir_all(bench.path(folder)).unwrap();
        }
        for file in
            ["puzzles/01_vector_add.cu", "puzzles/01_vector_add.toml", "solutions/01_vector_add.cu"]
                .into_iter()
                .chain([
                    "solutions/01_vector_add.toml",
                    "book/src/01_vector_add.md",
                    "book/src/figures/01_threads.svg",
                ])
        {
            fs::copy(root().join(file), bench.path(file)).unwrap();
        }
        let summary = "# Summary\n\n# Basics\n\n- [01](01_vector_add.md)\n\n# For instructors\n";
        fs::write(bench.path("book/src/SUMMARY.md"), summary).unwrap();
        bench
    }

    fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    fn change(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(file)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from} in {file}");
        fs::write(self.path(file), text.replace(from, to)).unwrap();
    }

    fn grader(&self, args: &[&str]) -> Output {
        let dir: &Path = self.dir.path();
        output(
            command(args)
                .current_dir(dir)
                .env("LC_ALL", "C.UTF-8")
                .stdin(std::process::Stdio::null()),
        )
    }
}

#[test]
fn a_new_puzzle_is_in_order_and_its_tests_notice_every_mutant() {
    let bench = Bench::new();
    let made = bench.grader(&["new", "51_my_puzzle", "--title", "Scaled rows"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let summary = fs::read_to_string(bench.path("book/src/SUMMARY.md")).unwrap();
    assert!(
        summary.contains("(01_vector_add.md)\n- [51 Scaled rows](51_my_puzzle.md)\n"),
        "{summary}"
    );
    let checked = bench.grader(&["check", "51", "--mutants", "--backend", "vm"]);
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    assert!(checked.stdout.starts_with("51 Scaled rows\n"), "{}", checked.stdout);
    assert!(checked.stdout.contains(", 0 survive"), "{}", checked.stdout);
    let made = bench.grader(&["new", "52_row_sums", "--template", "sum"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let checked = bench.grader(&["check", "52", "--backend", "vm"]);
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    // A second time nothing is overwritten.
    let again = bench.grader(&["new", "51_other"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("puzzle 51 exists already: 51_my_puzzle"), "{}", again.stderr);
    assert!(!bench.path("puzzles/51_other.cu").exists());
}

/// The puzzles of the page of recipes, as an instructor copies them.
#[test]
fn the_recipes_of_the_book_are_in_order() {
    let page = fs::read_to_string(root().join("book/src/recipes.md")).unwrap();
    let bench = Bench::new();
    for (stem, title) in [
        ("51_scan", "Prefix sums"),
        ("52_spmv", "A sparse matrix times a vector"),
        ("53_heat", "A heat equation"),
    ] {
        let made = bench.grader(&["new", stem, "--title", title]);
        assert_eq!(made.code, 0, "{}", made.stderr);
    }
    // Each block starts with the path of its file.
    let mut files = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (_, block) = block.split_once('\n').unwrap();
        let (first, _) = block.split_once('\n').unwrap();
        let file = first.trim_start_matches(['#', '/', ' ']);
        assert!(bench.path(file).exists(), "{file}");
        fs::write(bench.path(file), format!("{block}\n")).unwrap();
        files += 1;
    }
    assert_eq!(files, 12);
    let checked = bench.grader(&["check", "51", "52", "53", "--mutants", "--backend", "vm"]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    assert_eq!(checked.stdout.matches(", 0 survive").count(), 3, "{}", checked.stdout);
    // Without data of its own a drawn case chooses columns that are none.
    let spec = fs::read_to_string(bench.path("puzzles/52_spmv.toml")).unwrap();
    let (without, _) = spec.split_once("[draw.data]").unwrap();
    fs::write(bench.path("puzzles/52_spmv.toml"), without).unwrap();
    let checked = bench.grader(&["check", "52", "--backend", "vm"]);
    assert_eq!(checked.code, 1, "{}", checked.stdout);
    assert!(checked.stdout.contains("drawn cases are not possible"), "{}", checked.stdout);
}

#[test]
fn a_check_names_what_is_not_in_order() {
    let bench = Bench::new();
    let solution = fs::read_to_string(bench.path("solutions/01_vector_add.cu")).unwrap();
    fs::write(
        bench.path("puzzles/01_vector_add.cu"),
        solution.replace("int N", "int  n").replace('N', "n"),
    )
    .unwrap();
    bench.change("puzzles/01_vector_add.toml", "\n\n[dims]", "\nneeds = [0, 1]\n\n[dims]");
    bench.change("book/src/01_vector_add.md", "Hint 2 (medium)", "Tip 2");
    bench.change("book/src/SUMMARY.md", "01_vector_add.md", "01.md");
    bench.change("solutions/01_vector_add.toml", "# Wrong", "[[wrong]]\nname = 'right'\ncaught_by = 'small_array'\nreplace = [{ from = '// ANCHOR: all', to = '//' }]\n# Wrong");
    let checked = bench.grader(&["check", "--backend", "vm"]);
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    insta::assert_snapshot!(checked.stdout);
}

/// A puzzle whose stub is a kernel with a mistake to find.
#[test]
fn a_stub_with_a_mistake_is_flagged_for_what_the_spec_names() {
    let bench = Bench::new();
    let solution = fs::read_to_string(bench.path("solutions/01_vector_add.cu")).unwrap();
    let guard = "    if (i >= N) return; // the grid is rounded up\n";
    assert!(solution.contains(guard));
    fs::write(bench.path("puzzles/01_vector_add.cu"), solution.replace(guard, "")).unwrap();
    let broken = "[[broken]]\nkernel = \"vector_add\"\nfinding = \"out-of-bounds\"\n\n[[launch]]";
    bench.change("puzzles/01_vector_add.toml", "[[launch]]", broken);
    let checked = bench.grader(&["check", "--backend", "vm"]);
    let flagged = "compiles, and 1 of 1 broken kernels are flagged for their mistakes";
    assert!(checked.stdout.contains(flagged), "{}{}", checked.stdout, checked.stderr);
    bench.change("puzzles/01_vector_add.toml", "\"out-of-bounds\"", "\"shared-race\"");
    let checked = bench.grader(&["check", "--backend", "vm"]);
    assert_eq!(checked.code, 1);
    let instead =
        "the stub's vector_add is not flagged as shared-race: the tests find out-of-bounds";
    assert!(checked.stdout.contains(instead), "{}", checked.stdout);
    bench.change(
        "puzzles/01_vector_add.toml",
        "kernel = \"vector_add\"\nfinding",
        "kernel = \"vector_ad\"\nfinding",
    );
    let checked = bench.grader(&["check", "--backend", "vm"]);
    assert!(checked.stdout.contains("did you mean `vector_add`?"), "{}", checked.stdout);
}

#[test]
fn survivors_are_shown_with_what_to_write_of_them() {
    let bench = Bench::new();
    // A second guard, which changes nothing.
    bench.change("solutions/01_vector_add.cu", "    C[i] =", "    if (i < 2 * N) C[i] =");
    let text = "[[wrong]]\nname = 'w'\ncaught_by = 'small_array'\nreplace = [{ from = ' + B', to = ' - B' }]\n\
                [[equivalent]]\nreason = 'no reason'\nmutants = [{ from = ' + B', to = ' - B' }]\n";
    fs::write(bench.path("solutions/01_vector_add.toml"), text).unwrap();
    let checked = bench.grader(&["check", "1", "--mutants", "--backend", "vm"]);
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    insta::assert_snapshot!(checked.stdout);
    // What the page proposes explains them.
    let (_, entry) = checked.stdout.split_once("[[equivalent]]").unwrap();
    let entry = entry.replace("reason = \"\"", "reason = \"the first guard is stricter\"");
    let text = text.split("[[equivalent]]").next().unwrap().to_owned() + "[[equivalent]]" + &entry;
    fs::write(bench.path("solutions/01_vector_add.toml"), text).unwrap();
    let checked =
        bench.grader(&["check", "1", "--mutants", "--backend", "vm", "--format", "junit"]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    assert!(checked.stdout.contains("<testcase name=\"mutants\""), "{}", checked.stdout);
}

/// An author takes the words for `says` from these reports, so they must be those that `says` is compared with.
#[test]
fn the_reports_are_on_the_tests_that_catch_the_wrong_kernels() {
    let bench = Bench::new();
    // Each fails the first test of the spec too. Where it stands, what catches it, the test that shows it, and what the report says there.
    let kernels = [
        ("C[i] = A[i] - B[i]", "large_array", "large_array", "the term `B[i]` is subtracted"),
        (
            "C[i] = A[N == 1000 ? i + 1 : i] - B[i]",
            "out-of-bounds",
            "non_divisible_size",
            "read of A",
        ),
        ("C[i] = A[i] - B[i] ", "drawn_sizes", "drawn_sizes", "the term `B[i]` is subtracted"),
    ];
    let wrong = kernels.map(|(to, caught_by, _, says)| {
        let from = "C[i] = A[i] + B[i]";
        format!(
            "[[wrong]]\nname = '{to}'\ncaught_by = '{caught_by}'\nsays = '{says}'\nfrom = '{from}'\nto = '{to}'\n"
        )
    });
    fs::write(bench.path("solutions/01_vector_add.toml"), wrong.concat()).unwrap();
    let checked = bench.grader(&["check", "1", "--backend", "vm"]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    let folder = bench.path("reports");
    let written = bench.grader(&["check", "1", "--reports", folder.to_str().unwrap()]);
    assert_eq!(written.code, 0, "{}", written.stderr);
    let text = fs::read_to_string(folder.join("01_vector_add.txt")).unwrap();
    let reports: Vec<&str> = text.split("#### ").skip(1).collect();
    assert_eq!(reports.len(), kernels.len());
    for (report, (to, _, test, says)) in reports.iter().zip(kernels) {
        assert!(report.starts_with(&format!("{to}\n")), "{report}");
        assert!(report.contains(&format!("-- {test} --")), "{report}");
        assert!(report.contains(says), "{report}");
    }
}

#[test]
fn a_mutant_of_host_code_that_does_not_end_is_stopped_soon() {
    let bench = Bench::new();
    let made = bench.grader(&["new", "51_my_puzzle", "--title", "Twice"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let spec = "title = \"Twice\"\n[dims]\nfree = [\"n\"]\n[tensors]\nx = \"f32[n]\"\ny = \"f32[n]\"\n\
                [math]\nforward = \"y[i] = 2 * x[i]\"\n\
                [[call]]\nfunction = \"void twice(const float* x, float* y, int n)\"\n\
                code = \"twice(x, y, n);\"\n\
                [[test]]\nname = \"twice_8\"\nabout = \"Eight launches.\"\ndims = { n = 8 }\n";
    let file = |body: &str| {
        "__global__ void one(const float* x, float* y, int i)\n{\n    y[i] = x[i] + x[i];\n}\n"
            .to_owned()
            + &format!("void twice(const float* x, float* y, int n)\n{{\n{body}}}\n")
    };
    let calls = "    int i = 0;\n    while (i < n) {\n        one<<<1, 1>>>(x, y, i);\n        i++;\n    }\n";
    let wrong = "wrong = [{ name = 'w', caught_by = 'twice_8', replace = [{ from = 'int i = 0', to = 'int i = 1' }] }]\n";
    fs::write(bench.path("puzzles/51_my_puzzle.toml"), spec).unwrap();
    fs::write(bench.path("puzzles/51_my_puzzle.cu"), file("")).unwrap();
    fs::write(bench.path("solutions/51_my_puzzle.cu"), file(calls)).unwrap();
    fs::write(bench.path("solutions/51_my_puzzle.toml"), wrong).unwrap();
    let checked =
        bench.grader(&["check", "51", "--mutants", "--backend", "vm", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&checked.stdout).unwrap();
    let mutants = &all["puzzles"][0]["mutants"];
    // Without `i++`, for one.
    assert!(mutants["endless"].as_u64() >= Some(1), "{}", checked.stdout);
    assert!(mutants["killed"].as_u64() > mutants["endless"].as_u64(), "{}", checked.stdout);
}

#[test]
fn ptx_is_checked_entry_by_entry() {
    let dir = tempfile::tempdir().unwrap();
    let entry = |name: &str, body: &str| {
        format!(
            ".visible .entry {name}(.param .u64 p)\n{{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.loc 1 7 3\n{body}\nret;\n}}\n"
        )
    };
    let head = ".version 9.0\n.target sm_75\n.address_size 64\n.file 1 \"k.cu\"\n";
    let text = head.to_owned()
        + &entry("_Z5plainPf", "mov.u32 %r1, 1;")
        + &entry("counted", "mov.u32 %r1, %pm0;")
        + &entry("grouped", "tcgen05.wait::ld.sync.aligned;");
    fs::write(dir.path().join("k.ptx"), &text).unwrap();
    fs::write(dir.path().join("good.ptx"), head.to_owned() + &entry("k", "mov.u32 %r1, 1;"))
        .unwrap();
    fs::write(dir.path().join("k.cu"), "int main() {}").unwrap();
    let run = |args: &[&str]| {
        output(
            command(&[&["ptx", "check"], args].concat())
                .current_dir(dir.path())
                .env("LC_ALL", "C.UTF-8"),
        )
    };
    let checked = run(&["k.ptx", "good.ptx"]);
    assert_eq!(checked.code, 1, "{}", checked.stderr);
    insta::assert_snapshot!(checked.stdout, @"
    k.ptx
      ✔ plain
      ✘ counted
          line 18, from k.cu:7: not supported: register `%pm0`: the counters of a multiprocessor are not supported
      ✘ grouped
          line 26, from k.cu:7: not supported: instruction `tcgen05.wait::ld.sync.aligned`: fifth-generation tensor cores are those of sm_100a; use wmma or mma.sync
    good.ptx
      ✔ k

    the virtual machine can run 2 of 4 entries
    ");
    assert_eq!(run(&["good.ptx"]).code, 0);
    assert_eq!(run(&["missing.ptx"]).code, 2);
    let wrong = run(&["k.cu"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("cannot parse k.cu as PTX: line 1"), "{}", wrong.stderr);
    let json = run(&["good.ptx", "--format", "json"]).stdout;
    assert!(json.contains("\"runs\": true"), "{json}");
}

#[test]
fn a_profile_names_the_slow_line_and_why() {
    let seed = ["--seed", "7"];
    let page = output(
        command(
            &[&["profile", "5", "--solution", "--test", "softmax_ce_many_samples"], &seed[..]]
                .concat(),
        )
        .env("LC_ALL", "C.UTF-8"),
    );
    assert_eq!(page.code, 0, "{}", page.stderr);
    insta::assert_snapshot!(page.stdout);
    assert!(page.stdout.lines().all(|line| line.chars().count() <= 80), "{}", page.stdout);
}

#[test]
fn every_stub_and_solution_has_a_profile() {
    for number in 1..=11 {
        let number = number.to_string();
        for extra in [&[][..], &["--solution"], &["--format", "json"]] {
            let done = output(&mut command(&[&["profile", &number][..], extra].concat()));
            assert_eq!(done.code, 0, "{number} {extra:?}: {}", done.stderr);
            if extra.contains(&"json") {
                let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
                assert_eq!(document["endless"], false);
            }
        }
    }
}
