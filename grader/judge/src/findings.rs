//! What a run found, seen together with the source and with the other findings.

use cpptext::functions::functions;
use cpptext::statements::{code, statement};
use cpptext::tokens::{Kind, Token, tokens};
use device::finding::{Finding, FindingKind, Problem, SourceLoc};
use puzzle::case::{Case, CaseArg};

/// Puts right what a single finding cannot know: the barrier that its line needs in all, and the line of a load that the compiler
/// moved.
pub(crate) fn settle(findings: &mut [Finding], case: &Case, source: &str) {
    name_the_wider_barrier(findings);
    for finding in findings {
        let Some(line) = &finding.line else { continue };
        if let Some(tensor) = read(&finding.problem)
            && !accesses_memory(source, line.line)
        {
            finding.line = moved_from(case, &finding.kernel, tensor, line, source);
        }
    }
}

/// Threads of one warp race in two lines, and threads of two warps do in the same lines: a barrier of the warp does not suffice.
fn name_the_wider_barrier(findings: &mut [Finding]) {
    let lines = |finding: &Finding| match &finding.problem {
        Problem::Check(FindingKind::SharedRace(race)) => {
            Some((finding.line.clone(), race.other.clone(), race.kind, race.same_warp))
        }
        _ => None,
    };
    let all: Vec<_> = findings.iter().filter_map(lines).collect();
    for finding in findings {
        let own = lines(finding);
        if let Problem::Check(FindingKind::SharedRace(race)) = &mut finding.problem
            && let Some((line, other, kind, true)) = own
        {
            race.same_warp = !all.contains(&(line, other, kind, false));
        }
    }
}

/// The tensor that a finding says is read: compilers move loads out of loops, and give them the line of what stands there.
fn read(problem: &Problem) -> Option<&str> {
    let place = match problem {
        Problem::Check(FindingKind::OutOfBounds(access)) => access.place.as_ref(),
        Problem::Check(FindingKind::Uninitialised(access)) => access.place.as_ref(),
        _ => None,
    };
    place.map(|place| place.tensor.as_str())
}

/// Whether a statement can read or write memory: it has a subscript, follows a pointer or calls a function.
fn accesses_memory(source: &str, line: u32) -> bool {
    let lines = statement(source, line);
    let first = *lines.start() as usize - 1;
    let text: Vec<&str> = source.lines().skip(first).take(lines.count()).map(code).collect();
    let text = text.join("\n");
    let all = tokens(&text);
    let heads = ["if", "for", "while", "switch", "return", "sizeof"];
    let is_value = |token: &Token| token.kind == Kind::Word || token.is(")") || token.is("]");
    all.iter().enumerate().any(|(at, token)| {
        let before = at.checked_sub(1).map(|before| &all[before]);
        token.is("[")
            || token.is("->")
            || (token.is("(")
                && before.is_some_and(|b| b.kind == Kind::Word && !heads.contains(&b.text)))
            || (token.is("*") && !before.is_some_and(is_value))
    })
}

/// The only line of the kernel that has a subscript behind the tensor's parameter.
fn moved_from(
    case: &Case,
    kernel: &str,
    tensor: &str,
    near: &SourceLoc,
    source: &str,
) -> Option<SourceLoc> {
    let launch = case.launches.iter().find(|launch| launch.kernel == kernel)?;
    let is_it =
        |arg: &CaseArg| matches!(arg, CaseArg::Tensor(i) if case.tensors[*i].tensor.name == tensor);
    let position = launch.args.iter().position(is_it)?;
    let all = functions(source);
    let at = all.iter().position(|f| f.name == kernel && f.has_body)?;
    let name = all[at].params.get(position)?.name?;
    let start = all[at].name_span.end;
    let end = all.get(at + 1).map_or(source.len(), |next| next.name_span.start);
    let body = tokens(&source[start..end]);
    let is_subscript = |pair: &&[Token]| pair[0].is(name) && pair[1].is("[");
    let line = |pair: &[Token]| {
        let until = start + pair[0].span.start;
        source[..until].matches('\n').count() as u32 + 1
    };
    let mut lines = body.windows(2).filter(is_subscript).map(line);
    let line = lines.next()?;
    lines.all(|other| other == line).then(|| SourceLoc { line, column: 0, ..near.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_heads_of_loops_access_no_memory() {
        let source = "int j = blockIdx.x * 32 + threadIdx.x;\nfor (int r = 0; r < n; r++) {\nsum += x[r]\n    * 2;\n*p = 1;\nf(p);\nreturn (a);";
        let lines: Vec<bool> = (1..=7).map(|line| accesses_memory(source, line)).collect();
        assert_eq!(lines, [false, false, true, true, true, true, false]);
    }
}
