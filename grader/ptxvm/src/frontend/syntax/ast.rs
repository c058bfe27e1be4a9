//! The syntax tree. Names borrow from the text; nothing is resolved yet.

use crate::error::LoadError;
use crate::isa::types::Type;

/// State space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarSpace {
    Global,
    Const,
    Shared,
    Local,
    Param,
    /// Of a parameter that is passed in a register (PTX ISA 7.1, before `.param`).
    Register,
}

/// One scalar of an initialiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InitValue<'a> {
    Int(u64),
    F32(u32),
    F64(u64),
    /// The address of another variable: its name, an addend, and whether it is `generic(...)`.
    Symbol {
        name: &'a str,
        addend: i64,
        generic: bool,
        /// Of which byte it is alone, as `0xFF00(name)` is of byte 1.
        byte: Option<u32>,
    },
}

/// A variable in memory.
#[derive(Clone, Debug)]
pub struct Variable<'a> {
    pub space: VarSpace,
    pub name: &'a str,
    pub ty: Type,
    /// Bytes; 0 for `x[]`, whose size the launch decides.
    pub size: u64,
    /// The alignment in bytes.
    pub align: u64,
    /// Whether it is declared without a size, `x[]`, as dynamic shared memory is.
    pub unsized_array: bool,
    pub init: Vec<InitValue<'a>>,
    pub line: usize,
}

/// `.reg .b32 %r<10>` or `.reg .f16 low, high`.
#[derive(Clone, Debug)]
pub struct Registers<'a> {
    pub ty: Type,
    /// Two of `ty` in one: `.b128`.
    pub wide: bool,
    pub name: &'a str,
    /// `<n>` declares `name0` to `name(n-1)`.
    pub count: Option<u64>,
}

/// `.loc file line column [, function_name ..., inlined_at file line column]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    pub file: u32,
    pub line: u32,
    pub column: u32,
}

/// An operand as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand<'a> {
    /// Register, special register, variable, label or function.
    Name(&'a str),
    /// The address of a variable plus bytes, `variable+4`.
    Offset(&'a str, i64),
    Int(u64),
    F32(u32),
    F64(u64),
    /// A memory operand, `[base+offset]`.
    Address {
        base: AddressBase<'a>,
        offset: i64,
    },
    /// A place that indices lead to, `[base, {x, y}]`: in a texture or surface.
    Indexed {
        base: &'a str,
        /// All operands behind the base.
        indices: Vec<Operand<'a>>,
    },
    /// A vector of operands, `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// The list `(a, b)` of a call.
    List(Vec<Operand<'a>>),
    /// The two destinations of `d|p`.
    Pair(Box<(Operand<'a>, Operand<'a>)>),
    /// A negated predicate, `!p`.
    Not(&'a str),
}

/// What an address starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressBase<'a> {
    Name(&'a str),
    /// `[16]`: the offset is the whole address.
    None,
}

/// The guard of an instruction, `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicate<'a> {
    pub name: &'a str,
    pub negated: bool,
}

/// An instruction: its guard, opcode and operands, as they are written.
#[derive(Clone, Debug)]
pub struct Instruction<'a> {
    pub predicate: Option<Predicate<'a>>,
    /// The opcode with all modifiers: `add.rn.f32`.
    pub opcode: &'a str,
    pub operands: Vec<Operand<'a>>,
}

/// One statement of a body.
#[derive(Clone, Debug)]
pub enum Statement<'a> {
    Instruction(Instruction<'a>),
    Label(&'a str),
    Registers(Registers<'a>),
    Variable(Variable<'a>),
    Loc {
        at: Position,
        inlined_at: Option<Position>,
    },
    OpenScope,
    CloseScope,
    /// `name: .callprototype ...`: bytes of the results and the parameters.
    Prototype {
        name: &'a str,
        results: Vec<u64>,
        params: Vec<u64>,
    },
    /// `name: .calltargets f, g`
    Targets {
        name: &'a str,
        functions: Vec<&'a str>,
    },
    /// What this machine cannot even read. The kernels that contain it are refused.
    Refused(LoadError),
}

/// A statement with its line in the PTX.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    /// The line of the PTX text, counted from 1.
    pub line: usize,
    pub statement: Statement<'a>,
}

/// A kernel (`.entry`) or a function (`.func`).
#[derive(Clone, Debug)]
pub struct Function<'a> {
    pub name: &'a str,
    pub is_entry: bool,
    pub results: Vec<Variable<'a>>,
    pub params: Vec<Variable<'a>>,
    /// The blocks of a cluster, if the kernel says so (`.reqnctapercluster`).
    pub cluster: Option<[u32; 3]>,
    /// The most threads of a block along each axis, if the kernel says so (`.maxntid`, `.reqntid`).
    pub block: Option<[u32; 3]>,
    /// Its statements; None if it is only declared.
    pub body: Option<Vec<Line<'a>>>,
    pub line: usize,
}

/// The syntax tree of a PTX module.
#[derive(Clone, Debug, Default)]
pub struct File<'a> {
    pub variables: Vec<Variable<'a>>,
    pub functions: Vec<Function<'a>>,
    /// The source files by number, from the directives `.file number "name"`.
    pub files: Vec<(u32, &'a str)>,
    /// Whether it was compiled for a debugger: `.target sm_75, debug`.
    pub debug: bool,
}
