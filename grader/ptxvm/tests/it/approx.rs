//! The approximate instructions give what an NVIDIA H200 gave, to the bit but for the payload of NaNs.
//!
//! Unit tests of `isa::ops::approx` compare all operands of the functions that they are made of.

use crate::golden::{canonical, few, lines, operands};

#[test]
fn approximate_instructions_give_what_a_gpu_gives() {
    let tables = [operands(false), operands(true)];
    let (mut compared, mut wrong) = (0, Vec::new());
    for line in lines().into_iter().filter(|line| line.approximate) {
        let operands = &tables[usize::from(line.exhaustive)];
        for (row, theirs, ours) in few(&line, operands) {
            compared += 1;
            if canonical(line.kind, ours) != canonical(line.kind, theirs) {
                let (a, b) = (operands[row * 4], operands[row * 4 + 1]);
                let instruction = line.instruction;
                wrong.push(format!("{instruction} {a:x} {b:x}: {ours:x}, not {theirs:x}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 20_000, "only {compared} results are compared");
}
