//! The functions that programs call. Each does what the CUDA Runtime API specifies; all return a `cudaError_t`.
//!
//! These files have a C interface: they read and write through the program's pointers. An invalid pointer there crashes
//! the program, as it would with NVIDIA's library.
#![allow(unsafe_code)]
#![allow(non_snake_case, reason = "the names are CUDA's")]
#![allow(clippy::missing_safety_doc, reason = "as in the CUDA Runtime API")]

mod advice;
mod arrays;
mod c;
mod device;
mod driver;
mod driver_calls;
mod driver_images;
mod driver_links;
mod errors;
mod graph_nodes;
mod graphs;
mod launch;
mod libraries;
mod memory;
mod per_thread;
mod pools;
mod register;
mod streams;
mod symbols;
mod table;
#[cfg(test)]
mod tests;
mod textures;
mod unsupported;
mod virtual_memory;

pub use driver::is_driver_function;

/// The addresses of all functions, so that the linker keeps them for programs that look them up by name.
pub fn exported() -> usize {
    let all = [
        advice::TABLE,
        arrays::TABLE,
        device::TABLE,
        driver::TABLE,
        driver_calls::TABLE,
        driver_images::TABLE,
        driver_links::TABLE,
        errors::TABLE,
        graph_nodes::TABLE,
        graphs::TABLE,
        launch::TABLE,
        libraries::TABLE,
        memory::TABLE,
        per_thread::TABLE,
        pools::TABLE,
        register::TABLE,
        streams::TABLE,
        symbols::TABLE,
        textures::TABLE,
        unsupported::TABLE,
        virtual_memory::TABLE,
    ];
    std::hint::black_box(all).iter().map(|table| table.len()).sum()
}
