//! What constructors register before `main`: fat binaries, kernels, variables.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The registrations of the program, made before it calls any function: constructors run while its library is loaded.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry::new());

/// The registrations of the program.
pub fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A kernel that the program has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The number of its fat binary in the registry.
    pub module: usize,
    /// Its name in the PTX.
    pub name: String,
    /// The dynamic shared memory beyond 48 KiB, in bytes, that the program has opted in to
    /// (`cudaFuncAttributeMaxDynamicSharedMemorySize`).
    pub opted_in: u32,
    /// Whether its clusters may have more blocks than every device takes.
    pub large_clusters: bool,
}

/// A variable that the program has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The number of its fat binary in the registry.
    pub module: usize,
    /// Its name in the PTX.
    pub name: String,
}

/// A `__managed__` variable: the program reads it through a pointer that is filled in once the module is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedVariable {
    /// The address of the program's pointer.
    pub pointer: usize,
    /// Its name in the PTX.
    pub name: String,
    /// Its size in bytes.
    pub size: usize,
    /// The number of its fat binary in the registry.
    pub module: usize,
}

/// Device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// A fat binary.
    Container(Vec<u8>),
    /// The text of PTX.
    Ptx(String),
}

/// All registrations. Kernels and variables are identified by the addresses of their host side.
#[derive(Debug)]
pub struct Registry {
    images: Vec<Option<Image>>,
    /// What the program has loaded itself (`cudaLibraryLoadData`, `cuModuleLoadData`): numbers of images, by handle.
    pub loaded: BTreeMap<u64, usize>,
    pub functions: BTreeMap<usize, Function>,
    pub variables: BTreeMap<usize, Variable>,
    pub managed: Vec<ManagedVariable>,
}

impl Registry {
    pub const fn new() -> Self {
        Self {
            images: Vec::new(),
            loaded: BTreeMap::new(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
            managed: Vec::new(),
        }
    }

    /// Adds device code, `None` for invalid one, and returns its number.
    pub fn add(&mut self, image: Option<Image>) -> usize {
        self.images.push(image);
        self.images.len() - 1
    }

    /// Adds a variable, identified by the address of its host side.
    pub fn add_variable(&mut self, host: usize, module: usize, name: String) {
        self.variables.insert(host, Variable { module, name });
    }

    /// Adds a `__managed__` variable, and the program's pointer to it.
    pub fn add_managed(&mut self, pointer: usize, module: usize, name: String, size: usize) {
        self.managed.push(ManagedVariable { pointer, name, size, module });
    }

    pub fn image(&self, index: usize) -> Option<Image> {
        self.images.get(index)?.clone()
    }

    /// Removes what the program has loaded, with its kernels; its number.
    pub fn unload(&mut self, handle: u64) -> Option<usize> {
        let index = self.loaded.remove(&handle)?;
        self.images[index] = None;
        self.functions.retain(|_, function| function.module != index);
        Some(index)
    }
}
