//! The provenance of values: a launch is run with each value carrying the sum of products that made it.

mod arena;
mod cells;
mod expand;
pub(crate) mod expansion;
mod follow;
mod matrix;
mod narrow;
pub(crate) mod number;
pub(crate) mod origins;
pub(crate) mod precision;
mod registers;
pub(crate) mod replace;
pub(crate) mod rules;
pub(crate) mod slice;
pub(crate) mod tracker;

use self::arena::{Arena, LocationId, NodeId};
use self::cells::Cells;
use self::number::Number;
use self::registers::Expressions;
use self::tracker::PendingAtomic;
use crate::memory::buffer::BufferId;
use crate::source_loc::SourceLoc;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The expressions behind the elements of tensors, over the launches of `launch_with_provenance`.
///
/// Expressions start where a kernel loads an element of one of the named tensors that no kernel has written, and go through
/// registers, shared, local and global memory, vectors, calls, shuffles, selects, atomics and products of matrices (`wmma`):
///
/// - sums, differences, products and quotients by constants are what [`Expansion::Products`](crate::Expansion::Products) lists;
/// - of a select, `min`, `max` or absolute value, the chosen side is followed, and [`Self::depends_on_values`] tells;
/// - other functions stand as a `Factor::Function` of what they were applied to. Rounding to `f32` or `f64` is none,
///   rounding to 16 bits is one while the value has them, and [`Self::roundings`] finds where it matters;
/// - integers are plain values. Where a path or an address depends on an element, or on a buffer that is no named
///   tensor, [`Self::depends_on_values`] tells.
///
/// # Example
///
/// ```
/// use ptxvm::{
///     Access, Expansion, Factor, Init, Launch, Memory, Module, Number, Options, Provenance, launch_with_provenance,
/// };
///
/// // y[0] = x[0] * x[1] + x[0]
/// let module = Module::load(r#"
///     .version 9.0
///     .target sm_75
///     .address_size 64
///     .visible .entry k(.param .u64 x, .param .u64 y)
///     {
///         .reg .b64 %rd<3>; .reg .f32 %f<4>;
///         .loc 1 1 0
///         ld.param.u64 %rd1, [x];
///         ld.param.u64 %rd2, [y];
///         .loc 1 3 5
///         ld.global.v2.f32 {%f1, %f2}, [%rd1];
///         fma.rn.f32 %f3, %f1, %f2, %f1;
///         st.global.f32 [%rd2], %f3;
///         ret;
///     }
///     .file 1 "k.cu"
/// "#)?;
/// let mut memory = Memory::default();
/// let x = memory.alloc(Init::Bytes([2f32, 5.0].iter().flat_map(|v| v.to_le_bytes()).collect()), Access::ReadOnly);
/// let y = memory.alloc(Init::Undefined { len: 4 }, Access::ReadWrite);
/// let params = [x, y].map(|id| memory.address(id).to_le_bytes().to_vec()).to_vec();
/// let config = Launch { grid: [1; 3], block: [1; 3], dynamic_shared: 0, params };
///
/// let mut provenance = Provenance::new([(x, Number::F32), (y, Number::F32)]);
/// let kernel = module.kernel("k").expect("the kernel");
/// launch_with_provenance(&module, kernel, &config, &mut memory, &Options::default(), &mut provenance)?;
///
/// assert!(provenance.is_complete() && !provenance.depends_on_values());
/// let written = provenance.element(&memory, y, 0, 100).expect("it was written");
/// let Expansion::Products(products) = written.value else { panic!("a sum of products") };
/// // x[0] and x[0] * x[1], both from line 3.
/// assert_eq!(products.iter().map(|p| p.factors.len()).collect::<Vec<_>>(), [1, 2]);
/// assert!(products.iter().all(|p| p.coefficient == 1.0));
/// assert!(products.iter().all(|p| p.loc.as_ref().is_some_and(|loc| loc.line == 3)));
/// assert!(matches!(products[1].factors[1], Factor::Element { buffer, byte: 4, .. } if buffer == x));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Provenance {
    tensors: FxHashMap<BufferId, Number>,
    /// Places of the constant window that hold copies of buffers.
    constants: Vec<(Range<u64>, BufferId)>,
    arena: Arena,
    global: Cells,
    shared: Cells,
    /// Of all threads of a block; see [`tracker::local_address`].
    local: Cells,
    warps: Vec<Expressions>,
    places: Vec<SourceLoc>,
    /// For each instruction of the kernel that runs.
    place_of: Vec<LocationId>,
    pending: PendingAtomic,
    /// What the elements of a tile will hold that is about to be stored: address, bytes and expression.
    tile: Vec<(u64, u32, NodeId)>,
    depends: bool,
    pub(crate) lost: bool,
    steps: u64,
    pub(crate) max_steps: u64,
    pub(crate) only: Option<[u32; 3]>,
}
