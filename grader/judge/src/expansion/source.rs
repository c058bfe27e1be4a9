//! What can be read from a kernel's text: declarations of integers, heads of loops, the variable that sums.
//!
//! This only ranks lines that the report suggests; no verdict rests on it.

use cpptext::statements::{code, last_word, statement};
use device::finding::ThreadId;
use indexmath::{DimExpr, Dims};

/// `int name = value;` with its line and, where it can be computed, its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Declared {
    pub name: String,
    pub line: u32,
    pub text: String,
    pub value: Option<i64>,
    /// It stands inside a loop.
    pub inner: bool,
}

/// The head of a counting loop: first value and the one behind the last, where they can be computed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Loop {
    pub name: String,
    pub line: u32,
    pub range: Option<(i64, i64)>,
}

/// The part of a kernel file above and around a line.
#[derive(Debug)]
pub(super) struct Kernel<'a> {
    pub source: &'a str,
    pub declared: Vec<Declared>,
    pub loops: Vec<Loop>,
    /// Sizes, the numbers of the thread, and what is declared outside loops.
    pub known: Dims,
}

impl<'a> Kernel<'a> {
    /// The kernel around `line`, read up to there, with the sizes of a case and the numbers of a thread.
    pub fn new(
        source: &'a str,
        line: u32,
        dims: &Dims,
        thread: ThreadId,
        block: [u32; 3],
        grid: [u32; 3],
    ) -> Self {
        let lines: Vec<&str> = source.lines().collect();
        let last = (line as usize).min(lines.len());
        let head = lines[..last].iter().rposition(|text| text.contains("__global__")).unwrap_or(0);
        let mut known = dims.clone();
        let special = [
            ("blockIdx", thread.block),
            ("threadIdx", thread.thread),
            ("blockDim", block),
            ("gridDim", grid),
        ];
        for (name, values) in special {
            for (axis, value) in ["x", "y", "z"].into_iter().zip(values) {
                known.insert(format!("{name}_{axis}"), value.into());
            }
        }
        let mut kernel =
            Self { source, declared: Vec::new(), loops: Vec::new(), known: Dims::new() };
        let mut number = head;
        while number < last {
            let text = code(lines[number]);
            number += 1;
            if let Some(found) = loop_head(text, number as u32, &known) {
                // What a loop counts has no one value.
                known.remove(&found.name);
                kernel.loops.push(found);
            } else if let Some(rest) =
                ["const int ", "int "].iter().find_map(|t| text.strip_prefix(t))
            {
                for part in rest.trim_end_matches(';').split(',') {
                    let Some((name, value)) = part.split_once('=') else { continue };
                    let (name, text) = (name.trim().to_owned(), value.trim().to_owned());
                    let value = evaluate(&text, &known);
                    match value {
                        Some(value) => known.insert(name.clone(), value),
                        None => known.remove(&name),
                    };
                    let inner = !kernel.loops.is_empty();
                    kernel.declared.push(Declared {
                        name,
                        line: number as u32,
                        text,
                        value,
                        inner,
                    });
                }
            }
        }
        kernel.known = known;
        kernel
    }

    /// The text of a line without its comment.
    pub fn line(&self, line: u32) -> &'a str {
        self.source.lines().nth((line as usize).wrapping_sub(1)).map(code).unwrap_or_default()
    }

    /// The whole statement of a line.
    pub fn statement(&self, line: u32) -> String {
        statement(self.source, line).map(|line| self.line(line)).collect::<Vec<_>>().join(" ")
    }

    /// The line before `line` that first sets the variable that the statement there adds to.
    pub fn first_value(&self, line: u32) -> Option<u32> {
        let text = self.statement(line);
        let sum = if let Some((left, _)) = text.split_once("+=") {
            last_word(left.trim_end())
        } else {
            // The store of a sum: output[i] = sum;
            let stored = text.split_once('=')?.1.trim().trim_end_matches(';').trim_end();
            last_word(stored).filter(|sum| *sum == stored)
        }?;
        let sets = |text: &str| {
            let code = code(text);
            let declares = ["float ", "double ", "int ", "half ", "__half ", "long "];
            declares.iter().any(|ty| {
                code.strip_prefix(ty).and_then(|rest| rest.split(['=', ';', ' ']).next())
                    == Some(sum)
            })
        };
        let above: Vec<&str> = self.source.lines().take(line as usize).collect();
        above.iter().rposition(|text| sets(text)).map(|index| index as u32 + 1)
    }

    /// A line between the first value and `line` where the variable that `line` uses is set anew.
    pub fn set_again(&self, line: u32) -> Option<u32> {
        let first = self.first_value(line)?;
        let text = self.line(first).split(['=', ';']).next()?.trim_end();
        let sum = last_word(text)?;
        let sets = |text: &str| {
            text.match_indices(sum).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                let after = text[at + sum.len()..].trim_start();
                before.is_none_or(|c| c == ' ' || c == '{' || c == ';')
                    && after.starts_with('=')
                    && !after.starts_with("==")
            })
        };
        (first + 1..line).find(|&number| sets(self.line(number)))
    }

    /// The last condition above a line for which `wanted` holds.
    pub fn condition(&self, line: u32, wanted: impl Fn(&str) -> bool) -> Option<u32> {
        let lines: Vec<&str> = self.source.lines().take(line as usize).collect();
        let head = lines.iter().rposition(|text| text.contains("__global__"))?;
        let is = |text: &&str| code(text).starts_with("if") && wanted(code(text));
        lines[head..].iter().rposition(is).map(|index| (head + index) as u32 + 1)
    }
}

pub(super) fn evaluate(text: &str, known: &Dims) -> Option<i64> {
    DimExpr::parse(&text.replace('.', "_")).ok()?.eval(known).ok()
}

/// `for (int name = a; name < b; name++)`, also with `<=`.
fn loop_head(text: &str, line: u32, known: &Dims) -> Option<Loop> {
    let inside = text.strip_prefix("for")?.trim_start().strip_prefix("(int ")?;
    let mut parts = inside.split(';');
    let (name, first) = parts.next()?.split_once('=')?;
    let (name, condition) = (name.trim(), parts.next()?.trim());
    let step = parts.next()?.trim();
    let bound = condition.strip_prefix(name)?.trim_start();
    let (bound, inclusive) = match bound.strip_prefix("<=") {
        Some(bound) => (bound, 1),
        None => (bound.strip_prefix('<')?, 0),
    };
    let by_one = step.starts_with(&format!("{name}++")) || step.starts_with(&format!("++{name}"));
    let range = evaluate(first.trim(), known).zip(evaluate(bound.trim(), known));
    let range = range.filter(|_| by_one).map(|(first, end)| (first, end + inclusive));
    Some(Loop { name: name.to_owned(), line, range })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "__global__ void other() { int N = 3; }
__global__ void k(const float* x, float* y, int N, int F) {
    int n = N - F + 1; // comment
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = i % N;
    if (i >= n) return;
    float sum = 0.0f;
    for (int f = 1; f <= F; f++)
        sum += x[i + f]
             * x[f];
    y[i] = sum;
}";

    #[test]
    fn declarations_and_loops_have_values() {
        let dims = Dims::from([("N".to_owned(), 10), ("F".to_owned(), 3)]);
        let thread = ThreadId { block: [2, 0, 0], thread: [5, 0, 0] };
        let kernel = Kernel::new(SOURCE, 10, &dims, thread, [8, 1, 1], [3, 1, 1]);
        let values: Vec<_> =
            kernel.declared.iter().map(|d| (d.name.as_str(), d.line, d.value)).collect();
        assert_eq!(values, [("n", 3, Some(8)), ("i", 4, Some(21)), ("j", 4, Some(1))]);
        assert_eq!(kernel.loops, [Loop { name: "f".into(), line: 7, range: Some((1, 4)) }]);
        assert_eq!(kernel.first_value(9), Some(6));
        assert_eq!(kernel.first_value(10), Some(6));
        assert_eq!(kernel.condition(9, |text| text.contains("return")), Some(5));
        assert_eq!(kernel.statement(9), "sum += x[i + f] * x[f];");
    }
}
