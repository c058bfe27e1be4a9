//! Formulas as a slip can change them: trees in which every range, stride and bounds check is written out.
//!
//! A kernel computes addresses, not subscripts. So a read adds up its subscripts as row-major memory does, and one past the end of a
//! row is the first of the next.

pub(crate) mod tree_of;

use std::cell::RefCell;

use crate::dtype::DType;
use crate::program::ir::Program;
use crate::program::node::{Guard, IndexId, Node};
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp, Read};
use crate::syntax::operators::Reduction;
use crate::transform::unparse::whole_statement;
use tree_of::TreeOf;

/// The position of a tensor in [`Model::tensors`].
pub(crate) type TensorId = usize;

/// A real-valued expression.
pub(crate) type Tree = TreeOf<IntExpr, Access, Range>;

/// The values `from .. to` of an index, the last one first if `backwards`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    pub index: IndexId,
    pub from: IntExpr,
    pub to: IntExpr,
    pub backwards: bool,
}

/// A read of an element.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Access {
    pub tensor: TensorId,
    pub subscripts: Vec<IntExpr>,
    /// The sizes by which the address is computed.
    pub shape: Vec<IntExpr>,
    /// The bounds check of each axis; without any the element must be there.
    pub checks: Vec<Check>,
}

impl Range {
    /// Whether it begins at 0, whatever other indices are.
    pub(crate) fn is_from_start(&self) -> bool {
        matches!(self.from.kind, IntKind::Const(0))
    }
}

/// The integer after this one.
fn next(int: &IntExpr) -> IntExpr {
    IntExpr::binary(IntOp::Add, int.clone(), IntExpr::constant(1))
}

/// Which subscripts an axis of a padded read takes: those from `low` on if it is given, and those before the size plus `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub low: Option<i64>,
    pub high: Option<i64>,
}

/// A tensor, declared or derived.
#[derive(Clone, Debug)]
pub(crate) struct TensorInfo {
    pub name: String,
    /// Whether its values are known, whatever is computed.
    pub given: bool,
    pub dtype: DType,
    pub shape: Vec<IntExpr>,
}

/// A statement: the element of `target` at `axes`.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub target: TensorId,
    pub axes: Vec<IndexId>,
    pub body: Tree,
}

/// The statements that a tensor is computed by.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub tensors: Vec<TensorInfo>,
    /// In the order of evaluation; the tensor's own statement is the last.
    pub parts: Vec<Part>,
    /// The names of the indices.
    pub indices: Vec<String>,
    /// The ranges of the indices.
    pub ranges: Vec<IntExpr>,
    pub sizes: Vec<String>,
}

impl Model {
    /// The statements of `program` that `wanted` needs where the tensors for which `given` holds are known.
    pub(crate) fn new(
        program: &Program,
        wanted: &str,
        given: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        let mut program = program.clone();
        let tensors: Vec<TensorInfo> = program
            .tensors
            .iter()
            .map(|(name, ty)| TensorInfo {
                name: name.clone(),
                given: given(name),
                dtype: ty.dtype,
                shape: ty.shape.iter().map(|size| size.int.clone()).collect(),
            })
            .collect();
        let mut open = vec![wanted.to_owned()];
        let mut parts = Vec::new();
        for statement in program.statements.clone().iter().rev() {
            if !open.contains(&statement.target)
                || (given(&statement.target) && statement.target != wanted)
            {
                continue;
            }
            if statement.recurrence.is_some() {
                return None;
            }
            statement.reads(&mut |read| open.push(read.tensor.clone()));
            let (axes, body) = whole_statement(&mut program, statement)?;
            parts.push((statement.target.clone(), axes, body));
        }
        let (indices, ranges) =
            program.indices.iter().map(|index| (index.name.clone(), index.range.clone())).unzip();
        let sizes = program.sizes.iter().cloned().collect();
        let mut model = Self { tensors, parts: Vec::new(), indices, ranges, sizes };
        for (target, axes, body) in parts.into_iter().rev() {
            let part = Part { target: model.tensor(&target)?, axes, body: model.tree(&body)? };
            model.parts.push(part);
        }
        (!model.parts.is_empty()).then_some(model)
    }

    pub(crate) fn tensor(&self, name: &str) -> Option<TensorId> {
        self.tensors.iter().position(|tensor| tensor.name == name)
    }

    fn tree(&self, node: &Node) -> Option<Tree> {
        let boxed = |node: &Node| Some(Box::new(self.tree(node)?));
        Some(match node {
            Node::Number(value) => Tree::Number(*value),
            Node::Size(name, span) => Tree::Int(IntExpr::new(IntKind::Name(name.clone()), *span)),
            Node::Index(int) => Tree::Int(int.clone()),
            Node::Read(read) => Tree::Read(self.access(read)?),
            Node::Neg(inner) => match self.tree(inner)? {
                Tree::Number(value) => Tree::Number(-value),
                inner => Tree::Neg(Box::new(inner)),
            },
            Node::Binary(op, left, right) => Tree::Binary(*op, boxed(left)?, boxed(right)?),
            // Products have no slips yet.
            Node::Where(..) | Node::Reduce(Reduction::Prod, ..) => return None,
            Node::Reduce(reduction, bound, body) => {
                let (guards, body) = body.without_guards();
                // Positions are counted from 0 wherever the range starts.
                if !guards.is_empty() && reduction.gives_position() {
                    return None;
                }
                Tree::Reduce(*reduction, self.limited(bound, guards)?, boxed(body)?)
            }
            Node::Call(function, values) => {
                let values = values.iter().map(|value| self.tree(value));
                Tree::Call(*function, values.collect::<Option<_>>()?)
            }
            Node::Select(condition, yes, no) => {
                let condition = condition.try_map(&mut |value| self.tree(value).ok_or(())).ok()?;
                Tree::Select(Box::new(condition), boxed(yes)?, boxed(no)?)
            }
        })
    }

    /// The ranges of these indices, outermost first, within the limits that the guards are. `None` if a limit depends on an index that
    /// is bound further inside.
    fn limited(&self, bound: &[IndexId], guards: &[Guard]) -> Option<Vec<Range>> {
        let whole = |&index: &IndexId| Range {
            index,
            from: IntExpr::constant(0),
            to: self.ranges[index].clone(),
            backwards: false,
        };
        let mut ranges: Vec<Range> = bound.iter().map(whole).collect();
        for guard in guards {
            let place = |side: &IntExpr, other: &IntExpr| {
                let at = bound.iter().position(|&index| side.as_index() == Some(index))?;
                let is_known = bound[at..].iter().all(|index| !other.indices().contains(index));
                is_known.then_some(at)
            };
            let (left, right) = (&guard.left, &guard.right);
            if let Some(at) = place(left, right) {
                let limit = if guard.strict { right.clone() } else { next(right) };
                // An index of an axis that is as long, and data, which are checked, stay inside.
                let is_inside = right.has_elements()
                    || right.as_index().is_some_and(|of| self.ranges[of] == ranges[at].to);
                let to = &mut ranges[at].to;
                *to =
                    if is_inside { limit } else { IntExpr::binary(IntOp::Min, to.clone(), limit) };
            } else {
                let at = place(right, left)?;
                let limit = if guard.strict { next(left) } else { left.clone() };
                let is_inside = left.has_elements() || left.as_index().is_some();
                let from = &mut ranges[at].from;
                *from = if is_inside {
                    limit
                } else {
                    IntExpr::binary(IntOp::Max, from.clone(), limit)
                };
            }
        }
        Some(ranges)
    }

    fn access(&self, read: &Read) -> Option<Access> {
        let tensor = self.tensor(&read.tensor)?;
        let checks = if read.padded { read.subscripts.len() } else { 0 };
        Some(Access {
            tensor,
            subscripts: read.subscripts.clone(),
            shape: self.tensors[tensor].shape.clone(),
            checks: vec![Check { low: Some(0), high: Some(0) }; checks],
        })
    }
}

impl Tree {
    /// The same tree over what `f` makes of the trees directly below.
    pub(crate) fn map_children(&self, f: &mut impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Number(_) | Self::Int(_) | Self::Read(_) => self.clone(),
            Self::Neg(inner) => Self::Neg(Box::new(f(inner))),
            Self::Reduce(kind, ranges, body) => {
                Self::Reduce(*kind, ranges.clone(), Box::new(f(body)))
            }
            Self::Binary(op, left, right) => {
                let left = f(left);
                Self::binary(*op, left, f(right))
            }
            Self::Call(function, values) => Self::Call(*function, values.iter().map(f).collect()),
            Self::Select(condition, yes, no) => {
                let condition = condition.map(f);
                let yes = f(yes);
                Self::Select(Box::new(condition), Box::new(yes), Box::new(f(no)))
            }
        }
    }

    /// The tree with `new` at the place `path`, which is made of positions among [`Self::children`].
    pub(crate) fn with(&self, path: &[usize], new: &Self) -> Self {
        let Some((&first, rest)) = path.split_first() else { return new.clone() };
        let mut position = 0;
        self.map_children(&mut |child| {
            position += 1;
            if position == first + 1 { child.with(rest, new) } else { child.clone() }
        })
    }

    /// The tree with its integer expressions replaced by what `f` makes of them: subscripts, sizes of addresses, ranges.
    pub(crate) fn map_ints(&self, f: &mut impl FnMut(&IntExpr) -> Option<IntExpr>) -> Option<Self> {
        let f = RefCell::new(f);
        let int = |int: &IntExpr| f.borrow_mut()(int);
        let all = |ints: &[IntExpr]| ints.iter().map(int).collect::<Option<_>>();
        let read = |access: &Access| {
            let (subscripts, shape) = (all(&access.subscripts)?, all(&access.shape)?);
            Some(Access { subscripts, shape, ..access.clone() })
        };
        let range = |range: &Range| {
            let (from, to) = (int(&range.from)?, int(&range.to)?);
            Some(Range { from, to, ..*range })
        };
        self.try_map(&int, &read, &range)
    }

    /// The same tree wherever it stands in the text of the formula.
    pub(crate) fn without_spans(&self) -> Option<Self> {
        self.map_ints(&mut |int| Some(int.without_spans()))
    }

    /// Calls `f` with every tree, this one first, and its path.
    pub(crate) fn visit<'a>(
        &'a self,
        path: &mut Vec<usize>,
        f: &mut impl FnMut(&[usize], &'a Self),
    ) {
        f(path, self);
        for (position, child) in self.children().into_iter().enumerate() {
            path.push(position);
            child.visit(path, f);
            path.pop();
        }
    }

    /// The tree with its indices numbered in the order in which they appear.
    pub(crate) fn renamed(&self) -> Self {
        fn go(tree: &Tree, seen: &mut Vec<IndexId>) -> Tree {
            fn number(seen: &mut Vec<IndexId>, id: IndexId) -> IndexId {
                seen.iter().position(|&other| other == id).unwrap_or_else(|| {
                    seen.push(id);
                    seen.len() - 1
                })
            }
            let mut int = |int: &IntExpr| {
                int.map(&mut |leaf| match &leaf.kind {
                    IntKind::Index(id) => IntExpr::index(number(seen, *id)),
                    kind => IntExpr::new(kind.clone(), crate::Span::default()),
                })
                .without_spans()
            };
            let own = match tree {
                Tree::Int(i) => Tree::Int(int(i)),
                Tree::Read(access) => Tree::Read(Access {
                    subscripts: access.subscripts.iter().map(&mut int).collect(),
                    shape: access.shape.iter().map(&mut int).collect(),
                    ..access.clone()
                }),
                Tree::Reduce(kind, ranges, body) => {
                    let ranges = ranges.iter().map(|range| {
                        let (from, to) = (int(&range.from), int(&range.to));
                        Range { index: 0, from, to, backwards: range.backwards }
                    });
                    Tree::Reduce(*kind, ranges.collect(), body.clone())
                }
                other => other.clone(),
            };
            own.map_children(&mut |child| go(child, seen))
        }
        go(self, &mut Vec::new())
    }
}
