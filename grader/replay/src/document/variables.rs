//! The variables that the page shows for a thread.

use crate::debug_info::{self, Encoding, Location, Type};
use crate::values::number;
use ptxvm::{Kernel, Register, Symbols};
use puzzle::case::{CaseArg, CaseLaunch, CaseTensor};
use serde::Serialize;
use serde_json::Value;

/// A variable of the kernel or of a function that it calls.
#[derive(Debug, Serialize)]
pub struct Variable {
    name: String,
    /// `float`, `int`, `unsigned`, `bool`, `half`, `pointer` or `other`.
    kind: String,
    /// Bytes of one element.
    size: u64,
    /// The sizes of the axes of an array.
    shape: Vec<u64>,
    /// The instructions of its scope: the first, and one past the last.
    from: u32,
    to: u32,
    places: Vec<Shown>,
    /// Its value, if the launch fixes it.
    fixed: Option<Value>,
}

/// Where a variable lies from one instruction to another.
#[derive(Debug, Serialize)]
struct Shown {
    from: u32,
    to: u32,
    /// Index among the recorded registers.
    register: Option<u32>,
    /// Address in local memory.
    local: Option<u32>,
}

/// The registers that must be recorded for that.
#[derive(Debug, Default)]
pub struct Watched {
    /// The registers, each once.
    pub registers: Vec<Register>,
}

impl Watched {
    fn index(&mut self, register: Register) -> u32 {
        let known = self.registers.iter().position(|&other| other == register);
        known.unwrap_or_else(|| {
            self.registers.push(register);
            self.registers.len() - 1
        }) as u32
    }
}

/// The variables of a kernel, with the values of its parameters in a launch.
pub fn variables(
    kernel: &Kernel,
    known: &[debug_info::Variable],
    launch: &CaseLaunch,
    tensors: &[CaseTensor],
    watched: &mut Watched,
) -> Vec<Variable> {
    let Some(symbols) = kernel.symbols() else { return Vec::new() };
    let mut shown = Vec::new();
    let mut arguments = launch.args.iter();
    for variable in known {
        let Some(code) = symbols.code(&variable.function) else { continue };
        if variable.places.iter().any(|place| matches!(place, Location::Shared(_))) {
            // It is shown among the memories.
            continue;
        }
        let parameter = variable.scope.is_none() && variable.function == kernel.name();
        let fixed =
            if parameter { arguments.next().map(|arg| argument(arg, tensors)) } else { None };
        let (from, to) = between(symbols, variable.scope.as_ref(), (code.start, code.end));
        let places = variable.places.iter();
        let places: Vec<Shown> = places
            .filter_map(|place| place_of(symbols, variable, place, (from, to), watched))
            .collect();
        let (scalar, shape) = match &variable.ty {
            Type::Array(element, extents) => (&**element, extents.clone()),
            other => (other, Vec::new()),
        };
        let (kind, size) = kind(scalar);
        let name = variable.name.clone();
        shown.push(Variable { name, kind, size, shape, from, to, places, fixed });
    }
    shown
}

/// The instructions between two labels.
fn between(symbols: &Symbols, labels: Option<&(String, String)>, whole: (u32, u32)) -> (u32, u32) {
    let Some((low, high)) = labels else { return whole };
    (symbols.label(low).unwrap_or(whole.0), symbols.label(high).unwrap_or(whole.1))
}

fn place_of(
    symbols: &Symbols,
    variable: &debug_info::Variable,
    place: &Location,
    scope: (u32, u32),
    watched: &mut Watched,
) -> Option<Shown> {
    match place {
        Location::Register(name, range) => {
            let register = watched.index(symbols.register(&variable.function, name)?);
            let (from, to) = between(symbols, range.as_ref(), scope);
            Some(Shown { from, to, register: Some(register), local: None })
        }
        Location::Local(frame, offset) => {
            let local = symbols.local(frame)? + *offset as u32;
            Some(Shown { from: scope.0, to: scope.1, register: None, local: Some(local) })
        }
        Location::Shared(_) => None,
    }
}

fn kind(ty: &Type) -> (String, u64) {
    let (kind, size) = match ty {
        Type::Scalar(name, size, _) if name == "half" => ("half", *size),
        Type::Scalar(_, size, encoding) => match encoding {
            Encoding::Float => ("float", *size),
            Encoding::Signed => ("int", *size),
            Encoding::Unsigned => ("unsigned", *size),
            Encoding::Bool => ("bool", *size),
        },
        Type::Pointer => ("pointer", 8),
        Type::Array(..) => ("other", 0),
        Type::Other(size) => ("other", *size),
    };
    (kind.to_owned(), size)
}

fn argument(argument: &CaseArg, tensors: &[CaseTensor]) -> Value {
    match *argument {
        CaseArg::Tensor(index) => {
            tensors.get(index).map_or(Value::Null, |t| format!("→ {}", t.tensor.name).into())
        }
        CaseArg::Int(value) => value.into(),
        CaseArg::Value(_, value) => number(value),
    }
}
