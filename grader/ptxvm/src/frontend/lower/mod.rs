//! From the syntax tree to decoded kernels: resolves names, lays out variables, and finds where diverged lanes reconverge.

mod arith;
mod body;
mod builder;
mod bulk;
mod callgraph;
mod calls;
mod cfg;
mod cluster;
mod compare;
mod context;
mod contraction;
mod control;
mod convert;
mod copies;
mod dependence;
mod dispatch;
mod float;
mod kept_reads;
mod kernel;
mod labels;
mod lanes;
mod matrix;
mod mbarrier;
mod memory;
mod modifiers;
mod mov;
mod narrow;
mod operands;
mod packed;
mod pairs;
mod poison;
mod postdom;
mod refuse;
mod spaces;
mod spelling;
mod stack;
mod strength;
mod symbols;
mod table;
mod textures;
mod video;
mod warpgroup;
mod warpops;
mod wide;

use self::body::{Ending, Scope};
use self::builder::KernelBuilder;
use self::labels::Labels;
use self::poison::PoisonTolerance;
use std::collections::HashMap;

use self::context::{Context, ModuleSymbol};
use crate::error::LoadError;
use crate::frontend::line_table::Files;
use crate::frontend::syntax::ast::{File, Function, InitValue, VarSpace, Variable};
use crate::isa::class::Class;
use crate::isa::ir::Instr;
use crate::isa::names::{Guard, Marks};
use crate::isa::ordering::Ordering;
use crate::isa::types::Type;
use crate::isa::window::{Window, code_address};
use crate::memory::flat::Flat;
use crate::memory::layout::Layout;
use crate::program::module::{Constant, Kernel, Module, ModuleVariable, StoredAddress};

/// Bytes of all variables of a module: they are memory of this machine.
const MAX_GLOBAL: u64 = 1 << 30;

/// Bytes of `.const` variables (PTX ISA 5.1.3).
const MAX_CONST: u32 = 64 << 10;

/// A function under construction. Branch targets are indices of `code` until the end.
struct Body<'b, 'c, 'f, 'a> {
    pub builder: &'b mut KernelBuilder<'c, 'f, 'a>,
    pub scopes: Vec<Scope<'a>>,
    code: Vec<Instr>,
    places: Vec<u32>,
    /// For each instruction its line of the PTX.
    ptx_lines: Vec<u32>,
    labels: Labels<'a>,
    /// Branches to labels: instruction, braces around it, label, line.
    jumps: Vec<(usize, usize, &'a str, usize)>,
    calls: Vec<(usize, &'a str)>,
    orderings: Vec<(usize, Ordering)>,
    /// Whether it is a kernel: where a function returns, a kernel ends its lanes.
    pub is_entry: bool,
    /// The function's frame, if it may have several activations in a thread.
    pub frame: Option<u32>,
    /// What it does before it returns.
    pub ending: Ending,
    /// The functions that each list of call targets names.
    pub targets: HashMap<&'a str, Vec<&'f Function<'a>>>,
    pub line: usize,
    place: u32,
    /// Whether the current instruction only moves a value, and how.
    pub poison: Option<PoisonTolerance>,
    /// What the current access means to other threads, if that is not said by its modifiers alone.
    pub marks: Option<Marks>,
    /// Whether it is a plain read that races with atomics.
    pub kept: bool,
    /// Number of the file that the code comes from, before inlining.
    file: u32,
    guard: Option<Guard>,
    /// The class of the current instruction, until one of its operations has counted.
    class: Option<Class>,
}

/// Lowers a whole file.
pub fn lower(file: &File) -> Result<Module, LoadError> {
    let mut context = Context {
        files: Files::new(&file.files),
        debug: file.debug,
        functions: HashMap::new(),
        variables: HashMap::new(),
        addresses: HashMap::new(),
        taken: Vec::new(),
    };
    let mut globals = Vec::new();
    let mut constants = Vec::new();
    let mut layout = Layout::default();
    for variable in &file.variables {
        let place = match variable.space {
            VarSpace::Global => {
                globals.push(variable);
                ModuleSymbol::Global(globals.len() as u32 - 1)
            }
            VarSpace::Const => {
                let start = layout
                    .place(variable.size, variable.align)
                    .filter(|_| layout.packed <= MAX_CONST)
                    .ok_or_else(|| {
                        LoadError::malformed(variable.line, "constant memory has only 64 KiB")
                    })?;
                constants.push((start, variable));
                ModuleSymbol::Const(start)
            }
            VarSpace::Shared => ModuleSymbol::Shared(variable),
            VarSpace::Local | VarSpace::Param | VarSpace::Register => {
                return Err(LoadError::malformed(
                    variable.line,
                    format!("`{}` is allowed only inside a function", variable.name),
                ));
            }
        };
        context.variables.insert(variable.name, place);
    }
    for function in &file.functions {
        // A declaration may come before or after the definition.
        if function.body.is_some() || !context.functions.contains_key(function.name) {
            context.functions.insert(function.name, function);
        }
        let next = code_address(context.addresses.len());
        context.addresses.entry(function.name).or_insert(next);
    }
    context.taken = callgraph::taken(file, &context.functions);
    let total = globals.iter().fold(0, |sum: u64, variable| sum.saturating_add(variable.size));
    if let Some(last) = globals.last().filter(|_| total > MAX_GLOBAL) {
        return Err(LoadError::too_large(last.line, "variables of more than 1 GiB together"));
    }
    let variables = globals
        .iter()
        .map(|variable| initial_value(variable, &context))
        .collect::<Result<Vec<_>, _>>()?;
    let names = constants.iter().map(|&(start, variable)| Constant {
        name: variable.name.to_owned(),
        start,
        size: variable.size as usize,
    });
    let names = names.collect();
    let mut addresses = Vec::new();
    let mut constant_memory = Flat::read_only(&layout);
    for (start, variable) in constants {
        let value = initial_value(variable, &context)?;
        addresses.extend(
            value
                .addresses
                .iter()
                .map(|&address| StoredAddress { place: start as usize + address.place, ..address }),
        );
        constant_memory.fill(start, &value.bytes);
    }
    let kernels = file
        .functions
        .iter()
        .filter(|function| function.is_entry && function.body.is_some())
        .map(|function| {
            let kernel = kernel::kernel(&context, function);
            kernel.unwrap_or_else(|error| Kernel::refused(function.name, error))
        })
        .collect();
    Ok(Module::new(kernels, variables, constant_memory, names, addresses))
}

/// The bytes of a variable, zero where nothing is said.
fn initial_value(variable: &Variable, context: &Context) -> Result<ModuleVariable, LoadError> {
    /// Far more than any kernel of a workbook declares; keeps a wrong size from filling the machine.
    const LIMIT: u64 = 1 << 28;
    let error = |message: String| Err(LoadError::malformed(variable.line, message));
    if variable.size > LIMIT {
        return Err(LoadError::too_large(
            variable.line,
            format!("`{}`: variables of more than 256 MiB", variable.name),
        ));
    }
    let mut bytes = vec![0; variable.size as usize];
    let mut addresses = Vec::new();
    let width = variable.ty.bytes() as usize;
    for (index, value) in variable.init.iter().enumerate() {
        let place = index * width;
        let Some(target) = bytes.get_mut(place..place + width) else {
            return error(format!("`{}` has more initial values than elements", variable.name));
        };
        let bits = match *value {
            InitValue::Int(value) => value,
            InitValue::F32(bits) if variable.ty == Type::F64 => {
                f64::from(f32::from_bits(bits)).to_bits()
            }
            InitValue::F32(bits) => bits.into(),
            InitValue::F64(bits) if variable.ty == Type::F32 => {
                u64::from((f64::from_bits(bits) as f32).to_bits())
            }
            InitValue::F64(bits) => bits,
            InitValue::Symbol { name, addend, generic, byte } => {
                let fits = width == if byte.is_some() { 1 } else { 8 };
                let known = match context.variables.get(name) {
                    Some(&ModuleSymbol::Global(variable)) if fits => {
                        addresses.push(StoredAddress { place, variable, addend, byte });
                        Some(0)
                    }
                    Some(&ModuleSymbol::Const(start)) if fits => {
                        let window = if generic { Window::Const.base() } else { 0 };
                        Some((window + u64::from(start)).wrapping_add_signed(addend))
                    }
                    _ => context.addresses.get(name).copied(),
                };
                match known {
                    Some(address) => address >> (8 * byte.unwrap_or(0)),
                    None => {
                        return error(format!(
                            "`{}`: the address of `{name}` is not allowed here",
                            variable.name
                        ));
                    }
                }
            }
        };
        target.copy_from_slice(&bits.to_le_bytes()[..width]);
    }
    Ok(ModuleVariable { name: variable.name.to_owned(), bytes, addresses })
}
