//! Times or counts the kernels of a subject at each of its sizes.

use crate::check::{Check, Expected};
use crate::counters;
use crate::gate;
use crate::gpu;
use crate::job::{Ceilings, Timed};
use crate::model::{Rates, Work};
use crate::outcome::{
    Contestant, ContestantResult, GpuFacts, Machine, Outcome, SCHEMA_VERSION, SizeOutcome, Times,
};
use crate::plan::{GivenTensors, Plan, narrowest};
use crate::statistics::Summary;
use crate::subject::{Entry, Subject, beside};
use device::backend::Backend as _;
use device::gpu::RemoteGpu;
use device::host::HostBackend;
use diagnostic::{Failure, FailureKind};
use hardware::Peaks;
use judge::grade::{self, Program};
use puzzle::spec::{Bench, Reference, Spec, TimeGate, Vendor};
use puzzle::tensor::Tensor;
use puzzle::workbook::Workbook;
use std::collections::BTreeSet;
use std::path::Path;
use toolchain::Toolchain;

/// A GPU that is still busy for longer than this, in seconds, after a run has ended works beside the launches.
const LATE: f64 = 5e-4;

/// The compute capability of GPUs that run code for `sm_90a`.
const HOPPER: (u32, u32) = (9, 0);
/// Why a step is not timed elsewhere.
const HOPPER_ALONE: &str = "it is for compute capability 9.0 alone (sm_90a)";

/// The library of convolutions and poolings, before its version is known.
const CUDNN: &str = "cuDNN";

/// How a subject is timed.
pub struct Settings<'a> {
    /// The workbook of the files.
    pub workbook: &'a Workbook,
    /// What compiles them.
    pub toolchain: &'a Toolchain,
    /// Whether a GPU times them; else the virtual machine counts.
    pub on_gpu: bool,
    /// The GPU of the model.
    pub model: &'static Peaks,
    /// Whether the L2 cache is overwritten before each run.
    pub cold: bool,
    /// From which all data are drawn.
    pub seed: u64,
    /// The name of the only `[[bench]]` to look at.
    pub only: Option<&'a str>,
}

/// What kernels of one formula share at one size, since computing it can take seconds.
#[derive(Default)]
struct Shared {
    given: GivenTensors,
    expected: Expected,
}

/// Times or counts everything.
///
/// # Errors
/// A spec is invalid, or the machine lacks something.
pub fn run(subject: &Subject, settings: &Settings<'_>) -> Result<Outcome, Failure> {
    let machine =
        if settings.on_gpu { Machine::Gpu(facts(settings.cold)?) } else { model(settings) };
    let mut sizes = Vec::new();
    let benches = subject.entries.first().map_or(&[][..], |entry| &entry.spec.benches);
    for bench in benches.iter().filter(|b| settings.only.is_none_or(|only| b.name() == only)) {
        sizes.push(at_size(subject, bench, settings, &machine)?);
    }
    if let (true, Some(only)) = (sizes.is_empty(), settings.only) {
        let names: Vec<&str> = benches.iter().map(Bench::name).collect();
        let title = format!("{} has no [[bench]] named `{only}`", subject.name);
        let help = format!("it has {}", names.join(", "));
        return Err(Failure::new(FailureKind::Usage, title, help));
    }
    Ok(Outcome {
        schema_version: SCHEMA_VERSION,
        subject: subject.name.clone(),
        title: subject.title.clone(),
        machine,
        sizes,
        notes: Vec::new(),
    })
}

fn facts(cold: bool) -> Result<GpuFacts, Failure> {
    let description = describe(device::gpu::detect()?);
    let Ceilings { copy, products, empty_launch, library } = gpu::ceilings()?;
    Ok(GpuFacts { description, copy, products, empty_launch, library, cold })
}

fn describe(gpu: RemoteGpu) -> String {
    let no_kernels = std::collections::BTreeMap::new();
    device::gpu::GpuBackend::new(gpu, String::new(), None, no_kernels).describe()
}

fn model(settings: &Settings<'_>) -> Machine {
    Machine::Model { gpu: settings.model.name.to_owned() }
}

/// The kernels at the sizes of one bench.
fn at_size(
    subject: &Subject,
    bench: &Bench,
    settings: &Settings<'_>,
    machine: &Machine,
) -> Result<SizeOutcome, Failure> {
    let dtype = narrowest(bench);
    let mut entries = subject.entries.clone();
    let gates = subject.entries.first().map_or(&[][..], |entry| &entry.spec.time_gates);
    let gates: Vec<&TimeGate> = gates.iter().filter(|gate| gate.applies_to(bench.name())).collect();
    let compared = gates.iter().filter_map(|gate| match gate.reference {
        Reference::Puzzle(number) => Some(number),
        Reference::Vendor => None,
    });
    let others: BTreeSet<u32> = bench.improves.into_iter().chain(compared).collect();
    for number in others {
        entries.push(beside(settings.workbook, number, bench)?);
    }
    let mut shared = Shared::default();
    let mut contestants = Vec::new();
    let mut counted = None;
    for entry in &entries {
        let Some(own) = entry.spec.benches.iter().find(|b| b.name() == bench.name()) else {
            continue;
        };
        let result = match machine {
            Machine::Gpu(_) => time_entry(entry, own, settings, &mut shared)?,
            Machine::Model { .. } => count_entry(entry, own, settings, &mut counted)?,
        };
        let file = settings.workbook.relative(&entry.file).display().to_string();
        contestants.push(Contestant { label: entry.label.clone(), file: Some(file), result });
    }
    if let (Machine::Gpu(facts), Some(entry)) = (machine, subject.entries.first()) {
        contestants.extend(vendor(&entry.spec, bench, facts, settings, &mut shared)?);
    }
    let judged = |gate: &&TimeGate| match machine {
        Machine::Gpu(_) => gate::judge(gate, &contestants),
        Machine::Model { .. } => gate::without_gpu(gate),
    };
    let gates = gates.iter().map(judged).collect();
    let rates = match machine {
        Machine::Gpu(facts) => {
            Rates { bandwidth: facts.copy, flops: facts.products.get(&dtype.to_string()).copied() }
        }
        Machine::Model { .. } => Rates::of(settings.model, dtype),
    };
    Ok(SizeOutcome {
        name: bench.name().to_owned(),
        dims: free_dims(&subject.entries, bench),
        dtype: dtype.to_string(),
        work: Work { flops: bench.flops, bytes: bench.bytes },
        rates,
        counted,
        contestants,
        gates,
    })
}

fn free_dims(entries: &[Entry], bench: &Bench) -> Vec<(String, i64)> {
    let free = entries.first().map_or(&[][..], |entry| &entry.spec.sizes.free);
    free.iter().map(|name| (name.clone(), bench.test.dims[name])).collect()
}

/// The program of an entry; the inner error says why there is none.
fn compiled(
    entry: &Entry,
    settings: &Settings<'_>,
    gpu: Option<&RemoteGpu>,
) -> Result<Result<Program, String>, Failure> {
    let Settings { workbook, toolchain, .. } = *settings;
    let file: &Path = &entry.file;
    match grade::compile(toolchain, workbook, &entry.spec, file, gpu) {
        Ok(program) => Ok(Ok(program)),
        Err(failure) if failure.kind == FailureKind::Kernel => {
            let title = failure.diagnostics.first().map_or("", |first| &first.title);
            Ok(Err(format!("{title}; `{}` says more", entry.grading)))
        }
        Err(failure) => Err(failure),
    }
}

fn count_entry(
    entry: &Entry,
    bench: &Bench,
    settings: &Settings<'_>,
    counted: &mut Option<(String, Work)>,
) -> Result<ContestantResult, Failure> {
    if entry.spec.is_host() {
        let why = "its host code launches the kernels, and its launches are only timed";
        return Ok(ContestantResult::Refused(why.to_owned()));
    }
    let Some((test, work)) = counters::largest_test(&entry.spec, bench) else {
        let why = "no test launches the same kernels, so nothing can be counted";
        return Ok(ContestantResult::Refused(why.to_owned()));
    };
    if counted.as_ref().is_some_and(|(_, other)| *other != work) {
        let why = "its largest test has other work, so its counters cannot be compared";
        return Ok(ContestantResult::Refused(why.to_owned()));
    }
    let program = match compiled(entry, settings, None)? {
        Ok(program) => program,
        Err(why) => return Ok(ContestantResult::Refused(why)),
    };
    Ok(match counters::count(&program, &entry.spec, test, settings.seed)? {
        Ok(all) => {
            counted.get_or_insert_with(|| (test.name.clone(), work));
            ContestantResult::Counted(all)
        }
        Err(why) => ContestantResult::Refused(format!("{why}; `{}` says why", entry.grading)),
    })
}

fn time_entry(
    entry: &Entry,
    bench: &Bench,
    settings: &Settings<'_>,
    shared: &mut Shared,
) -> Result<ContestantResult, Failure> {
    let gpu = device::gpu::detect()?;
    if entry.spec.hopper && gpu.info().capability != HOPPER {
        return Ok(ContestantResult::Refused(HOPPER_ALONE.to_owned()));
    }
    let shown = gpu.info().clone();
    let program = match compiled(entry, settings, Some(&gpu))? {
        Ok(program) => program,
        Err(why) => return Ok(ContestantResult::Refused(why)),
    };
    if let Some(test) = failing_test(&program, &entry.spec, bench, settings.seed, gpu)? {
        let why = format!("the test `{test}` fails; `{}` says why", entry.grading);
        return Ok(ContestantResult::Refused(why));
    }
    let plan = Plan::new(&entry.spec, bench, settings.seed, &mut shared.given)?;
    let check = Check::new(&plan, &mut shared.expected);
    let mut job = match &program.host {
        None => plan.job(&program, settings.cold),
        Some(host) => {
            let backend = HostBackend::new(host.clone(), Some(shown));
            let buffers = bench.test.buffers.iter();
            let tensors: Vec<Tensor> = buffers.map(|buffer| buffer.tensor.clone()).collect();
            match backend.record(&tensors, &plan.calls())? {
                Ok(recording) => plan.recorded_job(recording, settings.cold),
                Err(why) => return Ok(ContestantResult::Refused(why)),
            }
        }
    };
    check.ask(&mut job);
    judged(&check, gpu::time(Box::new(job))?, &mut shared.expected)
}

/// The name of the first test with the bench's launches that fails on the GPU.
fn failing_test(
    program: &Program,
    spec: &Spec,
    bench: &Bench,
    seed: u64,
    gpu: RemoteGpu,
) -> Result<Option<String>, Failure> {
    let timed = |launch: usize| bench.test.calls.iter().any(|call| call.launch == launch);
    let tests = spec.tests.iter();
    let tests: Vec<_> = tests.filter(|t| t.calls.iter().all(|call| timed(call.launch))).collect();
    let machine = grade::Machine::new(program, Some(gpu))?;
    for case in grade::cases(spec, &tests, seed)? {
        let (_, verdict) = grade::run_and_judge(machine.backend(), &case)?;
        if !verdict.passed() {
            return Ok(Some(case.test));
        }
    }
    Ok(None)
}

/// The vendor's library, where the bench says which product it is.
fn vendor(
    spec: &Spec,
    bench: &Bench,
    facts: &GpuFacts,
    settings: &Settings<'_>,
    shared: &mut Shared,
) -> Result<Option<Contestant>, Failure> {
    let label = match (&bench.vendor, &facts.library) {
        (Some(Vendor::Gemm(_)), Ok(library)) => library,
        (Some(Vendor::Conv(_) | Vendor::Pool(_)), _) => CUDNN,
        _ => return Ok(None),
    };
    let Some(vendor) = &bench.vendor else { return Ok(None) };
    let plan = Plan::new(spec, bench, settings.seed, &mut shared.given)?;
    let check = Check::new(&plan, &mut shared.expected);
    let Some(mut job) = plan.vendor_job(vendor, settings.cold) else { return Ok(None) };
    check.ask(&mut job);
    let timed = gpu::time(Box::new(job))?;
    let own = timed.as_ref().ok().and_then(|timed| timed.library.clone());
    let result = judged(&check, timed, &mut shared.expected)?;
    Ok(Some(Contestant { label: own.unwrap_or_else(|| label.to_owned()), file: None, result }))
}

/// The times of a run, if its outputs are right and nothing ran beside it.
fn judged(
    check: &Check<'_>,
    timed: Result<Timed, String>,
    expected: &mut Expected,
) -> Result<ContestantResult, Failure> {
    let timed = match timed {
        Ok(timed) => timed,
        Err(why) => return Ok(ContestantResult::Refused(why)),
    };
    let compared = match check.verdict(&timed.checks, expected)? {
        Ok(compared) => compared,
        Err(why) => return Ok(ContestantResult::Refused(why)),
    };
    let median = Summary::of(&timed.samples).map_or(0.0, |all| all.median);
    if timed.late > LATE.max(median / 2.0) {
        let late = timed.late * 1e6;
        let why = format!("the GPU was busy for {late:.0} µs after the launches had ended");
        return Ok(ContestantResult::Refused(why));
    }
    Ok(ContestantResult::Timed(Times {
        samples: timed.samples,
        graph: timed.graph,
        compared,
        all_elements: check.is_complete(),
        clocks: timed.clocks,
    }))
}
