//! The reductions of a tree, and what the value of each depends on: where that is the same, its value is.

use crate::program::node::IndexId;
use crate::variants::code::{Code, Int};
use crate::variants::tree::TensorId;

/// A reduction somewhere in a code.
pub(super) struct Site<'c> {
    pub code: &'c Code,
    /// Its place in the whole code.
    pub path: Vec<usize>,
    /// The indices outside of it that it depends on.
    pub free: Vec<IndexId>,
    /// The tensors that it reads.
    pub reads: Vec<TensorId>,
    /// Some index that is bound around it is none of these, so that it has the same value several times.
    pub repeats: bool,
}

/// The reductions of `code`, around which `scope` is bound, and the indices of that which it uses. `None` if an index is used or bound
/// again where it should not be.
pub(super) fn sites<'c>(
    code: &'c Code,
    scope: &[IndexId],
) -> Option<(Vec<Site<'c>>, Vec<IndexId>)> {
    let mut walk = Walk { bound: scope.to_vec(), path: Vec::new(), sites: Vec::new() };
    let mut uses = walk.code(code)?.indices;
    uses.sort_unstable();
    uses.dedup();
    Some((walk.sites, uses))
}

struct Walk<'c> {
    bound: Vec<IndexId>,
    path: Vec<usize>,
    sites: Vec<Site<'c>>,
}

/// What a code depends on.
#[derive(Default)]
struct Uses {
    indices: Vec<IndexId>,
    tensors: Vec<TensorId>,
}

impl Uses {
    fn add(&mut self, other: Self) {
        self.indices.extend(other.indices);
        self.tensors.extend(other.tensors);
    }
}

impl<'c> Walk<'c> {
    fn code(&mut self, code: &'c Code) -> Option<Uses> {
        let mut uses = Uses::default();
        match code {
            Code::Int(int) => self.int(int, &mut uses)?,
            Code::Read(read) => {
                uses.tensors.push(read.tensor);
                self.int(&read.address, &mut uses)?;
                for (subscript, ..) in &read.checks {
                    self.int(subscript, &mut uses)?;
                }
            }
            Code::Reduce(_, ranges, _) => {
                let outside = self.bound.len();
                for range in ranges {
                    self.int(&range.from, &mut uses)?;
                    self.int(&range.to, &mut uses)?;
                    if self.bound.contains(&range.index) {
                        return None;
                    }
                    self.bound.push(range.index);
                }
                uses.add(self.children(code)?);
                let own = self.bound.split_off(outside);
                uses.indices.retain(|index| !own.contains(index));
                uses.indices.sort_unstable();
                uses.indices.dedup();
                uses.tensors.sort_unstable();
                uses.tensors.dedup();
                self.sites.push(Site {
                    code,
                    path: self.path.clone(),
                    free: uses.indices.clone(),
                    reads: uses.tensors.clone(),
                    repeats: self.bound.iter().any(|index| !uses.indices.contains(index)),
                });
            }
            Code::Number(_)
            | Code::Neg(_)
            | Code::Binary(..)
            | Code::Call(..)
            | Code::Select(..) => uses.add(self.children(code)?),
        }
        Some(uses)
    }

    fn children(&mut self, code: &'c Code) -> Option<Uses> {
        let mut uses = Uses::default();
        for (position, child) in code.children().into_iter().enumerate() {
            self.path.push(position);
            uses.add(self.code(child)?);
            self.path.pop();
        }
        Some(uses)
    }

    fn int(&self, int: &Int, uses: &mut Uses) -> Option<()> {
        match int {
            Int::Linear(linear) => {
                for index in linear.indices() {
                    if !self.bound.contains(&index) {
                        return None;
                    }
                    uses.indices.push(index);
                }
            }
            Int::Element(tensor, address) => {
                uses.tensors.push(*tensor);
                self.int(address, uses)?;
            }
            Int::Neg(inner) => self.int(inner, uses)?,
            Int::Binary(_, left, right) => {
                self.int(left, uses)?;
                self.int(right, uses)?;
            }
        }
        Some(())
    }
}
