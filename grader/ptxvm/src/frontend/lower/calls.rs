//! Calls: by name, through pointers, and of the functions of the CUDA runtime.

use super::Body;
use super::body::{Register, Result, VariableLocation};
use super::builder::KernelBuilder;
use super::callgraph::Call;
use super::modifiers::Modifiers;
use super::stack;
use crate::frontend::syntax::ast::{Function, Operand, VarSpace, Variable};
use crate::isa::class::Class;
use crate::isa::ir::{
    Alu, EnterFrame, LaunchRequest, LeaveFrame, Op, StackUse, System, Uniform, alu,
};
use crate::isa::names::{Address, Base, Elements, Guard, Marks, Reg64, Slot};
use crate::isa::types::Type;
use crate::isa::window::Window;

/// Local addresses of the arguments and results of a call.
struct ActualArgument {
    arguments: Vec<u32>,
    results: Vec<u32>,
}

/// What the caller has in a register: a value, where it lies for the call, and its bytes.
type InRegister = (Slot, VariableLocation, u32);

impl<'a> Body<'_, '_, '_, 'a> {
    pub(super) fn call(
        &mut self,
        _modifiers: &mut Modifiers<'a>,
        operands: &[Operand<'a>],
    ) -> Result<()> {
        let Some(call) = Call::parse(operands) else {
            return Err(self.unsupported("this form of `call`"));
        };
        let (mut passed, mut returned) = (Vec::new(), Vec::new());
        let actual = ActualArgument {
            results: self.local_addresses(call.results, call.callee, &mut returned)?,
            arguments: self.local_addresses(call.arguments, call.callee, &mut passed)?,
        };
        for value in passed {
            self.store_parameter(value);
        }
        match call.prototype {
            Some(prototype) => {
                let pointer = self.value_q(&Operand::Name(call.callee), Type::B64)?;
                self.call_pointer(pointer, prototype, &actual)?;
            }
            None if self.register(call.callee).is_some() => {
                return Err(self.malformed("a call through a pointer needs a prototype"));
            }
            None => self.call_name(call.callee, &actual)?,
        }
        for value in returned {
            self.load_parameter(value);
        }
        Ok(())
    }

    /// What stands before the first statement of a function that is called: its parameters in registers are read, and the end of the
    /// stack is kept if it allocates there.
    pub(super) fn begin_function(&mut self, function: &Function<'a>) -> Result<()> {
        let in_register = |variable: &&Variable| variable.space == VarSpace::Register;
        for (variables, are_results) in [(&function.params, false), (&function.results, true)] {
            for variable in variables.iter().filter(in_register) {
                let (name, bytes) = (variable.name, variable.size as u32);
                let register = self.new_register(variable.ty);
                let slot = self.slot_of_value(register)?;
                let scope = self.scopes.last_mut();
                let Some(place) = scope.and_then(|scope| {
                    scope.named.insert(name, register);
                    scope.variables.remove(name)
                }) else {
                    continue;
                };
                if are_results {
                    self.ending.results.push((slot, place, bytes));
                } else {
                    self.load_parameter((slot, place, bytes));
                }
            }
        }
        if stack::grows(function) {
            let end = self.builder.new_q();
            self.emit(Op::Stack(StackUse::Save(end)));
            self.ending.stack = Some(end);
        }
        Ok(())
    }

    /// Ends the lanes of a kernel, or returns to the caller of a function.
    pub(super) fn emit_return(&mut self) {
        if self.is_entry {
            return self.emit(Op::Exit);
        }
        for at in 0..self.ending.results.len() {
            self.store_parameter(self.ending.results[at]);
        }
        if let Some(end) = self.ending.stack {
            self.emit(Op::Stack(StackUse::Restore(end)));
        }
        self.emit(Op::Ret);
    }

    fn load_parameter(&mut self, (slot, place, bytes): InRegister) {
        let address = self.parameter_address(place);
        self.prepare_op(Op::Load(address, Elements::one(slot, bytes)));
    }

    fn store_parameter(&mut self, (slot, place, bytes): InRegister) {
        let address = self.parameter_address(place);
        self.prepare_op(Op::Store(address, Elements::one(slot, bytes)));
    }

    fn parameter_address(&mut self, place: VariableLocation) -> Address {
        let (base, offset) = match place {
            VariableLocation::Frame(start) => (self.builder.frame_pointer, i64::from(start)),
            place => (self.builder.uniform_q(Self::address_of(place, 0).1), 0),
        };
        let (window, base) = (Some(Window::Local), Base::Reg64(base));
        Address { window, base, offset, marks: Marks::default() }
    }

    fn slot_of_value(&self, register: Register) -> Result<Slot> {
        match register {
            Register::Reg32(register, _) => Ok(Slot::Reg32(register)),
            Register::Reg64(register) => Ok(Slot::Reg64(register)),
            Register::Pred(_) | Register::Wide(_) => {
                Err(self.unsupported("predicates and 128 bits as arguments in registers"))
            }
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

    /// Where the arguments or results of a call lie: `.param` variables, or room for what the caller has in registers.
    fn local_addresses(
        &mut self,
        operands: &[Operand<'a>],
        callee: &'a str,
        in_registers: &mut Vec<InRegister>,
    ) -> Result<Vec<u32>> {
        let formal = |builder: &KernelBuilder<'_, '_, 'a>, at: usize| {
            let function = builder.context.functions.get(callee)?;
            Some(function.params.get(at)?.ty)
        };
        let mut places = Vec::with_capacity(operands.len());
        for (at, operand) in operands.iter().enumerate() {
            let (slot, ty) = match operand {
                Operand::Name(name) => match (self.read_register(name), self.place_of(name)?) {
                    (Some(register @ Register::Reg32(_, bits)), _) => {
                        let ty = if bits == 32 { Type::B32 } else { Type::B16 };
                        (self.slot_of_value(register)?, ty)
                    }
                    (Some(register), _) => (self.slot_of_value(register)?, Type::B64),
                    (None, Some(VariableLocation::Local(start))) => {
                        places.push(start);
                        continue;
                    }
                    (None, _) => {
                        return Err(self.unsupported(format!("`{name}` as an argument of a call")));
                    }
                },
                constant => match formal(self.builder, at) {
                    Some(ty) => (self.source_slot(constant, ty)?, ty),
                    None => return Err(self.unsupported("this argument of a call")),
                },
            };
            let place = self.builder.place_value(ty, self.line)?;
            in_registers.push((slot, VariableLocation::Local(place), ty.bytes()));
            places.push(place);
        }
        Ok(places)
    }
}
