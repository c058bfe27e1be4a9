//! Random texts: none makes the loader panic, overflow its stack or run long.

use super::verify;
use crate::fixture::{SPEC, changed};
use proptest::prelude::*;
use spec::Spec;
use std::path::Path;

fn real_specs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../puzzles");
    let mut texts = vec![SPEC.to_owned()];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            texts.push(std::fs::read_to_string(path).unwrap());
        }
    }
    texts
}

#[test]
fn the_workbooks_specs_are_right() {
    for text in real_specs() {
        if let Err(failure) = Spec::parse(&text, Path::new("x.toml")) {
            panic!("{}", failure.render(false));
        }
    }
}

/// Fragments that get a text past the first checks.
const PIECES: [&str; 24] = [
    "0",
    "-1",
    "9999999999",
    "\"",
    "]",
    "[",
    "{",
    "}",
    ",",
    "=",
    "\n",
    "f32[",
    "grad(y)",
    "sum[f]",
    "?",
    "B",
    "N_out",
    "ceil_div(",
    "1e400",
    "nan",
    "\\u0041",
    "é",
    "'''",
    "[[test]]\n",
];

/// Loads the text and, if it is a spec, evaluates it. Any result is accepted, but not a panic.
fn must_not_panic(text: &str) {
    match Spec::parse(text, Path::new("x.toml")) {
        Ok(spec) => drop(verify(&spec).map_err(|f| f.render(false))),
        Err(failure) => assert!(failure.render(false).starts_with("error: ")),
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let deep = |open: &str, middle: &str, close: &str| {
        [open.repeat(40_000), middle.to_owned(), close.repeat(40_000)].concat()
    };
    must_not_panic(&changed(&[("N - F + 1", &deep("(", "N", ")"))]));
    must_not_panic(&changed(&[("N - F + 1", &deep("", "N", " - F"))]));
    must_not_panic(&changed(&[("x[b,i+f]", &deep("(", "x[b,i+f]", ")"))]));
    must_not_panic(&changed(&[("x[b,i+f]", &deep("-", "x[b,i+f]", ""))]));
    must_not_panic(&changed(&[("x[b,i+f]", &deep("", "x[b,i+f]", " * x[b,i+f]"))]));
    must_not_panic(&changed(&[("ceil_div(B*N_out, 64)", &deep("ceil_div(", "B", ", 2)"))]));
    must_not_panic(&changed(&[("[1, 10, 100]", &deep("[", "1", "]"))]));
    must_not_panic(&changed(&[("[1, 10, 100]", &deep("{ a = ", "1", "}"))]));
}

#[test]
fn many_statements_and_sizes_are_read_in_good_time() {
    let statements =
        (0..3000).map(|i| format!("t{i}[b] = sum[i] x[b,i]; ")).collect::<Vec<_>>().concat();
    must_not_panic(&changed(&[("y[b,i] =", &format!("{statements} y[b,i] ="))]));
    let sizes =
        (1..250).map(|i| format!("s{i} = \"s{} + 1\"\n", i - 1)).collect::<Vec<_>>().concat();
    must_not_panic(&changed(&[("N_out = ", &format!("s0 = \"N\"\n{sizes}N_out = "))]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn mutated_specs_do_not_panic(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), 0_usize..12, prop::sample::select(&PIECES[..])),
            1..4,
        ),
    ) {
        let specs = real_specs();
        let mut text = which.get(&specs).clone();
        for (at, removed, inserted) in edits {
            let places: Vec<usize> = text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
            let from = at.index(places.len());
            let to = (from + removed).min(places.len() - 1);
            text.replace_range(places[from]..places[to], inserted);
        }
        must_not_panic(&text);
    }

    #[test]
    fn words_of_a_spec_in_other_places_do_not_panic(
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) {
        let words: Vec<&str> = SPEC.split_inclusive([' ', '\n', ',']).collect();
        let mut words = words;
        let (from, to) = (from.index(words.len()), to.index(words.len()));
        words[to] = words[from];
        must_not_panic(&words.concat());
    }

    #[test]
    fn random_text_does_not_panic(text in "(?s).{0,200}") {
        must_not_panic(&text);
    }
}
