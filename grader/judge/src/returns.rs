//! At which `return` does a function of host code leave with a wrong answer? It is compiled once more with a line of output at each
//! `return` of its body, and called again for the case that fails.

use crate::formula_variant::first_cause;
use crate::verdict::{TestVerdict, WrongReturn};
use cpptext::functions::functions;
use cpptext::tokens::{closing, tokens};
use device::backend::{Backend, Run};
use device::host::{self, HostBackend};
use puzzle::case::{Case, last_launch_with};
use puzzle::spec::Spec;
use puzzle::workbook::Workbook;
use std::fmt::Write;
use std::ops::Range;
use toolchain::Toolchain;
use toolchain::scratch::Scratch;

/// What the line of output begins with.
const MARK: &str = "gradient_puzzles_return ";
/// The purpose of the folder for the changed file.
const PURPOSE: &str = "returns";
const FILE: &str = "returns.cu";

/// What compiles a submission to a puzzle.
#[derive(Clone, Copy, Debug)]
pub struct Compiler<'a> {
    /// The compiler.
    pub toolchain: &'a Toolchain,
    /// The workbook of the puzzle.
    pub workbook: &'a Workbook,
    /// Its spec.
    pub spec: &'a Spec,
}

/// Adds to a failing verdict the `return` with which a function of host code gave a wrong flag, if nothing else explains it. `source` is
/// the text of the submission.
pub fn explain(
    compiler: Compiler<'_>,
    source: &str,
    (case, run): (&Case, &Run),
    mut verdict: TestVerdict,
) -> TestVerdict {
    let Some(at) = first_cause(case, &verdict).filter(|_| compiler.spec.is_host()) else {
        return verdict;
    };
    let diff = &verdict.diffs[at];
    let is_flag = |value: f64| value == 0.0 || value == 1.0;
    let mut pairs = diff.mismatches.iter();
    let are_flags = pairs.all(|m| is_flag(m.expected) && m.got.is_some_and(is_flag));
    let is_open =
        verdict.findings.is_empty() && !diff.is_explained() && !diff.tensor.dtype.is_float();
    if are_flags && is_open && diff.tensor.shape.len() == 1 {
        let found = wrong_return(compiler, source, (case, run), &diff.tensor.name, &diff.wrong);
        verdict.diffs[at].returned = found;
    }
    verdict
}

fn wrong_return(
    Compiler { toolchain, workbook, spec }: Compiler<'_>,
    source: &str,
    (case, run): (&Case, &Run),
    name: &str,
    wrong: &[bool],
) -> Option<WrongReturn> {
    let index = case.output(name)?;
    let function = &last_launch_with(&case.launches, index)?.kernel;
    let marked = with_marks(source, function)?;
    let folder = Scratch::new(PURPOSE).ok()?;
    let path = folder.path().join(FILE);
    std::fs::write(&path, marked).ok()?;
    let (_, program) = host::compile(toolchain, workbook, spec, &path).ok()?;
    let again = HostBackend::new(program, None).run(case).ok()?;
    // Otherwise it is another mistake that shows.
    if again.tensors.get(index)?.values != run.tensors.get(index)?.values {
        return None;
    }
    let lines =
        again.printed.lines().filter_map(|line| line.trim().strip_prefix(MARK)?.parse().ok());
    let line = common(&lines.collect::<Vec<u32>>(), wrong)?;
    Some(WrongReturn { function: function.clone(), line })
}

/// The line with which each wrong element ends. A function is called as often for each element, and the last call
/// gives the answer.
fn common(lines: &[u32], wrong: &[bool]) -> Option<u32> {
    let calls = lines.len().checked_div(wrong.len()).filter(|&calls| calls > 0)?;
    if calls * wrong.len() != lines.len() {
        return None;
    }
    let last: Vec<u32> = lines.chunks(calls).filter_map(|of| of.last().copied()).collect();
    let mut bad = last.iter().zip(wrong).filter(|pair| *pair.1).map(|pair| *pair.0);
    let first = bad.next()?;
    bad.all(|line| line == first).then_some(first)
}

/// The source with a line of output before each `return` of a function's body; its lines keep their numbers. `None` if it has no such body.
fn with_marks(source: &str, function: &str) -> Option<String> {
    let body = body(source, function)?;
    let line = |at: usize| source[..at].matches('\n').count() + 1;
    let mut text = format!(
        "#include <cstdio>\nstatic bool gradient_puzzles_return(int line) \
         {{ fprintf(stderr, \"{MARK}%d\\n\", line); return false; }}\n#line 1\n"
    );
    text.push_str(&source[..body.start]);
    // Writing into a string cannot fail, here and below.
    let _ = write!(
        text,
        "\n#define return if (gradient_puzzles_return(__LINE__)) {{}} else return\n#line {}\n{}",
        line(body.start),
        &source[body.clone()]
    );
    let _ = write!(text, "\n#undef return\n#line {}\n{}", line(body.end), &source[body.end..]);
    Some(text)
}

/// What stands between the braces of a function.
fn body(source: &str, function: &str) -> Option<Range<usize>> {
    let found = functions(source).into_iter().find(|f| f.name == function && f.has_body)?;
    let all = tokens(source);
    let name = all.iter().position(|token| token.span.start == found.name_span.start)?;
    let open = name + all[name..].iter().position(|token| token.is("{"))?;
    let close = closing(&all, open)?;
    Some(all[open].span.end..all[close].span.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_returns_of_one_function_are_marked_and_keep_their_lines() {
        let source = "int a() { return 1; }\nbool b(int x)\n{\n    if (x) return true;\n    return false; }\nint c() { return 2; }\n";
        let marked = with_marks(source, "b").unwrap();
        let lines: Vec<&str> = marked.lines().collect();
        let define = lines.iter().position(|line| line.starts_with("#define")).unwrap();
        let undef = lines.iter().position(|line| line.starts_with("#undef")).unwrap();
        assert_eq!(lines[define + 1], "#line 3");
        assert_eq!(lines[define + 2..undef], ["", "    if (x) return true;", "    return false; "]);
        assert_eq!(lines[undef + 1..], ["#line 5", "}", "int c() { return 2; }"]);
        assert_eq!(with_marks(source, "d"), None);
    }

    #[test]
    fn only_a_return_of_all_wrong_elements_is_named() {
        let wrong = [true, false, true];
        assert_eq!(common(&[4, 9, 4], &wrong), Some(4));
        assert_eq!(common(&[1, 4, 9, 9, 1, 4], &wrong), Some(4), "the last of two calls");
        assert_eq!(common(&[4, 9, 5], &wrong), None);
        assert_eq!(common(&[4, 9], &wrong), None);
        assert_eq!(common(&[], &wrong), None);
    }
}
