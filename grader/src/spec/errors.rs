//! What an author reads when a spec is wrong, and that no text panics the loader.

use super::Spec;
use proptest::prelude::*;
use std::path::Path;

/// A correlation in one dimension.
pub(crate) const SPEC: &str = r#"title = "Correlation"

[dims]
free  = ["B", "N", "F"]
N_out = "N - F + 1"

[tensors]
x = "f32[B, N]"
w = "f32[F]"
y = "f32[B, N_out]"

[math]
forward = "y[b,i] = sum[f] x[b,i+f] * w[f]"

[[launch]]
kernel = "correlate"
args   = ["x", "w", "y", "B", "N", "F"]
block  = 64
grid   = "ceil_div(B*N_out, 64)"

[[test]]
name   = "tiny"
dims   = { B = 1, N = 5, F = 3 }
data   = { x = [1, 2, 3, 4, 5], w = [1, 10, 100] }
expect = { y = [321, 432, 543] }

[[test]]
name = "batch"
dims = { B = 3, N = 9, F = 2 }
"#;

/// `SPEC` with replacements, each of which must change something.
pub(crate) fn changed(replacements: &[(&str, &str)]) -> String {
    let mut text = SPEC.to_owned();
    for (from, to) in replacements {
        assert!(text.contains(from), "`{from}` is not in the spec");
        text = text.replacen(from, to, 1);
    }
    text
}

/// The message for `SPEC` with one replacement.
fn error(from: &str, to: &str) -> String {
    let text = changed(&[(from, to)]);
    match Spec::parse(&text, Path::new("puzzles/01_x.toml")) {
        Ok(_) => "no error".into(),
        Err(failure) => failure.render(false),
    }
}

#[test]
fn the_spec_itself_is_right() {
    let spec = Spec::parse(SPEC, Path::new("x.toml")).unwrap();
    assert_eq!(spec.title, "Correlation");
    assert_eq!(spec.tests.len(), 2);
    let batch = spec.test("batch").unwrap();
    assert_eq!(batch.dims["N_out"], 8);
    assert_eq!(batch.launches[0].grid, [1, 1, 1]);
    let shapes: Vec<_> = batch.tensors.iter().map(|t| (t.name.as_str(), &*t.shape)).collect();
    assert_eq!(shapes, [("x", &[3, 9][..]), ("w", &[2]), ("y", &[3, 8])]);
    assert!(spec.test("large").unwrap_err().diagnostics[0].help[0].contains("tiny, batch"));
}

#[test]
fn keys() {
    insta::assert_snapshot!(error("title", "titel"), @"");
    insta::assert_snapshot!(error("kernel = \"correlate\"\n", ""), @"");
    insta::assert_snapshot!(error("name = \"batch\"", "nam = \"batch\""), @"");
    insta::assert_snapshot!(error("[[launch]]", "[launch]"), @"");
    insta::assert_snapshot!(error("\"correlate\"", "17"), @"");
    insta::assert_snapshot!(error("title = \"Correlation\"", "title = Correlation"), @"");
}

#[test]
fn sizes() {
    insta::assert_snapshot!(error("N - F + 1", "N - K + 1"), @"");
    insta::assert_snapshot!(error("N - F + 1", "N - F +"), @"");
    insta::assert_snapshot!(error("N_out = \"N - F + 1\"", "N_out = \"M + 1\"\nM = \"N - N_out\""), @"");
    insta::assert_snapshot!(error("[\"B\", \"N\", \"F\"]", "[\"B\", \"N\", \"B\"]"), @"");
    insta::assert_snapshot!(error("free  = [\"B\", \"N\", \"F\"]", "free = \"B\""), @"");
}

#[test]
fn tensors_and_formula() {
    insta::assert_snapshot!(error("f32[B, N_out]", "f32[B, N_ouut]"), @"");
    insta::assert_snapshot!(error("f32[F]", "float[F]"), @"");
    insta::assert_snapshot!(error("* w[f]", "* v[f]"), @"");
    insta::assert_snapshot!(error("x[b,i+f]", "x[i+f]"), @"");
    insta::assert_snapshot!(error("x[b,i+f]", "x[b,i+f+1]"), @"");
    insta::assert_snapshot!(error(
        "\"y[b,i] = sum[f] x[b,i+f] * w[f]\"",
        "\"\"\"\n  y[b,i] =\n    sum[f] x[b,i+f] * w[q]\"\"\"",
    ), @"");
    insta::assert_snapshot!(error("[math]", "unused = \"f32[N]\"\n[math]"), @"");
}

#[test]
fn launches() {
    insta::assert_snapshot!(error("\"B\", \"N\", \"F\"]\nblock", "\"B\", \"N\", \"K\"]\nblock"), @"");
    insta::assert_snapshot!(error("\"w\", \"y\", \"B\"", "\"w\", \"B\""), @"");
    insta::assert_snapshot!(error("block  = 64", "block = [64, 32]"), @"");
    insta::assert_snapshot!(error("block  = 64", "block = []"), @"");
    insta::assert_snapshot!(error("ceil_div(B*N_out, 64)", "B*N_out / 64"), @"");
    insta::assert_snapshot!(error("ceil_div(B*N_out, 64)", "B*N_out*4000000000"), @"");
    insta::assert_snapshot!(error("block  = 64", "block = 64\nshared = \"N * 1000000\""), @"");
    insta::assert_snapshot!(error("ceil_div(B*N_out, 64)", "ceil_div(B*N, B)"), @"");
}

#[test]
fn tests() {
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 3, F = 2 }"), @"");
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 3, n = 9, F = 2 }"), @"");
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 0, N = 9, F = 2 }"), @"");
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 3, N = 2, F = 9 }"), @"");
    insta::assert_snapshot!(error("{ B = 3, N = 9, F = 2 }", "{ B = 1000000, N = 9000, F = 2 }"), @"");
    insta::assert_snapshot!(error("name = \"batch\"", "name = \"tiny\""), @"");
    insta::assert_snapshot!(error("x = [1, 2, 3, 4, 5]", "x = [1, 2, 3, 4]"), @"");
    insta::assert_snapshot!(error("w = [1, 10, 100]", "y = [1, 10, 100]"), @"");
    insta::assert_snapshot!(error("w = [1, 10, 100]", "w = \"integer\""), @"");
    insta::assert_snapshot!(error("w = [1, 10, 100]", "w = [1, 1e39, 100]"), @"");
    insta::assert_snapshot!(error("y = [321, 432, 543]", "\"grad(x)\" = [321, 432, 543]"), @"");
    insta::assert_snapshot!(error(
        "name = \"batch\"",
        "name = \"batch\"\ncheck = { kind = \"numerical-gradient\", epsilon = 0.5, rtol = 1e-2 }",
    ), @"");
    insta::assert_snapshot!(error(
        "name = \"batch\"",
        "name = \"batch\"\ntolerance = { rtol = 1e-3, atol = 0, reason = \" \" }",
    ), @"");
}

fn real_specs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../puzzles");
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

/// Pieces that get a text past the first checks.
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

/// Loads and, where it is a spec, evaluates: anything but a panic is right.
fn must_not_panic(text: &str) {
    match Spec::parse(text, Path::new("x.toml")) {
        Ok(spec) => drop(crate::oracle::verify(&spec).map_err(|f| f.render(false))),
        Err(failure) => assert!(failure.render(false).starts_with("error: ")),
    }
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
