//! Wrong formulas: given what a kernel computed, the formulas near the correct one that give exactly this.
//!
//! - [`tree::tree_of`]: formulas, whatever their sizes are;
//! - [`tree`]: formulas as a slip can change them;
//! - [`text`]: their parts as text;
//! - [`slips`]: what people get wrong;
//! - [`enumerate`]: every slip at every place;
//! - [`code`]: trees at fixed sizes;
//! - [`sites`]: what the reductions of a tree depend on;
//! - [`value`]: numbers as a kernel computes them;
//! - [`kept`]: reductions that are evaluated once;
//! - [`inner`]: innermost loops of plain arithmetic;
//! - [`limits`]: where the terms of a sum are 0;
//! - [`machine`]: evaluates a formula with slips, element by element;
//! - [`branches`]: which way the right formula's conditions go;
//! - [`chosen`]: what stands at the positions of a search;
//! - [`parts`]: the values of the right formula's parts;
//! - [`inputs`]: the elements that the right formula computes an element from;
//! - [`tried`]: slips that are the same at the sizes of a test;
//! - [`search`]: compares them with what was observed.
//!
//! This is mutation-based fault localisation (Moon et al., "Ask the Mutants", ICST 2014) with the specification mutated in the
//! place of the program: it needs the outputs alone, and its answer is in the terms of the formula.

pub(crate) mod branches;
pub(crate) mod chosen;
mod code;
pub(crate) mod enumerate;
mod inner;
pub(crate) mod inputs;
mod kept;
mod limits;
pub(crate) mod machine;
pub(crate) mod parts;
pub(crate) mod search;
mod sites;
mod slips;
mod text;
pub(crate) mod tree;
mod tried;
mod value;
