//! Builds one kernel: its own code, then that of every function it calls, over one register file.

use std::collections::HashMap;

use super::body::Body;
use super::{Context, ModulePlace};
use crate::error::LoadError;
use crate::ir::{Instr, NO_PC, Op, P, Pc, Q, R, Special, Uniform};
use crate::loc::SourceLoc;
use crate::program::{Kernel, ParamType, Program, UniformSlot};
use crate::syntax::ast::{Function, Operand, Statement, Variable};

type Result<T> = std::result::Result<T, LoadError>;

/// Most instructions of a kernel with all its functions.
const MAX_CODE: usize = 1 << 22;

/// Bytes of local memory for each thread.
const MAX_LOCAL: u32 = 128 << 10;

/// Where a function's parameters and results lie in local memory: (address, size).
#[derive(Clone, Debug, Default)]
pub(crate) struct Callee {
    pub params: Vec<(u32, u32)>,
    pub results: Vec<(u32, u32)>,
    entry: Option<Pc>,
}

/// A kernel under construction.
pub(crate) struct KernelBuilder<'c, 'f, 'a> {
    pub context: &'c Context<'f, 'a>,
    pub program: Program,
    uniforms: HashMap<(Uniform, bool), u32>,
    place_ids: HashMap<SourceLoc, u32>,
    /// Reads of each 32- and 64-bit register by name, to tell results that nobody uses.
    pub reads: HashMap<(bool, u32), u32>,
    /// Atomics whose order matters only if their result is used.
    pub order_if_read: Vec<(bool, u32)>,
    shared: HashMap<&'a str, u32>,
    callees: HashMap<&'a str, Callee>,
    queue: Vec<&'f Function<'a>>,
    calls: Vec<(usize, &'a str)>,
}

/// Lowers a kernel with everything that it calls.
pub(crate) fn kernel<'a>(context: &Context<'_, 'a>, function: &Function<'a>) -> Result<Kernel> {
    refuse_recursion(context, function)?;
    let mut builder = KernelBuilder {
        context,
        program: Program { dynamic_shared_align: 16, ..Program::default() },
        uniforms: HashMap::new(),
        place_ids: HashMap::new(),
        reads: HashMap::new(),
        order_if_read: Vec::new(),
        shared: HashMap::new(),
        callees: HashMap::new(),
        queue: Vec::new(),
        calls: Vec::new(),
    };
    let (mut params, mut param_offsets, mut end) = (Vec::new(), Vec::new(), 0u64);
    for param in &function.params {
        let align = param.align.max(1);
        end = end.next_multiple_of(align);
        param_offsets.push(end as u32);
        end += param.size;
        // PTX ISA 5.1.6.1: at most 32,764 bytes since PTX 8.1.
        if end > 32_764 {
            return Err(LoadError::malformed(param.line, "parameters of more than 32,764 bytes"));
        }
        params.push(ParamType { size: param.size as usize, align: align as usize });
    }
    let (code, places) = Body::lower(&mut builder, function, None, &param_offsets)?;
    builder.append(code, places, function.line)?;
    while let Some(callee) = builder.queue.pop() {
        let entry = builder.program.code.len() as Pc;
        let Some(signature) = builder.callees.get_mut(callee.name) else { continue };
        signature.entry = Some(entry);
        let signature = signature.clone();
        let (code, places) = Body::lower(&mut builder, callee, Some(&signature), &[])?;
        builder.append(code, places, callee.line)?;
    }
    for (pc, name) in std::mem::take(&mut builder.calls) {
        let entry = builder.callees.get(name).and_then(|callee| callee.entry);
        builder.program.code[pc].op = Op::Call(entry.unwrap_or(NO_PC));
    }
    let read = |register| builder.reads.contains_key(register);
    builder.program.ordered |= builder.order_if_read.iter().any(read);
    let mut program = builder.program;
    program.uniforms = builder
        .uniforms
        .into_iter()
        .map(|((uniform, wide), index)| {
            (uniform, if wide { UniformSlot::Q(Q(index)) } else { UniformSlot::R(R(index)) })
        })
        .collect();
    program.written = crate::written::written(&program);
    Ok(Kernel { name: function.name.to_owned(), params, param_offsets, program, refusal: None })
}

impl<'f, 'a> KernelBuilder<'_, 'f, 'a> {
    pub fn new_r(&mut self) -> R {
        self.program.r_count += 1;
        R(self.program.r_count as u32 - 1)
    }

    pub fn new_q(&mut self) -> Q {
        self.program.q_count += 1;
        Q(self.program.q_count as u32 - 1)
    }

    pub fn new_p(&mut self) -> P {
        self.program.p_count += 1;
        P(self.program.p_count as u32 - 1)
    }

    /// The register that holds a value which the launch fixes.
    pub fn uniform_r(&mut self, uniform: Uniform) -> R {
        if let Some(&index) = self.uniforms.get(&(uniform, false)) {
            return R(index);
        }
        let register = self.new_r();
        self.uniforms.insert((uniform, false), register.0);
        register
    }

    pub fn uniform_q(&mut self, uniform: Uniform) -> Q {
        if let Some(&index) = self.uniforms.get(&(uniform, true)) {
            return Q(index);
        }
        let register = self.new_q();
        self.uniforms.insert((uniform, true), register.0);
        register
    }

    pub fn zero(&mut self) -> R {
        self.uniform_r(Uniform::Special(Special::Zero))
    }

    /// Address in the shared window of a variable of the module; each kernel has its own.
    pub fn module_shared(&mut self, variable: &Variable<'a>) -> Result<u32> {
        if let Some(&start) = self.shared.get(variable.name) {
            return Ok(start);
        }
        let start = self.place_shared(variable)?;
        self.shared.insert(variable.name, start);
        Ok(start)
    }

    pub fn place_shared(&mut self, variable: &Variable<'a>) -> Result<u32> {
        self.program
            .shared
            .place(variable.size, variable.align)
            .ok_or_else(|| LoadError::malformed(variable.line, "shared memory is full"))
    }

    pub fn place_local(&mut self, variable: &Variable<'a>) -> Result<u32> {
        let placed = self.program.local.place(variable.size, variable.align);
        self.checked_local(placed, variable)
    }

    /// A parameter or a result of a function, or what a caller puts there.
    pub fn place_param(&mut self, variable: &Variable<'a>) -> Result<u32> {
        let placed = self.program.local.place_close(variable.size, variable.align);
        self.checked_local(placed, variable)
    }

    fn checked_local(&self, placed: Option<u32>, variable: &Variable<'a>) -> Result<u32> {
        placed.filter(|_| self.program.local.end <= MAX_LOCAL).ok_or_else(|| {
            LoadError::unsupported(variable.line, "more than 128 KiB of local memory")
        })
    }

    /// The signature of a function that is called, which is queued for lowering at its first call.
    pub fn callee(&mut self, name: &str, line: usize) -> Result<Callee> {
        if let Some(callee) = self.callees.get(name) {
            return Ok(callee.clone());
        }
        let Some(&function) = self.context.functions.get(name) else {
            return Err(LoadError::malformed(line, format!("no function `{name}`")));
        };
        if function.body.is_none() || function.is_entry {
            return Err(LoadError::unsupported(
                line,
                format!("call of `{name}`, which has no body here"),
            ));
        }
        let mut place = |all: &[Variable<'a>]| -> Result<Vec<(u32, u32)>> {
            all.iter().map(|param| Ok((self.place_param(param)?, param.size as u32))).collect()
        };
        let callee = Callee {
            params: place(&function.params)?,
            results: place(&function.results)?,
            entry: None,
        };
        self.callees.insert(function.name, callee.clone());
        self.queue.push(function);
        Ok(callee)
    }

    /// Notes that the instruction at `pc` calls a function.
    pub fn record_call(&mut self, pc: usize, name: &'a str) {
        self.calls.push((pc, name));
    }

    /// Number of a source line in the kernel's table, from 1.
    pub fn place_id(&mut self, loc: Option<&SourceLoc>) -> u32 {
        let Some(loc) = loc else { return 0 };
        if let Some(&id) = self.place_ids.get(loc) {
            return id;
        }
        self.program.place_table.push(loc.clone());
        let id = self.program.place_table.len() as u32;
        self.place_ids.insert(loc.clone(), id);
        id
    }

    fn append(&mut self, code: Vec<Instr>, places: Vec<u32>, line: usize) -> Result<()> {
        if self.program.code.len() + code.len() > MAX_CODE {
            return Err(LoadError::unsupported(
                line,
                "kernels of more than 4 million instructions",
            ));
        }
        self.program.code.extend(code);
        self.program.places.extend(places);
        Ok(())
    }

    /// A variable of the module, as a kernel sees it.
    pub fn module_place(&self, name: &str) -> Option<ModulePlace<'f, 'a>> {
        self.context.variables.get(name).copied()
    }
}

/// A function's locals have one place each, so a function may not be active twice in a thread.
fn refuse_recursion<'a>(context: &Context<'_, 'a>, root: &Function<'a>) -> Result<()> {
    #[derive(PartialEq)]
    enum Mark {
        Open,
        Done,
    }
    let mut marks: HashMap<&str, Mark> = HashMap::new();
    let mut stack = vec![(root, called(root), 0)];
    marks.insert(root.name, Mark::Open);
    while let Some((function, calls, next)) = stack.last_mut() {
        let Some(&(name, line)) = calls.get(*next) else {
            marks.insert(function.name, Mark::Done);
            stack.pop();
            continue;
        };
        *next += 1;
        match marks.get(name) {
            Some(Mark::Open) => {
                return Err(LoadError::unsupported(line, format!("recursion in `{name}`")));
            }
            Some(Mark::Done) => {}
            None => {
                if let Some(callee) = context.functions.get(name) {
                    marks.insert(callee.name, Mark::Open);
                    stack.push((callee, called(callee), 0));
                }
            }
        }
    }
    Ok(())
}

/// Names of the functions that a function calls, with lines.
fn called<'a>(function: &Function<'a>) -> Vec<(&'a str, usize)> {
    let body = function.body.as_deref().unwrap_or_default();
    body.iter()
        .filter_map(|line| match &line.statement {
            Statement::Instruction(instruction)
                if instruction.opcode.split('.').next() == Some("call") =>
            {
                let name = instruction.operands.iter().find_map(|operand| match operand {
                    Operand::Name(name) => Some(*name),
                    _ => None,
                });
                name.map(|name| (name, line.line))
            }
            _ => None,
        })
        .collect()
}
