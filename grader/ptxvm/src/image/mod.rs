//! Textures and surfaces: what they hold, how coordinates lead to texels, and what is made of these (CUDA C++ Programming Guide,
//! "Texture and Surface Memory" and "Texture Fetching").
//!
//! All functions are pure: they compute addresses and weights, and values from texels. Whoever executes a fetch reads the texels.
//!
//! - `format` is the table of channel formats.
//! - `layout` has the shape of an image and the addresses of its texels.
//! - `sampler` finds texels and weights along one axis, `cube` the face of a cube, `mipmap` the levels, `footprint` the level for derivatives.
//! - `filter` adds texels up, and `fetch` puts these together; `surface` has the places of surface accesses.
//! - `object` is what a kernel's handle stands for.

mod cube;
pub(crate) mod fetch;
mod filter;
mod footprint;
pub mod format;
pub mod layout;
mod mipmap;
pub mod object;
pub mod sampler;
pub(crate) mod surface;
pub mod tap;
