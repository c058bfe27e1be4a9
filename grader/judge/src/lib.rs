//! Decides whether a test passed, and says why not.
//!
//! ```text
//! case + run ─► judgement ─► verdict ─┬─ formula_variant: the wrong formula that gives exactly these values
//!                                     ├─ intermediate: the part of the formula that the kernel computed wrongly
//!                                     ├─ branch: the condition of the formula that the wrong elements contradict
//!                                     ├─ choice: which other element of a search the wrong positions name
//!                                     ├─ half_steps: a line that rounds to half precision, where nothing asks for it
//!                                     ├─ inputs: what an element is computed from, and should not be, or the other way round
//!                                     ├─ threads: which threads store the wrong elements
//!                                     ├─ writers: which calls of host code store an output
//!                                     ├─ host_steps: how far the launches of host code are right
//!                                     ├─ wrong_step: the step that they have wrongly in memory
//!                                     ├─ returns: the `return` with which host code gives a wrong flag
//!                                     ├─ places: where the wrong elements lie in all cases
//!                                     ├─ sizes: for which sizes the result is correct
//!                                     ├─ cause: what the pattern of the errors shows
//!                                     └─ expansion: the kernel's products beside those of the formula
//! ```
//!
//! [`grade`] is the way of a verdict from a spec and a kernel file; [`batch_compile`] compiles many variants of one file at
//! once for it; [`drawn_cases`] has the cases that a run draws, and [`drawn`] judges them; [`explain`] follows a single element. A
//! verdict ([`verdict`]) is data: this crate has no words for it and prints nothing.

pub mod batch_compile;
mod branch;
mod call_args;
mod choice;
pub mod diagnosis;
pub mod drawn;
pub mod drawn_cases;
mod elsewhere;
pub mod expansion;
pub mod explain;
mod findings;
mod formula_variant;
pub mod grade;
mod half_steps;
mod host_steps;
mod inputs;
mod intermediate;
pub mod judgement;
mod origins;
pub mod other_cases;
mod places;
pub mod returns;
mod sizes;
mod step_in_place;
mod subject;
mod threads;
mod trials;
mod unwritten;
pub mod verdict;
mod writers;
mod wrong_step;
