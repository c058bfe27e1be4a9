//! What constructors register before `main`: fat binaries, kernels, variables.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a program registers before it has called anything: constructors run while its library is loaded.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry::new());

/// What the program has registered.
pub fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A registered kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Number of its fat binary in the registry.
    pub module: usize,
    /// Name in the PTX.
    pub name: String,
    /// Bytes of dynamic shared memory that the program has asked for beyond 48 KiB
    /// (`cudaFuncAttributeMaxDynamicSharedMemorySize`).
    pub opted_in: u32,
}

/// A registered variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Number of its fat binary in the registry.
    pub module: usize,
    /// Name in the PTX.
    pub name: String,
}

/// A `__managed__` variable: the program reads it through a pointer that is filled in once the module is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedVariable {
    /// Address of the program's pointer.
    pub pointer: usize,
    /// Name in the PTX.
    pub name: String,
    /// Bytes.
    pub size: usize,
    /// Number of its fat binary in the registry.
    pub module: usize,
}

/// All of it. Kernels and variables are known by the addresses of their host side.
#[derive(Debug)]
pub struct Registry {
    images: Vec<Option<Vec<u8>>>,
    pub functions: BTreeMap<usize, Function>,
    pub variables: BTreeMap<usize, Variable>,
    pub managed: Vec<ManagedVariable>,
}

impl Registry {
    pub const fn new() -> Self {
        Self {
            images: Vec::new(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
            managed: Vec::new(),
        }
    }

    /// Adds a fat binary, `None` for one that is broken; its number.
    pub fn add(&mut self, image: Option<Vec<u8>>) -> usize {
        self.images.push(image);
        self.images.len() - 1
    }

    /// Adds a variable, known by the address of its host side.
    pub fn add_variable(&mut self, host: usize, module: usize, name: String) {
        self.variables.insert(host, Variable { module, name });
    }

    /// Adds a `__managed__` variable, and the program's pointer to it.
    pub fn add_managed(&mut self, pointer: usize, module: usize, name: String, size: usize) {
        self.managed.push(ManagedVariable { pointer, name, size, module });
    }

    pub fn image(&self, index: usize) -> Option<Vec<u8>> {
        self.images.get(index)?.clone()
    }
}
