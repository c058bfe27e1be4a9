//! The compiler's messages in the student's terms: what it said, where in the student's text, and one sentence of help.

use super::front_end::Job;
use super::includes::Headers;
use super::messages::{Level, Message};
use super::place::{line_span, place, quoted};
use super::rules::{BUILT_IN, help, known_name};
use super::similar::nearest;
use super::source_file::{SourceFile, read_source, shown};
use cpptext::directives::{definition, directive};
use cpptext::functions::functions;
use cpptext::statements::without_comment;
use cpptext::tokens::{Kind, Token, closing, split_at_commas, tokens};
use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Errors after these are counted only: most of them follow from the first.
const MAX_ERRORS: usize = 5;

/// Warnings that speak of a mistake rather than of tidiness: the file compiles, and does not do what it seems to.
const TELLING_WARNINGS: [u32; 15] = [
    39,    // division by zero
    69,    // integer conversion resulted in truncation
    174,   // expression has no effect: also what `x[a, b]` gives
    175,   // subscript out of range
    179,   // right operand of % is zero
    186,   // pointless comparison of unsigned integer with zero
    187,   // use of "=" where "==" may have been intended
    549,   // variable is used before its value is set
    940,   // missing return statement
    3008,  // comma in a subscript (C++20)
    20011, // calling a __host__ function from a __host__ __device__ function
    20013, // calling a constexpr __host__ function
    20014, // calling a __host__ function
    20094, // host variable read in device code
    20096, // address of a host variable taken in device code
];

/// The texts that messages point into, read when needed.
pub struct Sources<'a> {
    folder: &'a Path,
    base: &'a Path,
    include_dirs: &'a [PathBuf],
    /// The source and its headers: nothing of other files is shown, whatever a `#line` says.
    students: &'a [PathBuf],
    allowed: Headers<'a>,
    files: HashMap<PathBuf, Option<SourceFile>>,
    /// Names that the compiler does not know: none of them is suggested for another.
    unknown: Vec<String>,
}

impl<'a> Sources<'a> {
    /// For the messages about a job, whose source is this. Files are shown relative to `base`.
    pub fn new(job: &Job<'a>, allowed: Headers<'a>, base: &'a Path, source: &SourceFile) -> Self {
        let Job { folder, include_dirs, students, .. } = *job;
        let own = folder.join(job.file);
        let named = PathBuf::from(own.to_string_lossy().into_owned());
        let files = [own, named].map(|path| (path, Some(source.clone()))).into();
        Self { folder, base, include_dirs, students, allowed, files, unknown: Vec::new() }
    }

    /// The text of a file that the compiler named; `None` for no name, or what cannot be read.
    fn get(&mut self, file: &str) -> Option<SourceFile> {
        if file.is_empty() {
            return None;
        }
        let path = self.folder.join(file);
        let base = self.base;
        let read = || {
            let real = path.canonicalize().ok().filter(|path| self.students.contains(path))?;
            let bytes = read_source(&real).ok()?;
            Some(SourceFile::new(shown(&path, base), String::from_utf8_lossy(&bytes)))
        };
        self.files.entry(path.clone()).or_insert_with(read).clone()
    }

    /// The headers that could have been included.
    fn headers(&self) -> Vec<String> {
        let folders =
            [self.folder].into_iter().chain(self.include_dirs.iter().map(PathBuf::as_path));
        let entries = folders.flat_map(|f| std::fs::read_dir(f).into_iter().flatten().flatten());
        let names = entries.filter_map(|e| e.file_name().into_string().ok());
        names.filter(|n| [".h", ".cuh", ".hpp"].iter().any(|end| n.ends_with(end))).collect()
    }
}

/// The failure of a file that does not compile: the first error on top, a few after it, and warnings that may tell why.
pub fn failure(messages: &[Message], main: &str, sources: &mut Sources<'_>) -> Failure {
    let errors: Vec<&Message> = distinct(messages.iter().filter(|m| m.level == Level::Error));
    sources.unknown = errors.iter().filter_map(|m| undefined(&m.text)).map(str::to_owned).collect();
    let mut diagnostics: Vec<Diagnostic> =
        errors.iter().take(MAX_ERRORS).map(|m| diagnostic(m, main, sources)).collect();
    if let Some(more) = errors.len().checked_sub(MAX_ERRORS).filter(|&n| n > 0) {
        diagnostics.push(Diagnostic {
            severity: Severity::Error,
            title: format!("and {more} more error{}", if more == 1 { "" } else { "s" }),
            source: None,
            help: vec!["fix the first one first: it often causes the others".into()],
        });
    }
    diagnostics.extend(warnings(messages, main, sources));
    Failure { kind: FailureKind::Kernel, diagnostics }
}

/// Warnings worth showing although the file compiles.
pub fn warnings(messages: &[Message], main: &str, sources: &mut Sources<'_>) -> Vec<Diagnostic> {
    let telling = |m: &&Message| {
        m.level == Level::Warning && m.number.is_some_and(|n| TELLING_WARNINGS.contains(&n))
    };
    distinct(messages.iter().filter(telling))
        .into_iter()
        .map(|m| diagnostic(m, main, sources))
        .collect()
}

/// Leaves out what repeats itself: the same about the same line, and "is undefined in device code", which follows every
/// call of a CPU function.
fn distinct<'m>(messages: impl Iterator<Item = &'m Message>) -> Vec<&'m Message> {
    let mut kept: Vec<&Message> = Vec::new();
    for message in messages {
        let follows = message.text.ends_with("is undefined in device code");
        let again = |k: &&Message| {
            k.file == message.file && k.line == message.line && (k.text == message.text || follows)
        };
        if !kept.iter().any(again) {
            kept.push(message);
        }
    }
    kept
}

/// What the compiler says of an operator of its own that it considered and did not take.
const CANDIDATE: &str = "built-in operator";

/// A message without its list of operators that could have been meant: the types of the operands tell what is wrong.
fn short(text: &str) -> String {
    match (text.split_once(" operand types are: "), text.split_once([':', ';'])) {
        (Some((_, types)), Some((what, _))) => format!("{what}: {types}"),
        _ => text.to_owned(),
    }
}

fn diagnostic(message: &Message, main: &str, sources: &mut Sources<'_>) -> Diagnostic {
    let severity = if message.level == Level::Error { Severity::Error } else { Severity::Warning };
    let name = if message.at_end_of_source() { main } else { &message.file };
    let title = short(&message.text);
    let Some(file) = sources.get(name) else {
        let help = help(&title, "").map(str::to_owned).into_iter().collect();
        return Diagnostic { severity, title, source: None, help };
    };
    let text = &file.text;
    let mut span = place(text, message);
    let mut line = line_span(text, message.line).map_or("", |line| &text[line]);
    let all = tokens(text);
    let mut marks = Vec::new();
    let mut advice: Vec<String> = Vec::new();
    let mut label = String::new();

    if title == "expected a \";\"" {
        // It is missed when the next line begins; the place to mend is the end of the line before.
        if let Some(name) = nested_function(&all, &span) {
            label = format!("the body of `{name}` begins here, inside of the function before it");
        } else if let Some(before) = end_of_line_before(text, &all, &span) {
            marks.push(Mark { span: span.clone(), label: "detected here".into() });
            // What the next line says is not to blame.
            let number = text[..before.start].matches('\n').count() + 1;
            line = line_span(text, number as u32).map_or("", |line| &text[line]);
            (span, label) = (before, "a semicolon is missing after this".into());
        }
    }
    if !label.is_empty() && nested_function(&all, &span).is_some() {
        advice.push(
            "a } is missing further up: every { of the function before must be closed".into(),
        );
    } else if message.number == Some(174)
        && let Some((brackets, last)) = comma_subscript(&all, &span)
    {
        label = format!("only the last of these indices, `{}`, is used", &text[last]);
        span = brackets;
        advice.push(
            "C++ has no multidimensional index: compute one index, as in `x[(b * H + h) * W + w]`"
                .into(),
        );
    } else if let Some(name) = undefined(&title) {
        advice.push(explain_undefined(name, &all, &span, text, &sources.unknown));
    } else if let Some(name) = host_function(&title) {
        advice.push(explain_host_call(name, &title, text));
    } else if title.ends_with("No such file or directory") {
        advice.extend(explain_missing_header(&title, &sources.headers()));
    } else if title.ends_with(": Permission denied") {
        advice.extend(explain_refused_header(sources.allowed));
    } else if title.starts_with("invalid preprocessing directive") {
        advice.extend(explain_directive(&title));
    } else if let Some(name) =
        macro_with_semicolon(text, line).filter(|_| title.starts_with("expected"))
    {
        advice.push(format!("the #define of `{name}` ends with a semicolon, which is copied to here: remove it there"));
    } else if loses_const(&title) {
        advice.push("what the pointer leads to is const: declare it with `const`, too, as in `const float* p = ...`".into());
    } else if title == "expression must be a modifiable lvalue" {
        advice.push(explain_assignment(&all, &span));
    } else {
        advice.extend(help(&title, line).map(str::to_owned));
        advice.extend(constant_size(&title, line));
    }

    marks.insert(0, Mark { span, label });
    let notes = message.notes.iter().filter(|n| n.line > 0 && n.file == name);
    for note in notes.filter(|note| !note.text.starts_with(CANDIDATE)) {
        let span = place(text, note);
        // A note at the very same place adds words, not a place.
        match marks.iter_mut().find(|m| m.span == span) {
            Some(mark) if mark.label.is_empty() => mark.label.clone_from(&note.text),
            Some(_) => {}
            None => marks.push(Mark { span, label: note.text.clone() }),
        }
    }
    let source = Some(Source { path: file.path, text: file.text, marks });
    Diagnostic { severity, title, source, help: advice }
}

/// If the token at `span` is the first of its line: the last token before that line.
fn end_of_line_before(text: &str, all: &[Token<'_>], span: &Range<usize>) -> Option<Range<usize>> {
    let index = all.iter().position(|t| t.span.start == span.start)?;
    let before = all.get(index.checked_sub(1)?)?;
    text[before.span.end..span.start].contains('\n').then(|| before.span.clone())
}

/// The name of a function whose body begins at `span`: a type, the name, and parameters in brackets stand before it.
fn nested_function<'t>(all: &[Token<'t>], span: &Range<usize>) -> Option<&'t str> {
    let at = all.iter().position(|t| t.span.start == span.start)?;
    let close = at.checked_sub(1).filter(|_| all[at].is("{"))?;
    let open = (0..close).rev().find(|&i| all[i].is("(") && closing(all, i) == Some(close))?;
    let [.., of, name] = &all[..open] else { return None };
    let is_type = of.kind == Kind::Word && !of.is("else") && !of.is("return") || of.is("*");
    (is_type && name.kind == Kind::Word).then_some(name.text)
}

/// Whether the two types of a message differ by `const` alone.
fn loses_const(title: &str) -> bool {
    let mut types = quoted(title);
    let pair = types.next().zip(types.next());
    title.starts_with("a value of type")
        && pair.is_some_and(|(from, to)| from.strip_prefix("const ") == Some(to))
}

/// If `span` stands in brackets that hold a comma: `name[...]` as a whole, and its last index.
fn comma_subscript(all: &[Token<'_>], span: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    let at = all.iter().position(|t| t.span.start == span.start)?;
    // The innermost bracket around it.
    let open = (0..at)
        .rev()
        .find(|&i| all[i].is("[") && closing(all, i).is_some_and(|close| close > at))?;
    let close = closing(all, open)?;
    let indices = split_at_commas(&all[open + 1..close]);
    let last = indices.last()?;
    let last = last.first()?.span.start..last.last()?.span.end;
    let name = all.get(open.checked_sub(1)?)?;
    (indices.len() > 1).then(|| (name.span.start..all[close].span.end, last))
}

/// `x` of `identifier "x" is undefined`.
fn undefined(title: &str) -> Option<&str> {
    title.strip_prefix("identifier \"")?.strip_suffix("\" is undefined")
}

fn explain_undefined(
    name: &str,
    all: &[Token<'_>],
    span: &Range<usize>,
    text: &str,
    unknown: &[String],
) -> String {
    if let Some(advice) = known_name(name) {
        return advice.to_owned();
    }
    let of_a_library = ["cublas", "CUBLAS_", "curand", "CURAND_", "nvrtc", "NVRTC_"];
    if of_a_library.iter().any(|start| name.starts_with(start)) {
        return format!(
            "the grader has a part of cuBLAS, cuRAND and NVRTC, without `{name}`; the book's page on programs lists what it has"
        );
    }
    if let Some(declared) = declaration(all, name) {
        let line = text[..all[declared].span.start].matches('\n').count() + 1;
        return if all[declared].span.start < span.start {
            format!(
                "the `{name}` of line {line} exists only in its own loop, block or function: \
                 declare it before that block"
            )
        } else {
            format!(
                "`{name}` is declared further down, at line {line}: declare it before it is used"
            )
        };
    }
    let words = all.iter().filter(|t| t.kind == Kind::Word).map(|t| t.text);
    let words = words.filter(|word| !unknown.iter().any(|u| u == word));
    if let Some(meant) = nearest(name, words.chain(BUILT_IN.iter().copied())) {
        return format!("did you mean `{meant}`?");
    }
    let known = variables(all, span, text);
    let known = known.iter().take(MAX_VARIABLES).map(|name| format!("`{name}`"));
    let known = match &known.collect::<Vec<_>>()[..] {
        [] => String::new(),
        all => format!(" (declared here: {})", all.join(", ")),
    };
    format!("declare it before you use it, as in `int {name} = ...;`, or check the spelling{known}")
}

/// So many names of variables are listed.
const MAX_VARIABLES: usize = 8;

/// The parameters and variables of the function around `span` that are declared before it, the nearest first.
fn variables<'t>(all: &[Token<'t>], span: &Range<usize>, text: &str) -> Vec<&'t str> {
    let functions = functions(text);
    let Some(function) = functions.iter().rfind(|f| f.name_span.start < span.start) else {
        return Vec::new();
    };
    let inside =
        |token: &Token<'_>| (function.name_span.end..span.start).contains(&token.span.start);
    let mut names: Vec<&str> = Vec::new();
    for at in (1..all.len()).rev().filter(|&at| inside(&all[at]) && all[at].kind == Kind::Word) {
        if is_declared_at(all, at) && !names.contains(&all[at].text) {
            names.push(all[at].text);
        }
    }
    names
}

/// Words after which a variable is declared.
const TYPES: [&str; 13] = [
    "int", "float", "double", "unsigned", "long", "short", "char", "bool", "auto", "size_t",
    "const", "half", "dim3",
];

/// Index of the token where a variable of this name is declared: after a type.
fn declaration(all: &[Token<'_>], name: &str) -> Option<usize> {
    (1..all.len()).find(|&at| all[at].is(name) && is_declared_at(all, at))
}

/// Whether a type stands before this word, which is none itself.
fn is_declared_at(all: &[Token<'_>], at: usize) -> bool {
    let type_before = all[..at].iter().rev().find(|t| !t.is("*") && !t.is("&"));
    !TYPES.contains(&all[at].text) && type_before.is_some_and(|t| TYPES.contains(&t.text))
}

/// `rand` of `calling a __host__ function("rand") from a __global__ function("k") is not allowed`.
fn host_function(title: &str) -> Option<&str> {
    let called = title.contains("__host__ function(\"") && title.contains("is not allowed");
    quoted(title).next().filter(|_| called)
}

fn explain_host_call(name: &str, title: &str, text: &str) -> String {
    if let Some(advice) = help(title, "") {
        return advice.to_owned();
    }
    if functions(text).iter().any(|f| f.name == name) {
        return format!(
            "write `__device__` in front of `{name}`: a kernel can call only functions that run on the GPU"
        );
    }
    format!("`{name}` runs on the CPU only: a kernel cannot call it")
}

fn explain_missing_header(title: &str, headers: &[String]) -> Vec<String> {
    let name = title.split(": No such file").next().unwrap_or_default();
    if is_header_of_nvidias(name) {
        let help = "this library of NVIDIA's is not part of the grader, which runs kernels whose source is compiled: write the \
                    kernel, or build the program with nvcc on a machine with a GPU";
        return vec![help.to_owned()];
    }
    let meant = nearest(name, headers.iter().map(String::as_str));
    let found = meant.map(|meant| format!("did you mean `{meant}`?"));
    let where_from =
        "the compiler looks for headers beside the file and in kernels/include; CUDA's headers need no folder; `grader run -I DIR` \
         adds a folder"
            .to_owned();
    found.into_iter().chain([where_from]).collect()
}

/// Does a library declare its functions in this header that comes with CUDA, besides the runtime?
fn is_header_of_nvidias(name: &str) -> bool {
    ["cublas", "curand", "cufft", "cusparse", "cusolver", "cudnn", "nccl", "nvml", "nvrtc", "npp"]
        .iter()
        .any(|library| name.starts_with(library))
}

/// Why a file that exists cannot be included.
fn explain_refused_header(allowed: Headers<'_>) -> Option<String> {
    let Headers::Offered { names, .. } = allowed else { return None };
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let offered = if names.is_empty() {
        "none of kernels/include".to_owned()
    } else {
        format!("of kernels/include {}", names.join(", "))
    };
    Some(format!(
        "in this puzzle a file may include CUDA's headers, the C++ library, files in its own folder (if that is not the workbook itself), and {offered}"
    ))
}

fn explain_directive(title: &str) -> Option<String> {
    let known = [
        "include", "define", "undef", "if", "ifdef", "ifndef", "else", "elif", "endif", "pragma",
        "error",
    ];
    let name = title.rsplit('#').next()?;
    nearest(name, known).map(|meant| format!("did you mean `#{meant}`?"))
}

/// A word of this line that is defined with a semicolon at its end.
fn macro_with_semicolon<'t>(text: &'t str, line: &str) -> Option<&'t str> {
    let defines = text.lines().filter_map(|line| definition(directive(without_comment(line))?));
    let mut names =
        defines.filter(|(_, rest)| rest.trim_end().ends_with(';')).map(|(name, _)| name);
    names.find(|name| tokens(line).iter().any(|t| t.kind == Kind::Word && t.text == *name))
}

fn explain_assignment(all: &[Token<'_>], span: &Range<usize>) -> String {
    let name = all.iter().find(|t| t.span.start == span.start).map_or("", |t| t.text);
    if matches!(name, "threadIdx" | "blockIdx" | "blockDim" | "gridDim") {
        return format!("`{name}` is set by the launch: a kernel can only read it");
    }
    let constant = declaration(all, name).is_some_and(|at| {
        let start = all[..at]
            .iter()
            .rposition(|t| matches!(t.text, "(" | "," | ";" | "{" | "}"))
            .map_or(0, |i| i + 1);
        all[start..at].iter().any(|t| t.is("const") || t.is("constexpr"))
    });
    if constant {
        format!("`{name}` is declared const: the kernel may read it, not write it")
    } else {
        "only a variable or an element of an array can be assigned to".to_owned()
    }
}

/// What to do about an array whose size is a variable.
fn constant_size(title: &str, line: &str) -> Option<String> {
    let advice = if line.contains("__shared__") {
        "use a constant, `constexpr int TILE = 16;`; for a size that the launch sets, write \
         `extern __shared__ float tile[];`"
    } else {
        "use a constant, as in `constexpr int N = 16;`"
    };
    (title == "expression must have a constant value").then(|| advice.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::parse;
    use std::fmt::Write;

    fn fixtures() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fixtures")
    }

    /// What is said of a fixture, one mark and one help to a line.
    fn explain(name: &str) -> String {
        let folder = fixtures();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let file = format!("{name}.cu");
        let source = SourceFile::new(file.clone(), read(&file));
        let messages = parse(&read(&format!("{name}.stderr")));
        let headers = ["inc/bad.cuh", "inc/bad2.cuh"].map(|name| folder.join(name));
        let job = Job { students: &headers, ..Job::new(&folder, file.as_ref(), b"") };
        let mut sources = Sources::new(&job, Headers::Any, &folder, &source);
        summary(&failure(&messages, &file, &mut sources).diagnostics)
    }

    fn summary(diagnostics: &[Diagnostic]) -> String {
        let mut out = String::new();
        for diagnostic in diagnostics {
            writeln!(out, "{:?}: {}", diagnostic.severity, diagnostic.title).unwrap();
            if let Some(source) = &diagnostic.source {
                for mark in &source.marks {
                    let line = source.text[..mark.span.start].matches('\n').count() + 1;
                    let marked = &source.text[mark.span.clone()];
                    writeln!(out, "  {}:{line} `{marked}` {}", source.path.display(), mark.label)
                        .unwrap();
                }
            }
            for help in &diagnostic.help {
                writeln!(out, "  help: {help}").unwrap();
            }
        }
        out
    }

    #[test]
    fn every_fixture_is_explained() {
        let mut names: Vec<String> = std::fs::read_dir(fixtures())
            .unwrap()
            .filter_map(|e| {
                Some(e.unwrap().file_name().to_str()?.strip_suffix(".stderr")?.to_owned())
            })
            .collect();
        names.sort();
        let all: Vec<String> =
            names.iter().map(|name| format!("# {name}\n{}", explain(name))).collect();
        insta::assert_snapshot!(all.join("\n"));
    }
}
