//! Finds the loads and stores that only move a value, so that the value may be uninitialised.
//!
//! Unoptimised code copies the padding of structures, objects of empty classes, and words of which only some bits are set.
//! The copy itself is not a mistake; the value is poison in the sense of LLVM (Lee and others, "Taming Undefined Behavior in
//! LLVM", 2017), and only its use is reported.

use std::collections::HashMap;

use crate::frontend::syntax::ast::{AddressBase, Instruction, Line, Operand, Statement};

/// Why a load may read uninitialised local memory without a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoisonTolerance {
    /// Its value is only moved to another place, by a store of the same function, or chosen or not.
    Copy,
    /// Some bits of the value are changed, and it is stored back to its place.
    Update,
    /// These elements of the vector, a bit for each, are not used.
    Unused(u8),
    /// No load or store but a choice, which may leave it aside.
    Choice,
}

/// What an instruction does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegisterUse {
    Loaded,
    Stored,
    Chosen,
    Other,
}

/// The loads and stores of a body that tolerate poison, by the index of their line.
pub(crate) fn tolerant_accesses(lines: &[Line]) -> HashMap<usize, PoisonTolerance> {
    let mut poison = HashMap::new();
    if !lines.iter().any(|line| instruction(line).is_some_and(|one| is_candidate(one))) {
        return poison;
    }
    let mentions = mentions(lines);
    for (index, line) in lines.iter().enumerate() {
        let Some(load) = instruction(line).filter(|one| is_candidate(one)) else { continue };
        if let [Operand::Vector(parts), _] = load.operands.as_slice() {
            let unused = |part: &Operand| match part {
                Operand::Name(name) => mentions.get(name).is_some_and(|all| all.len() == 1),
                _ => false,
            };
            let unused = parts.iter().zip(0..8).filter(|(part, _)| unused(part));
            let unused = unused.fold(0, |mask, (_, bit)| mask | 1 << bit);
            if unused != 0 {
                poison.insert(index, PoisonTolerance::Unused(unused));
            }
            continue;
        }
        let [Operand::Name(register), address] = load.operands.as_slice() else { continue };
        let Some(all) = mentions.get(register) else { continue };
        let loads = all.iter().filter(|(_, role)| *role == RegisterUse::Loaded).count();
        if loads == 1 && all.iter().all(|(_, role)| *role != RegisterUse::Other) {
            poison.insert(index, PoisonTolerance::Copy);
            let stores = all.iter().filter(|(_, role)| *role == RegisterUse::Stored);
            poison.extend(stores.map(|&(store, _)| (store, PoisonTolerance::Copy)));
            let choices = all.iter().filter(|(_, role)| *role == RegisterUse::Chosen);
            poison.extend(choices.map(|&(choice, _)| (choice, PoisonTolerance::Choice)));
        } else if comes_back(lines, &mentions, register, address) {
            poison.insert(index, PoisonTolerance::Update);
        }
    }
    poison
}

fn instruction<'l, 'a>(line: &'l Line<'a>) -> Option<&'l Instruction<'a>> {
    match &line.statement {
        Statement::Instruction(instruction) => Some(instruction),
        _ => None,
    }
}

fn base<'a>(instruction: &Instruction<'a>) -> &'a str {
    instruction.opcode.split('.').next().unwrap_or_default()
}

/// A load from memory that may be local.
fn is_candidate(instruction: &Instruction) -> bool {
    let elsewhere =
        |part: &str| matches!(part, "global" | "shared" | "shared::cta" | "const" | "volatile");
    base(instruction) == "ld" && !instruction.opcode.split('.').any(elsewhere)
}

/// Where each register is named, and how.
fn mentions<'a>(lines: &[Line<'a>]) -> HashMap<&'a str, Vec<(usize, RegisterUse)>> {
    let mut mentions: HashMap<&str, Vec<(usize, RegisterUse)>> = HashMap::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(instruction) = instruction(line) else { continue };
        let mut note = |name, role| mentions.entry(name).or_default().push((index, role));
        if let Some(predicate) = instruction.predicate {
            note(predicate.name, RegisterUse::Other);
        }
        for (place, operand) in instruction.operands.iter().enumerate() {
            let role = match (base(instruction), place) {
                ("ld", 0) => RegisterUse::Loaded,
                ("st", 1) => RegisterUse::Stored,
                ("selp", 1 | 2) => RegisterUse::Chosen,
                _ => RegisterUse::Other,
            };
            each_name(operand, &mut |name, inside_address| {
                note(name, if inside_address { RegisterUse::Other } else { role });
            });
        }
    }
    mentions
}

fn each_name<'a>(operand: &Operand<'a>, visit: &mut impl FnMut(&'a str, bool)) {
    match operand {
        Operand::Name(name) | Operand::Offset(name, _) | Operand::Not(name) => visit(name, false),
        Operand::Address { base: AddressBase::Name(name), .. } => visit(name, true),
        Operand::Vector(all) | Operand::List(all) => {
            for one in all {
                // The parts of a vector are deep enough: a list inside is none that PTX has.
                if let Operand::Name(name) = one {
                    visit(name, false);
                }
            }
        }
        Operand::Indexed { base, indices } => {
            visit(base, true);
            for one in indices {
                let parts = match one {
                    Operand::Vector(parts) => parts.as_slice(),
                    single => std::slice::from_ref(single),
                };
                for part in parts {
                    if let Operand::Name(name) = part {
                        visit(name, true);
                    }
                }
            }
        }
        Operand::Pair(pair) => {
            for one in [&pair.0, &pair.1] {
                if let Operand::Name(name) = one {
                    visit(name, false);
                }
            }
        }
        _ => {}
    }
}

/// Whether a loaded value goes through operations on bits, one after another, back to the address it came from.
fn comes_back<'a>(
    lines: &[Line<'a>],
    mentions: &HashMap<&'a str, Vec<(usize, RegisterUse)>>,
    register: &'a str,
    address: &Operand<'a>,
) -> bool {
    /// More than any bit field needs.
    const STEPS: usize = 8;
    let mut register = register;
    for _ in 0..STEPS {
        // It is set once and used once.
        let Some(&[_, (at, role)]) = mentions.get(register).map(Vec::as_slice) else {
            return false;
        };
        let Some(user) = lines.get(at).and_then(instruction) else { return false };
        if role == RegisterUse::Stored {
            return user.operands.first() == Some(address);
        }
        let bits = ["and", "or", "xor", "not", "shl", "shr", "bfi", "cvt", "mov"];
        match user.operands.first() {
            Some(Operand::Name(next)) if bits.contains(&base(user)) && *next != register => {
                register = next;
            }
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::syntax::parser::parse;

    #[test]
    fn copies_and_bit_fields_are_told_from_uses() {
        let text = ".version 9.0\n.entry k() {
            ld.u64 %rd1, [%rd9+8];
            st.u64 [%rd9+24], %rd1;
            ld.u32 %r1, [%rd8];
            and.b32 %r2, %r1, -255;
            or.b32 %r3, %r2, %r9;
            st.u32 [%rd8], %r3;
            ld.local.u32 %r4, [%rd8];
            add.s32 %r5, %r4, 1;
            st.local.u32 [%rd8], %r5;
            ld.u32 %r6, [%rd8];
            and.b32 %r7, %r6, 1;
            st.u32 [%rd8+4], %r7;
            ld.global.u32 %r8, [%rd8];
            st.u32 [%rd8], %r8;
            ld.local.v2.u32 {%r10, %r11}, [%rd8];
            add.s32 %r10, %r10, 1;
            ld.local.u32 %r12, [%rd8+4];
            selp.b32 %r13, %r9, %r12, %p1;
        }";
        let file = parse(text).unwrap();
        let mut found: Vec<_> =
            tolerant_accesses(file.functions[0].body.as_deref().unwrap()).into_iter().collect();
        found.sort_by_key(|&(line, _)| line);
        assert_eq!(
            found,
            [
                (0, PoisonTolerance::Copy),
                (1, PoisonTolerance::Copy),
                (2, PoisonTolerance::Update),
                (14, PoisonTolerance::Unused(2)),
                (16, PoisonTolerance::Copy),
                (17, PoisonTolerance::Choice)
            ]
        );
    }
}
