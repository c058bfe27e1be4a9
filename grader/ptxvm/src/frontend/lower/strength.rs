//! Which volatile accesses order threads.
//!
//! A volatile access is a relaxed one: another thread may wait for it, and so it does not race with what waits. But most of them
//! order nothing: `volatile` in `*p = *p + x`, or in a sum over a warp without `__syncwarp()`, only keeps the compiler from
//! reusing a value. Threads wait by a loop whose end depends on what they read. Memory that no thread of the kernel waits for
//! holds plain values, and its volatile accesses race like plain ones, except that a read which nothing but branches depends on
//! (`if (*found) return;`) is a hint, for which both the old and the new value are right.
//!
//! Where threads do wait, a volatile or relaxed store whose value depends on a load of the same place that waits for nothing is
//! half of an update that is not atomic: a store of another thread between the two is lost.

use std::collections::{BTreeSet, HashMap};

use super::dependence::{Dependence, Roots, base, has, instructions};
use crate::frontend::syntax::ast::{Instruction, Line, Operand};
use crate::isa::names::{Marks, Strength};

/// The modifiers of strong accesses.
pub(super) const STRONG: [&str; 5] = ["volatile", "relaxed", "acquire", "release", "mmio"];

/// The marks of the accesses of a body that are not plain, where those are not simply strong, by the index of their line.
pub(super) fn marks(lines: &[Line]) -> HashMap<usize, Marks> {
    let is_marked = |one: &Instruction| {
        matches!(base(one), "ld" | "st") && STRONG.iter().any(|strong| has(one, strong))
    };
    let marked: Vec<(usize, &Instruction)> =
        instructions(lines).filter(|(_, one)| is_marked(one)).collect();
    if marked.is_empty() {
        return HashMap::new();
    }
    let Some(dependence) = Dependence::of(lines) else { return HashMap::new() };
    let waiting = waits(lines, &dependence);
    let waited: Vec<Roots> = waiting
        .iter()
        .filter_map(|&at| instructions(lines).find(|&(index, _)| index == at))
        .map(|(_, one)| dependence.roots(one))
        .collect();
    let mut marks: HashMap<usize, Marks> = HashMap::new();
    for &(index, one) in &marked {
        let roots = dependence.roots(one);
        let is_waited_for = waited.iter().any(|waited| waited.may_meet(&roots));
        let is_store = base(one) == "st";
        if has(one, "volatile")
            && !is_waited_for
            && (is_store || is_used_as_data(lines, &dependence, index))
        {
            marks.entry(index).or_insert(Marks::STRONG).strength = Strength::Value;
        }
        let updates = marked.iter().filter(|&&(load, other)| {
            base(other) == "ld"
                && !waiting.contains(&load)
                && place(other) == place(one)
                && reaches_store(&dependence, load, index)
        });
        for &(load, _) in updates.filter(|_| is_store) {
            for half in [load, index] {
                marks.entry(half).or_insert(Marks::STRONG).half_update = true;
            }
        }
    }
    marks
}

/// The loads and atomics that threads wait by: the end of a loop depends on what they read, or whether such a loop begins.
fn waits(lines: &[Line], dependence: &Dependence) -> BTreeSet<usize> {
    let may_wait = |one: &Instruction| match base(one) {
        "ld" => STRONG.iter().any(|strong| has(one, strong)) || has(one, "cg") || has(one, "cv"),
        base => base == "atom",
    };
    let all: Vec<usize> =
        instructions(lines).filter(|(_, one)| may_wait(one)).map(|(index, _)| index).collect();
    let exits = dependence.loop_exits();
    let reached: Vec<_> = all.iter().map(|&index| dependence.reached(index, true).1).collect();
    let waited_at: BTreeSet<usize> =
        reached.iter().flatten().copied().filter(|branch| exits.contains(branch)).collect();
    let guards = dependence.guards_of(&waited_at);
    let waits = |branch: &usize| waited_at.contains(branch) || guards.contains(branch);
    let waiting = all.iter().zip(&reached).filter(|(_, branches)| branches.iter().any(waits));
    waiting.map(|(&index, _)| index).collect()
}

/// Whether the value of a load gets into memory or an atomic, and not only into conditions.
fn is_used_as_data(lines: &[Line], dependence: &Dependence, load: usize) -> bool {
    let (reached, _) = dependence.reached(load, false);
    instructions(lines).any(|(index, one)| {
        let is_sink = match base(one) {
            // A plain store to a variable of the block or the thread is a step on the way.
            "st" => {
                let elsewhere = has(one, "shared") || has(one, "local") || has(one, "param");
                !elsewhere || has(one, "volatile")
            }
            "red" | "atom" => true,
            _ => has(one, "store"),
        };
        is_sink && dependence.stored(index).iter().any(|name| reached.contains(name))
    })
}

fn reaches_store(dependence: &Dependence, load: usize, store: usize) -> bool {
    let (reached, _) = dependence.reached(load, false);
    dependence.stored(store).iter().any(|name| reached.contains(name))
}

/// The address of an access, as it is written.
fn place<'i, 'a>(instruction: &'i Instruction<'a>) -> Option<&'i Operand<'a>> {
    instruction.operands.iter().find(|operand| matches!(operand, Operand::Address { .. }))
}
