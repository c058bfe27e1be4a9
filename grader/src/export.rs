//! What `grader export` writes of a puzzle: its kernels, and how they are launched, for programs that know no spec.
//!
//! Sizes of tensors, grids, blocks and arguments are expressions: integers, names of sizes, `+ - *`, parentheses, and the
//! functions `div`, `mod` (both of the floor), `ceil_div`, `min` and `max`. Python evaluates them as they stand.

use diagnostic::{Failure, FailureKind};
use indexmath::DimExpr;
use judge::grade::Program;
use puzzle::case::LaunchOptions;
use puzzle::spec::{Arg, Launch, Purpose, Spec};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use toolchain::module;

/// The file that describes the launches.
pub const DOCUMENT: &str = "launches.json";
/// The file of the PTX.
const PTX: &str = "kernels.ptx";
/// The file of the machine code.
const CUBIN: &str = "kernels.cubin";

/// Writes the kernels of a compiled puzzle and the description of their launches into a folder. `sm` is the GPU for which
/// there is machine code, such as 90.
///
/// # Errors
/// A file cannot be written.
pub fn write(
    folder: &Path,
    puzzle: u32,
    spec: &Spec,
    program: &Program,
    sm: Option<u32>,
) -> Result<(), Failure> {
    let compiled = &program.compiled;
    let code = compiled.machine_code.as_deref();
    let source = compiled.source.path.file_name().unwrap_or_default().to_string_lossy();
    let document = Document {
        puzzle,
        title: &spec.title,
        source: &source,
        ptx: PTX,
        cubin: code.and(sm).map(|sm| Cubin { file: CUBIN, sm }),
        free_sizes: &spec.sizes.free,
        derived_sizes: spec.sizes.derived.iter().map(derived).collect(),
        tensors: spec.launches.iter().flat_map(|launch| tensors(spec, launch)).collect(),
        launches: spec.launches.iter().map(|of| launch(spec, program, of)).collect(),
    };
    let json = serde_json::to_string_pretty(&document).unwrap_or_default() + "\n";
    std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
    let files = [
        (&*source, Some(compiled.source.text.as_bytes())),
        (PTX, Some(compiled.ptx.as_bytes())),
        (CUBIN, code),
        (DOCUMENT, Some(json.as_bytes())),
    ];
    for (name, bytes) in files {
        let path = folder.join(name);
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).map_err(|e| cannot_write(&path, &e))?;
        }
    }
    Ok(())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let title = format!("cannot write {}: {error}", path.display());
    Failure::new(FailureKind::Environment, title, "choose a writable folder with --out")
}

#[derive(Serialize)]
struct Document<'a> {
    puzzle: u32,
    title: &'a str,
    /// A copy of the source, to which messages about the kernels refer.
    source: &'a str,
    ptx: &'static str,
    cubin: Option<Cubin>,
    /// The sizes that a caller gives, by themselves or by the shapes of tensors.
    free_sizes: &'a [String],
    /// The sizes that follow from others, in an order in which they can be computed.
    derived_sizes: Vec<DerivedSize<'a>>,
    tensors: BTreeMap<String, TensorOf>,
    launches: Vec<LaunchOf<'a>>,
}

#[derive(Serialize)]
struct Cubin {
    file: &'static str,
    /// The compute capability that it is for.
    sm: u32,
}

#[derive(Serialize)]
struct DerivedSize<'a> {
    name: &'a str,
    is: String,
}

#[derive(Serialize)]
struct TensorOf {
    dtype: &'static str,
    shape: Vec<String>,
}

#[derive(Serialize)]
struct LaunchOf<'a> {
    /// Name of the kernel in the source.
    kernel: &'a str,
    /// Its name in the PTX.
    symbol: &'a str,
    grid: Vec<String>,
    block: Vec<String>,
    /// Bytes of dynamic shared memory.
    shared: String,
    options: LaunchOptions,
    args: Vec<ArgOf>,
    /// The tensors that are copied into `__constant__` variables, by the variables' names in the PTX.
    constants: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ArgOf {
    /// The address of a tensor.
    Tensor { tensor: String, access: &'static str },
    /// An integer of so many bytes.
    Size { size: String, bytes: u64 },
    /// A number by value, which the caller gives by its name.
    Scalar { scalar: String, dtype: &'static str },
}

fn derived((name, is): &(String, DimExpr)) -> DerivedSize<'_> {
    DerivedSize { name, is: is.to_string() }
}

/// The tensors that a launch takes.
fn tensors<'a>(spec: &'a Spec, launch: &'a Launch) -> impl Iterator<Item = (String, TensorOf)> {
    launch.buffers(&spec.tensors).filter_map(|(name, _)| {
        let ty = spec.tensors.type_of(name)?;
        let shape = ty.shape.iter().map(ToString::to_string).collect();
        Some((name.to_owned(), TensorOf { dtype: ty.dtype.name(), shape }))
    })
}

fn launch<'a>(spec: &'a Spec, program: &'a Program, of: &'a Launch) -> LaunchOf<'a> {
    let symbol = |name: &str| program.kernels.get(name).map_or("", String::as_str);
    let declared = module::kernels(&program.compiled.ptx);
    let declared = declared.iter().find(|kernel| kernel.symbol == symbol(&of.kernel));
    let bytes = |i: usize| declared.and_then(|kernel| Some(kernel.params.get(i)?.size));
    let [grid, block] =
        of.grid_and_block().map(|all| all.iter().map(ToString::to_string).collect());
    let constants = of.constants.iter().filter_map(|constant| {
        let (tensor, _) = constant.arg.buffer(&spec.tensors)?;
        Some((symbol(&constant.symbol), tensor.to_owned()))
    });
    LaunchOf {
        kernel: &of.kernel,
        symbol: symbol(&of.kernel),
        grid,
        block,
        shared: of.shared().map_or_else(|| "0".to_owned(), ToString::to_string),
        options: of.options,
        args: of.args.iter().enumerate().map(|(i, arg)| argument(spec, arg, bytes(i))).collect(),
        constants: constants.collect(),
    }
}

fn argument(spec: &Spec, arg: &Arg, bytes: Option<u64>) -> ArgOf {
    match arg {
        Arg::Size(size) => ArgOf::Size { size: size.to_string(), bytes: bytes.unwrap_or(4) },
        Arg::Scalar(name) => ArgOf::Scalar {
            scalar: name.clone(),
            dtype: spec.tensors.type_of(name).map_or("f32", |ty| ty.dtype.name()),
        },
        Arg::Tensor(name)
        | Arg::InPlace(name)
        | Arg::Given(name)
        | Arg::Result(name)
        | Arg::Workspace(name) => {
            let access = arg.buffer(&spec.tensors).map_or("read", |(_, purpose)| access(purpose));
            ArgOf::Tensor { tensor: name.clone(), access }
        }
    }
}

/// What a launch does with a tensor: `workspace` is written first and read by nobody else.
fn access(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Input | Purpose::Given => "read",
        Purpose::Output | Purpose::Result => "write",
        Purpose::InPlace => "update",
        Purpose::Workspace => "workspace",
    }
}
