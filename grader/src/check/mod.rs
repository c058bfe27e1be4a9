//! Is a puzzle in order? What an instructor wants to know before students see it, and what the project's own tests ask.

mod all;
mod bench;
mod chapter;
mod item;
mod kernels;
mod mutation;
mod repeat;
pub mod report;
mod signatures;
mod sizes;

pub use all::all;
pub use bench::{Bench, Loaded, SEED, load};
pub use item::Item;
pub use mutation::{Mutation, Survivor, mutation};
