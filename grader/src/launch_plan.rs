//! Launches with numbers for all sizes and files for all tensors: what `grader launch` runs on the virtual machine for a
//! program that has no GPU.

use crate::npy;
use device::backend::{Run, RunTensor};
use device::finding::{Element, Finding, Problem};
use device::vm::{SharedModule, VmBackend};
use diagnostic::{Failure, FailureKind};
use hardware::{NEWEST, can_launch};
use puzzle::case::{CaseArg, CaseConstant, CaseLaunch, CaseTensor, LaunchOptions, Role};
use puzzle::tensor::{DType, Tensor};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toolchain::SourceFile;

/// The largest number of elements of a tensor.
const MAX_ELEMENTS: usize = 1 << 28;

/// A plan as its file has it. Paths are relative to the file's folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    ptx: PathBuf,
    /// The source, to which messages about the kernels refer.
    source: PathBuf,
    tensors: Vec<PlanTensor>,
    launches: Vec<PlanLaunch>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanTensor {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    access: Access,
    /// Where its values are, and where they go: a `.npy` file.
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    Read,
    Write,
    Update,
    Workspace,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanLaunch {
    kernel: String,
    symbol: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    options: LaunchOptions,
    args: Vec<PlanArg>,
    /// Indices of tensors by the names of `__constant__` variables in the PTX.
    constants: BTreeMap<String, usize>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum PlanArg {
    Tensor { tensor: usize },
    Int { int: i32 },
    Value { value: f64, dtype: String },
}

/// A run of a plan that came to its end.
#[derive(Debug)]
pub struct Done {
    /// What the kernels did wrong.
    pub findings: Vec<Finding>,
    /// What the kernels printed.
    pub printed: String,
    /// The source file, for a report of the findings.
    pub file: PathBuf,
    /// The text of that file.
    pub source: String,
}

/// Runs the plan in the file `path`. Without findings, the tensors that it writes are then in their files.
///
/// # Errors
/// The plan or one of its files is not what it should be, or the virtual machine cannot run the kernels.
pub fn run(path: &Path) -> Result<Done, Failure> {
    let bytes = std::fs::read(path).map_err(|e| cannot("read", path, &e))?;
    let plan: Plan = serde_json::from_slice(&bytes).map_err(|e| invalid(path, e))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let text = |of: &Path| {
        let path = folder.join(of);
        let bytes = std::fs::read(&path).map_err(|e| cannot("read", &path, &e))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (ptx, source) = (text(&plan.ptx)?, text(&plan.source)?);
    let tensors = plan.tensors.iter().map(|tensor| tensor.load(path, folder));
    let tensors: Vec<CaseTensor> = tensors.collect::<Result<_, _>>()?;
    let launches = plan.launches.iter().map(|launch| launch.read(path, &tensors));
    let launches: Vec<CaseLaunch> = launches.collect::<Result<_, _>>()?;
    let shown = SourceFile::new(plan.source.clone(), source.clone());
    let module = SharedModule::default().load(&ptx, &shown)?;
    let vm = VmBackend::new(module, plan.symbols(), &shown)?;
    let Run { tensors: after, mut findings, printed, .. } = vm.launch(&tensors, &launches)?;
    let last = launches.last().map_or("", |launch| launch.kernel.as_str());
    if findings.is_empty() {
        let unwritten = plan.tensors.iter().zip(tensors.iter().zip(&after));
        let unwritten = unwritten.filter(|(plan, _)| plan.access == Access::Write);
        findings.extend(unwritten.filter_map(|(_, (tensor, run))| unwritten_of(tensor, run, last)));
    }
    if findings.is_empty() {
        plan.store(folder, &tensors, &after)?;
    }
    Ok(Done { findings, printed, file: plan.source, source })
}

impl Plan {
    /// The names in the PTX of everything that the launches name.
    fn symbols(&self) -> BTreeMap<String, String> {
        let kernels = self.launches.iter().map(|of| (of.kernel.clone(), of.symbol.clone()));
        let constants = self.launches.iter().flat_map(|of| of.constants.keys());
        kernels.chain(constants.map(|symbol| (symbol.clone(), symbol.clone()))).collect()
    }

    /// Writes the files of the tensors that the launches write.
    fn store(&self, folder: &Path, of: &[CaseTensor], after: &[RunTensor]) -> Result<(), Failure> {
        for ((plan, CaseTensor { tensor, .. }), run) in self.tensors.iter().zip(of).zip(after) {
            if matches!(plan.access, Access::Write | Access::Update) {
                let path = folder.join(&plan.file);
                let bytes = npy::to_bytes(tensor.dtype, &tensor.shape, &run.values);
                std::fs::write(&path, bytes).map_err(|e| cannot("write", &path, &e))?;
            }
        }
        Ok(())
    }
}

impl PlanTensor {
    /// The tensor, with its values where a kernel reads them.
    fn load(&self, plan: &Path, folder: &Path) -> Result<CaseTensor, Failure> {
        let Self { name, shape, .. } = self;
        let dtype = dtype(plan, &self.dtype)?;
        let elements = shape.iter().try_fold(1_usize, |n, axis| n.checked_mul(*axis));
        if elements.is_none_or(|n| n == 0 || n > MAX_ELEMENTS) {
            let most = format!("`{name}` has shape {shape:?}: 1 to {MAX_ELEMENTS} elements");
            return Err(invalid(plan, most));
        }
        let values = || {
            let path = folder.join(&self.file);
            let bytes = std::fs::read(&path).map_err(|e| cannot("read", &path, &e))?;
            npy::from_bytes(dtype, shape, &bytes).map_err(|why| {
                let title = format!("{} is not `{name}`: {why}", path.display());
                Failure::new(FailureKind::Usage, title, "write it with numpy.save")
            })
        };
        let role = match self.access {
            Access::Read => Role::Input(values()?),
            Access::Update => Role::InPlace { start: values()?, expected: Vec::new() },
            Access::Write => Role::Result,
            Access::Workspace => Role::Workspace,
        };
        Ok(CaseTensor { tensor: Tensor { name: name.clone(), dtype, shape: shape.clone() }, role })
    }
}

impl PlanLaunch {
    fn read(&self, plan: &Path, tensors: &[CaseTensor]) -> Result<CaseLaunch, Failure> {
        let Self { kernel, grid, block, shared, .. } = self;
        if !can_launch(*grid, *block) || *shared > NEWEST.block_shared() {
            let title = format!(
                "no GPU can launch `{kernel}` with the grid {grid:?}, blocks of {block:?} threads and {shared} bytes of shared memory"
            );
            return Err(invalid(plan, title));
        }
        let known = |index: usize| match tensors.get(index) {
            Some(_) => Ok(index),
            None => Err(invalid(plan, format!("there is no tensor {index}"))),
        };
        let arg = |arg: &PlanArg| {
            Ok(match arg {
                PlanArg::Tensor { tensor } => CaseArg::Tensor(known(*tensor)?),
                PlanArg::Int { int } => CaseArg::Int(*int),
                PlanArg::Value { value, dtype: of } => CaseArg::Value(dtype(plan, of)?, *value),
            })
        };
        let constant = |(symbol, tensor): (&String, &usize)| {
            Ok(CaseConstant { symbol: symbol.clone(), tensor: known(*tensor)? })
        };
        Ok(CaseLaunch {
            kernel: kernel.clone(),
            grid: *grid,
            block: *block,
            shared: *shared,
            options: self.options,
            args: self.args.iter().map(arg).collect::<Result<_, _>>()?,
            constants: self.constants.iter().map(constant).collect::<Result<_, _>>()?,
            moves_in: Vec::new(),
        })
    }
}

fn dtype(plan: &Path, name: &str) -> Result<DType, Failure> {
    let unknown = || invalid(plan, format!("`{name}` is not the name of an element type"));
    DType::named(name).ok_or_else(unknown)
}

/// The finding that a kernel left elements of its output as they were.
fn unwritten_of(of: &CaseTensor, run: &RunTensor, kernel: &str) -> Option<Finding> {
    let first = run.written.iter().position(|written| !written)?;
    let count = run.written.iter().filter(|written| !**written).count() as u64;
    let problem = Problem::Unwritten { place: Element::of(&of.tensor, first as i64) };
    Some(Finding { count, ..Finding::of_kernel(problem, kernel) })
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    let title = format!("cannot {what} {}: {error}", path.display());
    Failure::new(
        FailureKind::Usage,
        title,
        "the book's page \"In a framework\" shows what a plan needs",
    )
}

fn invalid(path: &Path, why: impl std::fmt::Display) -> Failure {
    let title = format!("{} is not a plan of launches: {why}", path.display());
    Failure::new(
        FailureKind::Usage,
        title,
        "kernels/torch/gradient_puzzles/vm.py writes such files",
    )
}
