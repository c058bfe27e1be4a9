//! Calls: by name, through pointers, and of the functions of the CUDA runtime.

use super::Body;
use super::body::{Result, VariableLocation};
use super::callgraph::Call;
use super::modifiers::Modifiers;
use crate::frontend::syntax::ast::Operand;
use crate::isa::class::Class;
use crate::isa::ir::{Alu, EnterFrame, LaunchRequest, LeaveFrame, Op, System, Uniform, alu};
use crate::isa::names::{Guard, Reg64};
use crate::isa::types::Type;

/// Local addresses of the `.param` variables of a call.
struct ActualArgument {
    arguments: Vec<u32>,
    results: Vec<u32>,
}

impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn call(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let Some(call) = Call::parse(operands) else {
            return Err(self.unsupported("this form of `call`"));
        };
        let actual = ActualArgument {
            results: self.local_addresses(call.results)?,
            arguments: self.local_addresses(call.arguments)?,
        };
        match call.prototype {
            Some(prototype) => {
                let pointer = self.value_q(&Operand::Name(call.callee), Type::B64)?;
                self.call_pointer(pointer, prototype, &actual)
            }
            None if self.register(call.callee).is_some() => {
                Err(self.malformed("a call through a pointer needs a prototype"))
            }
            None => self.call_name(call.callee, &actual),
        }
    }

    fn call_name(&mut self, name: &'a str, actual: &ActualArgument) -> Result<()> {
        let result = actual.results.first().copied();
        let system = match (name, actual.arguments.as_slice()) {
            ("vprintf", &[format, arguments]) => System::Printf { format, arguments, result },
            ("__assertfail", &[message, ..]) => System::AssertFail { message },
            ("malloc", &[size]) => System::Malloc { size, result },
            ("free", &[pointer]) => System::Free { pointer },
            ("__cudaCDP2GetParameterBufferV2", &[kernel, grid, block, shared]) => {
                let request = LaunchRequest { kernel, grid, block, shared };
                System::PrepareLaunch { request, result }
            }
            ("__cudaCDP2LaunchDeviceV2", &[parameters, stream]) => {
                System::LaunchPrepared { parameters, stream, result }
            }
            _ => return self.call_function(name, actual),
        };
        if !matches!(system, System::Printf { .. } | System::AssertFail { .. }) {
            // Which block gets which place, and whether there is any left, depends on their order.
            self.builder.program.ordered = true;
        }
        self.emit_as(Class::Other, Op::System(system));
        Ok(())
    }

    fn call_function(&mut self, name: &'a str, actual: &ActualArgument) -> Result<()> {
        let callee = self.builder.callee(name, self.line)?;
        if callee.params.len() != actual.arguments.len()
            || callee.results.len() != actual.results.len()
        {
            return Err(self.malformed(format!("`{name}` has other parameters than this call")));
        }
        let arguments = callee.params.iter().zip(&actual.arguments);
        let results = callee.results.iter().zip(&actual.results);
        let Some(frame) = callee.frame else {
            for (&(formal, size), &actual) in arguments {
                self.emit_as(Class::Move, Op::CopyLocal(formal, actual, size));
            }
            self.emit_call(name);
            for (&(formal, size), &actual) in results {
                self.emit(Op::CopyLocal(actual, formal, size));
            }
            return Ok(());
        };
        let pointer = self.builder.frame_pointer;
        let caller = self.frame.filter(|&caller| self.builder.leads_back(caller, frame));
        let arguments = arguments.map(|(&(to, size), &from)| (from, to, size)).collect();
        self.emit(Op::EnterFrame(Box::new(EnterFrame { frame, caller, pointer, arguments })));
        self.emit_call(name);
        let results = results.map(|(&(from, size), &to)| (from, to, size)).collect();
        self.emit(Op::LeaveFrame(Box::new(LeaveFrame { frame, caller, pointer, results })));
        Ok(())
    }

    /// Compares the pointer with one function after another. Lanes may call different ones; they meet again behind the call.
    fn call_pointer(
        &mut self,
        pointer: Reg64,
        prototype: &str,
        actual: &ActualArgument,
    ) -> Result<()> {
        let Some(candidates) = self.targets.get(prototype).cloned() else {
            return Err(self.malformed(format!("unknown prototype `{prototype}`")));
        };
        let mut behind = Vec::new();
        for function in candidates {
            let Some(&address) = self.builder.context.addresses.get(function.name) else {
                continue;
            };
            let address = self.builder.uniform_q(Uniform::Bits(address));
            let predicate = self.builder.new_p();
            self.alu(Alu::PQQ(alu::PQQ::Eq, predicate, pointer, address));
            let next = self.emit_forward(Some(Guard { predicate, negated: true }));
            self.call_function(function.name, actual)?;
            behind.push(self.emit_forward(None));
            self.land(&[next]);
        }
        self.emit(Op::InvalidCall(pointer));
        self.land(&behind);
        Ok(())
    }

    /// Where the `.param` variables of a call lie.
    fn local_addresses(&mut self, operands: &[Operand<'a>]) -> Result<Vec<u32>> {
        operands
            .iter()
            .map(|operand| match operand {
                Operand::Name(name) => match self.place_of(name)? {
                    Some(VariableLocation::Local(start)) => Ok(start),
                    _ => {
                        Err(self.unsupported("arguments of a call that are not `.param` variables"))
                    }
                },
                _ => Err(self.unsupported("arguments of a call that are not `.param` variables")),
            })
            .collect()
    }
}
