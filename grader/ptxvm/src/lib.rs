//! A SIMT virtual machine for PTX.

#![expect(
    clippy::inline_always,
    reason = "lane functions must be inlined, to be vectorised and to be compiled for the processor of their caller"
)]
#![expect(
    clippy::many_single_char_names,
    clippy::similar_names,
    clippy::upper_case_acronyms,
    clippy::verbose_bit_mask,
    reason = "operands are called a, b, c and d, as in the ISA; classes of operations by their register files; and masks are masks"
)]

mod block;
mod check;
mod error;
mod exec;
mod finding;
mod grid;
mod hooks;
mod ir;
mod loc;
mod lower;
mod memory;
mod opcodes;
mod ops;
mod program;
mod simd;
mod syntax;
mod types;
mod warp;

pub use check::trace::Traced;
pub use error::{LaunchError, LoadError};
pub use finding::{AccessKind, Finding, FindingKind, Space};
pub use grid::{Launch, MAX_SHARED, MAX_THREADS, Options, Outcome, launch};
pub use loc::SourceLoc;
pub use memory::global::{Access, BufferId, Init, Memory};
pub use program::{Kernel, Module, ParamType};

impl Module {
    /// Total: any text gives a module or an error.
    ///
    /// # Errors
    /// If the text is not PTX, or has an instruction that this machine cannot run.
    pub fn load(ptx: &str) -> Result<Self, LoadError> {
        lower::lower(&syntax::parser::parse(ptx)?)
    }
}
