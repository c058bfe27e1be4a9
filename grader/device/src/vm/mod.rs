//! Runs kernels on the PTX virtual machine, and puts what it finds into the words of tensors.

mod counters;
pub mod expansion;
pub(crate) mod findings;
mod gates;
mod provenance;
mod refusals;
mod reordered;

use crate::backend::{Backend, Run, RunTensor, no_such_kernel};
use crate::finding::{Finding, Place, ThreadId};
use diagnostic::Failure;
use findings::{ends_the_case, in_tensors};
use ptxvm::{BufferId, Init, Kernel, Memory, Module, Options, Outcome, Watch};
use puzzle::case::{Case, CaseArg, CaseLaunch, CaseTensor, Role};
use puzzle::tensor::{decode, encode, size_of};
use refusals::{cannot_launch, cannot_load};
use std::collections::BTreeMap;
use std::time::Instant;

/// Findings that are kept apart for each launch; the report shows fewer.
const MAX_FINDINGS: usize = 32;

/// Runs the kernels of one module on the virtual machine.
#[derive(Debug)]
pub struct VmBackend {
    module: Module,
    kernels: BTreeMap<String, String>,
    budget: Option<u64>,
}

impl VmBackend {
    /// A backend for a module: `ptx` is its text, `kernels` has the name in it (mangled) of each kernel by its source name.
    ///
    /// # Errors
    /// The machine cannot run an instruction of the module, or the text is not PTX.
    pub fn new(ptx: &str, kernels: BTreeMap<String, String>) -> Result<Self, Failure> {
        let module = Module::load(ptx).map_err(|e| cannot_load(&e))?;
        let refusal = |symbol: &String| module.kernel(symbol)?.refusal();
        if let Some(error) = kernels.values().find_map(refusal) {
            return Err(cannot_load(error));
        }
        Ok(Self { module, kernels, budget: None })
    }

    /// Fixes the instructions that a warp may execute, instead of the rule of [`budget`].
    #[must_use]
    pub fn with_budget(mut self, instructions: u64) -> Self {
        self.budget = Some(instructions);
        self
    }
}

/// Instructions that one warp may execute before its loop counts as endless; a block may execute twice as many.
///
/// A single thread that does all the work of the case serially takes some 40 instructions for each term of each output
/// element, and a few for each element of each tensor: 64 for each of either leaves room. At least 4 million, which
/// take a twentieth of a second; at most 64 million, so that an endless loop is found in one or two seconds. A kernel
/// that is launched as the spec says spreads its work over many blocks and stays far below.
fn budget(tensors: &[CaseTensor]) -> u64 {
    let work = |tensor: &CaseTensor| match &tensor.role {
        Role::Input(_) | Role::Result => tensor.tensor.len() as u64,
        Role::Output(right) | Role::InPlace { right, .. } => {
            right.iter().fold(0, |sum: u64, a| sum.saturating_add(a.terms.saturating_add(1)))
        }
    };
    let work = tensors.iter().map(work).fold(0, u64::saturating_add);
    work.saturating_mul(64).clamp(4 << 20, 64 << 20)
}

/// What to look at while a kernel runs, besides its mistakes.
#[derive(Clone, Copy, Debug)]
enum Follow {
    Nothing,
    /// All its accesses.
    Thread(ThreadId),
    /// Its last writer.
    Place(Watch),
}

/// A case in the machine's memory.
#[derive(Debug)]
struct Session<'a> {
    backend: &'a VmBackend,
    tensors: &'a [CaseTensor],
    memory: Memory,
    /// In the order of `tensors`.
    buffers: Vec<BufferId>,
}

impl<'a> Session<'a> {
    fn new(backend: &'a VmBackend, tensors: &'a [CaseTensor]) -> Self {
        let mut memory = Memory::default();
        let alloc = |CaseTensor { tensor, role }: &CaseTensor| match role {
            Role::Input(values) => {
                memory.alloc(Init::Bytes(encode(tensor.dtype, values)), ptxvm::Access::ReadOnly)
            }
            Role::Output(_) | Role::Result => {
                memory.alloc(Init::Undefined { len: tensor.bytes() }, ptxvm::Access::ReadWrite)
            }
            Role::InPlace { start, .. } => {
                memory.alloc(Init::Bytes(encode(tensor.dtype, start)), ptxvm::Access::ReadWrite)
            }
        };
        let buffers = tensors.iter().map(alloc).collect();
        Self { backend, tensors, memory, buffers }
    }

    fn kernel(&self, launch: &CaseLaunch) -> Result<&'a Kernel, Failure> {
        let backend = self.backend;
        let kernel = backend.kernels.get(&launch.kernel);
        let kernel = kernel.and_then(|mangled| backend.module.kernel(mangled));
        kernel.ok_or_else(|| no_such_kernel(&launch.kernel))
    }

    fn start(&self, kernel: &Kernel, launch: &CaseLaunch) -> ptxvm::Launch {
        ptxvm::Launch {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.shared,
            params: self.params(kernel, &launch.args),
        }
    }

    fn launch(&mut self, launch: &CaseLaunch, follow: Follow) -> Result<Outcome, Failure> {
        let kernel = self.kernel(launch)?;
        let options = Options {
            budget: self.backend.budget.unwrap_or_else(|| budget(self.tensors)),
            trace: if let Follow::Thread(t) = follow { Some((t.block, t.thread)) } else { None },
            watch: if let Follow::Place(place) = follow { Some(place) } else { None },
            max_findings: MAX_FINDINGS,
            cooperative: launch.cooperative,
        };
        let start = self.start(kernel, launch);
        ptxvm::launch(&self.backend.module, kernel, &start, &mut self.memory, &options)
            .map_err(|e| cannot_launch(launch, &e))
    }

    fn launch_with_provenance(
        &mut self,
        launch: &CaseLaunch,
        provenance: &mut ptxvm::Provenance,
    ) -> Result<(), Failure> {
        let kernel = self.kernel(launch)?;
        let options = Options {
            budget: self.backend.budget.unwrap_or_else(|| budget(self.tensors)),
            cooperative: launch.cooperative,
            ..Options::default()
        };
        let start = self.start(kernel, launch);
        ptxvm::launch_with_provenance(
            &self.backend.module,
            kernel,
            &start,
            &mut self.memory,
            &options,
            provenance,
        )
        .map_err(|e| cannot_launch(launch, &e))
    }

    /// The arguments' bytes. An `int` for a parameter of 8 bytes is widened, as C++ would; any other mismatch of number
    /// or size is left to the machine, which names it.
    fn params(&self, kernel: &Kernel, args: &[CaseArg]) -> Vec<Vec<u8>> {
        let bytes = |(i, arg): (usize, &CaseArg)| match *arg {
            CaseArg::Tensor(tensor) => {
                self.memory.address(self.buffers[tensor]).to_le_bytes().to_vec()
            }
            CaseArg::Int(value) if kernel.params().get(i).is_some_and(|p| p.size == 8) => {
                i64::from(value).to_le_bytes().to_vec()
            }
            CaseArg::Int(value) => value.to_le_bytes().to_vec(),
            CaseArg::Value(dtype, value) => encode(dtype, &[value]),
        };
        args.iter().enumerate().map(bytes).collect()
    }

    fn contents(&self, i: usize) -> RunTensor {
        let dtype = self.tensors[i].tensor.dtype;
        let defined = self.memory.defined(self.buffers[i]);
        RunTensor {
            values: decode(dtype, &self.memory.bytes(self.buffers[i])),
            written: defined.chunks(size_of(dtype)).map(|bytes| bytes.iter().all(|&b| b)).collect(),
        }
    }

    /// The machine speaks of buffers and bytes; this speaks of tensors and elements.
    fn finding(&self, kernel: &str, finding: ptxvm::Finding) -> Finding {
        let place = |buffer, offset| self.place(buffer, offset);
        in_tensors(kernel, finding, &self.memory, &place)
    }

    /// The element at a byte of a buffer, if the buffer is a tensor.
    fn place(&self, buffer: BufferId, offset: i64) -> Option<Place> {
        let i = self.buffers.iter().position(|&b| b == buffer)?;
        let tensor = &self.tensors[i].tensor;
        let flat = offset.div_euclid(size_of(tensor.dtype) as i64);
        Some(Place { tensor: tensor.name.clone(), shape: tensor.shape.clone(), flat })
    }
}

impl VmBackend {
    fn run_tensors(&self, tensors: &[CaseTensor], launches: &[CaseLaunch]) -> Result<Run, Failure> {
        let begin = Instant::now();
        let mut session = Session::new(self, tensors);
        let (mut findings, mut printed) = (Vec::new(), String::new());
        for launch in launches {
            let outcome = session.launch(launch, Follow::Nothing)?;
            printed.push_str(&outcome.printed);
            let found = outcome.findings;
            let ended = found.iter().any(|f| ends_the_case(&f.kind));
            findings.extend(found.into_iter().map(|f| session.finding(&launch.kernel, f)));
            if ended {
                break;
            }
        }
        let contents = (0..tensors.len()).map(|i| session.contents(i)).collect();
        let (notes, time) = (Vec::new(), begin.elapsed());
        Ok(Run { tensors: contents, findings, printed, notes, time, threads: 0 })
    }
}

impl Backend for VmBackend {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn describe(&self) -> String {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let plural = if threads == 1 { "" } else { "s" };
        format!("PTX virtual machine, {threads} thread{plural}")
    }

    fn run(&self, case: &Case) -> Result<Run, Failure> {
        self.run_tensors(&case.tensors, &case.launches)
    }

    fn again(&self, case: &Case, nth: usize) -> Result<Option<Vec<RunTensor>>, Failure> {
        self.reordered(case, nth)
    }

    fn over_gates(&self, case: &Case) -> Result<Vec<Finding>, Failure> {
        Self::over_gates(self, case)
    }
}

#[cfg(test)]
mod tests;
