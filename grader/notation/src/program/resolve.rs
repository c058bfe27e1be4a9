//! Name resolution: the names in parsed statements become tensors, sizes and indices.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result, list};
use crate::program::groups::{Group, groups, place, plus_text, resolved_place};
use crate::program::ir::{Assignment, Contribution, Index, Program, Recurrence, base_tensor};
use crate::program::limits::{Limits, high_range, limits, plus};
use crate::program::node::{IndexId, Node};
use crate::program::ranges::infer_range;
use crate::shape::{DimExpr, TensorType};
use crate::span::Span;
use crate::syntax::ast::{Bound, Expr, ExprKind, Limit, Statement};
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp, Read};
use crate::syntax::operators::{Op, Reduction};
use crate::syntax::parser::cursor::RESERVED;

/// Resolves the names in `statements`. The sizes are the names in the shapes of `tensors`, and those in `extra`.
///
/// # Errors
/// The first mistake, with its place: an unknown name, a wrong number of subscripts, an index without a range, a tensor that
/// is assigned twice or read before it is assigned.
pub fn resolve(
    statements: &[Statement],
    tensors: &BTreeMap<String, TensorType>,
    extra: &BTreeSet<String>,
) -> Result<Program> {
    let mut sizes = extra.clone();
    for tensor in tensors.values() {
        for size in &tensor.shape {
            sizes.extend(size.names().into_iter().map(|(name, _)| name));
        }
    }
    let program = Program {
        tensors: tensors.clone(),
        indices: Vec::new(),
        sizes,
        statements: Vec::new(),
        size_equalities: Vec::new(),
    };
    let groups = groups(statements)?;
    let mut resolver = Resolver {
        program,
        groups,
        current: 0,
        scope: Vec::new(),
        limited: Vec::new(),
        own_place: None,
        contributions: BTreeMap::new(),
    };
    for (position, statement) in statements.iter().enumerate() {
        resolver.current = position;
        resolver.statement(statement)?;
    }
    Ok(resolver.program)
}

/// The program so far, and what a name means at this point of a statement.
struct Resolver {
    program: Program,
    /// For each tensor that is assigned: the statements that do so.
    groups: BTreeMap<String, Group>,
    /// The position of the statement that is being resolved.
    current: usize,
    /// The indices that are bound here, by name.
    scope: Vec<(String, IndexId)>,
    /// The indices of this statement with a limit that gives them a range.
    limited: Vec<(IndexId, Limit)>,
    /// The place on the axis of a recurrence that this statement computes.
    own_place: Option<OwnPlace>,
    /// The contributions of the statements so far to tensors that later ones go on with.
    contributions: BTreeMap<String, Vec<Contribution>>,
}

/// The place of a slice that a statement of a recurrence computes: an index plus an offset, or a fixed one.
#[derive(Clone, Copy)]
struct OwnPlace {
    axis: usize,
    /// The index of a step; `None` for a start.
    index: Option<IndexId>,
    offset: i64,
}

impl Resolver {
    fn statement(&mut self, statement: &Statement) -> Result<()> {
        let span = statement.target_span;
        let shape = self.tensor(&statement.target, span)?.shape.clone();
        check_rank(&statement.target, span, statement.subscripts.len(), shape.len())?;
        self.scope.clear();
        self.own_place = None;
        let contribution = if statement.adds {
            self.scattered(statement, &shape)?
        } else {
            self.plain(statement, &shape)?
        };
        let name = &statement.target;
        self.contributions.entry(name.clone()).or_default().push(contribution);
        let Group { last, axis, .. } = self.groups[name];
        if last == self.current {
            let contributions = self.contributions.remove(name).unwrap_or_default();
            let recurrence = axis.map(|axis| Recurrence { axis, backwards: false, errors: None });
            let assignment = Assignment { target: name.clone(), contributions, recurrence };
            self.program.statements.push(assignment);
        }
        Ok(())
    }

    /// A statement with `=`.
    fn plain(&mut self, statement: &Statement, shape: &[DimExpr]) -> Result<Contribution> {
        let mut loops = Vec::new();
        let mut subscripts = Vec::new();
        let axis_of_steps = self.groups[&statement.target].axis;
        for (axis, (written, size)) in statement.subscripts.iter().zip(shape).enumerate() {
            let place = place(written).filter(|_| axis_of_steps == Some(axis));
            let Some((name, offset)) = place else {
                let IntKind::Name(name) = &written.kind else {
                    let help = if matches!(written.kind, IntKind::Element(_)) {
                        "to add to elements that data choose, write `+=`"
                    } else {
                        "write `y[i,j] = ...`, and do the arithmetic in the subscripts on the right side"
                    };
                    let message = "the left side needs plain indices";
                    return Err(Error::new(written.span, message).help(help));
                };
                let id = self.bind(name, written.span, size.int.clone())?;
                loops.push(id);
                subscripts.push(IntExpr::index(id));
                continue;
            };
            let constant = IntExpr::new(IntKind::Const(offset), written.span);
            let index = match name {
                None => None,
                Some(name) => {
                    Some(self.bind(name, written.span, plus(size.int.clone(), -offset))?)
                }
            };
            self.own_place = Some(OwnPlace { axis, index, offset });
            loops.extend(index);
            subscripts.push(match index {
                None => constant,
                Some(id) => {
                    let index = IntExpr::new(IntKind::Index(id), written.span);
                    IntExpr::binary(IntOp::Add, index, constant)
                }
            });
        }
        let body = self.expr(&statement.body)?;
        self.ranges_of_limits();
        Ok(Contribution { loops, subscripts, padded: false, body })
    }

    /// A statement with `+=`: every name on the left that is neither a size nor a tensor is an index.
    fn scattered(&mut self, statement: &Statement, shape: &[DimExpr]) -> Result<Contribution> {
        let mut names: Vec<(String, Span)> = Vec::new();
        for subscript in &statement.subscripts {
            subscript.leaves(&mut |leaf| {
                if let IntKind::Name(name) = &leaf.kind
                    && !self.program.sizes.contains(name)
                    && !self.program.tensors.contains_key(name)
                    && !names.iter().any(|(other, _)| other == name)
                {
                    names.push((name.clone(), leaf.span));
                }
            });
        }
        let mut loops = Vec::new();
        for (name, span) in &names {
            loops.push(self.bind(name, *span, IntExpr::constant(0))?);
        }
        let subscripts = statement.subscripts.iter().map(|int| self.int(int));
        let subscripts = subscripts.collect::<Result<Vec<_>>>()?;
        let body = self.expr(&statement.body)?;
        for ((name, span), &id) in names.iter().zip(&loops) {
            let on_axis = |(int, size): (&IntExpr, &DimExpr)| {
                (int.as_index() == Some(id)).then(|| size.int.clone())
            };
            let on_left = subscripts.iter().zip(shape).find_map(on_axis);
            let range = if let Some(range) = on_left {
                range
            } else {
                let elements = subscripts.iter().cloned().map(Node::Index);
                let all = elements.fold(body.clone(), |all, int| Node::binary(Op::Add, all, int));
                let bound = Bound { name: name.clone(), low: None, high: None, span: *span };
                let (range, equalities) = infer_range(id, &bound, &all, &self.program.tensors)?;
                self.program.size_equalities.extend(equalities);
                range
            };
            self.program.indices[id].range = range;
        }
        self.ranges_of_limits();
        Ok(Contribution { loops, subscripts, padded: statement.padded, body })
    }

    /// The type of the tensor `name`. A cotangent `grad(X)` and a new value `X'` have the type of X.
    fn tensor(&mut self, name: &str, span: Span) -> Result<&TensorType> {
        if !self.program.tensors.contains_key(name) {
            let mut declared = name;
            let found = loop {
                let Some(next) = base_tensor(declared) else {
                    return Err(self.unknown_tensor(declared, span));
                };
                declared = next;
                if let Some(found) = self.program.tensors.get(declared) {
                    break found.clone();
                }
            };
            self.program.tensors.insert(name.to_owned(), found);
        }
        Ok(&self.program.tensors[name])
    }

    fn unknown_tensor(&self, name: &str, span: Span) -> Error {
        let error = Error::new(span, format!("unknown tensor `{name}`"));
        if self.scope.iter().any(|(index, _)| index == name) {
            return error.help(format!(
                "`{name}` is an index; to use it as a number, write `index({name})`"
            ));
        }
        let known = list(self.program.tensors.keys().map(String::as_str));
        error.help(format!("declared tensors: {known}"))
    }

    /// Adds an index `name` to the scope.
    fn bind(&mut self, name: &str, span: Span, range: IntExpr) -> Result<IndexId> {
        if self.scope.iter().any(|(other, _)| other == name) {
            return Err(Error::new(span, format!("the index `{name}` is bound twice"))
                .help("give each index its own name"));
        }
        if self.program.sizes.contains(name) {
            return Err(Error::new(
                span,
                format!("`{name}` is a size, so no index can have this name"),
            )
            .help("rename the index"));
        }
        debug_assert!(!RESERVED.contains(&name));
        let id = self.program.indices.len();
        self.program.indices.push(Index { name: name.to_owned(), range, span });
        self.scope.push((name.to_owned(), id));
        Ok(id)
    }

    fn expr(&mut self, expr: &Expr) -> Result<Node> {
        Ok(match &expr.kind {
            ExprKind::Number(value) => Node::Number(*value),
            ExprKind::Name(name) => self.bare_name(name, expr.span)?,
            ExprKind::Read(read) => Node::Read(self.read(read)?),
            ExprKind::Neg(inner) => Node::Neg(Box::new(self.expr(inner)?)),
            ExprKind::Binary(op, left, right) => {
                Node::binary(*op, self.expr(left)?, self.expr(right)?)
            }
            ExprKind::Reduce(reduction, bounds, body) => self.reduce(*reduction, bounds, body)?,
            ExprKind::Call(function, values) => {
                let values = values.iter().map(|value| self.expr(value));
                Node::Call(*function, values.collect::<Result<Vec<_>>>()?)
            }
            ExprKind::Select(condition, yes, no) => {
                let condition = condition.try_map(&mut |value| self.expr(value))?;
                Node::select(condition, self.expr(yes)?, self.expr(no)?)
            }
            ExprKind::Index(int) => Node::Index(self.int(int)?),
        })
    }

    fn bare_name(&mut self, name: &str, span: Span) -> Result<Node> {
        let is_index = self.scope.iter().any(|(index, _)| index == name);
        if self.program.sizes.contains(name) && !self.program.tensors.contains_key(name) {
            return Ok(Node::Size(name.to_owned(), span));
        }
        if is_index && !self.program.tensors.contains_key(name) {
            return Err(Error::new(
                span,
                format!("the index `{name}` is used outside a subscript"),
            )
            .help(format!("to use it as a number, write `index({name})`")));
        }
        let read = Read { tensor: name.to_owned(), subscripts: Vec::new(), padded: false, span };
        Ok(Node::Read(self.read(&read)?))
    }

    fn read(&mut self, read: &Read) -> Result<Read> {
        // The name only: the span of the read starts with it.
        let end = read
            .subscripts
            .first()
            .map_or(read.span.end, |_| read.span.end.min(read.span.start + read.tensor.len()));
        let name_span = Span::new(read.span.start, end);
        let rank = self.tensor(&read.tensor, name_span)?.shape.len();
        self.check_order(read, name_span)?;
        if read.tensor.ends_with('\'') && !self.groups.contains_key(&read.tensor) {
            let message = format!("no statement assigns `{}`", read.tensor);
            return Err(Error::new(name_span, message)
                .help("a primed name is the value that the formula assigns to a tensor"));
        }
        check_rank(&read.tensor, read.span, read.subscripts.len(), rank)?;
        let subscripts =
            read.subscripts.iter().map(|int| self.int(int)).collect::<Result<Vec<_>>>()?;
        self.check_own_read(read, &subscripts)?;
        Ok(Read { subscripts, ..read.clone() })
    }

    /// Checks that a tensor is complete where it is read, or that this is a statement of its recurrence.
    fn check_order(&self, read: &Read, span: Span) -> Result<()> {
        let Some(group) = self.groups.get(&read.tensor) else { return Ok(()) };
        let (name, at) = (&read.tensor, self.current);
        if at > group.last || (group.axis.is_some() && group.positions.contains(&at)) {
            return Ok(());
        }
        let (message, help) = if group.positions.contains(&at) {
            let help = format!(
                "write `{name}'` on the left for its value after the launches, or give the result another name; a recurrence has a start `{name}[0] = ...` and a step `{name}[t+1] = ... {name}[t] ...`"
            );
            (format!("`{name}` is read in its own statement"), help)
        } else if at < group.first {
            let help = "move the statement that assigns it before this one".to_owned();
            (format!("`{name}` is read before it is assigned"), help)
        } else {
            let help = "move all statements that assign it before this one".to_owned();
            (format!("`{name}` is read before it is complete"), help)
        };
        Err(Error::new(span, message).help(help))
    }

    /// Checks that a statement of a recurrence reads its own tensor at earlier places only.
    fn check_own_read(&self, read: &Read, subscripts: &[IntExpr]) -> Result<()> {
        let own =
            self.groups.get(&read.tensor).is_some_and(|g| g.positions.contains(&self.current));
        let (Some(OwnPlace { axis, index, offset }), true) = (self.own_place, own) else {
            return Ok(());
        };
        let name = &read.tensor;
        let target = match index {
            None => offset.to_string(),
            Some(id) => format!("{}+{offset}", self.program.indices[id].name),
        };
        let Some((of, found)) = resolved_place(&subscripts[axis]).filter(|(of, _)| *of == index)
        else {
            let message =
                format!("`{name}` is read in its own step at a place that may not be known yet");
            return Err(Error::new(read.subscripts[axis].span, message).help(match index {
                None => "a start reads only fixed places before it".to_owned(),
                Some(id) => {
                    let step = &self.program.indices[id].name;
                    format!("the step for `{target}` reads `{step}`, or `{step}` minus a number, on this axis")
                }
            }));
        };
        if found < offset {
            return Ok(());
        }
        let message =
            format!("`{name}` is not known here yet: this statement computes it at `{target}`");
        let earlier = match of {
            None => "a place before it".to_owned(),
            Some(id) => {
                format!("`{}`, or earlier", plus_text(&self.program.indices[id].name, offset - 1))
            }
        };
        Err(Error::new(read.subscripts[axis].span, message).help(format!("read {earlier}")))
    }

    /// Resolves the names in a subscript: indices and sizes, and elements of integer tensors.
    fn int(&mut self, int: &IntExpr) -> Result<IntExpr> {
        let kind = match &int.kind {
            IntKind::Name(name) => {
                if let Some((_, id)) = self.scope.iter().find(|(index, _)| index == name) {
                    IntKind::Index(*id)
                } else if self.program.sizes.contains(name) {
                    return Ok(int.clone());
                } else if self.program.tensors.contains_key(name) {
                    let (tensor, span) = (name.clone(), int.span);
                    let scalar = Read { tensor, subscripts: Vec::new(), padded: false, span };
                    IntKind::Element(Box::new(self.element(&scalar)?))
                } else {
                    return Err(self.unbound_index(name, int.span));
                }
            }
            IntKind::Element(read) => IntKind::Element(Box::new(self.element(read)?)),
            IntKind::Const(_) | IntKind::Index(_) => int.kind.clone(),
            IntKind::Neg(inner) => IntKind::Neg(Box::new(self.int(inner)?)),
            IntKind::Binary(op, left, right) => {
                IntKind::Binary(*op, Box::new(self.int(left)?), Box::new(self.int(right)?))
            }
        };
        Ok(IntExpr::new(kind, int.span))
    }

    /// Resolves an element that is a subscript, or a part of one.
    fn element(&mut self, read: &Read) -> Result<Read> {
        let element = self.read(read)?;
        let dtype = self.program.tensors[&element.tensor].dtype;
        if !dtype.is_float() {
            return Ok(element);
        }
        let message = format!("`{}` has elements of type {dtype}", element.tensor);
        Err(Error::new(element.span, message)
            .help("only elements of an integer tensor can stand in a subscript or in `index(...)`"))
    }

    fn unbound_index(&self, name: &str, span: Span) -> Error {
        let indices = list(self.scope.iter().map(|(index, _)| index.as_str()));
        let sizes = list(self.program.sizes.iter().map(String::as_str));
        Error::new(span, format!("`{name}` is neither an index nor a size")).help(format!(
            "name it on the left side or in a reduction like `sum[...]`; indices here: {indices}; sizes: {sizes}"
        ))
    }

    fn reduce(&mut self, reduction: Reduction, bounds: &[Bound], body: &Expr) -> Result<Node> {
        let outer = self.scope.len();
        let (mut ranges, mut guards) = (Vec::new(), Vec::new());
        for bound in bounds {
            let (low, high) = (self.limit(bound.low.as_ref())?, self.limit(bound.high.as_ref())?);
            let id = self.bind(&bound.name, bound.span, IntExpr::constant(0))?;
            let Limits { range, guards: own } =
                limits(id, low.as_ref(), high.as_ref(), &self.program.indices);
            if let Some(high) = high.filter(|_| range.is_some()) {
                self.limited.push((id, high));
            }
            ranges.push((id, range.is_some()));
            guards.extend(own);
        }
        let body = self.expr(body)?;
        self.scope.truncate(outer);
        let body = Node::guarded(guards, body);
        let used = body.used_indices();
        for (bound, &(id, has_range)) in bounds.iter().zip(&ranges) {
            if !used.contains(&id) {
                let word = reduction.name();
                let message = format!("the index `{}` of this `{word}` is not used", bound.name);
                return Err(Error::new(bound.span, message).help(format!(
                    "the body of a `{word}` ends before `+` and `-`: use brackets, or remove the index"
                )));
            }
            if !has_range {
                let (range, equalities) = infer_range(id, bound, &body, &self.program.tensors)?;
                self.program.indices[id].range = range;
                self.program.size_equalities.extend(equalities);
            }
        }
        let ids = ranges.into_iter().map(|(id, ..)| id).collect();
        Ok(Node::Reduce(reduction, ids, Box::new(body)))
    }

    /// Gives the limited indices their ranges, once those of the indices around them are known.
    fn ranges_of_limits(&mut self) {
        self.limited.sort_by_key(|(id, _)| *id);
        for (id, high) in std::mem::take(&mut self.limited) {
            if let Some(range) = high_range(id, &high, &self.program.indices) {
                self.program.indices[id].range = range;
            }
        }
    }

    /// Resolves the names in a limit.
    fn limit(&mut self, limit: Option<&Limit>) -> Result<Option<Limit>> {
        let Some(Limit { int, strict }) = limit else { return Ok(None) };
        Ok(Some(Limit { int: self.int(int)?, strict: *strict }))
    }
}

/// Checks the number of subscripts of `tensor`.
fn check_rank(tensor: &str, span: Span, got: usize, want: usize) -> Result<()> {
    if got == want {
        return Ok(());
    }
    let subscripts =
        |count: usize| format!("{count} subscript{}", if count == 1 { "" } else { "s" });
    let axes = if want == 1 { "axis" } else { "axes" };
    let message = format!("`{tensor}` has {want} {axes}, but {}", subscripts(got));
    Err(Error::new(span, message).help(format!("write {}", subscripts(want))))
}
