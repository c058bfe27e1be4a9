//! Reads `[[call]]`: a host function, and the C++ code and the tensors with which it is called.
//!
//! The code names the tensors as `args` of a launch do: `x`, `grad(x)`, `given(x)`, `inplace(x)`. In C++ each becomes a
//! pointer with that name: `grad(x)` becomes `grad_x`. A tensor inside `host(..)` is in the host's memory.

use super::arg::{Arg, Purpose};
use super::code::{Reference, references};
use super::fault::{Checked, Fault};
use super::host_call::{HostCall, HostParam, MemorySpace};
use super::launch::Launch;
use super::quoted::inner_span;
use super::sizes::Sizes;
use super::tensors::Tensors;
use indexmath::{DType, DimExpr};
use specfile::RawCall;
use std::ops::Range;
use toml::Spanned;

/// The time limit in seconds of a call that sets none.
const SECONDS: u64 = 10;

/// The largest time limit in seconds that a spec can set.
const MAX_SECONDS: u64 = 600;

/// Keywords of C++ that a tensor's name must not be.
const RESERVED: [&str; 12] = [
    "auto", "bool", "char", "const", "double", "float", "for", "if", "int", "long", "return",
    "void",
];

/// Checks that no two calls are of the same function, because reports and tests identify a call by it.
pub(crate) fn check_names(launches: &[Launch]) -> Checked<()> {
    for (i, next) in launches.iter().enumerate().filter(|(_, l)| l.host.is_some()) {
        if let Some(first) = launches[..i].iter().find(|l| l.kernel == next.kernel) {
            let title = format!("`{}` has two [[call]]s", next.kernel);
            return Err(Fault::at(next.place().clone(), title)
                .also(first.place().clone(), "the first one")
                .help("call it several times in one `code`"));
        }
    }
    Ok(())
}

/// The names of headers that a key lists.
pub(crate) fn headers(key: &str, names: &[Spanned<String>]) -> Checked<Vec<String>> {
    let name = |name: &Spanned<String>| {
        if name.get_ref().is_empty() || name.get_ref().contains(['"', '<', '>', '\n', '\\']) {
            return Err(Fault::at(name.span(), "this is not the name of a header").help(format!(
                "write the name of a file in kernels/include: {key} = [\"lenet.h\"]"
            )));
        }
        Ok(name.get_ref().clone())
    };
    names.iter().map(name).collect()
}

pub(crate) fn read(text: &str, raw: &RawCall, sizes: &Sizes, tensors: &Tensors) -> Checked<Launch> {
    let (name, signature) = function(&raw.function)?;
    let includes = headers("include", &raw.include)?;
    let code = raw.code.get_ref();
    let (mut args, mut places, mut params) = (Vec::new(), Vec::new(), Vec::<HostParam>::new());
    let mut replaced = String::new();
    let mut done = 0;
    for reference in references(code) {
        let Reference { span, wrappers, tensor } = &reference;
        let known = tensors.names().any(|n| n == *tensor)
            || tensors.types.contains_key(*tensor)
            || tensors.is_workspace(tensor);
        if wrappers.is_empty() && !known {
            continue;
        }
        let place = inner_span(text, &raw.code.span(), span);
        let (space, arg, cpp) = resolve(text, &reference, &place, sizes, tensors)?;
        if let Some(i) = params.iter().position(|p| p.name == cpp) {
            let HostParam { space: first_space, .. } = params[i];
            if args[i] != arg || first_space != space {
                let title = format!("`{tensor}` is used in two ways in this code");
                return Err(Fault::at(place, title)
                    .also(Range::clone(&places[i]), "here in another way")
                    .help(
                        "a tensor is an input, given or computed, and in one memory: write it in one way",
                    ));
            }
        } else {
            params.push(HostParam { name: cpp.clone(), space });
            args.push(arg);
            places.push(place);
        }
        replaced.push_str(&code[done..span.start]);
        replaced.push_str(&cpp);
        done = span.end;
    }
    replaced.push_str(&code[done..]);
    for size in sizes.names() {
        let place = raw.code.span();
        if let Some(i) = params.iter().position(|p| p.name == size) {
            let title = format!("`{size}` is both a size and a tensor in this code");
            return Err(Fault::at(places[i].clone(), title).help("rename one of the two"));
        }
        let expr = DimExpr::parse(size).map_err(|e| Fault::math(text, &place, e))?;
        args.push(Arg::Size(expr));
        params.push(HostParam { name: size.to_owned(), space: MemorySpace::Host });
        places.push(place);
    }
    let start = inner_span(text, &raw.code.span(), &(0..0)).start;
    let line = text.get(..start).map_or(0, |before| before.matches('\n').count()) as u32 + 1;
    let seconds = match &raw.seconds {
        None => SECONDS,
        Some(seconds) if (1..=MAX_SECONDS).contains(seconds.get_ref()) => *seconds.get_ref(),
        Some(seconds) => {
            let title = format!("`seconds` cannot be {}", seconds.get_ref());
            return Err(Fault::at(seconds.span(), title).help(format!("use 1 to {MAX_SECONDS}")));
        }
    };
    let progress = progress(raw, &args, &params)?;
    let host = HostCall { signature, includes, code: replaced, line, seconds, progress, params };
    let launch = Launch::of_call(name, host, (args, places), raw.function.span());
    if launch.gives(tensors).next().is_none() {
        let computed = tensors.computed.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>();
        return Err(Fault::at(
            raw.code.span(),
            "this code names no tensor that the formula computes",
        )
        .label("nothing to check")
        .help(format!("pass the output: the formula computes {}", computed.join(", "))));
    }
    Ok(launch)
}

/// Checks that each watched tensor is a result in the host's memory, where the grader sees it while it is written.
fn progress(raw: &RawCall, args: &[Arg], params: &[HostParam]) -> Checked<Vec<(String, String)>> {
    let mut watched = Vec::new();
    for (label, name) in &raw.progress {
        let result = Arg::Result(name.get_ref().clone());
        let is_it =
            |(arg, param): (&Arg, &HostParam)| *arg == result && param.space == MemorySpace::Host;
        if !args.iter().zip(params).any(is_it) {
            let title = format!("the code has no host(result({}))", name.get_ref().escape_debug());
            return Err(Fault::at(name.span(), title)
                .help("only results in the host's memory can be seen while they are written"));
        }
        watched.push((label.get_ref().clone(), name.get_ref().clone()));
    }
    Ok(watched)
}

/// The name and the declaration of the function.
fn function(raw: &Spanned<String>) -> Checked<(String, String)> {
    let signature = raw.get_ref().trim().trim_end_matches(';').trim_end();
    let fault = |title: &str| {
        Fault::at(raw.span(), title)
            .help("write its declaration: function = \"void name(const float* d_x, int n)\"")
    };
    let Some((before, rest)) = signature.split_once('(') else {
        return Err(fault("this is not the declaration of a function"));
    };
    let before = before.trim_end();
    let start = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').len();
    let (result, name) = before.split_at(start);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !is_name || !rest.ends_with(')') || rest.contains(['{', '}', ';']) {
        return Err(fault("this is not the declaration of a function"));
    }
    if result.trim().is_empty() {
        return Err(fault("the type of the function's result is missing"));
    }
    Ok((name.to_owned(), signature.to_owned()))
}

/// Where the tensor is, how the function uses it, and its name in C++.
fn resolve(
    text: &str,
    reference: &Reference<'_>,
    place: &Range<usize>,
    sizes: &Sizes,
    tensors: &Tensors,
) -> Checked<(MemorySpace, Arg, String)> {
    let (space, wrappers) = match reference.wrappers.split_first() {
        Some((&"host", rest)) => (MemorySpace::Host, rest),
        _ => (MemorySpace::Device, &reference.wrappers[..]),
    };
    if wrappers.contains(&"host") {
        return Err(Fault::at(place.clone(), "`host` is inside another word")
            .help(format!("write it outside: host({}(..))", wrappers[0])));
    }
    let mut written = reference.tensor.to_owned();
    for wrapper in wrappers.iter().rev() {
        written = format!("{wrapper}({written})");
    }
    let arg = Arg::read(text, &Spanned::new(place.clone(), written.clone()), sizes, tensors)?;
    if arg.buffer(tensors).is_none() && space == MemorySpace::Host {
        return Err(Fault::at(
            place.clone(),
            format!("`{written}` is a number, so it has no address"),
        )
        .help(format!("write {written}: it is passed by value")));
    }
    if let Arg::Size(_) = arg {
        return Err(Fault::at(place.clone(), format!("`{}` is a size", reference.tensor))
            .help("write it without a word around it"));
    }
    let written_bytes = arg.buffer(tensors).filter(|(name, purpose)| {
        matches!(purpose, Purpose::Output | Purpose::Result)
            && tensors.type_of(name).is_some_and(|ty| ty.dtype == DType::U8)
    });
    if let Some((name, _)) = written_bytes {
        let title = format!("`{name}` is of type u8, which host code cannot compute");
        return Err(Fault::at(place.clone(), title)
            .label("a byte that was never written looks like any other")
            .help("give it the type i32, or let a [[launch]] compute it"));
    }
    let cpp = match wrappers.last() {
        Some(&"grad") => format!("grad_{}", reference.tensor),
        _ => reference.tensor.to_owned(),
    };
    if RESERVED.contains(&cpp.as_str()) {
        return Err(Fault::at(place.clone(), format!("`{cpp}` is a keyword of C++"))
            .help("rename the tensor"));
    }
    Ok((space, arg, cpp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_has_a_name_and_a_result() {
        let read = |text: &str| function(&Spanned::new(0..0, text.to_owned()));
        let (name, signature) = read(" const float* f_1 (int a); ").unwrap();
        assert_eq!((name.as_str(), signature.as_str()), ("f_1", "const float* f_1 (int a)"));
        for wrong in ["f", "f(int a)", "void (int)", "void f(int a) {}", "void f(int"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
