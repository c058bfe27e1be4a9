//! Tests of the messages for a wrong `[[bench]]`.

use super::errors::error_in;
use super::{Reference, Spec};
use crate::fixture::SPEC;
use std::path::Path;

const BENCH: &str = r#"
[[bench]]
name  = "large"
dims  = { B = 64, N = 4096, F = 9 }
flops = "2*B*N_out*F"
bytes = "4*(B*N + F + B*N_out)"
"#;

fn spec() -> String {
    format!("{SPEC}{BENCH}")
}

#[test]
fn a_bench_has_sizes_work_and_normal_data() {
    let spec = Spec::parse(&spec(), Path::new("x.toml")).unwrap();
    let bench = &spec.benches[0];
    assert_eq!((bench.name(), bench.test.dims["N_out"]), ("large", 4088));
    assert_eq!((bench.flops, bench.bytes), (2 * 64 * 4088 * 9, 4 * (64 * 4096 + 9 + 64 * 4088)));
    assert_eq!(bench.work_at(&spec.tests[0].dims), Some((18, 44)));
    assert_eq!((bench.improves, &bench.vendor), (None, &None));
    let kinds: Vec<String> = bench.test.data.values().map(|data| format!("{data:?}")).collect();
    assert!(kinds.iter().all(|kind| kind.contains("Normal")), "{kinds:?}");
}

const GATE: &str = r#"
[[gate]]
bound = "time <= 0.8 * puzzle(19)"
benches = ["large"]
about = "be quick"
"#;

#[test]
fn a_bound_on_the_time_names_its_reference() {
    let spec = Spec::parse(&format!("{}{GATE}", spec()), Path::new("x.toml")).unwrap();
    let [gate] = spec.time_gates.as_slice() else { panic!("{:?}", spec.time_gates) };
    assert_eq!((gate.factor, gate.reference), (0.8, Reference::Puzzle(19)));
    assert!(gate.applies_to("large") && !gate.applies_to("small"));
    assert_eq!((gate.to_string(), spec.gates.len()), ("time <= 0.8 * puzzle(19)".to_owned(), 0));
    let plain =
        GATE.replace("0.8 * puzzle(19)", "puzzle( 7 )").replace("benches = [\"large\"]", "");
    let spec = Spec::parse(&format!("{}{plain}", self::spec()), Path::new("x.toml")).unwrap();
    assert_eq!(
        (spec.time_gates[0].factor, spec.time_gates[0].reference),
        (1.0, Reference::Puzzle(7))
    );
    assert!(spec.time_gates[0].applies_to("any"));
}

#[test]
fn mistakes_in_a_bound_on_the_time_are_named() {
    let whole = format!("{}{GATE}", spec());
    for (from, to, said) in [
        ("time <= 0.8", "time >= 0.8", "a time has an upper bound"),
        ("0.8 *", "-1 *", "the factor of a bound is a positive number"),
        ("0.8 *", "fast *", "the factor of a bound is a positive number"),
        ("puzzle(19)", "puzzle(x)", "compared with that of a puzzle, or with the vendor's"),
        ("puzzle(19)", "solution", "write bound = \"time <= 0.8 * puzzle(19)\""),
        ("puzzle(19)", "vendor", "the bench `large` says nothing of the vendor"),
        ("[\"large\"]", "[\"larger\"]", "no bench is named `larger`"),
        ("[\"large\"]", "[\"large\"]\ntests = [\"by_hand\"]", "is of a whole bench"),
        ("time <= 0.8 * puzzle(19)", "barriers <= 2", "a bound on a counter applies to tests"),
    ] {
        let message = error_in(&whole, from, to);
        assert!(message.contains(said), "{from} -> {to}\n{message}");
    }
    let message =
        error_in(&format!("{SPEC}{}", GATE.replace("benches = [\"large\"]", "")), "be", "be");
    assert!(message.contains("this gate applies to no bench"), "{message}");
}

#[test]
fn mistakes_are_named() {
    let gemm = |text: &str| format!("bytes = \"1\"\ngemm = {{ {text} }}");
    let whole = "bytes = \"4*(B*N + F + B*N_out)\"";
    for (from, to, said) in [
        ("2*B*N_out*F", "2*B*M", "unknown size `M`"),
        ("2*B*N_out*F", "B - N", "this is -4032 at the sizes of the bench"),
        (whole, "bytes = \"0\"", "it must be 1 at least"),
        ("F = 9 }", "F = 9 }\ndata = \"shuffled-arange\"", "has data that a bench cannot draw"),
        ("N = 4096, ", "N = 40960000, ", "elements"),
        ("N = 4096, ", "", "this test gives no value to `N`"),
        (
            "name  = \"large\"",
            "name  = \"large\"\nkernels = [\"corelate\"]",
            "no launch has a kernel",
        ),
        ("flops = ", "flop = ", "flop"),
        (whole, &gemm(r#"a = "w", b = "w", c = "z", m = "1", n = "1", k = "F""#), "no launch"),
        (
            whole,
            &gemm(r#"a = "x", b = "w", c = "y", m = "B", n = "1", k = "N""#),
            "`w` has 9 elements, not 4096 x 1",
        ),
    ] {
        let message = error_in(&spec(), from, to);
        assert!(message.contains(said), "{from} -> {to}\n{message}");
    }
    let twice = format!("{}{BENCH}", spec());
    let message = Spec::parse(&twice, Path::new("x.toml")).unwrap_err().render(false);
    assert!(message.contains("two benches are named `large`"), "{message}");
    let step = format!("{SPEC}[[step]]\nfile = \"01_a\"\nabout = \"a\"\nlaunch = []\n");
    let message = Spec::parse(&step, Path::new("x.toml")).unwrap_err().render(false);
    assert!(message.contains("a puzzle has no steps"), "{message}");
}
