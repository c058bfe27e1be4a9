//! Runs kernels on the PTX virtual machine, and puts what it finds into the words of tensors.

mod checked;
mod counters;
pub mod expansion;
pub(crate) mod findings;
mod gates;
mod provenance;
pub mod recording;
mod refusals;
mod reordered;
mod shared_module;
pub(crate) mod unwritten;

use crate::backend::{Backend, Run, RunTensor};
use crate::checked::{CheckedDevice, Placed, TensorCopy};
use crate::finding::Finding;
use crate::launch_limits::LaunchLimits;
use crate::run::{self, Kernels};
pub(crate) use checked::cannot_run;
use cudart::device::Device;
use cudart::vm::VmDevice;
use diagnostic::Failure;
use ptxvm::{
    BufferId, ElementWork, Kernel, Launch, LaunchError, Memory, Module, Options, Unwritten,
};
use puzzle::case::{Case, CaseConstant, CaseLaunch, CaseTensor, Role, TermCounts};
use refusals::{cannot_launch, cannot_load};
pub use shared_module::SharedModule;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use toolchain::SourceFile;

/// Findings that are kept apart for each launch; the report shows fewer.
const MAX_FINDINGS: usize = 32;

/// Runs the kernels of one module on the virtual machine.
#[derive(Debug)]
pub struct VmBackend {
    module: Arc<Module>,
    kernels: BTreeMap<String, String>,
    budget: Option<u64>,
    limits: LaunchLimits,
}

impl VmBackend {
    /// A backend for kernels of a module, which was compiled from `source`: `kernels` has the name in it (mangled) of each
    /// kernel by its source name.
    ///
    /// # Errors
    /// The machine cannot run an instruction of these kernels.
    pub fn new(
        module: Arc<Module>,
        kernels: BTreeMap<String, String>,
        source: &SourceFile,
    ) -> Result<Self, Failure> {
        let refusal = |symbol: &String| module.kernel(symbol)?.refusal();
        if let Some(error) = kernels.values().find_map(refusal) {
            return Err(cannot_load(error, Some(source)));
        }
        let limits = LaunchLimits::default();
        Ok(Self { module, kernels, budget: None, limits })
    }

    /// Starts no kernel that needs more than a GPU has.
    #[must_use]
    pub fn with_limits(mut self, limits: LaunchLimits) -> Self {
        self.limits = limits;
        self
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
///
/// In a padded block a warp may have the work of an element in every lane, although the case has few elements.
fn budget(tensors: &[CaseTensor]) -> u64 {
    let serial = work(tensors).saturating_mul(64);
    serial.max(element_work(tensors).instructions).clamp(4 << 20, 64 << 20)
}

/// Instructions that all threads of a launch may execute together, for each term of each output element and each element of each
/// tensor. Solutions take up to 10, a kernel that is a hundred times slower 1,000; one in which each thread goes over all
/// elements of a large tensor takes as many as there are elements, and would run for hours.
const INSTRUCTIONS_FOR_EACH: u64 = 1_024;
/// So many instructions are granted in any case.
const LEAST_WORK: u64 = 1 << 32;

/// As [`INSTRUCTIONS_FOR_EACH`], in a case that is only tried out: several times what solutions take, so that no kernel of a usual kind
/// is left out.
const TRIED_FOR_EACH: u64 = 64;
/// So many instructions are granted such a case at least. They take about a second.
const LEAST_TRIED: u64 = 1 << 28;

/// Instructions that one warp may execute where the work is not known: so many take minutes.
const LONGEST: u64 = 1 << 32;

/// Bytes that a launch may print, with a few for each call: a thousand lines of each of a thousand threads, which take a tenth of a
/// second.
pub(crate) const PRINTED: u64 = 16 << 20;

/// Instructions that all threads of a launch may execute together, besides those that each has in any case.
pub(crate) fn work_limit(tensors: &[CaseTensor]) -> u64 {
    work(tensors).saturating_mul(INSTRUCTIONS_FOR_EACH).max(LEAST_WORK)
}

/// Instructions that a thread may execute for each term of an element. A thread whose block brings a tile of 32x32 elements into shared
/// memory for each of them, of which it uses one, takes some hundred.
const INSTRUCTIONS_FOR_A_TERM: u64 = 256;

/// What each thread of a block may execute because the element that it computes, or would compute if its block were not padded, has
/// so many terms. A tile with a single element inside a tensor is loaded and multiplied as a whole.
pub(crate) fn element_work(tensors: &[CaseTensor]) -> ElementWork {
    let counts = || tensors.iter().map(CaseTensor::terms);
    let elements = counts().map(|counts| counts.elements).sum();
    let terms = counts().map(|counts| counts.most).max().unwrap_or_default();
    let instructions = terms.saturating_add(1).saturating_mul(INSTRUCTIONS_FOR_A_TERM);
    ElementWork { elements, instructions }
}

/// The terms of all output elements, and the elements of all tensors.
fn work(tensors: &[CaseTensor]) -> u64 {
    let work = |tensor: &CaseTensor| match &tensor.role {
        Role::Input(_) | Role::Result | Role::Workspace => tensor.tensor.len() as u64,
        Role::Output(_) | Role::InPlace { .. } => {
            let TermCounts { elements, all, .. } = tensor.terms();
            all.saturating_add(elements)
        }
    };
    tensors.iter().map(work).fold(0, u64::saturating_add)
}

/// A case in the machine's memory, for launches with instruments that a device does not have.
#[derive(Debug)]
struct Session<'a> {
    kernels: Kernels<'a>,
    device: VmDevice,
    placed: Placed<'a>,
}

impl<'a> Session<'a> {
    fn new(
        backend: &'a VmBackend,
        (tensors, launches): (&'a [CaseTensor], &[CaseLaunch]),
    ) -> Result<Self, Failure> {
        let (mut device, kernels) = backend.device(backend.options(tensors));
        let placed = Placed::new(&mut device, (tensors, launches), |_| true).map_err(cannot_run)?;
        Ok(Self { kernels, device, placed })
    }

    /// Runs a launch as `run` does it.
    fn launch<T>(
        &mut self,
        launch: &CaseLaunch,
        run: impl FnOnce(&Module, &Kernel, &Launch, &mut Memory, &Options) -> Result<T, LaunchError>,
    ) -> Result<T, Failure> {
        let (kernels, tensors) = (self.kernels, self.placed.tensors());
        for TensorCopy { to, from, bytes } in self.placed.copies(launch) {
            self.device.copy(to, from, bytes).map_err(cannot_run)?;
        }
        run::fill_constants(&mut self.device, kernels, tensors, launch)?;
        let prepared = run::prepare(&mut self.device, self.kernels, &self.placed, launch)?;
        let ran = self.device.launch_by(prepared, run).map_err(cannot_run)?;
        ran.map_err(|error| cannot_launch(launch, &error))
    }

    /// The buffer of a tensor.
    fn buffer(&self, tensor: usize) -> Option<BufferId> {
        Some(self.device.memory().locate(self.placed.address(tensor))?.0)
    }

    /// The constants of a launch by their names in the PTX, each with the buffer of its tensor.
    fn copies(&self, launch: &CaseLaunch) -> Vec<(String, BufferId)> {
        let copy = |constant: &CaseConstant| {
            Some((
                self.kernels.symbols.get(&constant.symbol)?.clone(),
                self.buffer(constant.tensor)?,
            ))
        };
        launch.constants.iter().filter_map(copy).collect()
    }

    /// What the tensors hold now.
    fn contents(&mut self) -> Result<Vec<RunTensor>, Failure> {
        let tensors = self.placed.tensors().iter().enumerate();
        let contents = tensors.map(|(i, tensor)| {
            Ok(self.device.contents(tensor, self.placed.address(i)).map_err(cannot_run)?.tensor)
        });
        contents.collect()
    }
}

impl VmBackend {
    /// What the launches of a case with these tensors may do.
    fn options(&self, tensors: &[CaseTensor]) -> Options {
        let element = match self.budget {
            Some(_) => ElementWork::default(),
            None => element_work(tensors),
        };
        Options {
            budget: self.budget.unwrap_or_else(|| budget(tensors)),
            work: work_limit(tensors),
            element,
            printed: PRINTED,
            max_findings: MAX_FINDINGS,
            ..Options::default()
        }
    }

    /// A device with nothing but the module.
    fn device(&self, options: Options) -> (VmDevice, Kernels<'_>) {
        let mut device = VmDevice::new(options);
        let module = device.add(Arc::clone(&self.module));
        (device, Kernels { module, symbols: &self.kernels })
    }

    /// Runs launches of tensors that belong to no test, so that nothing is known of the work which they need.
    ///
    /// # Errors
    /// As [`Backend::run`].
    pub fn launch(&self, tensors: &[CaseTensor], launches: &[CaseLaunch]) -> Result<Run, Failure> {
        let options = Options { budget: LONGEST, max_findings: MAX_FINDINGS, ..Options::default() };
        let mut device = VmDevice::new(options);
        let module = device.add(Arc::clone(&self.module));
        run::run(&mut device, Kernels { module, symbols: &self.kernels }, tensors, launches)
    }

    fn run_tensors(&self, tensors: &[CaseTensor], launches: &[CaseLaunch]) -> Result<Run, Failure> {
        self.run_with(&self.options(tensors), tensors, launches)
    }

    fn run_with(
        &self,
        options: &Options,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
    ) -> Result<Run, Failure> {
        // In which memory holds this until something writes it.
        let run = |unwritten| {
            let (device, kernels) = self.device(options.clone());
            run::run(&mut device.with_unwritten(unwritten), kernels, tensors, launches)
        };
        unwritten::dismiss(tensors, run(Unwritten::default())?, run)
    }

    /// As [`Self::run_tensors`]; `None` where that takes far more instructions than a usual kernel.
    fn try_tensors(
        &self,
        tensors: &[CaseTensor],
        launches: &[CaseLaunch],
    ) -> Result<Option<Run>, Failure> {
        let work = work(tensors).saturating_mul(TRIED_FOR_EACH).max(LEAST_TRIED);
        let options = Options { work, element: ElementWork::default(), ..self.options(tensors) };
        let run = self.run_with(&options, tensors, launches)?;
        let is_cut_off = run.findings.iter().any(|finding| finding.problem.is_too_much());
        Ok((!is_cut_off).then_some(run))
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
        if let Some(refused) = self.limits.refused(case) {
            return Ok(run::stopped(&case.tensors, refused, Instant::now()));
        }
        self.run_tensors(&case.tensors, &case.launches)
    }

    fn try_out(&self, case: &Case) -> Result<Option<Run>, Failure> {
        if self.limits.refused(case).is_some() {
            return self.run(case).map(Some);
        }
        self.try_tensors(&case.tensors, &case.launches)
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
