//! An element as a sum of products: what the formula adds beside what the kernel added.

mod compare;
mod element;
mod formula;
mod guard;
mod locate;
mod shuffles;
mod source;
mod terms;

pub use element::{element_terms, formula_is_general, name_line};
pub use formula::formula_terms;
pub(crate) use guard::guard;
pub use shuffles::with_own_lines;
pub use terms::{Clue, ElementTerms, MissingRange, Row, RowKind};
