//! Runs kernels on the PTX virtual machine, and puts what it finds into the words of tensors.

use super::{Backend, Provenance, Run, RunTensor, no_such_kernel};
use crate::case::{Case, CaseArg, CaseLaunch, CaseTensor, Role};
use crate::diagnostic::{Diagnostic, Mark, Severity, Source};
use crate::failure::{Failure, FailureKind};
use crate::finding::{Access, Finding, FindingKind, Place, SourceLine, Space, ThreadId};
use crate::tensor::{decode, encode, size_of};
use crate::verdict::ElementRead;
use ptxvm::{
    AccessKind, BufferId, Init, Kernel, LaunchError, LoadError, Memory, Module, Options, Outcome,
    SourceLoc, Traced,
};
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
        Ok(Self { module, kernels, budget: None })
    }

    /// Fixes the instructions that a warp may execute, instead of the rule of [`budget`].
    #[must_use]
    pub fn with_budget(mut self, instructions: u64) -> Self {
        self.budget = Some(instructions);
        self
    }
}

/// Instructions that one warp may execute before its loop counts as endless.
///
/// A single thread that does all the work of the case serially takes some 40 instructions for each term of each output
/// element, and a few for each element of each tensor: 64 for each of either leaves room. At least 4 million, a tenth of
/// a second; at most 64 million, about two seconds. A kernel that is launched as the spec says spreads its work over
/// many warps and stays far below.
fn budget(tensors: &[CaseTensor]) -> u64 {
    let work = |tensor: &CaseTensor| match &tensor.role {
        Role::Input(values) => values.len() as u64,
        Role::Output(right) => {
            right.iter().fold(0, |sum: u64, a| sum.saturating_add(a.terms.saturating_add(1)))
        }
    };
    let work = tensors.iter().map(work).fold(0, u64::saturating_add);
    work.saturating_mul(64).clamp(4 << 20, 64 << 20)
}

/// A case in the machine's memory.
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
            Role::Output(_) => {
                memory.alloc(Init::Undefined { len: tensor.bytes() }, ptxvm::Access::ReadWrite)
            }
        };
        let buffers = tensors.iter().map(alloc).collect();
        Self { backend, tensors, memory, buffers }
    }

    fn launch(&mut self, launch: &CaseLaunch, trace: Option<ThreadId>) -> Result<Outcome, Failure> {
        let kernel = self
            .backend
            .kernels
            .get(&launch.kernel)
            .and_then(|mangled| self.backend.module.kernel(mangled));
        let kernel = kernel.ok_or_else(|| no_such_kernel(&launch.kernel))?;
        let options = Options {
            budget: self.backend.budget.unwrap_or_else(|| budget(self.tensors)),
            trace: trace.map(|t| (t.block, t.thread)),
            max_findings: MAX_FINDINGS,
        };
        let params = self.params(kernel, &launch.args);
        let start = ptxvm::Launch {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.shared,
            params,
        };
        ptxvm::launch(&self.backend.module, kernel, &start, &mut self.memory, &options)
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

    /// The element at a byte of a buffer, if the buffer is a tensor.
    fn place(&self, buffer: BufferId, offset: i64) -> Option<Place> {
        let i = self.buffers.iter().position(|&b| b == buffer)?;
        let tensor = &self.tensors[i].tensor;
        let flat = offset.div_euclid(size_of(tensor.dtype) as i64);
        Some(Place { tensor: tensor.name.clone(), shape: tensor.shape.clone(), flat })
    }

    fn finding(&self, kernel: &str, finding: ptxvm::Finding) -> Finding {
        let ptxvm::Finding { kind, loc, block, thread, count } = finding;
        let place = |at: Option<(BufferId, i64)>| {
            at.and_then(|(buffer, offset)| self.place(buffer, offset))
        };
        let kind = match kind {
            ptxvm::FindingKind::OutOfBounds { space: s, access: a, size: _, nearest, address } => {
                FindingKind::OutOfBounds {
                    access: access(a),
                    space: space(s),
                    place: place(nearest),
                    address,
                }
            }
            ptxvm::FindingKind::Misaligned { space: s, access: a, size, buffer } => {
                FindingKind::Misaligned {
                    access: access(a),
                    space: space(s),
                    size,
                    place: place(buffer),
                }
            }
            ptxvm::FindingKind::Uninitialised { space: s, size: _, buffer, offset } => {
                FindingKind::Uninitialised { space: space(s), place: place(buffer), offset }
            }
            ptxvm::FindingKind::WriteToReadOnly { buffer, size: _ } => match place(Some(buffer)) {
                Some(place) => FindingKind::WriteToInput { place },
                // Read-only memory that is no tensor is the module's own: constants.
                None => FindingKind::OutOfBounds {
                    access: Access::Write,
                    space: Space::Constant,
                    place: None,
                    address: self.memory.address(buffer.0).wrapping_add_signed(buffer.1),
                },
            },
            ptxvm::FindingKind::BarrierDivergence { other } => {
                FindingKind::BarrierDivergence { other_line: other.as_ref().map(line) }
            }
            ptxvm::FindingKind::EndlessLoop { instructions } => {
                FindingKind::EndlessLoop { instructions }
            }
            ptxvm::FindingKind::Trap { message } => FindingKind::Trap { message },
        };
        let thread = Some(ThreadId { block, thread });
        Finding { kind, kernel: kernel.to_owned(), line: loc.as_ref().map(line), thread, count }
    }
}

/// After these the kernel has not run to its end, so a launch that builds on it would only repeat the complaint.
fn ends_the_case(kind: &FindingKind) -> bool {
    matches!(
        kind,
        FindingKind::EndlessLoop { .. }
            | FindingKind::BarrierDivergence { .. }
            | FindingKind::Trap { .. }
    )
}

fn line(loc: &SourceLoc) -> SourceLine {
    SourceLine { file: loc.file.to_string(), line: loc.line, column: loc.column }
}

fn access(kind: AccessKind) -> Access {
    match kind {
        AccessKind::Read => Access::Read,
        AccessKind::Write => Access::Write,
        AccessKind::Atomic => Access::Atomic,
    }
}

fn space(space: ptxvm::Space) -> Space {
    match space {
        ptxvm::Space::Global => Space::Global,
        ptxvm::Space::Shared => Space::Shared,
        ptxvm::Space::Local => Space::Local,
        ptxvm::Space::Const => Space::Constant,
    }
}

/// A gap of the machine is never the student's mistake, and says so.
fn cannot_load(error: &LoadError) -> Failure {
    let LoadError { ptx_line, source_loc, message, unsupported } = error;
    let (title, mut help) = if *unsupported {
        (
            format!("the virtual machine cannot run this kernel yet: {message}"),
            vec![
                "this is a gap of the virtual machine, most likely no mistake of yours".to_owned(),
                "with an NVIDIA GPU, run with --backend gpu; else write the line in another way"
                    .to_owned(),
            ],
        )
    } else {
        (
            format!("the virtual machine does not understand the compiler's output: {message}"),
            vec![
                "this is most likely no mistake of yours".to_owned(),
                "is it the compiler that `grader doctor` shows? with an NVIDIA GPU, run with --backend gpu".to_owned(),
            ],
        )
    };
    let mut at = format!("line {ptx_line} of the PTX");
    let mut source = None;
    if let Some(loc) = source_loc {
        at = format!("{at}, from {}:{}", loc.file, loc.line);
        source = quote(loc);
    }
    help.push(at);
    Failure::at(
        FailureKind::Environment,
        Diagnostic { severity: Severity::Error, title, source, help },
    )
}

/// The line in its file; `None` if the file cannot be read (any more).
fn quote(loc: &SourceLoc) -> Option<Source> {
    let text = std::fs::read_to_string(&*loc.file).ok()?;
    let mut start = 0;
    let line = text.split_inclusive('\n').enumerate().find_map(|(i, line)| {
        let here = start;
        start += line.len();
        (i + 1 == loc.line as usize).then_some((here, line))
    });
    let (start, line) = line?;
    let code = line.trim();
    let indent = line.len() - line.trim_start().len();
    let span = start + indent..start + indent + code.len();
    Some(Source {
        path: loc.file.as_ref().into(),
        text,
        marks: vec![Mark { span, label: String::new() }],
    })
}

fn cannot_launch(launch: &CaseLaunch, error: &LaunchError) -> Failure {
    let title = format!("`{}` cannot be launched: {error}", launch.kernel);
    match error {
        LaunchError::Configuration(_) => Failure::new(
            FailureKind::Usage,
            title,
            "change block, grid or shared in the spec's [[launch]]; a kernel's own __shared__ arrays count too",
        ),
        LaunchError::Parameters(_) => Failure::new(
            FailureKind::Kernel,
            title,
            "keep the signature of the stub: the spec's [[launch]] passes its arguments in that order",
        ),
    }
}

impl VmBackend {
    fn run_tensors(&self, tensors: &[CaseTensor], launches: &[CaseLaunch]) -> Result<Run, Failure> {
        let begin = Instant::now();
        let mut session = Session::new(self, tensors);
        let mut findings = Vec::new();
        for launch in launches {
            let outcome = session.launch(launch, None)?;
            findings
                .extend(outcome.findings.into_iter().map(|f| session.finding(&launch.kernel, f)));
            if findings.iter().any(|f| ends_the_case(&f.kind)) {
                break;
            }
        }
        let contents = (0..tensors.len()).map(|i| session.contents(i)).collect();
        Ok(Run { tensors: contents, findings, time: begin.elapsed() })
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
}

impl VmBackend {
    /// Which thread wrote element `flat` of `case.tensors[tensor]`, and which elements it read on the way.
    /// Empty if no thread did.
    ///
    /// # Errors
    /// As [`Backend::run`].
    pub fn provenance(
        &self,
        case: &Case,
        tensor: usize,
        flat: usize,
    ) -> Result<Provenance, Failure> {
        self.provenance_of(&case.tensors, &case.launches, tensor, flat)
    }

    /// Traces the thread whose number in the launch is `flat`: the thread for that element in most kernels.
    fn provenance_of(
        &self,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
        tensor: usize,
        flat: usize,
    ) -> Result<Provenance, Failure> {
        let mut session = Session::new(self, tensors);
        let mut found = Provenance::default();
        for launch in launches {
            let Some(thread) = thread_number(launch, flat) else { continue };
            let outcome = session.launch(launch, Some(thread))?;
            let size = size_of(tensors[tensor].tensor.dtype) as i64;
            let element = flat as i64 * size..(flat as i64 + 1) * size;
            let hits = |t: &&Traced| {
                t.kind != AccessKind::Read
                    && t.buffer == Some(session.buffers[tensor])
                    && t.offset < element.end
                    && t.offset + i64::from(t.size) > element.start
            };
            if let Some(write) = outcome.trace.iter().rev().find(hits) {
                found.writer = Some((thread, write.loc.as_ref().map(line)));
                found.reads = session.reads(&outcome.trace);
            }
            if outcome
                .findings
                .iter()
                .any(|f| ends_the_case(&session.finding(&launch.kernel, f.clone()).kind))
            {
                break;
            }
        }
        Ok(found)
    }
}

impl Session<'_> {
    /// The elements that a trace reads, each once, in order of the first read.
    fn reads(&self, trace: &[Traced]) -> Vec<ElementRead> {
        let mut reads: Vec<ElementRead> = Vec::new();
        let mut known = BTreeMap::new();
        for access in trace.iter().filter(|t| t.kind != AccessKind::Write) {
            let Some(buffer) = access.buffer else { continue };
            let Some(Place { tensor, shape, flat }) = self.place(buffer, access.offset) else {
                continue;
            };
            let Some(Place { flat: last, .. }) =
                self.place(buffer, access.offset + i64::from(access.size) - 1)
            else {
                continue;
            };
            // A vector load reads several elements.
            for flat in flat..=last {
                let at = *known.entry((buffer, flat)).or_insert(reads.len());
                match reads.get_mut(at) {
                    Some(read) => read.count += 1,
                    None => reads.push(ElementRead {
                        tensor: tensor.clone(),
                        shape: shape.clone(),
                        flat,
                        count: 1,
                        line: access.loc.as_ref().map(line),
                    }),
                }
            }
        }
        reads
    }
}

/// The thread with this number, counted along x first, then y, then z.
fn thread_number(launch: &CaseLaunch, number: usize) -> Option<ThreadId> {
    let size = |axis: usize| launch.grid[axis] as usize * launch.block[axis] as usize;
    let at = [number % size(0), number / size(0) % size(1), number / size(0) / size(1)];
    let split = |axis: usize| {
        (at[axis] / launch.block[axis] as usize, at[axis] % launch.block[axis] as usize)
    };
    (at[2] < size(2)).then(|| ThreadId {
        block: [0, 1, 2].map(|axis| split(axis).0 as u32),
        thread: [0, 1, 2].map(|axis| split(axis).1 as u32),
    })
}
