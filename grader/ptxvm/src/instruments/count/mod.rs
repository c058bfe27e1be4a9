//! Counters of a launch: what its warps executed and how they went to memory, in total and by source line.
//!
//! Instructions are PTX instructions, not those of the GPU's own code, into which `ptxas` turns them; so their numbers
//! are no profiler's. Requests, sectors, wavefronts and bank conflicts follow from the addresses of each access alone, and are
//! meant as Nsight Compute means them:
//!
//! | here | Nsight Compute |
//! |---|---|
//! | `Counts::load_requests` | `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum` |
//! | `Counts::load_sectors` | `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` |
//! | `Counts::store_requests` | `l1tex__t_requests_pipe_lsu_mem_global_op_st.sum` |
//! | `Counts::store_sectors` | `l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum` |
//! | `Counts::shared_wavefronts` | `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum` and `..._op_st.sum` |
//! | `Counts::bank_conflicts` | `l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum` |
//!
//! The numbers here are a model: the rules below, applied to each access. On the patterns of `tests/counters/patterns.cu`, one
//! warp each, they are those that Nsight Compute counted on an H200 (CUDA 13.0), without exception:
//!
//! | pattern | loads: requests, sectors | stores: requests, sectors | shared: wavefronts, conflicts |
//! |---|---|---|---|
//! | `stride_1` | 1, 4 | 1, 4 | 0, 0 |
//! | `stride_2` | 1, 8 | 1, 4 | 0, 0 |
//! | `stride_32` | 1, 32 | 1, 4 | 0, 0 |
//! | `misaligned` | 1, 5 | 1, 4 | 0, 0 |
//! | `reversed` | 1, 4 | 1, 4 | 0, 0 |
//! | `broadcast` | 1, 1 | 1, 4 | 0, 0 |
//! | `store_stride_8` | 1, 4 | 1, 32 | 0, 0 |
//! | `load_float2` | 1, 8 | 1, 4 | 0, 0 |
//! | `load_float4` | 1, 16 | 1, 4 | 0, 0 |
//! | `load_half` | 1, 2 | 1, 4 | 0, 0 |
//! | `struct_12` | 3, 36 | 1, 4 | 0, 0 |
//! | `gather` | 1, 32 | 1, 4 | 0, 0 |
//! | `half_warp` | 1, 2 | 1, 2 | 0, 0 |
//! | `every_other_lane` | 1, 4 | 1, 4 | 0, 0 |
//! | `atomic_same` | 1, 4 | 0, 0 | 0, 0 |
//! | `shared_row` | 32, 128 | 1, 4 | 33, 0 |
//! | `shared_column` | 32, 128 | 1, 4 | 64, 31 |
//! | `shared_column_padded` | 33, 132 | 1, 4 | 34, 0 |
//! | `shared_stride_2` | 32, 128 | 1, 4 | 34, 1 |
//! | `shared_broadcast` | 33, 129 | 1, 4 | 33, 0 |
//! | `shared_double` | 8, 32 | 1, 4 | 18, 0 |
//! | `shared_double_stride_2` | 8, 32 | 1, 4 | 20, 2 |
//! | `shared_float4` | 1, 16 | 1, 4 | 8, 0 |
//!
//! Wavefronts are those of loads and stores (`..._mem_shared_op_ld.sum` and `..._op_st.sum`); Nsight Compute's total has one or
//! two more for each launch. Elsewhere `ptxas` may merge, split or drop accesses of the PTX, which no such model sees.

pub(crate) mod counts;
pub(crate) mod monitor;
pub(crate) mod patterns;
