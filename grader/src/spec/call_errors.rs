//! What an author reads when a `[[call]]` is wrong.

use super::errors::error_in;
use super::{Home, Purpose, Spec};
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

fn right(text: &str) -> Spec {
    Spec::parse(text, Path::new("puzzles/01_x.toml")).unwrap()
}

/// The message for `SPEC` with one replacement.
fn error(from: &str, to: &str) -> String {
    error_in(SPEC, from, to)
}

#[test]
fn the_code_names_its_tensors() {
    let spec = right(SPEC);
    assert!(spec.is_host());
    let launch = &spec.launches[0];
    let call = launch.host.as_ref().unwrap();
    assert_eq!(launch.kernel, "scale");
    assert_eq!(call.line, 18);
    assert_eq!(call.code, "Buffers b{x, y};\nscale(b.x, b.y, s, n);\n");
    let params: Vec<_> = call.params.iter().map(|p| (p.name.as_str(), p.home)).collect();
    assert_eq!(
        params,
        [("x", Home::Device), ("y", Home::Host), ("s", Home::Device), ("n", Home::Host)]
    );
    let buffers: Vec<_> = launch.buffers(&spec.tensors).collect();
    assert_eq!(buffers, [("x", Purpose::Input), ("y", Purpose::Output)]);
}

#[test]
fn gradients_and_given_tensors_have_names_in_cpp() {
    let text =
        SPEC.replace("host(y)", "grad(x), given( y )").replace("scale(b.x", "scale(grad( y )");
    let spec = right(&text);
    let call = spec.launches[0].host.as_ref().unwrap();
    assert_eq!(call.code, "Buffers b{x, grad_x, y};\nscale(grad_y, b.y, s, n);\n");
}

/// Each change of the spec, and what its author reads then.
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
