//! The C++ between the child and the student's functions: it declares them, gives the tensors and sizes their names, and
//! runs the code of each `[[call]]`.

use crate::cpp;
use puzzle::spec::{Arg, HostCall, Launch, MemorySpace, Spec};
use std::fmt::Write;

/// The symbol of a call: `prefix` tells the variants of one library apart.
pub fn symbol(prefix: &str, call: usize) -> String {
    format!("gradient_puzzles_{prefix}call{call}")
}

/// The glue for variants of a file, each in the namespace of this name; `None` for a file whose functions stand in none.
pub fn text(spec: &Spec, namespaces: &[Option<String>]) -> String {
    let mut glue = String::from("#include <exception>\n#include <stddef.h>\n#include <string.h>\n");
    let calls: Vec<(&Launch, &HostCall)> =
        spec.launches.iter().filter_map(|l| Some((l, l.host.as_ref()?))).collect();
    let mut includes: Vec<String> = Vec::new();
    let types = spec.tensors.types.values().chain(spec.tensors.workspaces.values());
    for dtype in types.map(|ty| ty.dtype) {
        includes.extend(cpp::header(dtype).map(str::to_owned));
    }
    includes.extend(calls.iter().flat_map(|(_, call)| call.includes.clone()));
    let mut seen: Vec<&String> = Vec::new();
    for include in &includes {
        if !seen.contains(&include) {
            // Writing into a string cannot fail, here and below.
            let _ = writeln!(glue, "#include \"{include}\"");
            seen.push(include);
        }
    }
    for namespace in namespaces {
        let inside = namespace.as_deref();
        if let Some(name) = inside {
            let _ = writeln!(glue, "namespace {name} {{");
        }
        for (i, (launch, call)) in calls.iter().enumerate() {
            let file = spec.path.display().to_string().replace(['"', '\\', '\n'], "_");
            let _ = writeln!(glue, "{};", call.signature);
            let _ = writeln!(glue, "static void gp_call{i}(const void* const* gp_args)\n{{");
            glue.push_str(&functions(&calls[..=i], inside));
            glue.push_str(&arguments(spec, launch, call));
            let _ = writeln!(glue, "#line {} \"{file}\"", call.line);
            let _ = writeln!(glue, "{}\n}}", call.code);
            let _ = writeln!(glue, "#line 1 \"glue.cpp\"");
        }
        if inside.is_some() {
            glue.push_str("}\n");
        }
        let prefix = inside.map(|name| format!("{name}_")).unwrap_or_default();
        let scope = inside.map(|name| format!("{name}::")).unwrap_or_default();
        for i in 0..calls.len() {
            let _ = write!(glue, "{}", entry(&symbol(&prefix, i), &format!("{scope}gp_call{i}")));
        }
    }
    glue
}

/// Prefix of the symbols of a namespace.
pub fn prefix(namespace: Option<&str>) -> String {
    namespace.map(|name| format!("{name}_")).unwrap_or_default()
}

/// A name for each function so far that is the one in this namespace. A header may declare functions of the same names
/// in none, and for arguments of the header's types C++ would find those, too.
fn functions(calls: &[(&Launch, &HostCall)], namespace: Option<&str>) -> String {
    let scope = namespace.unwrap_or_default();
    let mut text = String::new();
    for (launch, _) in calls {
        let name = &launch.kernel;
        let _ = writeln!(text, "[[maybe_unused]] auto& {name} = {scope}::{name};");
    }
    text
}

/// A definition for each name in the code. Names that it does not use are no reason for a warning.
fn arguments(spec: &Spec, launch: &Launch, call: &HostCall) -> String {
    let mut text = String::new();
    for (i, (arg, param)) in launch.args.iter().zip(&call.params).enumerate() {
        let name = &param.name;
        let dtype = |tensor: &str| {
            spec.tensors.type_of(tensor).map_or("float", |ty| cpp::scalar(ty.dtype).name)
        };
        let _ = match arg {
            Arg::Tensor(tensor)
            | Arg::InPlace(tensor)
            | Arg::Given(tensor)
            | Arg::Result(tensor)
            | Arg::Workspace(tensor) => {
                let ty = dtype(tensor);
                writeln!(text, "[[maybe_unused]] {ty}* const {name} = ({ty}*)gp_args[{i}];")
            }
            Arg::Scalar(tensor) => {
                let ty = dtype(tensor);
                writeln!(text, "[[maybe_unused]] const {ty} {name} = *(const {ty}*)gp_args[{i}];")
            }
            Arg::Size(_) => {
                writeln!(text, "[[maybe_unused]] const int {name} = *(const int*)gp_args[{i}];")
            }
        };
    }
    text
}

fn entry(symbol: &str, call: &str) -> String {
    format!(
        "extern \"C\" int {symbol}(const void* const* args, char* message, size_t length)
{{
    try {{
        {call}(args);
        return 0;
    }} catch (const std::exception& e) {{
        strncpy(message, e.what(), length - 1);
    }} catch (...) {{
        strncpy(message, \"an exception that is not a std::exception\", length - 1);
    }}
    return 1;
}}
"
    )
}

/// Which of a call's arguments lie in the host's memory.
pub fn on_host(launch: &Launch) -> Vec<bool> {
    let params = launch.host.iter().flat_map(|call| &call.params);
    let is_tensor = |arg: &Arg| !matches!(arg, Arg::Scalar(_) | Arg::Size(_));
    params
        .zip(&launch.args)
        .map(|(p, arg)| p.space == MemorySpace::Host && is_tensor(arg))
        .collect()
}
