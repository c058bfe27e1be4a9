//! The way of a verdict: spec and kernel file in, verdicts out. Every command that judges goes this way.

use crate::findings;
use crate::judgement;
use crate::verdict::TestVerdict;
use device::arch;
use device::backend::{Backend, LaunchShape, Run};
use device::cpp;
use device::finding::Problem;
use device::gpu::{GpuBackend, RemoteGpu};
use device::host::{self, HostBackend, HostProgram};
use device::launch_limits::LaunchLimits;
use device::provenance::{KernelSum, Place};
use device::vm::expansion::Effort;
use device::vm::{SharedModule, VmBackend};
use diagnostic::{Failure, FailureKind};
use puzzle::case::Case;
use puzzle::oracle;
use puzzle::spec::{Arg, Constant, Launch, Purpose, Spec, Test};
use puzzle::tensor::DType;
use puzzle::workbook::Workbook;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use toolchain::module::{self, ConstantUse, KernelDecl, VariableDecl};
use toolchain::{Compiled, Headers, Library, Request, Toolchain};

/// Host code that launches more threads than this in a test, all in all, does not run a second time on the virtual
/// machine when it passed on the GPU: a training would take a minute there, and seconds here.
const SECOND_LOOK: u64 = 1 << 25;

/// A kernel file that is compiled, and whose kernels are those of the spec.
#[derive(Clone, Debug)]
pub struct Program {
    /// PTX and, for a GPU, machine code.
    pub compiled: Arc<Compiled>,
    /// Name in the module (mangled) of each kernel and constant by its source name.
    pub kernels: BTreeMap<String, String>,
    /// What bounds the blocks of the kernels.
    pub limits: LaunchLimits,
    /// The PTX as the virtual machine has it, shared by all programs of one compilation.
    pub module: SharedModule,
    /// The functions of a host puzzle, which has no kernels of its own.
    pub host: Option<HostProgram>,
}

/// Where the launches of a spec run.
pub enum Machine {
    /// On the virtual machine.
    Vm(VmBackend),
    /// Kernels run on a GPU.
    Gpu(Box<GpuBackend>),
    /// Host code in a process of its own, its kernels on one of the two.
    Host(HostBackend),
}

/// Compiles `source` and checks that it has the kernels of `spec`, with their signatures.
///
/// # Errors
/// It does not compile, a kernel is missing or has another signature, the GPU is too old for the puzzle, or the compiler cannot
/// work.
pub fn compile(
    toolchain: &Toolchain,
    workbook: &Workbook,
    spec: &Spec,
    source: &Path,
    gpu: Option<&RemoteGpu>,
) -> Result<Program, Failure> {
    if let Some(gpu) = gpu {
        arch::check(spec, gpu.info())?;
    }
    if spec.is_host() {
        let (library, program) = host::compile(toolchain, workbook, spec, source)?;
        let compiled = Arc::new(without_kernels(library));
        return Ok(Program::of_host(compiled, program));
    }
    let sm = gpu.map(|gpu| gpu.info().capability.0 * 10 + gpu.info().capability.1);
    let compiled = compile_kernels(toolchain, workbook, spec, source, false, sm)?;
    with_kernels(toolchain, spec, compiled)
}

/// As [`compile`] for the virtual machine, but as for a debugger: each line by itself, not optimised, with the names of variables.
///
/// # Errors
/// As [`compile`].
pub fn compile_for_debugger(
    toolchain: &Toolchain,
    workbook: &Workbook,
    spec: &Spec,
    source: &Path,
) -> Result<Program, Failure> {
    let compiled = compile_kernels(toolchain, workbook, spec, source, true, None)?;
    let program = with_kernels(toolchain, spec, compiled)?;
    // What it needs of registers says nothing of the kernel.
    Ok(Program { limits: LaunchLimits::default(), ..program })
}

fn compile_kernels(
    toolchain: &Toolchain,
    workbook: &Workbook,
    spec: &Spec,
    source: &Path,
    debugger: bool,
    gpu: Option<u32>,
) -> Result<Compiled, Failure> {
    toolchain.compile(&Request {
        source,
        include_dirs: &[workbook.include_dir()],
        headers: Headers::Offered { names: &spec.headers, workbook: workbook.root() },
        base: workbook.root(),
        arch: arch::of(spec),
        asynchronous: true,
        debugger,
        gpu,
    })
}

/// The program of a compiled file that has the kernels of `spec`, with their signatures.
fn with_kernels(
    toolchain: &Toolchain,
    spec: &Spec,
    compiled: Compiled,
) -> Result<Program, Failure> {
    let declared = module::kernels(&compiled.ptx);
    let mut program = Program::without_kernels(Arc::new(compiled));
    for launch in &spec.launches {
        let source = &program.compiled.source;
        let kernel = module::find_kernel(&declared, &launch.kernel, source)?;
        module::check_signature(kernel, &arguments(spec, launch), source)?;
        program.add(&launch.kernel, kernel, toolchain);
    }
    let variables = module::variables(&program.compiled.ptx);
    program.kernels.extend(constants(spec, &variables, &program.compiled)?);
    Ok(program)
}

impl Program {
    /// A program to which kernels are added.
    pub(crate) fn without_kernels(compiled: Arc<Compiled>) -> Self {
        let (kernels, limits) = (BTreeMap::new(), LaunchLimits::default());
        Self { compiled, kernels, limits, module: SharedModule::default(), host: None }
    }

    /// A program of host code.
    pub(crate) fn of_host(compiled: Arc<Compiled>, host: HostProgram) -> Self {
        Self { host: Some(host), ..Self::without_kernels(compiled) }
    }

    /// Adds the kernel that the spec calls `name`, of PTX that `toolchain` made.
    pub(crate) fn add(&mut self, name: &str, kernel: &KernelDecl, toolchain: &Toolchain) {
        self.kernels.insert(name.to_owned(), kernel.symbol.clone());
        self.limits.add(name, kernel, toolchain.assembler(), &self.compiled);
    }

    /// A virtual machine with the kernels.
    ///
    /// # Errors
    /// It cannot run an instruction of the program.
    pub fn virtual_machine(&self) -> Result<VmBackend, Failure> {
        let source = &self.compiled.source;
        let module = self.module.load(&self.compiled.ptx, source)?;
        let vm = VmBackend::new(module, self.kernels.clone(), source)?;
        Ok(vm.with_limits(self.limits.clone()))
    }
}

/// Source name and name in the module of each constant that the launches need.
///
/// # Errors
/// One of them is missing among `variables`, or is not as the tests need it.
pub fn constants(
    spec: &Spec,
    variables: &[VariableDecl],
    compiled: &Compiled,
) -> Result<Vec<(String, String)>, Failure> {
    let of = |(index, constant): (usize, &Constant)| {
        let (tensor, _) = constant.arg.buffer(&spec.tensors)?;
        let calls = spec.tests.iter().flat_map(|test| test.calls.iter().map(move |c| (test, c)));
        let tensors = calls.filter(|(_, call)| call.launch == index).flat_map(|(test, call)| {
            call.constants.iter().map(|(symbol, i)| (symbol, &test.buffers[*i].tensor))
        });
        let filled = tensors.filter(|(symbol, _)| **symbol == constant.symbol);
        Some(ConstantUse {
            symbol: constant.symbol.clone(),
            tensor: tensor.to_owned(),
            element: cpp::scalar(spec.tensors.type_of(tensor)?.dtype),
            elements: filled.map(|(_, tensor)| tensor.len() as u64).max().unwrap_or(0),
        })
    };
    let launches = spec.launches.iter().enumerate();
    let all = launches.flat_map(|(i, launch)| launch.constants.iter().map(move |c| (i, c)));
    let find = |wanted: ConstantUse| {
        let found = module::find_constant(variables, &wanted, &compiled.source)?;
        Ok((wanted.symbol, found.symbol.clone()))
    };
    all.filter_map(of).map(find).collect()
}

/// What the report tells of a compiled library.
pub fn without_kernels(library: Library) -> Compiled {
    let Library { warnings, source, headers, from_cache, time, .. } = library;
    Compiled { ptx: String::new(), machine_code: None, warnings, source, headers, from_cache, time }
}

/// For commands that follow a single kernel: a host puzzle has none of its own.
///
/// # Errors
/// It is a host puzzle.
pub fn needs_kernels(spec: &Spec, command: &str) -> Result<(), Failure> {
    if !spec.is_host() {
        return Ok(());
    }
    let title = format!("`grader {command}` inspects kernels, but this puzzle is about host code");
    let help = "`grader puzzle` says which buffer is wrong first; the kernels are those of earlier puzzles";
    Err(Failure::new(FailureKind::Usage, title, help))
}

fn arguments(spec: &Spec, launch: &Launch) -> Vec<module::ArgDecl> {
    let scalar =
        |name: &str| cpp::scalar(spec.tensors.type_of(name).map_or(DType::F32, |ty| ty.dtype));
    let declaration = |arg: &Arg| {
        let (name, kind) = match arg {
            Arg::Size(size) => (size.to_string(), module::ArgKind::Size),
            Arg::Scalar(name) => (name.clone(), module::ArgKind::Value(scalar(name))),
            Arg::Tensor(name)
            | Arg::InPlace(name)
            | Arg::Given(name)
            | Arg::Result(name)
            | Arg::Workspace(name) => {
                let purpose = arg.buffer(&spec.tensors).map(|(_, purpose)| purpose);
                let constant = matches!(purpose, Some(Purpose::Input | Purpose::Given));
                (name.clone(), module::ArgKind::Pointer { element: scalar(name), constant })
            }
        };
        module::ArgDecl { name, kind }
    };
    launch.args.iter().map(declaration).collect()
}

/// The cases of `tests`, with the data of `seed`.
///
/// # Errors
/// See [`oracle::build_case`].
pub fn cases(spec: &Spec, tests: &[&Test], seed: u64) -> Result<Vec<Case>, Failure> {
    tests.iter().map(|test| oracle::build_case(spec, test, seed)).collect()
}

impl Machine {
    /// The machine for `program`: the GPU if there is one, else the virtual machine.
    ///
    /// # Errors
    /// The virtual machine cannot run an instruction of the program.
    pub fn new(program: &Program, gpu: Option<RemoteGpu>) -> Result<Self, Failure> {
        if let Some(host) = &program.host {
            return Ok(Self::Host(HostBackend::new(
                host.clone(),
                gpu.map(|gpu| gpu.info().clone()),
            )));
        }
        Ok(match gpu {
            None => Self::Vm(program.virtual_machine()?),
            Some(gpu) => {
                let Compiled { ptx, machine_code, .. } = program.compiled.as_ref().clone();
                let gpu = GpuBackend::new(gpu, ptx, machine_code, program.kernels.clone());
                Self::Gpu(Box::new(gpu.with_limits(program.limits.clone())))
            }
        })
    }

    /// Shows on the terminal how far host code has come, where its spec says by what.
    #[must_use]
    pub fn with_progress(self) -> Self {
        match self {
            Self::Host(host) => Self::Host(host.with_progress()),
            other => other,
        }
    }

    /// The backend behind it.
    pub fn backend(&self) -> &dyn Backend {
        match self {
            Self::Vm(vm) => vm,
            Self::Gpu(gpu) => gpu.as_ref(),
            Self::Host(host) => host,
        }
    }
}

/// Runs one case on one backend and judges it. A case that passes runs again where results must be bit-equal, and where
/// what it costs is bounded.
///
/// # Errors
/// The backend cannot run the case.
pub fn run_and_judge(backend: &dyn Backend, case: &Case) -> Result<(Run, TestVerdict), Failure> {
    let run = backend.run(case)?;
    let verdict = judge_run(backend, case, &run)?;
    Ok((run, verdict))
}

/// [`run_and_judge`] for a case that has run once.
pub(crate) fn judge_run(
    backend: &dyn Backend,
    case: &Case,
    run: &Run,
) -> Result<TestVerdict, Failure> {
    let mut verdict = judgement::judge(case, run);
    if !case.bit_equal.is_empty() {
        let mut nth = 0;
        while verdict.passed()
            && let Some(again) = backend.again(case, nth)?
        {
            verdict.findings = judgement::repeated(case, &run.tensors, &again);
            nth += 1;
        }
    }
    if verdict.passed() && !case.gates.is_empty() {
        verdict.findings = backend.over_gates(case)?;
    }
    Ok(verdict)
}

/// How much a report will tell of a wrong result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// All that can be found out.
    Full,
    /// What is wrong, and not how it came about, which takes most of the time.
    Brief,
}

/// Runs one case, judges it and adds the [details](detailed).
///
/// # Errors
/// The backend cannot run the case.
pub fn judge_case(
    machine: &Machine,
    program: &Program,
    case: &Case,
    detail: Detail,
) -> Result<(Run, TestVerdict), Failure> {
    let (run, verdict) = run_and_judge(machine.backend(), case)?;
    let verdict = detailed(machine, program, case, &run, verdict, detail);
    Ok((run, verdict))
}

/// Adds to the verdict on a run what a report tells of it. A case that runs on a GPU runs on the virtual machine too: it sees
/// races and reads outside that a GPU lets pass, and tells lines, indices and threads. There, too, the thread of the first
/// wrong element is traced, if the report is to be full.
pub fn detailed(
    machine: &Machine,
    program: &Program,
    case: &Case,
    run: &Run,
    mut verdict: TestVerdict,
    detail: Detail,
) -> TestVerdict {
    let source = &program.compiled.source.text;
    verdict = judgement::with_causes(verdict, case, run);
    let with_formula = |verdict| match detail {
        Detail::Full => judgement::with_formula(verdict, case),
        Detail::Brief => verdict,
    };
    let trace = |vm: &VmBackend, verdict| match detail {
        Detail::Full => trace(vm, case, verdict, source),
        Detail::Brief => verdict,
    };
    let mut verdict = match machine {
        Machine::Host(host) => {
            let mut verdict = match host.interpreted() {
                Some(_) if verdict.passed() && run.threads > SECOND_LOOK => {
                    let note =
                        "the longest tests ran on the GPU only; --backend vm checks them too";
                    verdict.notes.push(note.to_owned());
                    verdict
                }
                Some(vm) => see_more(&vm, case, verdict),
                None => verdict,
            };
            if !verdict.passed() && detail == Detail::Full && !run.launched.is_empty() {
                verdict.notes.push(launched(&run.launched));
            }
            with_formula(verdict)
        }
        Machine::Vm(vm) => trace(vm, verdict),
        Machine::Gpu(_) => match program.virtual_machine() {
            Ok(vm) => trace(&vm, see_more(&vm, case, verdict)),
            // Where the virtual machine cannot run the program, the GPU's word stands alone.
            Err(_) => with_formula(verdict),
        },
    };
    findings::settle(&mut verdict.findings, case, source);
    verdict
}

/// The launches of host code in a test that fails: grids and blocks are what it decides.
fn launched(shapes: &[LaunchShape]) -> String {
    let triple = |[x, y, z]: [u32; 3]| match [y, z] {
        [1, 1] => x.to_string(),
        _ => format!("({x}, {y}, {z})"),
    };
    let call = |shape: &LaunchShape| {
        format!("{}<<<{}, {}>>>", shape.kernel, triple(shape.grid), triple(shape.block))
    };
    let calls: Vec<String> = shapes.iter().map(call).collect();
    format!("the failing test launches {}", calls.join(", "))
}

/// Adds what the virtual machine finds; where it finds the same mistake as the GPU, or one that explains why the GPU
/// stopped, its finding stands alone, for it tells the line. A kernel that is correct on the GPU and wrong there was correct by
/// chance: it uses a variable that was never set, say.
fn see_more(vm: &dyn Backend, case: &Case, mut verdict: TestVerdict) -> TestVerdict {
    let Ok((run, seen)) = run_and_judge(vm, case) else { return verdict };
    if verdict.passed() {
        let TestVerdict { time, largest, .. } = verdict;
        let seen = judgement::with_causes(seen, case, &run);
        return TestVerdict { time, largest, ..seen };
    }
    let seen = [run.findings, run.unused_reads].concat();
    if !seen.is_empty() {
        verdict.findings.retain(|finding| {
            let same = seen.iter().any(|other| other.problem.is_like(&finding.problem));
            !same && !matches!(finding.problem, Problem::Driver { .. })
        });
        verdict.findings.splice(0..0, seen);
    }
    verdict
}

fn trace(vm: &VmBackend, case: &Case, verdict: TestVerdict, source: &str) -> TestVerdict {
    let verdict = judgement::with_formula(verdict, case);
    let Some((tensor, flat)) = judgement::element_to_trace(case, &verdict) else { return verdict };
    let verdict = match vm.provenance(case, tensor, flat) {
        Ok(provenance) => judgement::with_provenance(verdict, case, &provenance),
        Err(_) => verdict,
    };
    let place = Place { tensor, flat };
    match follow(vm, case, place, &verdict) {
        Some(sum) => judgement::with_expansion(verdict, case, &sum, source),
        None => verdict,
    }
}

/// The products of an element. Where the whole case is too much for a glance, those of the block that wrote it must do, if there is one
/// launch: what other blocks add to it would show in the value.
fn follow(vm: &VmBackend, case: &Case, at: Place, verdict: &TestVerdict) -> Option<KernelSum> {
    if let Some(followed) = vm.follow(case, Effort::QUICK, None).ok()? {
        return followed.sum(case, at);
    }
    let block = verdict.diffs.first()?.terms.thread.as_ref()?.id.block;
    let block = matches!(case.launches[..], [_]).then_some(block);
    vm.follow(case, Effort::MORE, block).ok()??.sum(case, at)
}
