//! Copies of expressions whose reductions bind indices of their own (α-conversion), so that a copy may stand inside the
//! loops of the original.

use std::collections::BTreeMap;

use crate::program::ir::Index;
use crate::program::node::{IndexId, Node};
use crate::syntax::int_expr::{IntExpr, IntKind};

/// Makes copies; their indices are added to the table.
pub struct FreshIndices<'a> {
    pub table: &'a mut Vec<Index>,
}

/// For each index of the original: the one that stands for it in the copy.
type Renamed = BTreeMap<IndexId, IndexId>;

impl FreshIndices<'_> {
    /// A copy in which every reduction has indices of its own.
    pub fn copy(&mut self, node: &Node) -> Node {
        self.rename(node, &mut Renamed::new())
    }

    /// A copy of a reduction's body, and the copies of the indices `bound` that it binds.
    pub fn copy_reduction(&mut self, bound: &[IndexId], body: &Node) -> (Vec<IndexId>, Node) {
        let mut renamed = Renamed::new();
        let own = self.renew(bound, &mut renamed);
        (own, self.rename(body, &mut renamed))
    }

    fn rename(&mut self, node: &Node, renamed: &mut Renamed) -> Node {
        match node {
            Node::Index(int) => Node::Index(int.map(&mut |leaf| rename_leaf(leaf, renamed))),
            Node::Read(read) => Node::Read(read.map(&mut |leaf| rename_leaf(leaf, renamed))),
            Node::Where(guards, body) => {
                let guards =
                    guards.iter().map(|guard| guard.map(&mut |leaf| rename_leaf(leaf, renamed)));
                Node::Where(guards.collect(), Box::new(self.rename(body, renamed)))
            }
            Node::Reduce(reduction, bound, body) => {
                let own = self.renew(bound, renamed);
                Node::Reduce(*reduction, own, Box::new(self.rename(body, renamed)))
            }
            _ => node.map_children(&mut |child| self.rename(child, renamed)),
        }
    }

    /// New indices with the names and ranges of `bound`.
    fn renew(&mut self, bound: &[IndexId], renamed: &mut Renamed) -> Vec<IndexId> {
        let renew = |&id: &IndexId| {
            let new = self.table.len();
            self.table.push(self.table[id].clone());
            renamed.insert(id, new);
            new
        };
        bound.iter().map(renew).collect()
    }
}

fn rename_leaf(leaf: &IntExpr, renamed: &Renamed) -> IntExpr {
    match leaf.as_index().and_then(|id| renamed.get(&id)) {
        Some(&new) => IntExpr::new(IntKind::Index(new), leaf.span),
        None => leaf.clone(),
    }
}
