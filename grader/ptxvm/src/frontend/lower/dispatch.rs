//! Lowers one instruction as its row in the table says.

use super::Body;
use super::body::Result;
use super::modifiers::Modifiers;
use super::refuse;
use super::table::{self, Guarded, Lowering, Row};
use crate::frontend::syntax::ast::Instruction;
use crate::isa::class::Class;
use crate::isa::names::Guard;

impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn instruction(&mut self, instruction: &Instruction<'a>) -> Result<()> {
        let guard = match instruction.predicate {
            Some(predicate) => Some(Guard {
                predicate: self.predicate(predicate.name)?,
                negated: predicate.negated,
            }),
            None => None,
        };
        self.lowered(instruction, guard).map_err(|error| {
            // What a family lacks as a whole says more than what is wrong with the one instruction.
            match refuse::known_reason(instruction.opcode) {
                Some(reason) => self.unsupported(reason),
                None => error,
            }
        })
    }

    fn lowered(&mut self, instruction: &Instruction<'a>, guard: Option<Guard>) -> Result<()> {
        let operands = instruction.operands.as_slice();
        let mut modifiers = Modifiers::new(instruction.opcode);
        let Some(Row { spelling, lowering }) = table::find(&modifiers, operands.len()) else {
            return Err(self.unsupported(table::missing(&modifiers, instruction.opcode)));
        };
        let function = match lowering {
            Lowering::Lanes(operation) => {
                self.begin(Class::Other, guard);
                return self.lane_operation(*operation, spelling, &modifiers, operands);
            }
            Lowering::By(function) => function,
        };
        let around = guard.filter(|_| function.guard == Guarded::Skipped);
        let branch =
            around.map(|guard| self.emit_forward(Some(Guard { negated: !guard.negated, ..guard })));
        self.begin(function.class, guard.filter(|_| branch.is_none()));
        if spelling.is_open() {
            spelling.take_fixed(&mut modifiers);
        }
        (function.lower)(self, &mut modifiers, operands)?;
        if let Some(branch) = branch {
            self.land(&[branch]);
        }
        // What a spelling lists it has checked.
        match modifiers.left().filter(|_| spelling.is_open()) {
            Some(part) => {
                let opcode = instruction.opcode;
                Err(self.unsupported(format!("`.{part}` of instruction `{opcode}`")))
            }
            None => Ok(()),
        }
    }
}
