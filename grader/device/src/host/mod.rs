//! Puzzles whose functions are host functions: they are compiled to a shared library, and called in a child process that
//! is shut in. The grader reads the results from memory that the child cannot reach by itself, after its end.
//!
//! ```text
//! spec ─► glue ─┐
//! student's .cu ┴► toolchain ─► library ─► child (sandbox) ──CUDA calls──► device (virtual machine or GPU)
//!                                            │ ends                          │ holds inputs and outputs
//!                                            └──────────► run ◄──────────────┘
//! ```

mod child;
mod ending;
mod glue;
mod job;
mod library;
mod recording;
mod run;
mod test_device;
mod trail;
mod usage;
mod watch;
mod writers;

pub(crate) use child::close_all_but;
pub use child::{CHILD_COMMAND, main as child_main};
pub(crate) use ending::fault_of_signal;
pub use library::{HostProgram, compile, compile_variants};
pub use recording::{RecordedLaunch, RecordedParam, Recording};
pub use run::{DISK, HostBackend, Stored};
pub use trail::{TracedArg, TracedBuffer, TracedLaunch};
pub use usage::Usage;
pub use writers::{LaunchArg, Writer};
