//! What a student types between two gradings.

use super::bench::{Bench, RIGHT, STUB};
use insta::assert_snapshot;
use std::io::Write;
use std::process::{Command, Stdio};
use toolchain::env::Env;

#[test]
fn help_names_every_command() {
    let bench = Bench::new();
    assert_snapshot!(bench.page(&["--help"]), @"
    Compiles, runs and judges the kernels of the Gradient Puzzles workbook

    Usage: grader [OPTIONS] [COMMAND]

    Commands:
      puzzle        Grade a puzzle: compile the kernel, run the tests, show what is wrong and why
      explain       Compare the terms that the kernel added up for an element with those of the formula
      profile       Count the instructions and memory accesses of the kernel, line by line
      bench         Time the kernel beside the solution and the vendor's library; without a GPU, count
                    and model
      replay        Watch a block of the kernel run, step by step, in the browser
      watch         Grade a puzzle each time you save it
      list          List all puzzles with your progress
      next          Show the next puzzle
      hint          Show a hint; each call shows a stronger one
      open          Open the stub in your editor ($VISUAL, $EDITOR) and the chapter in the browser
      reset         Restore the original stub; your version is kept beside it
      editor-setup  Set up clangd on this machine, so that editors understand CUDA
      doctor        Check what the grader needs on this machine, and show how to fix what is missing
      clean         Show the files that the grader keeps on this machine, or remove them
      new           For instructors: write the files of a new puzzle
      check         For instructors: check that puzzles are complete and that their tests catch mistakes
      class         For instructors: pack a class's workbook, and grade what the students hand in
      ptx           Check PTX files against the virtual machine
      completions   Print a script that makes your shell complete the grader's commands
      man           Print the manual page
      export        Write the compiled kernels of a puzzle and how to launch them, for a program of your
                    own
      launch        Run planned launches on the virtual machine, from and to .npy files
      digits        Draw handwriting-like digits, in MNIST's file format
      mnist         Check the files of MNIST that you downloaded, and say what to do next
      run           Compile and run a whole CUDA program, with or without a GPU
      help          Print this message or the help of the given subcommand(s)

    Options:
          --workbook <DIR>  The workbook's folder [default: the one that contains the current folder]
          --nvcc <PATH>     The CUDA compiler [default: found on this machine, or downloaded]
      -h, --help            Print help
      -V, --version         Print version

    Exit codes: 0 all tests pass, 1 a test fails or the kernel does not compile, 2 the command line or a
    spec is invalid, 3 something is missing on this machine.
    ");
    for command in ["puzzle", "watch", "list", "next", "hint", "open", "reset", "editor-setup"] {
        let page = bench.page(&[command, "--help"]);
        assert!(page.contains(&format!("Usage: grader {command}")), "{page}");
    }
}

#[test]
fn the_first_run_explains_itself() {
    let bench = Bench::before_the_first_run();
    assert_snapshot!(bench.page(&[]), @"
    Gradient Puzzles: 0 of 2 solved

    Each puzzle is a CUDA kernel to write: a file with TODOs, a chapter that derives the maths, and tests.
    You need no GPU. The grader keeps two things on your machine:

      NVIDIA's CUDA compiler (271 MB, only if you have none) and compiled kernels: [workbook]/cache
      your progress: .grader in this workbook

    `grader clean` shows the first and removes it; `grader doctor` checks that nothing is missing.

    Puzzle 2: Doubling

      read   book/src/02_double.md
      edit   puzzles/02_double.cu
      grade  grader watch 2

    `grader open 2` opens the file and the chapter, `grader hint 2` helps when you are stuck.
    After it: puzzle 5, Doubling again.
    `grader list` shows all puzzles, `grader --help` all commands.
    ");
    for folder in ["cache", ".grader"] {
        assert!(!bench.path(folder).exists(), "looking leaves nothing behind");
    }
}

#[test]
fn the_next_runs_say_where_you_are() {
    let bench = Bench::new();
    assert_eq!(bench.grade(&[]), 1);
    assert_snapshot!(bench.page(&[]), @"
    Gradient Puzzles: 0 of 2 solved

    Puzzle 2: Doubling (fails: 0 of 2 tests passed)

      read   book/src/02_double.md
      edit   puzzles/02_double.cu
      grade  grader watch 2

    `grader open 2` opens the file and the chapter, `grader hint 2` helps when you are stuck.
    After it: puzzle 5, Doubling again.
    `grader list` shows all puzzles, `grader --help` all commands.
    ");
    assert_snapshot!(bench.page(&["next"]), @"
    Puzzle 2: Doubling (fails: 0 of 2 tests passed)

      read   book/src/02_double.md
      edit   puzzles/02_double.cu
      grade  grader watch 2

    `grader open 2` opens the file and the chapter, `grader hint 2` helps when you are stuck.
    ");
    for stem in ["02_double", "05_again"] {
        bench.write(&format!("puzzles/{stem}.cu"), RIGHT);
        let number = &stem[1..2];
        assert_eq!(bench.run(&["puzzle", number, "--backend", "vm"]).code, 0);
    }
    assert_snapshot!(bench.page(&[]), @"
    Gradient Puzzles: all 2 puzzles are solved
    ");
    assert_snapshot!(bench.page(&["next"]), @"
    All 2 puzzles are solved.
    ");
}

#[test]
fn the_list_follows_the_verdicts() {
    let bench = Bench::new();
    assert_snapshot!(bench.page(&["list"]), @"
    First steps
      02  Doubling        not tried
      05  Doubling again  not tried

    0 of 2 solved; next: grader watch 2
    ");
    assert_eq!(bench.grade(&[]), 1);
    assert_eq!(bench.state(), "fails (0 of 2 tests passed)");
    bench.write("puzzles/02_double.cu", "int x = ;\n");
    assert_eq!(bench.state(), "changed since (then: 0 of 2 tests passed)");
    assert_eq!(bench.grade(&[]), 1);
    assert_eq!(bench.state(), "fails (does not compile)");
    bench.write("puzzles/02_double.cu", RIGHT);
    assert_eq!(bench.grade(&[]), 0);
    assert_eq!(bench.state(), "solved");
    bench.write("puzzles/02_double.cu", STUB);
    assert_eq!(bench.state(), "fails (0 of 2 tests passed)", "as it was graded before");
    bench.write("puzzles/02_double.cu", &RIGHT.replace("x[i] + x[i]", "x[i]"));
    assert_eq!(bench.state(), "changed since (it was solved)");
}

#[test]
fn only_the_student_s_own_file_counts() {
    let bench = Bench::new();
    assert_eq!(bench.grade(&["--solution"]), 0);
    bench.write("other.cu", RIGHT);
    assert_eq!(bench.grade(&["--file", "other.cu"]), 0);
    assert_eq!(bench.state(), "not tried");
    bench.write("puzzles/02_double.cu", RIGHT);
    assert_eq!(bench.grade(&["--test", "small"]), 0);
    assert_eq!(bench.state(), "not tried", "one test is not the puzzle");
    bench.write("puzzles/02_double.cu", STUB);
    assert_eq!(bench.grade(&["--test", "small"]), 1);
    assert_eq!(bench.state(), "fails (a test fails)");
}

#[test]
fn hints_grow_stronger_each_time() {
    let bench = Bench::new();
    let hint = |more: &[&str]| bench.page(&[&["hint", "2"], more].concat());
    assert_snapshot!(hint(&[]), @"
    Hint 1 (mild): think of one thread

    Every thread has one element, number i ≥ 0.

    Still stuck? `grader hint 2` shows hint 2.
    ");
    assert_snapshot!(hint(&[]), @"
    Hint 2 (medium): the number

        int i = blockIdx.x * blockDim.x + threadIdx.x;

    Still stuck? `grader hint 2` shows hint 3.
    ");
    assert!(hint(&["--level", "1"]).starts_with("Hint 1"));
    assert_snapshot!(hint(&[]), @"
    Hint 3 (strong): the sum

    `y[i] = x[i] + x[i]`

    This is the strongest hint. The solution is at the end of book/src/02_double.md.
    ");
    assert!(hint(&[]).starts_with("Hint 3"), "there is no fourth");
    assert_eq!(bench.run(&["hint", "2", "--level", "4"]).code, 2);
    let none = bench.run(&["hint", "5"]);
    assert_eq!(none.code, 2);
    assert!(none.stderr.contains("cannot read the chapter `book/src/05_again.md`"));
}

#[test]
fn reset_keeps_the_student_s_version() {
    let bench = Bench::new();
    bench.commit();
    bench.write("puzzles/02_double.cu", "mine\n");
    let page = bench.page(&["reset", "2"]);
    assert!(page.starts_with("restored puzzles/02_double.cu from commit "), "{page}");
    assert!(page.ends_with(": Begin\nyour version is in puzzles/02_double.cu.bak1\n"), "{page}");
    assert_eq!(bench.read("puzzles/02_double.cu"), STUB);
    assert_eq!(bench.read("puzzles/02_double.cu.bak1"), "mine\n");
    assert!(bench.page(&["reset", "2"]).contains("has not changed since commit"));
    bench.write("puzzles/02_double.cu", "mine again\n");
    assert!(bench.page(&["reset", "2"]).contains("puzzles/02_double.cu.bak2"));
    assert_eq!(bench.read("puzzles/02_double.cu.bak1"), "mine\n");
}

#[test]
fn a_stub_that_is_missing_or_empty_can_be_restored() {
    let bench = Bench::new();
    let stub = "puzzles/02_double.cu";
    let said = |args: &[&str]| {
        let out = bench.run(args);
        assert_eq!(out.code, 1, "{args:?}: {}{}", out.stdout, out.stderr);
        out.stdout + &out.stderr
    };
    bench.write(stub, " \n\n");
    assert_snapshot!(said(&["puzzle", "2", "--backend", "vm"]), @"
    error: puzzles/02_double.cu is empty
     |
     = help: `grader reset 2` restores the original stub
    ");
    for args in [["explain", "2"], ["profile", "2"]] {
        assert!(said(&args).contains("`grader reset 2` restores the original stub"));
    }
    std::fs::remove_file(bench.path(stub)).unwrap();
    let missing = said(&["puzzle", "2", "--backend", "vm"]);
    assert!(missing.starts_with("error: puzzles/02_double.cu does not exist\n"), "{missing}");
    let other = bench.run(&["puzzle", "2", "--backend", "vm", "--file", "other.cu"]);
    assert!(other.code == 2 && other.stderr.contains("cannot read other.cu"), "{}", other.stderr);
}

#[test]
fn reset_without_git_touches_nothing_and_says_why() {
    let bench = Bench::new();
    bench.write("puzzles/02_double.cu", "mine\n");
    let out = bench.run(&["reset", "2"]);
    assert_eq!((out.code, out.stdout.as_str()), (3, ""));
    assert!(out.stderr.contains("cannot find the original of `puzzles/02_double.cu`"));
    assert!(out.stderr.contains("use a clone of the workbook's repository"), "{}", out.stderr);
    assert_eq!(bench.read("puzzles/02_double.cu"), "mine\n");
}

#[test]
fn open_never_hangs_where_nothing_can_be_shown() {
    let bench = Bench::new();
    assert_snapshot!(bench.page(&["open", "2"]), @"
    chapter: book/src/02_double.md (`mdbook serve book --open` shows the book in the browser)
    file:    puzzles/02_double.cu (no editor is set; to set one, run for example `export EDITOR=nano`)
    ");
    std::fs::create_dir_all(bench.path("book/book")).unwrap();
    bench.write("book/book/02_double.html", "");
    let mut command = bench.command(&["open", "2"]);
    let out = super::output(command.env("VISUAL", "cat").stdin(Stdio::null()));
    assert_snapshot!(out.stdout, @"
    chapter: book/book/02_double.html (open it in a browser)
    file:    puzzles/02_double.cu (there is no terminal to start the editor in)
    ");
}

#[test]
fn a_browser_that_is_named_is_started() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("book/book")).unwrap();
    bench.write("book/book/02_double.html", "page\n");
    let copy = bench.path("shown");
    let browser = format!("sh -c 'cp \"$1\" {}.new && mv {0}.new {0}' sh", copy.display());
    let mut command = bench.command(&["open", "2"]);
    let out = super::output(command.env("BROWSER", browser));
    assert!(out.stdout.starts_with("chapter: book/book/02_double.html\n"), "{}", out.stdout);
    let start = std::time::Instant::now();
    while !copy.exists() && start.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "page\n");
}

#[test]
fn clean_shows_and_removes_what_is_kept() {
    let bench = Bench::before_the_first_run();
    assert_eq!(bench.page(&["clean"]), "The grader keeps nothing in [workbook]/cache.\n");
    assert_eq!(bench.grade(&[]), 1);
    bench.write("cache/thesis.txt", "mine");
    let page = bench.page(&["clean"]);
    assert!(page.contains("compiled: compiled kernels"), "{page}");
    assert!(
        page.contains("your progress are in the workbook") && !page.contains("thesis"),
        "{page}"
    );
    assert!(page.contains("`grader clean --yes` removes all of it"), "{page}");
    assert!(bench.page(&["clean", "--yes"]).starts_with("Removed "));
    assert_eq!(bench.state(), "fails (0 of 2 tests passed)", "progress is not part of the cache");
    assert_eq!(bench.read("cache/thesis.txt"), "mine");
    assert!(bench.read("puzzles/02_double.cu") == STUB);
}

#[test]
fn completions_know_the_puzzles_and_their_tests() {
    let bench = Bench::new();
    let offers = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = bench.command(&[&["--", "grader"], &words[..]].concat());
        command.env("GRADER_COMPLETE", "bash").env("_CLAP_IFS", "\n");
        let out = super::output(command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()));
        assert_eq!((out.code, out.stderr.as_str()), (0, ""), "{line}");
        out.stdout.replace('\n', " ")
    };
    let numbers = offers("watch ");
    assert!(numbers.starts_with("2 5 --backend"), "{numbers}");
    assert_eq!(offers("open 5"), "5");
    assert_eq!(offers("puzzle 2 --test "), "small large");
    assert_eq!(offers("explain 2 --test l"), "large");
    assert_eq!(offers("puzzle 9 --test "), "", "there is no puzzle 9");
    let elsewhere = offers("puzzle --workbook /nowhere ");
    assert!(elsewhere.starts_with("--solution"), "there is no workbook: {elsewhere}");
    let commands = offers("e");
    assert!(commands.contains("editor-setup") && !commands.contains("gpu-child"), "{commands}");
}

#[test]
fn completions_and_manual_pages() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = bench.page(&["completions", shell]);
        let asks =
            [format!("GRADER_COMPLETE=\"{shell}\""), format!("GRADER_COMPLETE={shell} grader")];
        assert!(asks.iter().any(|ask| script.contains(ask)), "{script}");
    }
    assert_eq!(bench.run(&["completions", "dos"]).code, 2);
    let page = bench.page(&["man"]);
    assert!(page.contains(".TH grader 1") && page.contains("Exit codes"), "{page}");
    let told = bench.page(&["man", "--dir", "man/man1"]);
    assert!(told.contains("man man/man1/grader.1"), "{told}");
    assert!(bench.read("man/man1/grader-watch.1").contains("Grade a puzzle each time you save it"));
    bench.write("file", "");
    assert_eq!(bench.run(&["man", "--dir", "file"]).code, 3);
}

#[test]
fn junit_says_what_passed_and_what_did_not() {
    let bench = Bench::new();
    let report = |args: &[&str], code: i32, counts: &str| {
        let args = [&["puzzle", "2", "--backend", "vm", "--format", "junit"], args].concat();
        let out = bench.run(&args);
        assert_eq!(out.code, code, "{}{}", out.stdout, out.stderr);
        let head = format!("<testsuites name=\"grader\" {counts}>");
        assert!(out.stdout.contains(&head), "{}", out.stdout);
        out.stdout
    };
    let pass = report(&["--solution"], 0, r#"tests="2" skipped="0" failures="0" errors="0""#);
    assert!(pass.contains(r#"<testsuite name="puzzle 2: Doubling" "#), "{pass}");
    assert!(pass.contains(r#"<testcase name="large" classname="puzzle_02" "#), "{pass}");
    let fail = report(&[], 1, r#"tests="2" skipped="0" failures="2" errors="0""#);
    assert!(fail.contains("y: 5 of 5 never written"), "{fail}");
    bench.write("puzzles/02_double.cu", "int x = ;\n");
    report(&[], 1, r#"tests="1" skipped="0" failures="1" errors="0""#);
    report(&["--test", "nonsense"], 2, r#"tests="1" skipped="0" failures="0" errors="1""#);
}

#[test]
fn mistakes_in_what_is_typed_exit_2() {
    let bench = Bench::new();
    for args in [&["hint", "9"][..], &["open", "9"], &["reset", "9"], &["watch", "9"]] {
        let out = bench.run(args);
        assert_eq!((out.code, out.stdout.as_str()), (2, ""), "{args:?}");
        assert!(out.stderr.contains("there is no puzzle 9"), "{}", out.stderr);
        assert!(out.stderr.contains("there are 2, 5; `grader list` shows them"), "{}", out.stderr);
    }
    let outside = tempfile::tempdir().unwrap();
    for args in [&[][..], &["list"], &["next"], &["hint", "2"], &["watch"], &["editor-setup"]] {
        let out = super::output(bench.command(args).current_dir(outside.path()));
        assert_eq!((out.code, out.stdout.as_str()), (2, ""), "{args:?}");
        assert!(out.stderr.contains("--workbook DIR"), "{}", out.stderr);
    }
    assert_eq!(bench.run(&["nonsense"]).code, 2);
}

#[test]
fn colours_are_the_reader_s_choice_and_a_reader_may_leave() {
    let bench = Bench::new();
    let list = |name: &str, value: &str| {
        super::output(bench.command(&["list"]).env(name, value).stdin(Stdio::null())).stdout
    };
    assert!(!list("X", "").contains('\u{1b}'), "a pipe has no colours");
    assert!(list("CLICOLOR_FORCE", "1").contains("\u{1b}[2mnot tried\u{1b}[0m"));
    let mut both = bench.command(&["list"]);
    let both = super::output(both.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1"));
    assert!(!both.stdout.contains('\u{1b}'));
    for args in [&["list"][..], &["man"], &["completions", "bash"], &["hint", "2"]] {
        let mut command = bench.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let out = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(0) && stderr.is_empty(), "{args:?}: {stderr}");
    }
}

#[test]
fn editor_setup_makes_clangd_see_no_mistake_where_there_is_none() {
    let bench = Bench::new();
    let page = bench.page(&["editor-setup"]);
    assert!(page.contains(".clangd_cuda.h, .clangd, compile_commands.json"), "{page}");
    assert_eq!(bench.page(&["editor-setup"]), page, "again does no harm");

    let workbook = super::root();
    let mut files = vec![("puzzles/02_double.cu".to_owned(), true)];
    for folder in ["puzzles", "solutions"] {
        for entry in std::fs::read_dir(workbook.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "cu") {
                let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
                bench.write(&name, &std::fs::read_to_string(&path).unwrap());
                files.push((name, true));
            }
        }
    }
    for entry in std::fs::read_dir(workbook.join("kernels/include")).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("kernels/include/{}", path.file_name().unwrap().to_str().unwrap());
        bench.write(&name, &std::fs::read_to_string(&path).unwrap());
    }
    bench.write("puzzles/wrong.cu", &RIGHT.replace("y[i] =", "z[i] ="));
    files.push(("puzzles/wrong.cu".into(), false));
    bench.page(&["editor-setup"]);
    let names = ["clangd", "clangd-22", "clangd-21", "clangd-20", "clangd-19", "clangd-14"];
    let Some(clangd) = names.iter().find_map(|name| Env::current().find_program(name)) else {
        // Continuous integration has none; whoever has one tests with it.
        writeln!(std::io::stderr(), "no clangd here: what it says was not tested").ok();
        return;
    };
    for (file, right) in files {
        let mut check = Command::new(&clangd);
        let check = check.arg(format!("--check={file}")).current_dir(bench.dir.path());
        let done = check.env("HOME", bench.path("home")).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        // Other errors in its log are of refactorings that it tries.
        let mistakes =
            said.lines().filter(|line| line.starts_with("E[") && line.contains("] Line "));
        assert_eq!(mistakes.count() == 0, right, "{file}: {said}");
        assert!(said.contains("All checks completed"), "{file}: {said}");
    }
}

#[test]
fn editor_setup_leaves_other_tools_files_alone() {
    let bench = Bench::new();
    bench.write("compile_commands.json", "[]");
    let out = bench.run(&["editor-setup"]);
    assert_eq!((out.code, out.stdout.as_str()), (2, ""));
    assert!(out.stderr.contains("`compile_commands.json` exists"), "{}", out.stderr);
    assert!(!bench.path(".clangd").exists());
}
