//! Whether any GPU could start the kernels of a case with their blocks. The virtual machine would, whatever they need.

use crate::finding::{Finding, Problem, Refusal, SourceLoc};
use hardware::{MAX_THREAD_REGISTERS, MULTIPROCESSORS, NEWEST, threads_by_registers};
use puzzle::case::{Case, CaseLaunch};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use toolchain::module::KernelDecl;
use toolchain::{Assembler, Compiled, ptx};

/// What the kernels of a program need, by their source names.
#[derive(Clone, Debug, Default)]
pub struct LaunchLimits(BTreeMap<String, Arc<Needs>>);

/// What one kernel needs.
#[derive(Debug)]
struct Needs {
    registers: Registers,
    /// Bytes of its `__shared__` arrays.
    shared: u64,
    /// The threads that `__launch_bounds__` allow.
    bound: Option<u32>,
    /// Where it is defined.
    line: Option<SourceLoc>,
}

/// Registers of a thread of a kernel. Only launches of large blocks must know them, so the assembler runs for the first of these.
#[derive(Debug)]
struct Registers {
    assembler: Assembler,
    compiled: Arc<Compiled>,
    symbol: String,
    /// On each of [`MULTIPROCESSORS`]; nothing where the assembler does not say.
    known: [OnceLock<Option<u32>>; MULTIPROCESSORS.len()],
}

impl LaunchLimits {
    /// Adds the kernel that a spec calls `name`.
    pub fn add(
        &mut self,
        name: &str,
        kernel: &KernelDecl,
        assembler: Assembler,
        compiled: &Arc<Compiled>,
    ) {
        let line = kernel.definition.clone();
        let needs = Needs {
            registers: Registers {
                assembler,
                compiled: Arc::clone(compiled),
                symbol: kernel.symbol.clone(),
                known: Default::default(),
            },
            shared: kernel.shared,
            bound: kernel.max_threads,
            line: line.map(|(file, line)| SourceLoc { file: file.into(), line, column: 0 }),
        };
        self.0.insert(name.to_owned(), Arc::new(needs));
    }

    /// The first launch of a case that no GPU could start.
    pub(crate) fn refused(&self, case: &Case) -> Option<Finding> {
        case.launches.iter().find_map(|launch| {
            let needs = self.0.get(&launch.kernel)?;
            let problem = Problem::Refused(needs.refusal(launch)?);
            Some(Finding {
                line: needs.line.clone(),
                ..Finding::of_kernel(problem, &launch.kernel)
            })
        })
    }
}

impl Needs {
    fn refusal(&self, launch: &CaseLaunch) -> Option<Refusal> {
        let threads = launch.block.iter().product();
        let (fixed, dynamic) = (self.shared, launch.shared);
        if let Some(bound) = self.bound.filter(|bound| threads > *bound) {
            return Some(Refusal::LaunchBounds { bound, threads });
        }
        if let Some(registers) = self.registers.too_many_for(threads) {
            return Some(Refusal::Registers { registers, threads });
        }
        let too_much = fixed + u64::from(dynamic) > u64::from(NEWEST.block_shared());
        too_much.then_some(Refusal::SharedMemory { fixed, dynamic })
    }
}

impl Registers {
    /// The registers of a thread where it needs fewest, if no GPU has enough of them for a block of so many threads.
    fn too_many_for(&self, threads: u32) -> Option<u32> {
        if threads <= threads_by_registers(MAX_THREAD_REGISTERS) {
            return None;
        }
        let mut fewest = None;
        for (known, gpu) in self.known.iter().zip(MULTIPROCESSORS).rev() {
            let Some(registers) = *known.get_or_init(|| self.on(gpu.sm())) else { continue };
            if threads <= threads_by_registers(registers) {
                return None;
            }
            fewest = Some(fewest.map_or(registers, |least: u32| least.min(registers)));
        }
        fewest
    }

    /// Those of `sm_NN`. An assembler that does not know this GPU, or PTX that needs a newer one, says nothing of the others.
    fn on(&self, sm: u32) -> Option<u32> {
        let whole = &self.compiled.ptx;
        let alone = self.assembler.resources(&ptx::alone(whole, &self.symbol), sm);
        let all = alone.or_else(|_| self.assembler.resources(whole, sm)).ok()?;
        all.into_iter().find(|of| of.kernel == self.symbol).map(|of| of.registers)
    }
}
