//! Whether any GPU could start the kernels of a case with their blocks. The virtual machine would, whatever they need.

use crate::finding::{Finding, Problem, Refusal, SourceLoc};
use hardware::{MAX_THREAD_REGISTERS, MULTIPROCESSORS, NEWEST, threads_by_registers};
use puzzle::case::{Case, CaseLaunch};
use puzzle::spec::{Launch, Spec};
use std::collections::BTreeMap;
use toolchain::module::KernelDecl;
use toolchain::{Toolchain, ptx};

/// What the kernels of a program need, by their source names.
#[derive(Clone, Debug, Default)]
pub struct LaunchLimits(BTreeMap<String, Needs>);

/// What one kernel needs.
#[derive(Clone, Debug)]
struct Needs {
    /// Registers of a thread, on the GPU where it needs fewest; 0 if every block has room for them.
    registers: u32,
    /// Bytes of its `__shared__` arrays.
    shared: u64,
    /// The threads that `__launch_bounds__` allow.
    bound: Option<u32>,
    /// Where it is defined.
    line: Option<SourceLoc>,
}

/// Registers of a thread of each kernel of some PTX, by its name there, on the GPU where it needs fewest. Nothing if each launch of the
/// spec has so few threads a block that there is room for as many registers as a thread can have: then the assembler need not run.
pub fn registers(toolchain: &Toolchain, spec: &Spec, ptx: &str) -> BTreeMap<String, u32> {
    let mut fewest: BTreeMap<String, u32> = BTreeMap::new();
    let threads = spec.launches.iter().map(Launch::most_threads).max().unwrap_or_default();
    if threads <= threads_by_registers(MAX_THREAD_REGISTERS) {
        return fewest;
    }
    for gpu in MULTIPROCESSORS.iter().rev() {
        // An assembler that does not know this GPU, or PTX that needs a newer one, says nothing of the others.
        for of in toolchain.resources(ptx, gpu.sm()).unwrap_or_default() {
            let known = fewest.entry(of.kernel).or_insert(of.registers);
            *known = of.registers.min(*known);
        }
        let fits = |&registers: &u32| threads <= threads_by_registers(registers);
        if !fewest.is_empty() && fewest.values().all(fits) {
            break;
        }
    }
    fewest
}

impl LaunchLimits {
    /// Adds the kernel that a spec calls `name`.
    pub fn add(
        &mut self,
        name: &str,
        kernel: &KernelDecl,
        registers: &BTreeMap<String, u32>,
        ptx: &str,
    ) {
        let line = ptx::definition(ptx, &kernel.symbol);
        let needs = Needs {
            registers: registers.get(&kernel.symbol).copied().unwrap_or_default(),
            shared: kernel.shared,
            bound: kernel.max_threads,
            line: line.map(|(file, line)| SourceLoc { file: file.into(), line, column: 0 }),
        };
        self.0.insert(name.to_owned(), needs);
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
        let (fixed, dynamic, registers) = (self.shared, launch.shared, self.registers);
        if let Some(bound) = self.bound.filter(|bound| threads > *bound) {
            return Some(Refusal::LaunchBounds { bound, threads });
        }
        if threads > threads_by_registers(registers) {
            return Some(Refusal::Registers { registers, threads });
        }
        let too_much = fixed + u64::from(dynamic) > u64::from(NEWEST.block_shared());
        too_much.then_some(Refusal::SharedMemory { fixed, dynamic })
    }
}
