//! Runs the launches of a case on any device: places the tensors, launches, reads what the tensors hold.

use crate::backend::{Run, no_such_kernel};
use crate::checked::{CheckedDevice, Contents, Placed, Step, TensorCopy, without_kernel};
use crate::finding::Finding;
use cudart::device::{Launch, Launched};
use cudart::error::CudaError;
use cudart::frame::Bytes;
use diagnostic::{Failure, FailureKind};
use puzzle::case::{CaseArg, CaseConstant, CaseLaunch, CaseTensor, Role};
use puzzle::tensor::{Tensor, encode};
use std::collections::BTreeMap;
use std::time::Instant;

/// What fills a constant behind its tensor: a NaN in every type of floating-point number.
const POISON: u8 = 0xFF;

/// The kernels of a loaded module.
#[derive(Clone, Copy, Debug)]
pub struct Kernels<'a> {
    /// Number of the module.
    pub module: u64,
    /// Name in the PTX of each kernel and constant by its name in the source.
    pub symbols: &'a BTreeMap<String, String>,
}

/// Runs the launches in their order, each to its end. A launch that does not come to its end is the last one.
///
/// # Errors
/// The device cannot run the case, and the kernels are not to blame.
pub fn run(
    device: &mut dyn CheckedDevice,
    kernels: Kernels<'_>,
    tensors: &[CaseTensor],
    launches: &[CaseLaunch],
) -> Result<Run, Failure> {
    let placed = Placed::new(device, (tensors, launches), |_| true)
        .map_err(|error| without_kernel(device.explain(Step::Place, error)))?;
    let prepared: Vec<Launch> = launches
        .iter()
        .map(|launch| prepare(device, kernels, &placed, launch))
        .collect::<Result<_, _>>()?;
    let begin = Instant::now();
    let mut printed = String::new();
    let mut halted = None;
    for (launch, prepared) in launches.iter().zip(prepared) {
        for TensorCopy { to, from, bytes } in placed.copies(launch) {
            device
                .copy(to, from, bytes)
                .map_err(|error| without_kernel(device.explain(Step::Place, error)))?;
        }
        fill_constants(device, kernels, tensors, launch)?;
        match device.launch(prepared) {
            Ok(Launched { complete, fault, printed: text, .. }) => {
                printed.push_str(&text);
                if !complete {
                    halted = Some((launch, fault));
                    break;
                }
            }
            Err(error) => {
                let kind = device.explain(Step::Launch(launch), error)?;
                return Ok(stopped(tensors, Finding::of_kernel(kind, &launch.kernel), begin));
            }
        }
    }
    let mut findings = device.findings(&placed);
    if let (Some((launch, Some(fault))), true) = (halted, findings.is_empty()) {
        let kind = device.explain(Step::Wait(launch), fault)?;
        return Ok(stopped(tensors, Finding::of_kernel(kind, &launch.kernel), begin));
    }
    for finding in &mut findings {
        let name = kernels.symbols.iter().find(|(_, symbol)| **symbol == finding.kernel);
        if let Some((name, _)) = name {
            finding.kernel.clone_from(name);
        }
    }
    let last = launches.last().map_or("", |launch| launch.kernel.as_str());
    let mut contents = Vec::new();
    for i in 0..tensors.len() {
        let Contents { tensor, damage } = placed
            .contents(device, i)
            .map_err(|error| without_kernel(device.explain(Step::Read, error)))?;
        contents.push(tensor);
        let damage = damage.into_iter();
        findings.extend(
            damage.map(|(kind, count)| Finding { count, ..Finding::of_kernel(kind, last) }),
        );
    }
    Ok(Run { tensors: contents, findings, printed, time: begin.elapsed(), ..Run::default() })
}

/// A run of which nothing is known but what stopped it.
pub fn stopped(tensors: &[CaseTensor], by: Finding, begin: Instant) -> Run {
    Run {
        tensors: tensors.iter().map(|tensor| Contents::unknown(tensor).tensor).collect(),
        findings: vec![by],
        time: begin.elapsed(),
        ..Run::default()
    }
}

/// Copies tensors into the constants of a launch, and poison behind them.
///
/// # Errors
/// A constant is smaller than its tensor, or the device cannot write it.
pub fn fill_constants(
    device: &mut dyn CheckedDevice,
    kernels: Kernels<'_>,
    tensors: &[CaseTensor],
    launch: &CaseLaunch,
) -> Result<(), Failure> {
    for CaseConstant { symbol: name, tensor } in &launch.constants {
        let CaseTensor { tensor, role } = &tensors[*tensor];
        let (Some(symbol), Role::Input(values)) = (kernels.symbols.get(name), role) else {
            return Err(no_such_constant(name));
        };
        let mut bytes = encode(tensor.dtype, values);
        let written = device.symbol(kernels.module, symbol).map(|found| found.bytes as usize);
        let room = written.map_err(|_| no_such_constant(name))?;
        if room < bytes.len() {
            return Err(too_small(name, room, tensor));
        }
        bytes.resize(room, POISON);
        device
            .write_symbol(kernels.module, symbol, 0, Bytes(&bytes))
            .map_err(|error| without_kernel(device.explain(Step::Place, error)))?;
    }
    Ok(())
}

/// A constant that is not in the module. The check of names comes before, so this is only a safety net.
fn no_such_constant(name: &str) -> Failure {
    Failure::new(
        FailureKind::Kernel,
        format!("the compiled file has no constant `{name}`"),
        format!("declare `__constant__ float {name}[...];` outside of all functions"),
    )
}

fn too_small(name: &str, room: usize, tensor: &Tensor) -> Failure {
    let Tensor { name: of, shape, .. } = tensor;
    let title = format!(
        "the constant `{name}` has {room} bytes, but `{of}` of shape {shape:?} has {}",
        tensor.bytes()
    );
    Failure::new(FailureKind::Kernel, title, format!("make `{name}` larger"))
}

/// A launch with its arguments as bytes. An `int` for a parameter of 8 bytes is widened, as C++ would; any other mismatch of
/// number or size is left to the device, which refuses it.
pub fn prepare(
    device: &mut dyn CheckedDevice,
    kernels: Kernels<'_>,
    placed: &Placed<'_>,
    launch: &CaseLaunch,
) -> Result<Launch, Failure> {
    let CaseLaunch { kernel, grid, block, shared, options, args, .. } = launch;
    let missing = || no_such_kernel(kernel);
    let symbol = kernels.symbols.get(kernel).ok_or_else(missing)?;
    let info = device.kernel(kernels.module, symbol).map_err(|error| match error {
        CudaError::INVALID_DEVICE_FUNCTION => missing(),
        error => without_kernel(device.explain(Step::Load, error)),
    });
    let sizes = info?.params;
    let bytes = |(i, arg): (usize, &CaseArg)| match *arg {
        CaseArg::Tensor(tensor) => placed.address(tensor).to_le_bytes().to_vec(),
        CaseArg::Int(value) if sizes.get(i) == Some(&8) => i64::from(value).to_le_bytes().to_vec(),
        CaseArg::Int(value) => value.to_le_bytes().to_vec(),
        CaseArg::Value(dtype, value) => encode(dtype, &[value]),
    };
    Ok(Launch {
        module: kernels.module,
        kernel: symbol.clone(),
        grid: *grid,
        block: *block,
        shared: *shared,
        cooperative: options.cooperative,
        cluster: None,
        params: args.iter().enumerate().map(bytes).collect(),
        // A case has one order of its launches.
        stream: 0,
    })
}
