//! Mutation testing: small changes of a correct kernel, each of which the tests must notice.
//!
//! The operators are those of Offutt et al., "An experimental determination of sufficient mutant operators" (TOSEM
//! 5(2), 1996), as far as kernels need them (arithmetic, relations, connectors, constants, removed statements), and
//! typical mistakes in CUDA: swapped names in an index, missing guards and barriers, another built-in variable.

mod body;
mod edits;
mod lexemes;
mod statements;

use body::{Body, Edit};
use lexemes::{bodies, lexemes};
use std::collections::BTreeSet;
use std::ops::Range;

/// One small change of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The place of the change, in bytes of the original.
    pub span: Range<usize>,
    /// The text that replaces it.
    pub replacement: String,
    /// The line of the change, from 1.
    pub line: u32,
    /// The complete changed source.
    pub source: String,
}

/// All mutants of a CUDA source, in the order of the text. Some do not compile, and some behave like the original.
pub fn mutants(source: &str) -> Vec<Mutant> {
    let all = lexemes(source);
    let mut proposed: Vec<Edit> = edits::constants_of_the_file(&all);
    for body in bodies(&all) {
        let body = Body { all: &all, head: body.0, inner: body.1 };
        proposed.extend(edits::operators(&body));
        proposed.extend(edits::numbers(&body));
        proposed.extend(edits::names(&body));
        proposed.extend(statements::removals(&body));
        proposed.extend(statements::conditions(&body));
        proposed.extend(statements::dropped_terms(&body));
    }
    proposed.sort_by(|a, b| (a.0.start, a.0.end, &a.1).cmp(&(b.0.start, b.0.end, &b.1)));
    let mut seen = BTreeSet::new();
    let mut mutants = Vec::new();
    for (span, replacement) in proposed {
        let mut text = source.to_owned();
        text.replace_range(span.clone(), &replacement);
        if text != source && seen.insert(text.clone()) {
            let line = source[..span.start].matches('\n').count() as u32 + 1;
            mutants.push(Mutant { span, replacement, line, source: text });
        }
    }
    mutants
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "\
#include <cuda_runtime.h>
#define TILE 16
__global__ void k(const float* a, float* out, int n, int H, int W) // a < b
{
    __shared__ float tile[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || H < 1) return;
    float sum = 0.0f;
    for (int j = 0; j < H; j++) {
        sum += a[i * W + j];
        __syncthreads();
    }
    out[i] = i > 3 ? sum : -sum;
}
";

    /// The changed lines, as `before => after`.
    fn changes(source: &str) -> Vec<String> {
        let change = |mutant: &Mutant| {
            let line = mutant.line as usize - 1;
            let text = |text: &str| text.lines().nth(line).unwrap_or_default().trim().to_owned();
            format!("{} => {}", text(source), text(&mutant.source))
        };
        mutants(source).iter().map(change).collect()
    }

    #[test]
    fn changes_what_a_student_gets_wrong() {
        let changes = changes(KERNEL);
        for wanted in [
            "#define TILE 16 => #define TILE 17",
            "int i = blockIdx.x * blockDim.x + threadIdx.x; => int i = blockIdx.x * blockDim.x - threadIdx.x;",
            "int i = blockIdx.x * blockDim.x + threadIdx.x; => int i = blockIdx.x * blockDim.x;",
            "int i = blockIdx.x * blockDim.x + threadIdx.x; => int i = threadIdx.x;",
            "int i = blockIdx.x * blockDim.x + threadIdx.x; => int i = blockIdx.y * blockDim.x + threadIdx.x;",
            "int i = blockIdx.x * blockDim.x + threadIdx.x; => int i = threadIdx.x * blockDim.x + threadIdx.x;",
            "if (i >= n || H < 1) return; => if (i > n || H < 1) return;",
            "if (i >= n || H < 1) return; => if (i >= n && H < 1) return;",
            "if (i >= n || H < 1) return; => if (i >= n) return;",
            "if (i >= n || H < 1) return; => if (H < 1) return;",
            "if (i >= n || H < 1) return; => if (false) return;",
            "if (i >= n || H < 1) return; => if (true) return;",
            "float sum = 0.0f; => float sum = 1.0f;",
            "for (int j = 0; j < H; j++) { => for (int j = 1; j < H; j++) {",
            "for (int j = 0; j < H; j++) { => for (int j = 0; j <= H; j++) {",
            "for (int j = 0; j < H; j++) { => for (int j = 0; j < W; j++) {",
            "for (int j = 0; j < H; j++) { => for (int j = 0; j < H; j += 2) {",
            "sum += a[i * W + j]; => sum = a[i * W + j];",
            "sum += a[i * W + j]; => ;",
            "sum += a[i * W + j]; => sum += a[i * H + j];",
            "sum += a[i * W + j]; => sum += a[j * W + j];",
            "sum += a[i * W + j]; => sum += a[i * W];",
            "__syncthreads(); => ;",
            "out[i] = i > 3 ? sum : -sum; => out[i] = sum;",
            "out[i] = i > 3 ? sum : -sum; => out[i] = -sum;",
            "out[i] = i > 3 ? sum : -sum; => out[i] = i > 3 ? sum : sum;",
            "out[i] = i > 3 ? sum : -sum; => out[i] = i > 4 ? sum : -sum;",
        ] {
            assert!(changes.iter().any(|c| c == wanted), "no {wanted} in\n{}", changes.join("\n"));
        }
    }

    #[test]
    fn leaves_declarations_comments_and_includes_alone() {
        let changes = changes(KERNEL);
        for line in ["#include", "__global__", "a < b"] {
            assert!(!changes.iter().any(|c| c.starts_with(line)), "{line}");
        }
        let mut sources: Vec<String> = mutants(KERNEL).into_iter().map(|m| m.source).collect();
        let count = sources.len();
        sources.sort();
        sources.dedup();
        assert_eq!(sources.len(), count, "each mutant is there once");
    }

    #[test]
    fn any_text_has_mutants() {
        for text in
            ["", "{", ") {", "f() {", "k() { a + ", "k() { ? : && || [ ( }", "#define\n#define X"]
        {
            mutants(text);
        }
    }
}
