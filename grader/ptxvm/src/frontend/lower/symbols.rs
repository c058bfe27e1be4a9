//! Keeps the names of a function that was compiled for a debugger.

use super::Body;
use super::body::{Register, VariableLocation};
use crate::isa::names::{Pc, Slot};
use crate::program::symbols;

impl Body<'_, '_, '_, '_> {
    /// Notes the names of the function that is complete. `moved` has the place in the program of each of its instructions, `kept`
    /// says which of them stayed.
    pub(super) fn keep_symbols(&mut self, name: &str, base: Pc, moved: &[Pc], kept: &[bool]) {
        let count = kept.iter().filter(|&&kept| kept).count() as Pc;
        let mut function = symbols::Function {
            name: name.to_owned(),
            code: base..base + count,
            ..Default::default()
        };
        for (label, at) in self.labels.outermost() {
            let place = moved.get(at as usize).copied().unwrap_or(base + count);
            function.labels.insert(label.to_owned(), place);
        }
        let mut shared = Vec::new();
        if let Some(scope) = self.scopes.first() {
            for (&name, register) in &scope.named {
                let slot = match *register {
                    Register::Reg32(register, _) => Slot::Reg32(register),
                    Register::Reg64(register) => Slot::Reg64(register),
                    Register::Pred(_) | Register::Wide(_) => continue,
                };
                function.registers.insert(name.to_owned(), symbols::Register(slot));
            }
            for (&name, &place) in &scope.variables {
                match place {
                    VariableLocation::Local(start) => {
                        function.local.insert(name.to_owned(), start);
                    }
                    VariableLocation::Shared(start) => shared.push((name.to_owned(), start)),
                    _ => {}
                }
            }
        }
        let program = &mut self.builder.program;
        let symbols = program.symbols.get_or_insert_default();
        symbols.functions.push(function);
        let lines = self.ptx_lines.iter().zip(kept).filter(|(_, kept)| **kept);
        symbols.lines.extend(lines.map(|(&line, _)| line));
        for (name, start) in shared {
            let size = program.shared.variables.iter().find(|&&(at, _)| at == start);
            symbols.shared.insert(name, (start, size.map_or(0, |&(_, size)| size)));
        }
    }
}
