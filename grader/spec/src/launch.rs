//! `[[launch]]`: a kernel with its arguments and its numbers of threads and blocks.

use super::arg::{Arg, Purpose};
use super::code::names_tensor;
use super::constant::{self, Constant};
use super::fault::{Checked, Fault};
use super::host_call::HostCall;
use super::repeat::Repeat;
use super::sizes::Sizes;
use super::tensors::{Tensors, prime};
use hardware::{MAX_BLOCK, MAX_GRID, MAX_THREADS};
use indexmath::{DimExpr, Dims};
use specfile::LaunchOptions;
use specfile::{RawLaunch, Value};
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;

/// Bytes of shared memory of a block: what the newest compute capability grants a kernel that asks for it.
const MAX_SHARED: i64 = hardware::NEWEST.block_shared() as i64;
/// The threads of a launch: no test needs more, and the virtual machine would take too long.
const MAX_LAUNCH: i64 = 1 << 28;

/// A kernel launch of a spec, or a call of a host function.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The name of the kernel or of the function in the source.
    pub kernel: String,
    /// The arguments in the order of the signature. For a call: the tensors of its code in order of appearance, then
    /// all sizes.
    pub args: Vec<Arg>,
    /// The other parts of a call; `None` for a kernel launch.
    pub host: Option<HostCall>,
    /// The constants of the kernels' file that are filled before it.
    pub constants: Vec<Constant>,
    /// The options that the spec sets.
    pub options: LaunchOptions,
    /// What a second run of it may give, if the spec says so; otherwise [`Repeat::default`] applies.
    pub repeat: Option<Repeat>,
    block: Vec<Extent>,
    grid: Vec<Extent>,
    shared: Option<Extent>,
    place: Range<usize>,
    arg_places: Vec<Range<usize>>,
}

/// A launch at the sizes of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The index of the launch in its spec.
    pub launch: usize,
    /// The number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// The number of threads of a block in x, y and z.
    pub block: [u32; 3],
    /// The dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// The arguments, in the order of the signature.
    pub args: Vec<CallArg>,
    /// The constants that are filled before it, by name, each with the index of the test's buffer.
    pub constants: Vec<(String, usize)>,
}

/// An argument at the sizes of a test.
#[derive(Clone, Debug, PartialEq)]
pub enum CallArg {
    /// The address of the test's buffer with this index.
    Buffer(usize),
    /// An input without axes, passed by value.
    Scalar(String),
    /// A 32-bit integer, passed by value.
    Int(i32),
}

/// One number of a block or a grid.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    pub(crate) expr: DimExpr,
    pub(crate) text: String,
    pub(crate) place: Range<usize>,
}

impl Launch {
    pub(crate) fn read(
        text: &str,
        raw: &RawLaunch,
        sizes: &Sizes,
        tensors: &Tensors,
    ) -> Checked<Self> {
        let kernel = raw.kernel.get_ref();
        if kernel.is_empty() || kernel.contains(char::is_whitespace) {
            return Err(Fault::at(raw.kernel.span(), "this is not the name of a kernel")
                .help("write the name that stands after __global__ void"));
        }
        let mut args = Vec::new();
        for arg in &raw.args {
            args.push(Arg::read(text, arg, sizes, tensors)?);
        }
        let extents = |value: &Spanned<Value>, key: &str| read_extents(text, value, key, sizes);
        let shared = match &raw.shared {
            None => None,
            Some(value) => Some(read_extent(text, value, "shared", sizes)?),
        };
        let launch = Self {
            kernel: kernel.clone(),
            args,
            constants: constant::read_all(text, raw, sizes, tensors)?,
            host: None,
            options: LaunchOptions::from(raw),
            repeat: raw.repeat.as_ref().map(Repeat::read).transpose()?,
            block: extents(&raw.block, "block")?,
            grid: extents(&raw.grid, "grid")?,
            shared,
            place: raw.kernel.span(),
            arg_places: raw.args.iter().map(Spanned::span).collect(),
        };
        // What a launch leaves in a workspace is judged by what a later one makes of it.
        if launch.gives(tensors).next().is_none() && launch.workspaces().next().is_none() {
            let title = format!("`{kernel}` is given no tensor that the formula computes");
            let computed = tensors.computed.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>();
            return Err(Fault::at(launch.place, title)
                .label("nothing to check")
                .help(format!("pass the output: the formula computes {}", computed.join(", "))));
        }
        Ok(launch)
    }

    /// A call with these arguments, which are at `arg_places` in the file.
    pub(crate) fn of_call(
        name: String,
        host: HostCall,
        (args, arg_places): (Vec<Arg>, Vec<Range<usize>>),
        place: Range<usize>,
    ) -> Self {
        let (block, grid) = (Vec::new(), Vec::new());
        Self {
            kernel: name,
            args,
            constants: Vec::new(),
            host: Some(host),
            options: LaunchOptions::default(),
            repeat: None,
            block,
            grid,
            shared: None,
            place,
            arg_places,
        }
    }

    /// The tensors whose addresses it takes or whose copies it finds in constants, and how it uses them.
    pub fn buffers(&self, tensors: &Tensors) -> impl Iterator<Item = (&str, Purpose)> {
        self.all_args().filter_map(move |(arg, _)| arg.buffer(tensors))
    }

    /// The arguments and the contents of the constants, each with its place in the file.
    fn all_args(&self) -> impl Iterator<Item = (&Arg, &Range<usize>)> {
        let constants = self.constants.iter().map(|constant| (&constant.arg, &constant.place));
        self.args.iter().enumerate().map(|(i, arg)| (arg, self.arg_place(i))).chain(constants)
    }

    /// The names (of the formula) of the tensors that it computes: `probs`, `grad(input)`, `weights'`.
    pub fn computes(&self, tensors: &Tensors) -> impl Iterator<Item = String> {
        self.buffers(tensors).filter_map(|(name, purpose)| match purpose {
            Purpose::Output => Some(name.to_owned()),
            Purpose::InPlace => Some(prime(name)),
            Purpose::Input | Purpose::Given | Purpose::Result | Purpose::Workspace => None,
        })
    }

    /// The inputs of the formula that it writes itself.
    pub fn results(&self) -> impl Iterator<Item = &str> {
        self.args.iter().filter_map(|arg| match arg {
            Arg::Result(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Checks that in a test with these results it takes none of them, nor anything that the formula computes from
    /// them, because their values are not known before the run.
    pub(crate) fn check_results(&self, tensors: &Tensors, results: &BTreeSet<&str>) -> Checked<()> {
        for (arg, place) in self.all_args() {
            let name = match arg {
                Arg::Tensor(name) | Arg::Given(name) | Arg::Scalar(name) => name.clone(),
                Arg::InPlace(name) => prime(name),
                Arg::Result(_) | Arg::Workspace(_) | Arg::Size(_) => continue,
            };
            let sources = tensors.formula.sources(&name);
            let Some(result) = results.iter().find(|result| sources.contains(**result)) else {
                continue;
            };
            let place = place.clone();
            return Err(if name == **result {
                let title = format!("`{name}` is both a result and an input in one test");
                Fault::at(place, title).help("run the two functions in tests of their own")
            } else {
                let title = format!("`{name}` depends on the result `{result}`");
                Fault::at(place, title).help(format!(
                    "its expected value is not known before the run: use \"result(..)\", and \
                     compare it with `{name}` by a [[require]]"
                ))
            });
        }
        Ok(())
    }

    /// The workspaces that it takes.
    pub fn workspaces(&self) -> impl Iterator<Item = &str> {
        self.args.iter().filter_map(|arg| match arg {
            Arg::Workspace(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The names of everything that it writes and that the tests judge.
    pub fn gives(&self, tensors: &Tensors) -> impl Iterator<Item = String> {
        self.computes(tensors).chain(self.results().map(str::to_owned))
    }

    /// Whether the launch uses this size: in an argument, in the shape of a tensor, or in the number of threads.
    pub(crate) fn uses_dim(&self, size: &str, tensors: &Tensors) -> bool {
        let reads = |expr: &DimExpr| expr.names().iter().any(|(name, _)| name == size);
        if let Some(host) = &self.host
            && names_tensor(&host.code, size)
        {
            return true;
        }
        let extents = self.block.iter().chain(&self.grid).chain(&self.shared);
        extents.map(|extent| &extent.expr).any(reads)
            || self.all_args().any(|(arg, _)| match arg {
                // A call is passed every size; its code determines which it uses.
                Arg::Size(expr) => self.host.is_none() && reads(expr),
                Arg::Scalar(_) => false,
                Arg::Tensor(name)
                | Arg::InPlace(name)
                | Arg::Given(name)
                | Arg::Result(name)
                | Arg::Workspace(name) => {
                    tensors.type_of(name).is_some_and(|ty| ty.shape.iter().any(reads))
                }
            })
    }

    /// The numbers of blocks and of the threads of a block: one to three each, in x, y and z.
    pub fn grid_and_block(&self) -> [Vec<&DimExpr>; 2] {
        [&self.grid, &self.block].map(|extents| extents.iter().map(|extent| &extent.expr).collect())
    }

    /// The dynamic shared memory of a block in bytes, if the spec gives it any.
    pub fn shared(&self) -> Option<&DimExpr> {
        self.shared.as_ref().map(|extent| &extent.expr)
    }

    /// Whether it must give the same bits in every run.
    pub fn is_bit_equal(&self) -> bool {
        self.repeat.unwrap_or_default() == Repeat::BitEqual
    }

    /// Where the file names the kernel.
    pub(crate) fn place(&self) -> &Range<usize> {
        &self.place
    }

    /// Where the file has the argument with this index.
    pub(crate) fn arg_place(&self, arg: usize) -> &Range<usize> {
        self.arg_places.get(arg).unwrap_or(&self.place)
    }

    pub(crate) fn grid(&self) -> &[Extent] {
        &self.grid
    }

    /// The number of blocks along an axis, if the spec gives it.
    pub fn grid_size(&self, axis: usize) -> Option<&DimExpr> {
        self.grid.get(axis).map(|extent| &extent.expr)
    }

    /// The number of threads of a block along an axis, if the spec gives it.
    pub fn block_size(&self, axis: usize) -> Option<&DimExpr> {
        self.block.get(axis).map(|extent| &extent.expr)
    }

    /// Evaluates everything at the sizes of a test. `index` is this launch's index in the spec, `position` finds a
    /// buffer of the test, `sizes_at` is where the file gives the sizes.
    pub(crate) fn at(
        &self,
        index: usize,
        (text, tensors): (&str, &Tensors),
        dims: &Dims,
        position: impl Fn(&str, Purpose) -> Option<usize>,
        sizes_at: &Range<usize>,
    ) -> Checked<Call> {
        let place = Place { text, dims, sizes_at };
        let buffer = |arg: &Arg, span: &Range<usize>| {
            let buffer = arg.buffer(tensors).and_then(|(name, p)| position(name, p));
            buffer.ok_or_else(|| Fault::at(span.clone(), "this test has no such buffer"))
        };
        let mut args = Vec::new();
        for (arg, span) in self.args.iter().zip(&self.arg_places) {
            args.push(match arg {
                Arg::Scalar(name) => CallArg::Scalar(name.clone()),
                Arg::Size(size) => CallArg::Int(place.int(size, span)?),
                Arg::Tensor(_)
                | Arg::InPlace(_)
                | Arg::Given(_)
                | Arg::Result(_)
                | Arg::Workspace(_) => CallArg::Buffer(buffer(arg, span)?),
            });
        }
        let mut constants = Vec::new();
        for constant in &self.constants {
            constant.check_size((text, tensors), dims, sizes_at)?;
            constants.push((constant.symbol.clone(), buffer(&constant.arg, &constant.place)?));
        }
        let block = place.axes(&self.block, "block", "threads", MAX_BLOCK.map(i64::from))?;
        let grid = place.axes(&self.grid, "grid", "blocks", MAX_GRID.map(i64::from))?;
        let threads = product(block);
        if threads > i64::from(MAX_THREADS) {
            let title = format!("the block has {threads} threads");
            return Err(place
                .fault(&self.block[0], title)
                .help(format!("a block has {MAX_THREADS} threads at most")));
        }
        if product(grid).saturating_mul(threads) > MAX_LAUNCH {
            let title = format!("this launch has more than {MAX_LAUNCH} threads");
            return Err(place.fault(&self.grid[0], title).help("give the test smaller sizes"));
        }
        let shared = match &self.shared {
            None => 0,
            Some(extent) => place.number(extent, "shared memory", "bytes", 0, MAX_SHARED)?,
        };
        Ok(Call { launch: index, grid, block, shared, args, constants })
    }
}

fn product(axes: [u32; 3]) -> i64 {
    axes.iter().fold(1_i64, |p, &a| p.saturating_mul(i64::from(a)))
}

/// The sizes of a test, and where the file gives them.
struct Place<'a> {
    text: &'a str,
    dims: &'a Dims,
    sizes_at: &'a Range<usize>,
}

impl Place<'_> {
    fn fault(&self, extent: &Extent, title: String) -> Fault {
        let fault = Fault::at(extent.place.clone(), title);
        if extent.expr.names().is_empty() {
            return fault;
        }
        fault.also(self.sizes_at.clone(), "at these sizes")
    }

    /// Evaluates a size that is passed as an argument.
    fn int(&self, size: &DimExpr, span: &Range<usize>) -> Checked<i32> {
        let value = size.eval(self.dims).map_err(|e| Fault::math(self.text, span, e))?;
        i32::try_from(value).map_err(|_| {
            let title = format!("this is {value} in a test: too large for an int");
            Fault::at(span.clone(), title).also(self.sizes_at.clone(), "at these sizes")
        })
    }

    fn number(&self, extent: &Extent, what: &str, unit: &str, min: i64, max: i64) -> Checked<u32> {
        let value =
            extent.expr.eval(self.dims).map_err(|e| Fault::math(self.text, &extent.place, e))?;
        if !(min..=max).contains(&value) {
            let title = format!("{what} would have {value} {unit}");
            return Err(self.fault(extent, title).help(format!("it must be {min} to {max}")));
        }
        u32::try_from(value).map_err(|_| self.fault(extent, format!("{what} is too large")))
    }

    fn axes(&self, extents: &[Extent], what: &str, unit: &str, max: [i64; 3]) -> Checked<[u32; 3]> {
        let mut axes = [1; 3];
        for ((extent, axis), (max, letter)) in
            extents.iter().zip(&mut axes).zip(max.into_iter().zip(["x", "y", "z"]))
        {
            *axis = self.number(extent, &format!("the {what} in {letter}"), unit, 1, max)?;
        }
        Ok(axes)
    }
}

/// Reads a block or a grid: one extent, or a list of one to three.
fn read_extents(
    text: &str,
    value: &Spanned<Value>,
    key: &str,
    sizes: &Sizes,
) -> Checked<Vec<Extent>> {
    match value.get_ref() {
        Value::List(list) if (1..=3).contains(&list.len()) => {
            list.iter().map(|item| read_extent(text, item, key, sizes)).collect()
        }
        Value::List(list) => {
            let title = format!("`{key}` has {} numbers", list.len());
            Err(Fault::at(value.span(), title).help("one to three: x, y, z"))
        }
        _ => Ok(vec![read_extent(text, value, key, sizes)?]),
    }
}

fn read_extent(text: &str, value: &Spanned<Value>, key: &str, sizes: &Sizes) -> Checked<Extent> {
    let place = value.span();
    let (expr, written) = match value.get_ref() {
        Value::Int(number) => {
            let written = number.to_string();
            let expr = DimExpr::parse(&written).map_err(|_| {
                Fault::at(place.clone(), format!("`{key}` cannot be {number}"))
                    .help("it must be a positive number")
            })?;
            (expr, written)
        }
        Value::Text(written) => {
            let expr = DimExpr::parse(written).map_err(|e| Fault::math(text, &place, e))?;
            (expr, written.clone())
        }
        other => {
            let title =
                format!("`{key}` must be numbers or expressions, but this is {}", other.kind());
            return Err(Fault::at(place, title).help(format!(
                "write {key} = 256, {key} = \"ceil_div(N, 256)\" or a list of up to three"
            )));
        }
    };
    sizes.check_names(text, &expr, &place)?;
    Ok(Extent { expr, text: written, place })
}
