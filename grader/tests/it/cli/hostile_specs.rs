//! Specs, chapters and summaries that are after something else than a puzzle.

use super::bench::{Bench, RIGHT};
use std::fs;
use std::os::unix::fs::symlink;

/// A list of wrong kernels.
const WRONG: &str =
    "[[wrong]]\nname = 'zero'\ncaught_by = 'small'\nfrom = 'x[i] + x[i]'\nto = 'x[i] - x[i]'\n";

/// What sets a terminal's title, clears it, or turns text around; a tab and line breaks do no harm.
fn obeyed(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}')
}

/// TOML has escapes for control characters, which a spec may not use; what turns text around is shown by its number.
#[test]
fn what_a_spec_or_a_chapter_says_moves_no_cursor() {
    let bench = Bench::new();
    let spec = bench.read("puzzles/02_double.toml");
    for (from, to) in [
        ("Doubling", "\\u001b[2J9 of 9 tests passed"),
        ("small", "\\u001b]0;title\\u0007"),
        ("name = \"large\"", "name = \"large\"\nabout = \"\\u009b2J\""),
        ("y[i] = x[i]", "\\u001b[2J"),
    ] {
        bench.write("puzzles/02_double.toml", &spec.replacen(from, to, 1));
        for args in
            [&["puzzle", "2"][..], &["check", "2"], &["list"], &["puzzle", "2", "--format=json"]]
        {
            let out = bench.run(args);
            let said = out.stdout + &out.stderr;
            assert!(!said.contains(obeyed), "{args:?}: {said}");
            assert!(
                args[0] == "list" || out.code > 0 && said.contains("control character"),
                "{said}"
            );
        }
    }

    let turned = |text: &str| {
        text.replace("Doubling", "\u{202e}gnilbuoD <script>")
            .replace("small", "\u{202e}llams<script>")
    };
    bench.write("puzzles/02_double.toml", &turned(&spec));
    bench.write("solutions/02_double.toml", WRONG);
    bench.write("puzzles/02_double.cu", &RIGHT.replace("x[i] + x[i]", "1"));
    let hidden = "\u{1b}]0;title\u{7}\u{1b}[2J";
    for file in ["book/src/02_double.md", "book/src/SUMMARY.md"] {
        let text = bench.read(file).replace("First steps", &format!("First {hidden}steps"));
        let text = text.replace("one thread", &format!("one {hidden}thread"));
        bench.write(file, &text.replace("Every thread", &format!("Every {hidden}thread")));
    }
    let puzzle = ["puzzle", "2", "--backend=vm", "--format"];
    let with = |format| [&puzzle[..], &[format]].concat();
    for (args, shown) in [
        (with("text"), "\\u202egnilbuoD"),
        (with("json"), "\\u202ellams"),
        (with("junit"), "\\u202ellams&lt;script&gt;"),
        (vec!["list"], "First \\u001b]0;title\\u0007\\u001b[2Jsteps"),
        (vec!["hint", "2"], "Every \\u001b]0;title\\u0007\\u001b[2Jthread"),
        (vec!["check", "2", "--backend=vm"], "\\u202egnilbuoD"),
        (vec!["check", "2", "--backend=vm", "--format=junit"], "\\u202egnilbuoD &lt;script&gt;"),
    ] {
        let out = bench.run(&args);
        let said = out.stdout + &out.stderr;
        assert!(!said.contains(obeyed) && said.contains(shown), "{args:?}: {said}");
    }
}

/// Each puzzle is checked, and says for itself what is wrong with it.
#[test]
fn a_broken_puzzle_ends_no_other_check() {
    let bench = Bench::new();
    let spec = bench.path("puzzles/02_double.toml");
    bench.write("solutions/02_double.toml", WRONG);
    bench.write("solutions/05_again.toml", WRONG);
    let text = bench.read("puzzles/02_double.toml");
    let deep = text.replace("x[i] + x[i]", &format!("{}x[i]", "(".repeat(30_000)));
    let endless = text.replace("x[i] + x[i]", "sum[p < 1000000000] x[i]");
    let folder = bench.path("reports");
    for (broken, words) in [
        (Some("title = \n"), "invalid TOML"),
        (Some("title = \"\\u001b\"\n"), "control character"),
        (Some(deep.as_str()), "error: "),
        (Some(endless.as_str()), "error: "),
        (None, "ordinary file"),
    ] {
        fs::remove_file(&spec).unwrap();
        match broken {
            Some(broken) => bench.write("puzzles/02_double.toml", broken),
            None => symlink("/dev/zero", &spec).unwrap(),
        }
        let out = bench.run(&["check", "--backend=vm"]);
        let (first, second) = out.stdout.split_once("\n\n").unwrap();
        assert_eq!(out.code, 1, "{}{}", out.stdout, out.stderr);
        assert!(first.contains("files") && first.contains(words), "{first}");
        assert!(
            second.starts_with("05 Doubling again\n") && second.contains("in order, 2 tests"),
            "{second}"
        );
        let out = bench.run(&["check", "--reports", folder.to_str().unwrap()]);
        assert!(out.code == 1 && out.stderr.contains(words), "{}", out.stderr);
        fs::remove_file(folder.join("05_again.txt")).unwrap();
    }
}
