//! The CUDA runtime API for programs that run without a GPU.
//!
//! A program that nvcc compiled, as a shared library without NVIDIA's own runtime (`-shared -Xcompiler -fPIC -cudart none`),
//! calls `cudaMalloc`, `cudaLaunchKernel` and their like. This crate has them, as a *client* that asks a *server* over a
//! stream socket. The server owns the device: its memory, the loaded modules, the launches. So the program can do to the
//! device what the API allows, and nothing else: whoever runs the server may read results and findings there and trust them,
//! whatever the program does.
//!
//! ```text
//! program ── cudaMalloc, <<<>>>, ... ──► api ──► client ══ socket ══► server ──► Device (VmDevice: ptxvm)
//! ```
//!
//! The program's process [connects](client::connect), loads the library and calls its `main`. Another thread or process
//! [serves](server::serve) with a [`VmDevice`](vm::VmDevice).
//!
//! - [`device`] is the table of what a device does: each operation is a function of the trait and a request over the socket.
//! - [`frame`] is how requests and answers go over the socket.
//! - [`fatbin`] takes the PTX out of what nvcc embeds, compressed or not.
//! - [`error`] has the error codes, names and texts of CUDA, [`limits`] what a device has room for.
//!
//! # What is different from a GPU
//!
//! - Work is done at once, in the order in which it is issued: a legal order of streams, but the only one you will see.
//! - Times of events are simulated. The first one that a program reads is followed by a note on standard error.
//! - Managed and pinned host memory is copied to the device before each launch and back after it.
//! - A function that is not supported returns `cudaErrorNotSupported` and names itself on standard error.

mod api;
pub mod client;
pub mod device;
pub mod error;
pub mod fatbin;
pub mod frame;
pub mod limits;
mod names;
pub mod server;
pub mod vm;

pub use api::exported;
pub use names::{signature, source_name};
