//! The program of a kernel under construction: one register file and one memory layout for the kernel and every function that it
//! calls.

use std::collections::HashMap;

use super::callgraph;
use super::context::{Context, ModuleSymbol};
use crate::error::LoadError;
use crate::finding::source_name;
use crate::frontend::line_table::LineTracker;
use crate::frontend::syntax::ast::{Function, VarSpace, Variable};
use crate::frontend::write_set;
use crate::isa::ir::{Instr, Op, Special, Uniform};
use crate::isa::names::{NO_PC, Pc, Pred, Reg32, Reg64, Slot};
use crate::isa::types::Type;
use crate::memory::layout::{FRAME_GAP, Layout};
use crate::program::code::{Frame, Program, UniformSlot};
use crate::source_loc::SourceLoc;

type Result<T> = std::result::Result<T, LoadError>;

/// Most instructions of a kernel with all its functions.
const MAX_CODE: usize = 1 << 22;

/// Bytes of local memory that each thread may have (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const MAX_LOCAL: u32 = 512 << 10;

/// Where a function's parameters and results lie in local memory: (address, size).
#[derive(Clone, Debug, Default)]
pub(crate) struct Callee {
    pub params: Vec<(u32, u32)>,
    pub results: Vec<(u32, u32)>,
    /// Its frame, if it may have several activations in a thread: then the addresses are offsets in the frame.
    pub frame: Option<u32>,
    entry: Option<Pc>,
}

/// A kernel under construction.
pub(crate) struct KernelBuilder<'c, 'f, 'a> {
    pub context: &'c Context<'f, 'a>,
    pub program: Program,
    uniforms: HashMap<(Uniform, bool), u32>,
    place_ids: HashMap<(SourceLoc, bool), u32>,
    /// How often each 32- and 64-bit register is read by name, to recognise unused results.
    pub reads: HashMap<(bool, u32), u32>,
    /// Atomics whose order matters only if their result is used.
    pub order_if_read: Vec<(bool, u32)>,
    shared: HashMap<&'a str, u32>,
    callees: HashMap<&'a str, Callee>,
    queue: Vec<&'f Function<'a>>,
    calls: Vec<(usize, &'a str)>,
    /// Functions that may have several activations in a thread, with the number of their cycle in the call graph.
    call_cycles: HashMap<&'f str, u32>,
    /// For each frame its layout, and the cycle of its function.
    frames: Vec<(Layout, u32)>,
    /// Holds the address of the running function's frame.
    pub frame_pointer: Reg64,
    /// Whether it reads what the driver passes to a cooperative launch.
    pub asks_for_grid: bool,
    /// Reads memory where other blocks have written it, not in its own cache.
    pub reads_past_cache: bool,
}

impl<'c, 'f, 'a> KernelBuilder<'c, 'f, 'a> {
    /// A builder that holds no code yet, for a kernel whose calls lead no further than the functions of `context`.
    pub fn new(context: &'c Context<'f, 'a>, kernel: &'f Function<'a>) -> Self {
        let mut builder = Self {
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
            call_cycles: callgraph::call_cycles(context, kernel),
            frames: Vec::new(),
            frame_pointer: Reg64(0),
            asks_for_grid: false,
            reads_past_cache: false,
        };
        if !builder.call_cycles.is_empty() {
            builder.frame_pointer = builder.new_q();
        }
        builder
    }

    /// A function that is called and not lowered yet. Its code begins at the current end of the program.
    pub fn next_callee(&mut self) -> Option<(&'f Function<'a>, Callee)> {
        let function = self.queue.pop()?;
        let entry = self.program.code.len() as Pc;
        let callee = self.callees.get_mut(function.name)?;
        callee.entry = Some(entry);
        Some((function, callee.clone()))
    }

    /// The program of all code that was appended: calls lead to their functions, and what depends on the whole is decided.
    pub fn finish(mut self) -> Program {
        for (pc, name) in std::mem::take(&mut self.calls) {
            let entry = self.callees.get(name).and_then(|callee| callee.entry);
            self.program.code[pc].op = Op::Call(entry.unwrap_or(NO_PC));
        }
        let read = |register: &(bool, u32)| self.reads.contains_key(register);
        let waits = self.order_if_read.iter().any(read);
        let mut program = self.program;
        if !self.asks_for_grid {
            // Nobody waits for the grid: other traps of the same headers.
            for instr in program.code.iter_mut().filter(|instr| matches!(instr.op, Op::GridTrap)) {
                instr.op = Op::Trap;
            }
        }
        let unread = |slot| match slot {
            Slot::Reg32(register) => !read(&(false, register.0)),
            Slot::Reg64(register) => !read(&(true, register.0)),
            Slot::Sink => false,
        };
        for instr in &mut program.code {
            if let Op::Atom(atom) = &mut instr.op
                && unread(atom.dst)
            {
                // A GPU's machine code has no result either where nobody reads it.
                atom.dst = Slot::Sink;
            }
        }
        let waits = waits || program.fenced && self.reads_past_cache;
        program.ordered |= waits;
        program.polls |= waits;
        let slot = |wide, index| {
            if wide { UniformSlot::Reg64(Reg64(index)) } else { UniformSlot::Reg32(Reg32(index)) }
        };
        let uniforms = self.uniforms.into_iter();
        program.uniforms =
            uniforms.map(|((uniform, wide), at)| (uniform, slot(wide, at))).collect();
        program.written = write_set::written(&program);
        program
    }

    pub fn new_r(&mut self) -> Reg32 {
        self.program.r_count += 1;
        Reg32(self.program.r_count as u32 - 1)
    }

    pub fn new_q(&mut self) -> Reg64 {
        self.program.q_count += 1;
        Reg64(self.program.q_count as u32 - 1)
    }

    pub fn new_p(&mut self) -> Pred {
        self.program.p_count += 1;
        Pred(self.program.p_count as u32 - 1)
    }

    /// The register that holds a value which the launch fixes.
    pub fn uniform_r(&mut self, uniform: Uniform) -> Reg32 {
        if let Some(&index) = self.uniforms.get(&(uniform, false)) {
            return Reg32(index);
        }
        let register = self.new_r();
        self.uniforms.insert((uniform, false), register.0);
        register
    }

    pub fn uniform_q(&mut self, uniform: Uniform) -> Reg64 {
        if let Some(&index) = self.uniforms.get(&(uniform, true)) {
            return Reg64(index);
        }
        let register = self.new_q();
        self.uniforms.insert((uniform, true), register.0);
        register
    }

    pub fn zero(&mut self) -> Reg32 {
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

    /// Address in the shared window of the memory that the system keeps for tiles of several warps.
    pub fn reserved_shared(&mut self) -> Result<u32> {
        /// What cooperative groups may expect (`cooperative_groups/details/memory.h`).
        const SIZE: u64 = 288;
        if let Some(&start) = self.shared.get("") {
            return Ok(start);
        }
        let packed = self.program.shared.packed;
        let placed = self.program.shared.place(SIZE, 16);
        let start = placed.ok_or_else(|| full_shared(0))?;
        // It is none of the kernel's own.
        self.program.shared.packed = packed;
        self.shared.insert("", start);
        self.program.zeroed_shared = Some((start, SIZE as u32));
        Ok(start)
    }

    pub fn place_shared(&mut self, variable: &Variable<'a>) -> Result<u32> {
        let placed = self.program.shared.place(variable.size, variable.align);
        let start = placed.ok_or_else(|| full_shared(variable.line))?;
        self.program.shared_names.push((source_name(variable.name).to_owned(), Some(start)));
        Ok(start)
    }

    pub fn place_local(&mut self, variable: &Variable<'a>) -> Result<u32> {
        let placed = self.program.local.place(variable.size, variable.align);
        checked_local(placed, &self.program.local, variable)
    }

    /// Places a parameter or a result of a function, or what a caller passes for it.
    pub fn place_param(&mut self, variable: &Variable<'a>) -> Result<u32> {
        let placed = self.program.local.place_close(variable.size, variable.align);
        checked_local(placed, &self.program.local, variable)
    }

    /// Places what a caller passes for a parameter in a register, or takes so as a result.
    pub fn place_value(&mut self, ty: Type, line: usize) -> Result<u32> {
        let bytes = u64::from(ty.bytes());
        self.place_param(&Variable {
            space: VarSpace::Param,
            name: "",
            ty,
            size: bytes,
            align: bytes,
            unsized_array: false,
            init: Vec::new(),
            line,
        })
    }

    /// Places a variable of a function that may have several activations in a thread.
    pub fn place_in_frame(&mut self, frame: u32, variable: &Variable<'a>) -> Result<u32> {
        let placed = self.frames[frame as usize].0.place_in_frame(variable.size, variable.align);
        self.checked_frame(frame, placed, variable)
    }

    fn place_param_in_frame(&mut self, frame: u32, variable: &Variable<'a>) -> Result<u32> {
        let placed = self.frames[frame as usize].0.place_close(variable.size, variable.align);
        self.checked_frame(frame, placed, variable)
    }

    fn checked_frame(
        &mut self,
        frame: u32,
        placed: Option<u32>,
        variable: &Variable<'a>,
    ) -> Result<u32> {
        let align = &mut self.program.frames[frame as usize].align;
        *align = (*align).max(variable.align as u32);
        checked_local(placed, &self.frames[frame as usize].0, variable)
    }

    /// Whether a call from a function with one frame to one with the other may lead back.
    pub fn leads_back(&self, caller: u32, callee: u32) -> bool {
        let cycle = |frame: u32| self.frames.get(frame as usize).map(|&(_, cycle)| cycle);
        cycle(caller) == cycle(callee)
    }

    /// How many registers of 32 bits, of 64 bits and predicates there are.
    pub fn register_counts(&self) -> [u32; 3] {
        let Program { r_count, q_count, p_count, .. } = self.program;
        [r_count as u32, q_count as u32, p_count as u32]
    }

    /// Completes the frame of a function that is lowered now; `before` it there were so many registers.
    pub fn finish_frame(&mut self, frame: u32, before: [u32; 3]) {
        let after = self.register_counts();
        let layout = &self.frames[frame as usize].0;
        let frame = &mut self.program.frames[frame as usize];
        frame.variables.clone_from(&layout.variables);
        frame.size = layout.end + FRAME_GAP;
        frame.packed = layout.packed;
        frame.r = before[0]..after[0];
        frame.q = before[1]..after[1];
        frame.p = before[2]..after[2];
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
            return Err(LoadError::unsupported(line, super::refuse::function(name)));
        }
        let frame = self.call_cycles.get(name).map(|&cycle| {
            self.frames.push((Layout::default(), cycle));
            self.program.frames.push(Frame::default());
            self.frames.len() as u32 - 1
        });
        let mut place = |all: &[Variable<'a>]| -> Result<Vec<(u32, u32)>> {
            all.iter()
                .map(|param| {
                    let start = match frame {
                        Some(frame) => self.place_param_in_frame(frame, param)?,
                        None => self.place_param(param)?,
                    };
                    Ok((start, param.size as u32))
                })
                .collect()
        };
        let (params, results) = (place(&function.params)?, place(&function.results)?);
        let callee = Callee { params, results, frame, entry: None };
        self.callees.insert(function.name, callee.clone());
        self.queue.push(function);
        Ok(callee)
    }

    /// Notes that the instruction at `pc` calls a function.
    pub fn record_call(&mut self, pc: usize, name: &'a str) {
        self.calls.push((pc, name));
    }

    /// Number of a source line in the kernel's table, from 1.
    pub fn place_id(&mut self, tracker: &LineTracker) -> u32 {
        let Some(loc) = tracker.now() else { return 0 };
        let key = (loc.clone(), tracker.in_groups());
        if let Some(&id) = self.place_ids.get(&key) {
            return id;
        }
        self.program.source_locations.push(key.0.clone());
        self.program.in_group_headers.push(key.1);
        let id = self.program.source_locations.len() as u32;
        self.place_ids.insert(key, id);
        id
    }

    /// Adds the code of a function, and for each instruction the number of its source line.
    pub fn append(&mut self, code: Vec<Instr>, places: Vec<u32>, line: usize) -> Result<()> {
        if self.program.code.len() + code.len() > MAX_CODE {
            return Err(LoadError::too_large(line, "a kernel of more than 4 million instructions"));
        }
        self.program.code.extend(code);
        self.program.places.extend(places);
        Ok(())
    }

    /// A variable of the module, as a kernel sees it.
    pub fn module_place(&self, name: &str) -> Option<ModuleSymbol<'f, 'a>> {
        self.context.variables.get(name).copied()
    }
}

fn full_shared(line: usize) -> LoadError {
    LoadError::too_large(line, "`__shared__` arrays of more than 256 MiB")
}

/// The place of a variable in local memory, if the layout with it is no larger than a thread's may be. With the gaps between the
/// variables it may be twice as large.
fn checked_local(placed: Option<u32>, layout: &Layout, variable: &Variable) -> Result<u32> {
    placed.filter(|_| layout.packed <= MAX_LOCAL && layout.end <= 2 * MAX_LOCAL).ok_or_else(|| {
        let message =
            "a thread's own arrays, and those of the functions that it calls, of more than 512 KiB";
        LoadError::too_large(variable.line, message)
    })
}
