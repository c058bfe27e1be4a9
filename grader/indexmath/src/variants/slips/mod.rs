//! What people get wrong when they write a formula as a loop; each family of slips in a file of its own.
//!
//! A slip is a tree in the place of another. It says what it changes as the end of the sentence "your result is what the formula
//! gives if ...".

mod arithmetic;
mod constants;
mod functions;
mod grouping;
mod integers;
mod losses;
mod padding;
mod reads;
mod reductions;
mod split;
mod swapped;
pub(crate) mod whole;

use crate::integer::evaluate::Dims;
use crate::program::node::IndexId;
use crate::syntax::int_expr::{IntExpr, IntKind};
use crate::variants::tree::{Access, Model, TensorId, Tree};

/// A change of one tree.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// Names the change, without the names of indices: the same slip in two equal places has the same key.
    pub key: String,
    /// What is different, in plain words.
    pub says: String,
    /// What it is about, if that is less than the whole tree: the factor that is left out, the range of a loop.
    pub about: Option<Tree>,
    /// The integer expression that it changes, and how: a subscript, or a number in a condition.
    pub int: Option<(IntExpr, String)>,
    /// How far it is from the formula: 1 is a plain slip.
    pub rank: u8,
    /// What stands there now.
    pub tree: Tree,
}

/// A place in a part of a model, with what is known there.
pub(crate) struct Place<'a> {
    pub model: &'a Model,
    /// The values of the sizes, and of the constants of a launch.
    pub dims: &'a Dims,
    /// The sizes and constants, by name.
    pub sizes: &'a [String],
    /// Products of two sizes, by name.
    pub products: &'a [String],
    /// The tensors that can be read there.
    pub readable: &'a [TensorId],
    /// The indices that are bound there.
    pub scope: &'a [IndexId],
    pub tree: &'a Tree,
    /// The reads of real numbers in its part.
    pub others: &'a [Access],
}

impl Place<'_> {
    /// A size as it is named in a sentence: with its value, where a launch gives it.
    fn size_text(&self, size: &IntExpr) -> String {
        let text = self.model.int_text(size);
        let constant =
            matches!(&size.kind, IntKind::Name(name) if !self.model.sizes.contains(name));
        match crate::integer::evaluate::evaluate_size(size, self.dims) {
            Ok(value) if constant => format!("{text} ({value})"),
            _ => format!("`{text}`"),
        }
    }
}

impl Edit {
    fn new(key: impl Into<String>, rank: u8, tree: Tree, says: impl Into<String>) -> Self {
        Self { key: key.into(), says: says.into(), about: None, int: None, rank, tree }
    }

    fn about(self, operand: &Tree) -> Self {
        Self { about: Some(operand.clone()), ..self }
    }

    fn of_int(self, int: &IntExpr, key: &str) -> Self {
        Self { int: Some((int.clone(), key.to_owned())), ..self }
    }
}

/// All slips at a place.
pub(crate) fn edits(place: &Place) -> Vec<Edit> {
    let mut edits = arithmetic::edits(place);
    edits.extend(functions::edits(place));
    edits.extend(grouping::edits(place));
    edits.extend(reductions::edits(place));
    edits.extend(reads::edits(place));
    edits.extend(constants::edits(place));
    edits.extend(losses::edits(place));
    edits.extend(padding::edits(place));
    edits.retain(|edit| edit.tree != *place.tree);
    edits
}
