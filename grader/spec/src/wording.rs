//! Translates errors of the TOML reader into the terms of specs.

use super::fault::Fault;

/// An example of each key that a spec can lack.
const EXAMPLES: [(&str, &str); 18] = [
    ("title", "title = \"Conv2D forward\""),
    ("dims", "[dims] with free = [\"N\"]"),
    ("tensors", "[tensors] with lines such as x = \"f32[N]\""),
    ("math", "[math] with forward = \"y[i] = 2 * x[i]\""),
    ("forward", "forward = \"y[i] = 2 * x[i]\""),
    ("launch", "[[launch]] with kernel, args, block and grid"),
    ("function", "function = \"void name(const float* d_x, float* d_y, int n)\""),
    ("code", "code = \"name(x, y, N);\""),
    ("kernel", "kernel = \"name_of_the_kernel\""),
    ("args", "args = [\"x\", \"y\", \"N\"]"),
    ("block", "block = 256"),
    ("grid", "grid = \"ceil_div(N, 256)\""),
    ("test", "[[test]] with name and dims"),
    ("name", "name = \"x_tiny\""),
    ("kind", "kind = \"numerical-gradient\""),
    ("reason", "reason = \"why the derived bound is not enough\""),
    ("rtol", "rtol = 1e-3"),
    ("atol", "atol = 1e-6"),
];

/// Keys that are looked for in other tables than theirs, and what stands for them.
const ELSEWHERE: [(&str, &str); 1] = [(
    "work",
    "declare it once, [workspace] with work = \"f32[N]\", and pass it: args = [\"work\"]",
)];

pub(crate) fn fault(text: &str, error: &toml::de::Error) -> Fault {
    let message = error.message().trim();
    let span = error.span().unwrap_or(0..text.len());
    if let Some((name, known)) = quoted_after(message, "unknown field ") {
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let fault = Fault::at(span, format!("unknown key `{name}`"));
        return match ELSEWHERE.iter().find(|(key, _)| *key == name) {
            Some((_, instead)) => fault.help(*instead),
            None => fault.suggest(name, known, "key"),
        };
    }
    if let Some((name, _)) = quoted_after(message, "missing field ") {
        let fault = Fault::at(span, format!("the key `{name}` is missing"));
        return match EXAMPLES.iter().find(|(key, _)| *key == name) {
            Some((_, example)) => fault.help(format!("add {example}")),
            None => fault,
        };
    }
    if message.starts_with("invalid type: map, expected a sequence") {
        return Fault::at(span, "this is one table, but a list of tables is expected")
            .help("write it with two brackets, such as [[launch]] and [[test]]");
    }
    if let Some((found, wanted)) =
        message.strip_prefix("invalid type: ").and_then(|m| m.split_once(", expected "))
    {
        return Fault::at(span, format!("this is {}", article(plain(found))))
            .help(format!("it must be {}", article(plain(wanted))));
    }
    if let Some((found, wanted)) =
        message.strip_prefix("invalid value: ").and_then(|m| m.split_once(", expected "))
    {
        return Fault::at(span, format!("this is {}", article(plain(found))))
            .help(format!("it must be {}", article(plain(wanted))));
    }
    let (what, wanted) = message.split_once(", expected ").unwrap_or((message, ""));
    let fault = Fault::at(span, format!("invalid TOML: {what}"));
    if wanted.is_empty() { fault } else { fault.help(format!("expected {wanted}")) }
}

/// The word in backquotes after `start`, and the rest.
fn quoted_after<'a>(message: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    message.strip_prefix(start)?.strip_prefix('`')?.split_once('`')
}

/// Replaces serde's names of types with those of TOML.
fn plain(words: &str) -> &str {
    match words {
        "sequence" | "a sequence" => "list",
        "map" | "a map" => "table",
        "u32" | "u64" => "integer, 0 or more",
        "i64" => "integer",
        "f64" => "number",
        _ if words.starts_with("struct ") => "table",
        _ => words,
    }
}

fn article(words: &str) -> String {
    let starts = |names: &[&str]| names.iter().any(|name| words.starts_with(name));
    if starts(&["list", "table", "number", "string", "floating", "boolean"]) {
        format!("a {words}")
    } else if starts(&["integer"]) {
        format!("an {words}")
    } else {
        words.to_owned()
    }
}
