//! Control flow of one function: basic blocks and where they lead.

use crate::ir::{Instr, Op, Pc};

/// Basic blocks, in code order. The exit is one more node after the last block.
#[derive(Debug)]
pub struct Cfg {
    /// First instruction of each block.
    pub starts: Vec<Pc>,
    /// Successors; `exit()` stands for leaving the function.
    pub successors: Vec<Vec<usize>>,
}

impl Cfg {
    /// Of code whose branch targets are all inside it and which ends in `Ret` or `Exit`.
    ///
    /// A `trap` seems to go on: lanes that stop there meet nobody, and must not keep the others from meeting before a
    /// barrier (`__pipeline_memcpy_async` with a computed `zfill` has one in a case that never comes).
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
                _ => {}
            }
        }
        let starts: Vec<Pc> = (0..code.len()).filter(|&pc| leader[pc]).map(|pc| pc as Pc).collect();
        let exit = starts.len();
        let block_of = |pc: Pc| starts.binary_search(&pc).unwrap_or(exit);
        let successors = (0..exit)
            .map(|block| {
                let end = starts.get(block + 1).map_or(code.len(), |&next| next as usize);
                let last = &code[end - 1];
                match last.op {
                    Op::Ret | Op::Exit => vec![exit],
                    Op::Branch { target, .. } if last.guard.is_none() => vec![block_of(target)],
                    Op::Branch { target, .. } => {
                        let (taken, next) = (block_of(target), block_of(end as Pc));
                        if taken == next { vec![taken] } else { vec![taken, next] }
                    }
                    _ => vec![block_of(end as Pc)],
                }
            })
            .collect();
        Self { starts, successors }
    }

    /// The node that stands for leaving the function.
    pub fn exit(&self) -> usize {
        self.starts.len()
    }
}
