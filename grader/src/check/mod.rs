//! Checks whether a puzzle is ready for students. The project's own tests run the same checks.

mod all;
mod bench;
mod bounds;
mod broken;
mod caught;
mod chapter;
mod drawn;
mod item;
mod kernels;
mod mutation;
pub mod named_line;
mod repeat;
pub mod report;
pub mod reports;
mod says;
mod signatures;
mod sizes;

pub use all::all;
pub use bench::{Bench, Loaded, SEED, load};
pub use item::Item;
pub use mutation::{Mutation, Survivor, mutation};
