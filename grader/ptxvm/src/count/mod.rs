//! Counters of a launch: what its warps executed and how they went to memory, in total and by source line.
//!
//! Instructions are PTX instructions, not those of the GPU's own code, into which `ptxas` turns them; so their numbers
//! are no profiler's. Requests, sectors, wavefronts and bank conflicts follow from the addresses of each access alone, and are
//! meant as Nsight Compute means them:
//!
//! | here | Nsight Compute |
//! |---|---|
//! | [`Counts::load_requests`] | `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum` |
//! | [`Counts::load_sectors`] | `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` |
//! | [`Counts::store_requests`] | `l1tex__t_requests_pipe_lsu_mem_global_op_st.sum` |
//! | [`Counts::store_sectors`] | `l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum` |
//! | [`Counts::shared_wavefronts`] | `l1tex__data_pipe_lsu_wavefronts_mem_shared.sum` |
//! | [`Counts::bank_conflicts`] | `l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum` |
//!
//! The numbers here are a model: the rules below, applied to each access. They have not been compared with a profiler
//! yet. `ptxas` may also merge, split or drop accesses of the PTX, which no such model sees.

mod class;
mod counts;
mod monitor;
pub(crate) mod patterns;
mod run;

pub use class::Class;
pub use counts::{Counters, Counts, Stride};
pub use run::launch_counted;
