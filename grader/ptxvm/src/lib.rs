//! A SIMT virtual machine for PTX: runs CUDA kernels on the CPU, as `nvcc -ptx` compiles them, and reports what they do
//! wrong by source line.
//!
//! The machine executes warps of 32 threads in lockstep, with divergence, barriers, shuffles and atomics. It checks every
//! access: bounds, alignment, access rights, initialisation, races in shared and global memory, barriers that part of a
//! block never reaches, and loops that never end. After a mistake it continues as far as that makes sense, so one run
//! shows all of them. The same launch gives the same memory and the same findings every time.
//!
//! # Example
//!
//! ```
//! use ptxvm::{Access, FindingKind, Init, Launch, Memory, Module, Options, launch};
//!
//! // out[i] = 2 * in[i], without a check of i: nvcc -ptx -lineinfo double.cu
//! let module = Module::load(r#"
//!     .version 9.0
//!     .target sm_75
//!     .address_size 64
//!     .visible .entry twice(.param .u64 in, .param .u64 out)
//!     {
//!         .reg .b32 %r<2>; .reg .b64 %rd<6>; .reg .f32 %f<3>;
//!         .loc 1 1 0
//!         ld.param.u64 %rd1, [in];
//!         ld.param.u64 %rd2, [out];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd3, %r1, 4;
//!         add.s64 %rd4, %rd1, %rd3;
//!         add.s64 %rd5, %rd2, %rd3;
//!         .loc 1 3 5
//!         ld.global.f32 %f1, [%rd4];
//!         add.f32 %f2, %f1, %f1;
//!         st.global.f32 [%rd5], %f2;
//!         ret;
//!     }
//!     .file 1 "double.cu"
//! "#)?;
//! let kernel = module.kernel("twice").expect("the kernel");
//!
//! let mut memory = Memory::default();
//! let values = [1.0f32, 2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
//! let input = memory.alloc(Init::Bytes(values), Access::ReadOnly);
//! let output = memory.alloc(Init::Undefined { len: 12 }, Access::ReadWrite);
//! let pointer = |id| u64::to_le_bytes(memory.address(id)).to_vec();
//! let config = Launch {
//!     grid: [1, 1, 1],
//!     block: [4, 1, 1],
//!     dynamic_shared: 0,
//!     params: vec![pointer(input), pointer(output)],
//! };
//! let outcome = launch(&module, kernel, &config, &mut memory, &Options::default())?;
//!
//! // The three elements are right, and thread 3 missed both buffers, in line 3.
//! assert_eq!(memory.bytes(output)[8..], 6f32.to_le_bytes());
//! let finding = &outcome.findings[0];
//! assert_eq!(finding.thread.thread, [3, 0, 0]);
//! assert_eq!(finding.loc.as_ref().map(|loc| loc.line), Some(3));
//! assert!(matches!(&finding.kind, FindingKind::OutOfBounds(found) if found.place == Some((input, 12))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is supported
//!
//! - Types of 8 to 64 bits, `f16`, `bf16`, `f32` and pairs of these, `f64`; all rounding modes. Words of 128 bits can be moved, loaded,
//!   stored, exchanged and compared (`atom.exch.b128`, `atom.cas.b128`).
//! - Integer, logic, bit-field, carry, dot-product and video arithmetic; float arithmetic; `cvt` between all of these, and to
//!   and from `tf32`, `e4m3` and `e5m2`; comparisons, also of pairs.
//! - Global, shared (static and dynamic), local, constant and parameter memory; generic addresses; vectors; cache and ordering
//!   qualifiers and fences. These change no value, because every access is visible to all at once, but the checks of races follow
//!   what they order.
//! - `atom` and `red`; `bar`/`barrier` with numbers, counts and reductions; `bar.warp.sync`, `shfl`, `vote`, `match`, `redux`,
//!   `activemask`, `elect`; `assert` and `printf`.
//! - Branches to the label of a table that an index chooses (`brx.idx`), as a chain of comparisons; an index past the table, which the ISA
//!   leaves undefined, takes the last label.
//! - Calls of functions, by name and through pointers (virtual functions, tables in global and constant memory), and recursion
//!   with 64 KiB of frames for each thread.
//! - `malloc`, `free`, `new` and `delete`, with a heap of 8 MiB ([`HEAP_SIZE`], or [`Memory::resize_heap`]) that a [`Memory`] keeps from launch to launch.
//!   [`Memory::heap_use`] says what has not been freed.
//! - Launches from kernels: the caller of [`launch()`] gets them with the outcome ([`Outcome::children`]), and runs them.
//! - Cooperative groups: tiles of any size, and `this_grid().sync()` in a cooperative launch ([`Options::cooperative`]). As many
//!   blocks are resident at once as on an H200: 132 multiprocessors with 2,048 threads, 32 blocks and 228 KiB of shared memory each.
//!   Resident blocks of any launch may wait for each other.
//! - `wmma.load`, `.store` and `.mma`: m16n16k16, m32n8k16 and m8n32k16 of `f16`, `bf16`, `s8` and `u8`, m16n16k8 of `tf32`, m8n8k4
//!   of `f64`, m8n8k32 of `s4` and `u4`, m8n8k128 of `b1`, with contiguous rows or columns. `mma.sync`: m16n8k8 and m16n8k16 of `f16`
//!   and `bf16`, m16n8k4 and m16n8k8 of `tf32`, m16n8k16, m16n8k32 and m8n8k16 of `s8` and `u8`, m8n8k32, m16n8k32 and m16n8k64 of `s4` and
//!   `u4`, m8n8k128, m16n8k128 and m16n8k256 of `b1`, m16n8k16 and m16n8k32 of `e4m3` and `e5m2`, m8n8k4, m16n8k4, m16n8k8 and
//!   m16n8k16 of `f64`, m8n8k4 of `f16`. `mma.sp`: m16n8k16 and m16n8k32 of `f16` and `bf16`, m16n8k8 and m16n8k16 of `tf32`, m16n8k32 and m16n8k64
//!   of `s8` and `u8`, m16n8k64 and m16n8k128 of `s4` and `u4`, m16n8k64 of `e4m3` and `e5m2`. `ldmatrix` and `stmatrix` of m8n8, `movmatrix`.
//! - `cp.async` of 4, 8 and 16 bytes, with a source size or a predicate to ignore it, `commit_group`, `wait_group` and `wait_all`.
//! - Barrier objects in shared memory (`mbarrier`) and what CUDA C++ builds on them: `cuda::barrier`, `cuda::pipeline`,
//!   `memcpy_async`; `cp.async.mbarrier.arrive`, counts of bytes, objects of other blocks of the cluster. The layout of an object's 64 bits
//!   is this machine's own. After a wait that fails, another warp runs.
//! - Clusters of up to 16 blocks, by `__cluster_dims__` or [`Options::cluster`], and distributed shared memory: `mapa`, `getctarank`,
//!   `.shared::cluster` of loads, stores and atomics, `st.async`, `red.async`, `barrier.cluster`. Blocks of a cluster take turns.
//! - `cp.async.bulk` and `cp.reduce.async.bulk` between global and shared memory, to several blocks (`.multicast::cluster`) too, and from a block's
//!   shared memory to another's, of bytes and of boxes of tensors of 1 to 5 dimensions (`.tile`, `.im2col`): zeros or NaNs outside of the tensor, `tf32` and `.ftz`, strides of elements, swizzling of 32,
//!   64 and 128 bytes. The 128 bytes of a tensor map have a layout of this machine's own; programs make one with `tensormap.replace`,
//!   and their hosts with [`tensor_map::TensorMapFields::encode`].
//! - `wgmma.mma_async` of m64nNk16, all N, of `f16` and `bf16`, factors in shared memory with all swizzling modes, transposed or not, A in
//!   registers too.
//! - Textures and surfaces by objects ([`Memory::create_image_object`]): `tex` and `tld4` of one to three dimensions, layers and cube maps, with
//!   levels, filters and address modes; `suld`, `sust` and `sured`; `txq` and `suq`.
//! - Cache hints and policies, prefetches and fences between proxies, and waiting for the previous launch (`griddepcontrol`), none of which
//!   has an effect here.
//! - Results are those of IEEE 754, bit for bit, with canonical NaNs but for those of `f64`, which pass with their sign and payload as on an
//!   H100: 3,114 forms of instructions are compared with an NVIDIA
//!   H200, each with 4,096 sets of operands or with all 16-bit ones (`tests/golden`). The `.approx` functions have
//!   the errors of an H200, to the bit: see below.
//!
//! # Where values come from
//!
//! [`launch_with_provenance`] runs a launch in which each value carries its provenance: the sum of products of buffer elements that
//! produced it. [`Provenance::element`] lists the products, with the source line of each. [`launch()`] is not slowed down by it.
//!
//! # Other orders
//!
//! [`launch_reordered`] runs the blocks, and the warps of each, in another order. If the results differ, they depend on
//! what a GPU leaves undefined: the order of a floating-point sum by `atomicAdd`, for example. Lanes of one warp keep their order.
//!
//! # What a launch costs
//!
//! [`launch_counted`] counts instructions, sectors, bank conflicts and so on for each source line; [`launch_profiled`] does the same
//! with the checks of [`launch()`] on.
//!
//! # What is not supported
//!
//! Texture references, `im2col::w` and interleaved tensor maps, `wgmma` of other types and `tcgen05`. A kernel that uses one of these, or calls a function that does, has a [`Kernel::refusal`] that names the line and the reason. The other kernels of the module can still run.
//! `tests/coverage/instructions.txt` lists one of each form of instruction behind the sentence that refuses it, and
//! `tests/coverage/*.cu` the usual intrinsics of CUDA, all of which load as nvcc compiles them. A call through a pointer may reach each
//! function of the module whose address is taken and whose parameters have the sizes of the call's prototype, so all of these must be
//! supported.
//! Furthermore:
//!
//! - Diverged lanes reconverge at the immediate post-dominator of their branch, and are scheduled independently only if some of them
//!   spin: a GPU may run them in other orders.
//! - [`launch_with_provenance`] follows no values through recursion, the device heap, clusters and cooperative launches, nor through tensor cores
//!   and asynchronous copies: [`Provenance::is_complete`] is false then.
//! - A launch begins when those before it have ended, whatever its attributes: a missing `griddepcontrol.wait` is not reported.
//! - A GPU's heap needs more memory for an allocation than its size, and its stack has 1 KiB unless `cudaLimitStackSize` is raised.
//!
//! # Tensor cores
//!
//! The ISA leaves open how floats are added, and each generation of GPUs does it differently. This machine follows Hopper as
//! published by Xie and others ("MMA-Sim", 2025) and as measured on an NVIDIA H200. Products are exact. They and the
//! element of C are truncated to 25 bits below the largest exponent among them and added exactly; the sum is truncated to
//! `f32`, or rounded to the nearest `f16` if both C and D are of `f16`. `wmma` of `tf32` works in two steps of four products;
//! in `wmma` and `wgmma` a sum of halves that rounds to zero has no sign. `wmma` with C and D of different types gives the bits of an H100
//! too: 300 products of each of its three shapes, for both. Other
//! generations keep fewer bits and add fewer products at once, so their last bits differ. In `f64` the products are added one
//! after the other, each with one rounding; infinity minus infinity and zero times infinity give the NaN with the sign set, other
//! NaNs are propagated as quiet ones: if both factors, or a factor and the sum, are NaNs, that of B first, then the sum. Integers are
//! exact, and wrap or, with `.satfinite`, are clamped to their range. The lowest 13 bits of a `tf32` operand are ignored.
//!
//! `tests/golden/mma.py` measured 64 products by each of 47 kernels on an H200: whole numbers, numbers near one, any finite ones, and
//! zeros, infinities, subnormals and NaNs of every kind among others. This machine gives the same bits, including NaNs and signs of
//! zeros:
//!
//! | instruction | shapes | elements of D | differing elements |
//! |---|---|---|---|
//! | `mma.sync` of `f16`, C and D of `f32` | m16n8k8, m16n8k16 | 16,384 | 0 |
//! | `mma.sync` of `f16`, C and D of `f16` | m16n8k8, m16n8k16 | 16,384 | 0 |
//! | `mma.sync` of `bf16` | m16n8k8, m16n8k16 | 16,384 | 0 |
//! | `mma.sync` of `tf32` | m16n8k4, m16n8k8 | 16,384 | 0 |
//! | `mma.sync` of `e4m3` and `e5m2` | m16n8k16, m16n8k32 | 49,152 | 0 |
//! | `mma.sync` of `f64` | m8n8k4, m16n8k4, m16n8k8, m16n8k16 | 28,672 | 0 |
//! | `mma.sync` of `s8`, of `u8`, of `u8` by `s8` with `.satfinite` | m16n8k16 and m16n8k32, m8n8k16, m16n8k32 | 28,672 | 0 |
//! | `mma.m8n8k4` of `f16`, all layouts, C and D of both types (H100) | m8n8k4 | 98,304 | 0 |
//! | `mma.sp` of all types, with all selectors (H100) | m16n8k8 to m16n8k128 | 221,184 | 0 |
//! | `wmma.mma` of `f16`, C and D of `f32` | m16n16k16, m32n8k16, m8n32k16 | 49,152 | 0 |
//! | `wmma.mma` of `f16`, C and D of `f16` | m16n16k16, m32n8k16, m8n32k16 | 49,152 | 0 |
//! | `wmma.mma` of `f16`, C of `f32`, D of `f16` | m16n16k16, m32n8k16, m8n32k16 | 49,152 | 0 |
//! | `wmma.mma` of `f16`, C of `f16`, D of `f32` | m16n16k16, m32n8k16, m8n32k16 | 49,152 | 0 |
//! | `wmma.mma` of `bf16` | m16n16k16, m32n8k16, m8n32k16 | 49,152 | 0 |
//! | `wmma.mma` of `tf32` | m16n16k8 | 32,768 | 0 |
//! | `wmma.mma` of `f64` | m8n8k4 | 8,192 | 0 |
//! | `wmma.mma` of `s8`, of `u8` | m16n16k16, m32n8k16, m8n32k16 | 98,304 | 0 |
//!
//! `wgmma` of `f16` and `bf16` adds like `mma.sync`, but for one thing: a sum in `f16` that rounds to zero has no sign. 69 products were
//! compared with an H200: 8 to 256 columns, all types, A in registers, negatives, numbers of six kinds with NaNs and infinities among
//! others, and layouts in shared memory. The places of factors agree in 192 layouts (all swizzling modes, transposed or not, starts within
//! a pattern, base offsets), those of 58 boxes of tensors with what the copy engine of an H200 wrote.
//!
//! `mma.sp` multiplies what is there of A with the rows of B that the metadata name, and adds as `mma.sync` of half the depth does. What
//! `mma.m8n8k4` of `f16` adds is not cut: the machine code for `sm_75` and later multiplies and adds in `f32`, the element of C last, and rounds to
//! a D of halves once, at the end.
//!
//! The sums of `f32` differed from the exact ones by at most 3.4 2^-24 times the sum of the terms' magnitudes. If C and D have
//! different types, the sum is truncated to `f32`, and then rounded if D is of `f16`.
//!
//! The fragments of `mma.sync`, `ldmatrix` and `stmatrix` have the layout of the ISA, those of `wmma` one of this machine's own:
//! a kernel may use `frag.x[i]` only for operations that are the same for every element. A `wmma.load` or `wmma.store` counts
//! as accesses of 16 bytes by each lane, or less if rows are shorter or not aligned to 16 bytes, each byte once.
//!
//! The ISA asks for addresses and strides that are multiples of the size of a lane's fragment, the CUDA C++ Programming Guide for
//! multiples of 32 and 16 bytes. A GPU accepts smaller alignments, so only an alignment that the machine code for `sm_75` to `sm_90`
//! cannot execute is a finding. That code loads 16 bytes at once from shared memory for A and B of `f16` and `bf16`, and for bytes
//! that lie along k (single bytes if they lie across it); 8 bytes for C and D of `f32` and `s32` whose neighbours a lane holds (by rows,
//! in m8n32k16 by columns); 8 for `f64`, 16 for its C and D by rows; 4 for all others. `tests/golden/align.py` tried 2,636 addresses and
//! strides on an H200, those of all four matrices in global and shared memory, also by generic addresses: wherever this machine reports
//! nothing, the H200 loads the right elements. Wherever this machine has a finding, the H200 faults, or loads other elements if only
//! the stride is misaligned.
//!
//! An asynchronous copy takes place when its thread waits for it. Until then its destination holds all ones, and an access of it is
//! a finding ([`finding::InFlight`]), and so is a write of its thread to its source ([`finding::CopySource`]). Bounds and alignment of
//! both sides are checked where the copy begins, races where it begins and where it ends. A copy that nobody waits for never takes place.
//!
//! # Other known differences from a GPU
//!
//! - `atom.shared.add` and `red.shared.add` of pairs of halves whose operand is the low half of a 64-bit register: the
//!   assembler of driver 580 takes the upper half from the wrong place. These are the four lines of the tables that differ.
//! - A product and a sum or difference without rounding modifiers (`mul.f32`, `sub.f32`), which the ISA allows to be contracted (9.7.3.3), are
//!   contracted where `ptxas` of CUDA 13.0 does so within a basic block of machine code, which a division ends: `a - b * c`, `a * b - c`, products
//!   that several sums use, copies and negatives of products, and `__hadd(__hmul(a, b), c)`. In loops that it unrolls, `ptxas` also contracts across
//!   the border of two iterations. There this machine rounds twice, and the last bit may differ.
//! - `printf` with `z`, `j`, `t`, `hh` or `L` before a conversion, with `.*`, or with more than 32 arguments: an H100 (driver 580) does not
//!   find the arguments from there on, and prints what lies in its memory. Here they are as in C.
//!
//! # Where a GPU differs from the PTX ISA
//!
//! In these cases this machine does what an H200 does (`tests/golden/measured.txt` has 16,640 measured results, all of which it
//! reproduces bit for bit):
//!
//! - With `.ftz`, a product (and a sum with one), a quotient and a conversion from `f64` are flushed if they are below the smallest
//!   normal number when rounded to all bits, even if they would round up to that number as subnormals.
//! - Scalar video instructions do what the assembler (`ptxas` of CUDA 13.0, on every architecture) translates them to: `.sat` into a
//!   part of the destination turns what is below its range into its largest value; `.h1` receives the upper half of the
//!   result; `vshl.sat` considers 34 bits; the range of `vmad.sat` is that of the sources, whose third is always signed; `.min` and
//!   `.max` compare more than 32 bits; `.sat` of other unsigned results clamps at zero only. 664 of their forms are among
//!   those of `tests/golden/tables.txt`; the others follow the code that the assembler emits for them. nvcc emits none of them by
//!   itself.
//!
//! # Speed and memory
//!
//! Arithmetic and the inner loops of memory accesses are compiled for the baseline of the architecture and, on x86-64, for AVX2 with
//! FMA; the choice is made when a launch begins. Both give the same bits. On `AArch64` the baseline has NEON: the crate builds for
//! `aarch64-unknown-linux-gnu`, and its unit and integration tests pass there too (Rust 1.96, under QEMU 7.2, in November 2026); its
//! speed there has not been measured. In 10^9 lane instructions per second with all checks on, for the kernels of `benches/conv.rs`
//! on one core of a Xeon, the median of the best of 12 launches each time:
//!
//! | kernel | baseline | AVX2 |
//! |---|---|---|
//! | convolution backward, `LeNet`'s second layer, batch of 64 | 1.6 | 2.6 |
//! | matrix product 256^3 in tiles, with barriers | 0.50 | 0.77 |
//!
//! A third set, for AVX-512, reached 2.7 and 0.79 on that core, and 5.3 and 1.53 on two. It was dropped: these 3 to 4 % did not
//! justify a third copy of each of some 400 functions.
//!
//! The checks need at most four times the memory of the kernel's own buffers, and a little more: see "Memory that the checks need".
//!
//! # Structure
//!
//! `isa` holds the instructions and, in `isa::ops`, the pure function of each on one lane. `frontend` parses text to a syntax tree
//! (`syntax`) and lowers the tree to instructions with reconvergence points (`lower`). `memory` is the state spaces that they access, `image` what
//! textures and surfaces make of them.
//! `machine` executes a warp (`exec`), schedules its subwarps (`warp`) and the warps and barriers of a block (`block`). `instruments`
//! observe a run through `machine::monitor::Monitor`: the checks, the counters and the provenance of values. `launch` runs the
//! blocks of a grid.

#![doc = include_str!("../docs/checks.md")]
#![doc = include_str!("../docs/memory.md")]
#![doc = include_str!("../docs/special_functions.md")]
#![doc = include_str!("../docs/textures.md")]
#![doc = include_str!("../docs/coverage.md")]
#![doc = include_str!("../docs/speed.md")]
#![expect(
    clippy::inline_always,
    reason = "lane functions must be inlined, to be vectorised and to be compiled for the processor of their caller"
)]
#![expect(
    clippy::many_single_char_names,
    clippy::similar_names,
    clippy::upper_case_acronyms,
    clippy::verbose_bit_mask,
    reason = "operands are called a, b, c and d, as in the ISA; classes of operations by their register files; masks are masks"
)]

mod error;
pub mod finding;
mod frontend;
pub mod image;
mod instruments;
mod isa;
mod lanes;
mod launch;
mod machine;
mod memory;
mod program;
mod source_loc;

pub use error::{LaunchError, LoadError};
pub use finding::{AccessKind, Finding, FindingKind, Space, ThreadId};
pub use instruments::count::counts::{Counters, Counts, InstructionSite, Stride, Traffic};
pub use instruments::provenance::Provenance;
pub use instruments::provenance::expansion::{Expansion, Factor, Product};
pub use instruments::provenance::number::Number;
pub use instruments::provenance::origins::Origin;
pub use instruments::provenance::precision::ComputedStep;
pub use instruments::provenance::replace::{ReplacedValue, RoundedOnTheWay};
pub use instruments::provenance::slice::StoredElement;
pub use instruments::provenance::tracker::ElementOrigin;
pub use instruments::recording::{
    LaneAccess, Place, RecordedAccess, RecordedStep, Recording, RecordingRequest, RegisterWrite,
};
pub use instruments::touched::{Touch, TouchedBytes};
pub use instruments::trace::TracedAccess;
pub use instruments::watchpoint::{LastWriter, Watchpoint};
pub use isa::class::Class;
pub use isa::tensor_map;
pub use launch::config::{ElementWork, Launch, Options};
pub use launch::entry::{
    launch, launch_counted, launch_profiled, launch_recorded, launch_reordered,
    launch_with_provenance,
};
pub use launch::footprint::Footprint;
pub use launch::outcome::Outcome;
pub use launch::schedule::Schedule;
pub use machine::child_launch::ChildLaunch;
pub use memory::Memory;
pub use memory::buffer::{Access, BufferId, HostFault, Init};
pub use memory::heap::{HEAP_SIZE, HeapUse};
pub use memory::unwritten::Unwritten;
pub use program::module::{Kernel, Module, ParamType};
pub use program::symbols::{Register, Symbols};
pub use source_loc::SourceLoc;

impl Module {
    /// Total: any text gives a module or an error.
    ///
    /// # Errors
    /// If the text is not PTX. A kernel that this machine cannot run is no error: see [`Kernel::refusal`].
    pub fn load(ptx: &str) -> Result<Self, LoadError> {
        frontend::lower::lower(&frontend::syntax::parser::parse(ptx)?)
    }
}
