//! Lowers the statements of one function.

use super::Body;
use std::collections::HashMap;

use super::builder::{Callee, KernelBuilder};
use super::callgraph;
use super::cfg::Cfg;
use super::contraction::{Contracted, contract, contracted};
use super::kept_reads::kept_reads;
use super::labels::Labels;
use super::poison;
use super::postdom;
use super::strength::marks;
use crate::error::LoadError;
use crate::frontend::line_table::LineTracker;
use crate::frontend::syntax::ast::{Function, Registers, Statement, VarSpace, Variable};
use crate::isa::class::Class;
use crate::isa::ir::alu::{R1, R2};
use crate::isa::ir::{Alu, Instr, Op};
use crate::isa::names::{Guard, NO_PC, Pc, Pred, Reg32, Reg64, Slot};
use crate::isa::ordering::Ordering;
use crate::isa::types::Type;

pub(crate) type Result<T> = std::result::Result<T, LoadError>;

/// A register of the program: file, index and width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Register {
    /// 8, 16 or 32 bits.
    Reg32(Reg32, u32),
    Reg64(Reg64),
    Pred(Pred),
    /// 128 bits: the low word and the high one.
    Wide([Reg64; 2]),
}

/// Where a variable lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum VariableLocation {
    /// Index among the module's global variables.
    Global(u32),
    Const(u32),
    Shared(u32),
    DynamicShared,
    Local(u32),
    /// Offset in the frame of a function that may have several activations in a thread.
    Frame(u32),
    KernelParam(u32),
}

/// What a function does before it returns.
#[derive(Default)]
pub(crate) struct Ending {
    /// Where the stack ended when it began, if it allocates there.
    pub stack: Option<Reg64>,
    /// Results that it has in registers: each with the place where the caller finds it, and its bytes.
    pub results: Vec<(Slot, VariableLocation, u32)>,
}

/// Names declared between `{` and `}`.
#[derive(Default)]
pub(crate) struct Scope<'a> {
    pub named: HashMap<&'a str, Register>,
    /// `%r<10>`: prefix, count, type.
    pub families: Vec<(&'a str, u64, Type)>,
    /// The same of `.b128`.
    pub wide_families: Vec<(&'a str, u64)>,
    pub variables: HashMap<&'a str, VariableLocation>,
}

impl<'b, 'c, 'f, 'a> Body<'b, 'c, 'f, 'a> {
    /// Lowers `function`; `signature` is None for a kernel. The code starts at the builder's current end.
    pub fn lower(
        builder: &'b mut KernelBuilder<'c, 'f, 'a>,
        function: &Function<'a>,
        signature: Option<&Callee>,
        param_offsets: &[u32],
    ) -> Result<(Vec<Instr>, Vec<u32>)> {
        let mut scope = Scope::default();
        let params = function.params.iter().map(|param| param.name);
        if let Some(callee) = signature {
            let place = |&(at, _): &(u32, u32)| match callee.frame {
                Some(_) => VariableLocation::Frame(at),
                None => VariableLocation::Local(at),
            };
            let places = callee.params.iter().map(place);
            scope.variables.extend(params.zip(places));
            let places = callee.results.iter().map(place);
            scope.variables.extend(function.results.iter().map(|result| result.name).zip(places));
        } else {
            let places = param_offsets.iter().map(|&offset| VariableLocation::KernelParam(offset));
            scope.variables.extend(params.zip(places));
        }
        let files = &builder.context.files;
        let mut tracker = LineTracker::new(files);
        let mut body = Self {
            builder,
            scopes: vec![scope],
            code: Vec::new(),
            places: Vec::new(),
            ptx_lines: Vec::new(),
            labels: Labels::default(),
            jumps: Vec::new(),
            calls: Vec::new(),
            orderings: Vec::new(),
            is_entry: signature.is_none(),
            frame: signature.and_then(|callee| callee.frame),
            ending: Ending::default(),
            targets: HashMap::new(),
            line: function.line,
            place: 0,
            poison: None,
            marks: None,
            kept: false,
            file: 0,
            guard: None,
            class: None,
        };
        if signature.is_some() {
            body.begin_function(function)?;
        }
        let lines = function.body.as_deref().unwrap_or_default();
        let poison = poison::tolerant_accesses(lines);
        let marks = marks(lines);
        let kept = kept_reads(lines);
        // Code for a debugger is not optimised.
        let contracted =
            if body.builder.context.debug { HashMap::new() } else { contracted(lines) };
        for (index, line) in lines.iter().enumerate() {
            body.line = line.line;
            body.poison = poison.get(&index).copied();
            body.marks = marks.get(&index).copied();
            body.kept = kept.contains(&index);
            let done = match &line.statement {
                Statement::Loc { at, inlined_at } => {
                    tracker.step(*at, *inlined_at);
                    body.file = at.file;
                    body.place = body.builder.place_id(&tracker);
                    Ok(())
                }
                Statement::Instruction(instruction) => match contracted.get(&index) {
                    None => body.instruction(instruction),
                    Some(Contracted::Product) => Ok(()),
                    Some(&Contracted::Sum { product, source, negated }) => {
                        let fused = match &lines[product].statement {
                            Statement::Instruction(of) => {
                                contract(instruction, of, source, negated)
                            }
                            _ => None,
                        };
                        body.instruction(fused.as_ref().unwrap_or(instruction))
                    }
                },
                Statement::Label(name) => body.label(name),
                Statement::Registers(registers) => {
                    body.registers(registers);
                    Ok(())
                }
                Statement::Variable(variable) => body.variable(variable),
                Statement::Prototype { name, .. } | Statement::Targets { name, .. } => {
                    let context = body.builder.context;
                    let found = callgraph::candidates(context, function, name);
                    body.targets.insert(name, found.unwrap_or_default());
                    Ok(())
                }
                Statement::Refused(error) => Err(error.clone()),
                Statement::OpenScope => {
                    body.scopes.push(Scope::default());
                    body.labels.open();
                    Ok(())
                }
                Statement::CloseScope => {
                    body.scopes.pop();
                    body.labels.close();
                    Ok(())
                }
            };
            done.map_err(|mut error| {
                // Variables are declared before the first place, which is the head of the function.
                let head = lines.iter().find_map(|line| match line.statement {
                    Statement::Loc { at, inlined_at } => Some((at, inlined_at)),
                    _ => None,
                });
                if let (None, Some((at, inlined_at))) = (tracker.now(), head) {
                    tracker.step(at, inlined_at);
                }
                error.source_loc = tracker.now().cloned();
                error
            })?;
        }
        body.finish(function.name)
    }

    /// Whether the code stands in the headers of cooperative groups, or nothing says where it stands.
    pub fn in_cooperative_groups(&self) -> bool {
        let name = self.builder.context.files.name(self.file);
        name.is_none_or(|name| name.contains("cooperative_groups"))
    }

    fn registers(&mut self, registers: &Registers<'a>) {
        if self.wide_registers(registers) {
            return;
        }
        if let Some(count) = registers.count {
            if let Some(scope) = self.scopes.last_mut() {
                scope.families.push((registers.name, count, registers.ty));
            }
        } else {
            let register = self.new_register(registers.ty);
            if let Some(scope) = self.scopes.last_mut() {
                scope.named.insert(registers.name, register);
            }
        }
    }

    pub fn new_register(&mut self, ty: Type) -> Register {
        match ty.bits() {
            1 => Register::Pred(self.builder.new_p()),
            64 => Register::Reg64(self.builder.new_q()),
            bits => Register::Reg32(self.builder.new_r(), bits),
        }
    }

    fn variable(&mut self, variable: &Variable<'a>) -> Result<()> {
        let place = match variable.space {
            VarSpace::Local => match self.frame {
                Some(frame) => {
                    VariableLocation::Frame(self.builder.place_in_frame(frame, variable)?)
                }
                None => VariableLocation::Local(self.builder.place_local(variable)?),
            },
            VarSpace::Param => VariableLocation::Local(self.builder.place_param(variable)?),
            VarSpace::Shared if variable.unsized_array => VariableLocation::DynamicShared,
            VarSpace::Shared => VariableLocation::Shared(self.builder.place_shared(variable)?),
            VarSpace::Global | VarSpace::Const | VarSpace::Register => {
                return Err(self.unsupported("global variables inside a function"));
            }
        };
        if let Some(scope) = self.scopes.last_mut() {
            scope.variables.insert(variable.name, place);
        }
        Ok(())
    }

    fn label(&mut self, name: &'a str) -> Result<()> {
        if !self.labels.define(name, self.code.len() as Pc) {
            return Err(self.malformed(format!("label `{name}` is defined a second time")));
        }
        self.emit_join();
        Ok(())
    }

    /// Notes where the next instruction comes from.
    fn note_place(&mut self) {
        self.places.push(self.place);
        self.ptx_lines.push(self.line as u32);
    }

    fn emit_join(&mut self) {
        self.note_place();
        self.code.push(Instr { op: Op::Join, guard: None, class: None });
    }

    /// An instruction begins, of this class where it becomes no lane operation.
    pub fn begin(&mut self, class: Class, guard: Option<Guard>) {
        self.class = Some(class);
        self.guard = guard;
    }

    /// Adds a branch to a place that comes later.
    pub fn emit_forward(&mut self, guard: Option<Guard>) -> usize {
        let at = self.code.len();
        self.note_place();
        self.code.push(Instr { op: Op::Branch { target: 0, join: NO_PC }, guard, class: None });
        self.emit_join();
        at
    }

    /// The place that forward branches lead to.
    pub fn land(&mut self, branches: &[usize]) {
        let here = self.code.len() as Pc;
        for &branch in branches {
            self.code[branch].op = Op::Branch { target: here, join: NO_PC };
        }
        self.emit_join();
    }

    /// Adds an operation. The first of an instruction counts, the others are helpers.
    pub fn emit(&mut self, op: Op) {
        let class = self.class.take().map(|class| match &op {
            Op::Alu(alu) => alu.class(),
            _ => class,
        });
        self.note_place();
        self.code.push(Instr { op, guard: self.guard, class });
    }

    /// Adds an operation that is of another class than the instruction, if it counts.
    pub fn emit_as(&mut self, class: Class, op: Op) {
        self.class = self.class.map(|_| class);
        self.emit(op);
    }

    /// Adds a step before the one that counts.
    pub fn prepare(&mut self, alu: Alu) {
        self.prepare_op(Op::Alu(alu));
    }

    /// The same with any operation.
    pub fn prepare_op(&mut self, op: Op) {
        self.note_place();
        self.code.push(Instr { op, guard: self.guard, class: None });
    }

    /// Adds such a step into a new register.
    pub fn step(&mut self, op: R1, a: Reg32) -> Reg32 {
        let d = self.builder.new_r();
        self.prepare(Alu::R1(op, d, a));
        d
    }

    pub fn step2(&mut self, op: R2, a: Reg32, b: Reg32) -> Reg32 {
        let d = self.builder.new_r();
        self.prepare(Alu::R2(op, d, a, b));
        d
    }

    /// Adds the member mask of the warp operation that follows; it is the operation that counts.
    pub fn emit_members(&mut self, members: Reg32) {
        self.note_place();
        self.code.push(Instr { op: Op::Members(members), guard: self.guard, class: None });
    }

    pub fn alu(&mut self, alu: Alu) {
        self.emit(Op::Alu(alu));
    }

    /// Adds a branch to a label. After a conditional branch lanes may reconverge.
    pub fn emit_branch(&mut self, label: &'a str) {
        self.jumps.push((self.code.len(), self.labels.here(), label, self.line));
        self.emit(Op::Branch { target: 0, join: NO_PC });
        self.emit_join();
    }

    /// The access that was added since this place of the code orders others.
    pub fn note_ordering_since(&mut self, begin: usize, ordering: Ordering) {
        let accesses = |instr: &Instr| {
            matches!(
                instr.op,
                Op::Load(..)
                    | Op::Store(..)
                    | Op::Atom(_)
                    | Op::WideAtom(_)
                    | Op::PoisonPropagatingLoad(_)
                    | Op::PoisonPropagatingStore(_)
            )
        };
        // The steps that its address takes come first.
        if let Some(at) = self.code[begin..].iter().position(accesses) {
            self.orderings.push((begin + at, ordering));
        }
    }

    pub fn emit_call(&mut self, name: &'a str) {
        self.calls.push((self.code.len(), name));
        self.emit(Op::Call(NO_PC));
    }

    pub fn malformed(&self, message: impl Into<String>) -> LoadError {
        LoadError::malformed(self.line, message)
    }

    pub fn unsupported(&self, what: impl Into<String>) -> LoadError {
        LoadError::unsupported(self.line, format!("not supported: {}", what.into()))
    }

    /// Whether the code from here on does nothing but end the lanes or the function.
    fn only_ends(&self, start: Pc) -> bool {
        let first = self.code[start as usize..].iter().find(|instr| !matches!(instr.op, Op::Join));
        first.is_some_and(|instr| matches!(instr.op, Op::Exit | Op::Ret))
    }

    /// Resolves labels, finds the reconvergence points, and drops the joins at which no lanes reconverge.
    fn finish(mut self, name: &str) -> Result<(Vec<Instr>, Vec<u32>)> {
        (self.class, self.guard) = (None, None);
        self.emit_return();
        for (at, braces, label, line) in std::mem::take(&mut self.jumps) {
            let Some(target) = self.labels.find(braces, label) else {
                return Err(LoadError::malformed(line, format!("unknown label `{label}`")));
            };
            self.code[at].op = Op::Branch { target, join: NO_PC };
        }
        let cfg = Cfg::new(&self.code);
        let joins = postdom::immediate(&cfg);
        let mut needed = vec![false; self.code.len()];
        for (block, &join) in joins.iter().enumerate() {
            let end = cfg.starts.get(block + 1).map_or(self.code.len(), |&next| next as usize);
            let last = &self.code[end - 1];
            if last.guard.is_none() || !matches!(last.op, Op::Branch { .. }) {
                continue;
            }
            // Lanes that would meet only to end need not wait for each other: they end when they get there, and a
            // barrier that the others come to does not miss them.
            if let Some(&start) = cfg.starts.get(join)
                && !self.only_ends(start)
            {
                if let Op::Branch { join: at, .. } = &mut self.code[end - 1].op {
                    *at = start;
                }
                needed[start as usize] = true;
            }
        }
        let base = self.builder.program.code.len() as Pc;
        let keep: Vec<bool> = self
            .code
            .iter()
            .zip(&needed)
            .map(|(instr, &needed)| needed || !matches!(instr.op, Op::Join))
            .collect();
        let mut moved = Vec::with_capacity(self.code.len());
        let mut next = base;
        for &kept in &keep {
            moved.push(next);
            next += Pc::from(kept);
        }
        for (at, name) in std::mem::take(&mut self.calls) {
            self.builder.record_call(moved[at] as usize, name);
        }
        let orderings = std::mem::take(&mut self.orderings);
        // Where the body grows from front to back and bodies stand one behind the other, they are sorted.
        let orderings = orderings.into_iter().map(|(at, ordering)| (moved[at], ordering));
        self.builder.program.orderings.extend(orderings);
        if self.builder.context.debug {
            self.keep_symbols(name, base, &moved, &keep);
        }
        let mut code = Vec::with_capacity((next - base) as usize);
        let mut places = Vec::with_capacity(code.capacity());
        for ((mut instr, place), kept) in self.code.into_iter().zip(self.places).zip(keep) {
            if !kept {
                continue;
            }
            if let Op::Branch { target, join } = &mut instr.op {
                *target = moved[*target as usize];
                if *join != NO_PC {
                    *join = moved[*join as usize];
                }
            }
            code.push(instr);
            places.push(place);
        }
        Ok((code, places))
    }
}

#[cfg(test)]
mod tests {
    use crate::Module;
    use crate::isa::class::Class;

    /// Classes of what counts in a kernel of some instructions, without its end.
    fn classes(body: &str) -> Vec<Class> {
        let registers = ".reg .b16 %rs<9>;.reg .b32 %r<9>;.reg .f32 %f<9>;.reg .pred %p<9>;";
        let text = format!(
            ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(){{{registers}{body}}}"
        );
        let module = Module::load(&text).expect("it loads");
        let code = &module.kernel("k").expect("the kernel").program.code;
        code.iter().filter_map(|instr| instr.class).collect()
    }

    #[test]
    fn an_instruction_counts_once_as_what_it_is() {
        for (instruction, class) in [
            ("setp.lt.f16 %p1,%rs1,%rs2;", Class::Compare),
            ("setp.lt.f16x2 %p1|%p2,%r1,%r2;", Class::Compare),
            ("setp.lt.and.s16 %p1,%rs1,%rs2,!%p3;", Class::Compare),
            ("add.s16 %rs1,%rs1,%rs2;", Class::Integer),
            ("mul.rn.ftz.f16x2 %r1,%r2,%r3;", Class::Half),
            ("mul.rn.ftz.sat.f32 %f1,%f2,%f3;", Class::Float),
            ("ex2.approx.ftz.f32 %f1,%f2;", Class::Special),
            ("min.xorsign.abs.f16 %rs1,%rs2,%rs3;", Class::Half),
            ("cvt.rna.tf32.f32 %r1,%f1;", Class::Convert),
            ("cvt.rn.satfinite.e4m3x2.f32 %rs1,%f1,%f2;", Class::Convert),
            ("vadd4.s32.s32.s32 %r1,%r2,%r3,%r4;", Class::Integer),
        ] {
            assert_eq!(classes(instruction), [class], "{instruction}");
        }
    }
}
