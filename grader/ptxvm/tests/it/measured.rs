//! Single instructions at their edges against what an NVIDIA H200 gave: `tests/golden/measured.cu` made the numbers,
//! `measured.py` packed them and says how. All must be equal to the bit.

use crate::golden::{program, run, width};
use crate::support::fixture_bytes;

const LINES: &str = include_str!("../golden/measured.txt");

/// Operands that a program of the golden tables loads.
const OPERANDS: usize = 4;

/// Takes a number of so many bytes off the front.
fn number(rest: &mut &[u8], bytes: usize) -> u64 {
    let (number, after) = rest.split_at(bytes);
    *rest = after;
    number.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[test]
fn edges_give_what_a_gpu_gives() {
    let h200 = fixture_bytes("golden/measured.bin");
    let (mut rest, mut compared, mut wrong) = (&h200[..], 0, Vec::new());
    for line in LINES.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let &[result, sizes, count, instruction] = words.as_slice() else { panic!("{line}") };
        let sizes: Vec<usize> = sizes.bytes().map(|size| usize::from(size - b'0')).collect();
        let count: usize = count.parse().expect("a number");
        let (mut operands, mut expected) = (Vec::with_capacity(count * OPERANDS), Vec::new());
        for _ in 0..count {
            let end = operands.len() + OPERANDS;
            operands.extend(sizes.iter().map(|&bytes| number(&mut rest, bytes)));
            operands.resize(end, 0);
            expected.push(number(&mut rest, width(result)));
        }
        let results = run(&program(result, instruction), &operands);
        compared += count;
        let differ: Vec<usize> = (0..count).filter(|&row| results[row] != expected[row]).collect();
        if let Some(&row) = differ.first() {
            let (ours, theirs) = (results[row], expected[row]);
            let with = &operands[row * OPERANDS..][..sizes.len()];
            wrong.push(format!(
                "{instruction}: {} of {count}: {with:x?}: {ours:x}, not {theirs:x}",
                differ.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rest.is_empty() && compared > 9_000, "{compared} rows, {} bytes left", rest.len());
}
