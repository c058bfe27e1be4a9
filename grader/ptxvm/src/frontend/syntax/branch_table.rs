//! `brx.idx`, a branch to the label of a table that an index chooses (PTX ISA 9.7.12.2).
//!
//! It stands in the tree as what it is short for: comparisons of the index with the places of the table, and a branch to a label
//! behind each. An index that is in no place is an error of the program that the ISA leaves undefined; here it takes the last label.

use std::collections::HashMap;

use super::ast::{Instruction, Operand, Predicate, Registers, Statement};
use crate::isa::types::Type;

/// The predicate that the comparisons set. Braces around them keep it apart from the program's registers.
const CHOSEN: &str = "%chosen";

/// The lists of labels that were declared so far in a function (`.branchtargets`).
#[derive(Default)]
pub struct BranchTables<'a>(HashMap<&'a str, Vec<&'a str>>);

impl<'a> BranchTables<'a> {
    /// Of lists with one name, as inline assembly may leave behind, the last one counts.
    pub fn declare(&mut self, name: &'a str, labels: Vec<&'a str>) {
        self.0.insert(name, labels);
    }

    /// The statements in place of another; None unless that is a `brx.idx` by a list that is there.
    pub fn expand(&self, statement: &Statement<'a>) -> Option<Vec<Statement<'a>>> {
        let Statement::Instruction(instruction) = statement else { return None };
        if !matches!(instruction.opcode, "brx.idx" | "brx.idx.uni") {
            return None;
        }
        let [index, Operand::Name(table)] = &instruction.operands[..] else { return None };
        let (last, others) = self.0.get(table)?.split_last()?;
        let mut statements = vec![
            Statement::OpenScope,
            Statement::Registers(Registers {
                ty: Type::Pred,
                wide: false,
                name: CHOSEN,
                count: None,
            }),
        ];
        for (place, label) in (0..).zip(others) {
            statements.push(comparison(index, place, instruction.predicate));
            let chosen = Predicate { name: CHOSEN, negated: false };
            statements.push(branch(Some(chosen), label));
        }
        statements.push(branch(instruction.predicate, last));
        statements.push(Statement::CloseScope);
        Some(statements)
    }
}

/// Whether the index is this place, and the guard holds.
fn comparison<'a>(index: &Operand<'a>, place: u64, guard: Option<Predicate<'a>>) -> Statement<'a> {
    let mut operands = vec![Operand::Name(CHOSEN), index.clone(), Operand::Int(place)];
    operands.extend(guard.map(
        |Predicate { name, negated }| {
            if negated { Operand::Not(name) } else { Operand::Name(name) }
        },
    ));
    let opcode = if guard.is_some() { "setp.eq.and.u32" } else { "setp.eq.u32" };
    Statement::Instruction(Instruction { predicate: None, opcode, operands })
}

fn branch<'a>(predicate: Option<Predicate<'a>>, label: &'a str) -> Statement<'a> {
    Statement::Instruction(Instruction {
        predicate,
        opcode: "bra",
        operands: vec![Operand::Name(label)],
    })
}
