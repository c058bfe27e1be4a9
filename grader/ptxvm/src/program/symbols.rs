//! The names in a program that was compiled for a debugger (`nvcc -G`): what its debug sections refer to.

use std::collections::HashMap;
use std::ops::Range;

use crate::isa::names::{Pc, Slot};

/// The names of a kernel and of the functions that it calls.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    pub(crate) functions: Vec<Function>,
    /// For each instruction the line of the PTX that it comes from, counted from 1.
    pub(crate) lines: Vec<u32>,
    /// Arrays in shared memory: address and bytes of each.
    pub(crate) shared: HashMap<String, (u32, u32)>,
}

/// The names of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub name: String,
    pub code: Range<Pc>,
    pub labels: HashMap<String, Pc>,
    pub registers: HashMap<String, Register>,
    /// Variables in local memory: the address of each.
    pub local: HashMap<String, u32>,
}

/// A register of a program, to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(pub(crate) Slot);

impl Symbols {
    /// The instructions of a function, by its name in the PTX.
    pub fn code(&self, function: &str) -> Option<Range<u32>> {
        self.function(function).map(|function| function.code.clone())
    }

    /// The instruction that follows a label.
    pub fn label(&self, name: &str) -> Option<u32> {
        self.functions.iter().find_map(|function| function.labels.get(name).copied())
    }

    /// A register of a function, such as `%r5`. None if no instruction names it.
    pub fn register(&self, function: &str, name: &str) -> Option<Register> {
        self.function(function)?.registers.get(name).copied()
    }

    /// Where a variable of a function begins in local memory.
    pub fn local(&self, name: &str) -> Option<u32> {
        self.functions.iter().find_map(|function| function.local.get(name).copied())
    }

    /// Address and bytes of an array in shared memory.
    pub fn shared(&self, name: &str) -> Option<(u32, u32)> {
        self.shared.get(name).copied()
    }

    /// All arrays in shared memory whose size the program states: name, address and bytes, in the order of the addresses.
    pub fn shared_arrays(&self) -> Vec<(&str, u32, u32)> {
        let mut arrays: Vec<_> =
            self.shared.iter().map(|(name, &(start, size))| (name.as_str(), start, size)).collect();
        arrays.sort_by_key(|&(_, start, _)| start);
        arrays
    }

    /// The line of the PTX that an instruction comes from, counted from 1.
    pub fn line(&self, pc: u32) -> Option<u32> {
        self.lines.get(pc as usize).copied()
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }
}
