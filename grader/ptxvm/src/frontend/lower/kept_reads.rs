//! Which plain reads race with atomics of other threads.
//!
//! An atomic is safe beside other atomics; a plain read may come before them, between them or after them. That is what some right kernels
//! expect: a loop around `atomicCAS` begins with a plain read, which the `atomicCAS` compares with what is there by then, and where only
//! branches depend on the value (`if (distance[v] == level)`, `if (x > *maximum) atomicMax(maximum, x)`), an old one is as right as a new one.
//! But a value that is stored, or added elsewhere, keeps what the read has found by chance.

use std::collections::HashSet;

use super::dependence::{Dependence, base, has, instructions};
use super::strength::STRONG;
use crate::frontend::syntax::ast::{Instruction, Line};

/// The plain loads of global memory, by the indices of their lines, whose value gets into memory, where an atomic of the same body may change what
/// they read.
pub(super) fn kept_reads(lines: &[Line]) -> HashSet<usize> {
    let atomics: Vec<(usize, &Instruction)> = instructions(lines)
        .filter(|(_, one)| matches!(base(one), "atom" | "red") && is_global(one))
        .collect();
    if atomics.is_empty() {
        return HashSet::new();
    }
    let Some(dependence) = Dependence::of(lines) else { return HashSet::new() };
    let changed: Vec<_> = atomics.iter().map(|(_, one)| dependence.roots(one)).collect();
    let compared: Vec<&str> = atomics
        .iter()
        .filter(|(_, one)| has(one, "cas"))
        .flat_map(|&(index, _)| dependence.stored(index))
        .collect();
    let is_kept = |index: usize| {
        let (reached, _) = dependence.reached(index, false);
        let is_compared = compared.iter().any(|name| reached.contains(name));
        let is_stored = |&(at, one): &(usize, &Instruction)| {
            keeps(one) && dependence.stored(at).iter().any(|name| reached.contains(name))
        };
        !is_compared && instructions(lines).any(|one| is_stored(&one))
    };
    instructions(lines)
        .filter(|(_, one)| is_plain_load(one))
        .filter(|(_, one)| {
            let roots = dependence.roots(one);
            changed.iter().any(|changed| changed.may_meet(&roots))
        })
        .map(|(index, _)| index)
        .filter(|&index| is_kept(index))
        .collect()
}

fn is_global(one: &Instruction) -> bool {
    !["shared", "local", "param", "const"]
        .iter()
        .any(|space| one.opcode.split('.').any(|part| part.split("::").next() == Some(*space)))
}

fn is_plain_load(one: &Instruction) -> bool {
    base(one) == "ld"
        && is_global(one)
        && !has(one, "nc")
        && !STRONG.iter().any(|mark| has(one, mark))
}

/// Whether what an instruction takes as a value stays in memory whatever was there: that of a store, and what an atomic adds or exchanges. A
/// minimum or a maximum of an old value is one of the values that may be met anyway.
fn keeps(one: &Instruction) -> bool {
    match base(one) {
        "st" => is_global(one),
        "atom" | "red" => is_global(one) && (has(one, "add") || has(one, "exch")),
        _ => false,
    }
}
