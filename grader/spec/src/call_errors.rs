//! Tests of the messages for a wrong `[[call]]`.

use super::errors::error_in;
use super::{MemorySpace, Purpose, Spec};
use std::path::Path;

const SPEC: &str = r#"title = "Scale"

[dims]
free = ["n"]

[tensors]
x = "f32[n]"
s = "f32[]"
y = "f32[n]"

[math]
forward = "y[i] = s * x[i]"

[[call]]
function = "void scale(const float* x, float* y, float s, int n)"
include  = ["scale.h"]
code     = """
Buffers b{x, host(y)};
scale(b.x, b.y, s, n);
"""

[[test]]
name = "tiny"
dims = { n = 5 }
"#;

fn parsed(text: &str) -> Spec {
    Spec::parse(text, Path::new("puzzles/01_x.toml")).unwrap()
}

/// The message for `SPEC` with one replacement.
fn error(from: &str, to: &str) -> String {
    error_in(SPEC, from, to)
}

#[test]
fn the_code_names_its_tensors() {
    let spec = parsed(SPEC);
    assert!(spec.is_host());
    let launch = &spec.launches[0];
    let call = launch.host.as_ref().unwrap();
    assert_eq!(launch.kernel, "scale");
    assert_eq!(call.line, 18);
    assert_eq!(call.code, "Buffers b{x, y};\nscale(b.x, b.y, s, n);\n");
    let params: Vec<_> = call.params.iter().map(|p| (p.name.as_str(), p.space)).collect();
    assert_eq!(
        params,
        [
            ("x", MemorySpace::Device),
            ("y", MemorySpace::Host),
            ("s", MemorySpace::Device),
            ("n", MemorySpace::Host)
        ]
    );
    let buffers: Vec<_> = launch.buffers(&spec.tensors).collect();
    assert_eq!(buffers, [("x", Purpose::Input), ("y", Purpose::Output)]);
}

#[test]
fn gradients_and_given_tensors_have_names_in_cpp() {
    let text =
        SPEC.replace("host(y)", "grad(x), given( y )").replace("scale(b.x", "scale(grad( y )");
    let spec = parsed(&text);
    let call = spec.launches[0].host.as_ref().unwrap();
    assert_eq!(call.code, "Buffers b{x, grad_x, y};\nscale(grad_y, b.y, s, n);\n");
}

/// For each test of a spec, the sizes that it uses.
fn used_dims(text: &str) -> Vec<Vec<String>> {
    parsed(text).tests.into_iter().map(|test| test.used_dims).collect()
}

#[test]
fn a_test_of_calls_has_the_sizes_of_their_code_and_tensors() {
    let text = SPEC
        .replace("free = [\"n\"]", "free = [\"rows\", \"n\", \"m\"]\nwide = \"2 * m\"")
        .replace("[math]", "z = \"f32[wide]\"\n[math]")
        .replace("s * x[i]", "s * x[i]; z[i] = s")
        .replace(
            "[[test]]",
            "[[call]]\nfunction = \"void fill(float* z, int rows, float s)\"\n\
             code = \"fill(z, rows, s);\"\n[[test]]",
        )
        .replace("n = 5", "n = 5, m = 3, rows = 2");
    let (_, tiny) = text.split_once("[[test]]").unwrap();
    let only = |name| tiny.replace("\"tiny\"", &format!("\"{name}\"\nkernels = [\"{name}\"]"));
    let all = format!("{text}[[test]]{}[[test]]{}", only("scale"), only("fill"));
    assert_eq!(used_dims(&all), [vec!["rows", "n", "wide"], vec!["n"], vec!["rows", "wide"]]);
}

#[test]
fn a_test_of_kernels_has_the_sizes_of_their_arguments_tensors_and_threads() {
    let text = SPEC
        .replace("free = [\"n\"]", "free = [\"n\", \"m\", \"warps\"]\nwide = \"2 * m\"")
        .replace("[math]", "z = \"f32[wide]\"\n[math]")
        .replace("s * x[i]", "s * x[i]; z[i] = s");
    let (text, _) = text.split_once("[[call]]").unwrap();
    let launch = |kernel, args, block| {
        format!(
            "[[launch]]\nkernel = \"{kernel}\"\nargs = [{args}]\nblock = \"{block}\"\ngrid = 1\n\
             [[test]]\nname = \"{kernel}\"\nkernels = [\"{kernel}\"]\n\
             dims = {{ n = 5, m = 3, warps = 2 }}\n"
        )
    };
    let scale = launch("scale", "\"x\", \"s\", \"y\", \"2 * n\"", "32");
    let fill = launch("fill", "\"s\", \"z\"", "32 * warps");
    assert_eq!(used_dims(&format!("{text}{scale}{fill}")), [vec!["n"], vec!["warps", "wide"]]);
}

/// Each change of the spec, and the message for it.
#[test]
fn every_mistake_is_told_with_its_place() {
    let launch =
        "[[launch]]\nkernel = \"k\"\nargs = [\"x\", \"y\"]\nblock = 1\ngrid = 1\n\n[[call]]";
    let call = SPEC.split("[[call]]").nth(1).unwrap().split("[[test]]").next().unwrap();
    let call = format!("[[call]]{call}");
    let twice = format!("{call}[[test]]");
    let changes = [
        ("host(y)", "host(given(z))"),
        ("host(y)", "grad(z)"),
        ("host(y)", "y, inplace(x)"),
        ("b.y", "y"),
        ("host(y)", "y, given(y)"),
        ("host(y)", "given(host(y))"),
        ("s, n)", "host(s), n)"),
        ("s, n)", "s, host(n))"),
        ("host(y)", "x"),
        ("void scale(", "scale("),
        ("float s, int n)", "float s, int n) {}"),
        ("scale.h", "<scale.h>"),
        ("[[call]]\nfunction", "[[call]]\nfunktion"),
        ("code     =", "seconds = 0\ncode ="),
        ("[[call]]", launch),
        ("[[test]]", &twice),
        (&call, ""),
    ];
    let page: String = changes.iter().map(|(from, to)| error(from, to) + "\n\n----\n\n").collect();
    insta::assert_snapshot!(page);
}
