//! Control flow of one function: basic blocks and where they lead.

use crate::isa::ir::{Instr, Op, System};
use crate::isa::names::Pc;

/// Basic blocks, in code order. The exit is one more node after the last block.
#[derive(Debug)]
pub struct Cfg {
    /// First instruction of each block.
    pub starts: Vec<Pc>,
    /// Successors; `exit()` stands for leaving the function.
    pub successors: Vec<Vec<usize>>,
}

impl Cfg {
    /// Of code whose branch targets are all inside it and which ends in `Ret`, `Exit` or `Trap`.
    ///
    /// Branches do not lead to where every way ends in a trap or a failed assertion: lanes that stop there meet nobody, and
    /// must not keep the others from meeting before a barrier (`__pipeline_memcpy_async` with a computed `zfill` has a trap in a
    /// case that never comes).
    pub fn new(code: &[Instr]) -> Self {
        let mut leader = vec![false; code.len() + 1];
        leader[0] = true;
        for (pc, instr) in code.iter().enumerate() {
            match instr.op {
                Op::Branch { target, .. } => {
                    leader[target as usize] = true;
                    leader[pc + 1] = true;
                }
                Op::Ret | Op::Exit => leader[pc + 1] = true,
                _ if stops(instr) => leader[pc + 1] = true,
                _ => {}
            }
        }
        let starts: Vec<Pc> = (0..code.len()).filter(|&pc| leader[pc]).map(|pc| pc as Pc).collect();
        let exit = starts.len();
        let block_of = |pc: Pc| starts.binary_search(&pc).unwrap_or(exit);
        let mut successors: Vec<Vec<usize>> = (0..exit)
            .map(|block| {
                let end = starts.get(block + 1).map_or(code.len(), |&next| next as usize);
                let last = &code[end - 1];
                match last.op {
                    Op::Ret | Op::Exit => vec![exit],
                    _ if stops(last) => vec![],
                    Op::Branch { target, .. } if last.guard.is_none() => vec![block_of(target)],
                    Op::Branch { target, .. } => {
                        let (taken, next) = (block_of(target), block_of(end as Pc));
                        if taken == next { vec![taken] } else { vec![taken, next] }
                    }
                    _ => vec![block_of(end as Pc)],
                }
            })
            .collect();
        forget_stops(&mut successors, exit);
        Self { starts, successors }
    }

    /// The node that stands for leaving the function.
    pub fn exit(&self) -> usize {
        self.starts.len()
    }
}

/// Whether it ends all lanes that execute it.
fn stops(instr: &Instr) -> bool {
    let stop = matches!(instr.op, Op::Trap | Op::GridTrap | Op::System(System::AssertFail { .. }));
    stop && instr.guard.is_none()
}

/// Removes the edges into blocks that end in a trap, and connects those blocks to the exit.
fn forget_stops(successors: &mut [Vec<usize>], exit: usize) {
    let mut predecessors = vec![Vec::new(); exit + 1];
    for (block, all) in successors.iter().enumerate() {
        for &next in all {
            predecessors[next].push(block);
        }
    }
    let mut stopping: Vec<usize> =
        (0..exit).filter(|&block| successors[block].is_empty()).collect();
    while let Some(block) = stopping.pop() {
        successors[block].push(exit);
        for before in std::mem::take(&mut predecessors[block]) {
            successors[before].retain(|&next| next != block);
            if successors[before].is_empty() {
                stopping.push(before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_leads_to_a_trap() {
        // 0 goes to 1 or 2; 2 to 3 or 4, which both stop; 1 goes on to 5, and 5 back to 0 or out.
        let mut successors = vec![vec![1, 2], vec![5], vec![3, 4], vec![], vec![], vec![0, 6]];
        forget_stops(&mut successors, 6);
        assert_eq!(successors, [vec![1], vec![5], vec![6], vec![6], vec![6], vec![0, 6]]);
        // An endless loop with a trap in it.
        let mut successors = vec![vec![1, 2], vec![], vec![0]];
        forget_stops(&mut successors, 3);
        assert_eq!(successors, [vec![2], vec![3], vec![0]]);
    }
}
