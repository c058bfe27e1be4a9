//! The CUDA runtime API for programs that run without a GPU.
//!
//! A program that nvcc compiled as a shared library without NVIDIA's own runtime (`-shared -Xcompiler -fPIC -cudart
//! none`) calls `cudaMalloc`, `cudaLaunchKernel` and so on. This crate implements these functions as a *client* that
//! sends requests to a *server* over a stream socket. The server owns the device: its memory, the loaded modules, the
//! launches. So the program can do to the device only what the API allows: whoever runs the server can trust the
//! results and findings there, whatever the program does.
//!
//! ```text
//! program ── cudaMalloc, <<<>>>, ... ──► api ──► client ══ socket ══► server ──► Device (VmDevice: ptxvm)
//! ```
//!
//! The program's process [connects](client::connect), loads the library and calls its `main`. Another thread or process
//! [serves](server::serve) with a [`VmDevice`](vm::VmDevice).
//!
//! - [`device`] is the table of a device's operations: each one is a function of the trait and a request over the
//!   socket.
//! - [`images`] has what programs and devices say of arrays, textures and surfaces.
//! - [`order`] follows what happens before what in the program's streams, and finds work that nothing orders.
//! - [`frame`] sends requests and answers over the socket.
//! - [`fatbin`] extracts the PTX that nvcc embeds, compressed or not.
//! - [`error`] has the error codes, names and texts of CUDA.
//!
//! # Differences from a GPU
//!
//! - Work is done immediately, in the order in which it is issued: a legal order of streams, but the only one that
//!   occurs. A device may ask for the opposite ([`Properties::late`](device::Properties::late)): work in streams is done when
//!   the program waits for it, and what was issued last first where the program leaves a choice; graphs are still done at once.
//!   [`order`] follows the rules of streams and events, so work that nothing orders is reported all the same.
//!   Followed are programs that create streams or, where findings are wanted, share memory with their kernels, but not memory from
//!   `malloc` in kernels, nor `__managed__` variables and registered memory, nor what several host threads agree on among themselves:
//!   the calls of all count as one sequence.
//! - `cudaMemcpy` from pageable memory counts as done when it returns, and `cudaMemcpyAsync` to pageable memory too, though CUDA
//!   promises neither ("API synchronization behavior").
//! - `cudaStreamQuery` and `cudaEventQuery` always find work done, and so count as waits.
//! - Graphs have no external semaphores.
//! - Memory that goes back to a pool goes back to the device.
//! - Event times are simulated. After the first one that a program reads, a note appears on standard error.
//! - Managed and pinned host memory is copied to the device before each launch and back after it.
//! - Of the driver API there are the functions for devices, contexts, modules and their linker, launches, memory that is allocated or
//!   mapped, arrays, textures, streams and events, tensor maps and the names of errors, by `cudaGetDriverEntryPoint` and as symbols.
//! - An unsupported function returns `cudaErrorNotSupported` and prints its name on standard error.

mod api;
pub mod client;
pub mod device;
mod device_runtime;
pub mod error;
pub mod fatbin;
pub mod frame;
pub mod images;
mod names;
pub mod order;
pub mod server;
pub mod vm;

pub use api::{exported, is_driver_function};
pub use names::{signature, source_name};
