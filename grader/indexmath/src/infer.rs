//! Resolution: names to tensors, sizes and indices; the range of each index.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{Bound, Expr, ExprKind, Int, IntKind, Read, Statement};
use crate::error::{Error, Result, list};
use crate::ir::{Assign, Axis, Index, IndexId, Node, Part, Program, SameSize};
use crate::parser::RESERVED;
use crate::poly::same_size;
use crate::shape::TensorType;
use crate::span::Span;

/// Resolves `statements` over `tensors`; `extra` are sizes that stand in no shape.
pub(crate) fn resolve(
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
    let mut assigned = BTreeMap::new();
    for (place, statement) in statements.iter().enumerate() {
        assigned.entry(statement.target.clone()).or_insert(place);
    }
    let program = Program {
        tensors: tensors.clone(),
        indices: Vec::new(),
        statements: Vec::new(),
        same: Vec::new(),
    };
    let mut resolver = Resolver { program, sizes, assigned, place: 0, scope: Vec::new() };
    for (place, statement) in statements.iter().enumerate() {
        resolver.place = place;
        resolver.statement(statement)?;
    }
    Ok(resolver.program)
}

struct Resolver {
    program: Program,
    sizes: BTreeSet<String>,
    /// The first statement that assigns a tensor.
    assigned: BTreeMap<String, usize>,
    /// The statement at hand.
    place: usize,
    /// Indices that may be used here.
    scope: Vec<(String, IndexId)>,
}

impl Resolver {
    fn statement(&mut self, statement: &Statement) -> Result<()> {
        let span = statement.target_span;
        let shape = self.tensor(&statement.target, span)?.shape.clone();
        if self.assigned.get(&statement.target) != Some(&self.place) {
            let message = format!("`{}` is assigned twice", statement.target);
            return Err(Error::new(span, message)
                .help("a tensor has one statement; give the second result another name"));
        }
        check_rank(&statement.target, span, statement.subscripts.len(), shape.len())?;
        self.scope.clear();
        let mut loops = Vec::new();
        for (subscript, size) in statement.subscripts.iter().zip(&shape) {
            let IntKind::Name(name) = &subscript.kind else {
                return Err(Error::new(subscript.span, "the left side needs plain indices")
                    .help("write `y[i,j] = ...`, and the arithmetic in the subscripts it reads"));
            };
            let id = self.bind(name, subscript.span, size.int.clone())?;
            loops.push(id);
        }
        let body = self.expr(&statement.body)?;
        let subscripts = loops.iter().map(|&id| Int::index(id)).collect();
        let part = Part { loops, subscripts, padded: false, body };
        self.program
            .statements
            .push(Assign { target: statement.target.clone(), parts: vec![part] });
        Ok(())
    }

    /// The tensor `name`; a cotangent `grad(X)` is like X.
    fn tensor(&mut self, name: &str, span: Span) -> Result<&TensorType> {
        if !self.program.tensors.contains_key(name) {
            let primal = name.strip_prefix("grad(").and_then(|rest| rest.strip_suffix(')'));
            let Some(like) = primal.and_then(|primal| self.program.tensors.get(primal)) else {
                return Err(self.unknown_tensor(primal.unwrap_or(name), span));
            };
            let like = like.clone();
            self.program.tensors.insert(name.to_owned(), like);
        }
        Ok(&self.program.tensors[name])
    }

    fn unknown_tensor(&self, name: &str, span: Span) -> Error {
        let error = Error::new(span, format!("unknown tensor `{name}`"));
        if self.scope.iter().any(|(index, _)| index == name) {
            return error.help(format!("`{name}` is an index; indices stand in subscripts only"));
        }
        let known = list(self.program.tensors.keys().map(String::as_str));
        error.help(format!("declared tensors: {known}"))
    }

    /// A new index `name` in the scope.
    fn bind(&mut self, name: &str, span: Span, range: Int) -> Result<IndexId> {
        if self.scope.iter().any(|(other, _)| other == name) {
            return Err(Error::new(span, format!("the index `{name}` is bound twice"))
                .help("each index needs a name of its own here"));
        }
        if self.sizes.contains(name) {
            return Err(Error::new(
                span,
                format!("`{name}` is a size, so no index can have this name"),
            )
            .help("rename the index"));
        }
        debug_assert!(!RESERVED.contains(&name));
        let id = self.program.indices.len();
        self.program.indices.push(Index { name: name.to_owned(), range });
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
            ExprKind::Sum(bounds, body) => self.sum(bounds, body)?,
        })
    }

    fn bare_name(&mut self, name: &str, span: Span) -> Result<Node> {
        let is_index = self.scope.iter().any(|(index, _)| index == name);
        if self.sizes.contains(name) && !self.program.tensors.contains_key(name) {
            return Ok(Node::Size(name.to_owned(), span));
        }
        if is_index && !self.program.tensors.contains_key(name) {
            return Err(Error::new(span, format!("the index `{name}` stands outside a subscript"))
                .help("only sizes and tensors are numbers"));
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
        if let Some(&place) = self.assigned.get(&read.tensor)
            && place >= self.place
        {
            let (message, help) = if place == self.place {
                let help = "give the result another name; a tensor cannot be changed in place";
                (format!("`{}` is read in its own statement", read.tensor), help)
            } else {
                let help = "move the statement that assigns it before this one";
                (format!("`{}` is read before it is assigned", read.tensor), help)
            };
            return Err(Error::new(name_span, message).help(help));
        }
        check_rank(&read.tensor, read.span, read.subscripts.len(), rank)?;
        let subscripts =
            read.subscripts.iter().map(|int| self.int(int)).collect::<Result<Vec<_>>>()?;
        Ok(Read { subscripts, ..read.clone() })
    }

    /// Names in a subscript: indices and sizes.
    fn int(&self, int: &Int) -> Result<Int> {
        int.try_map(&mut |leaf| {
            let IntKind::Name(name) = &leaf.kind else { return Ok(leaf.clone()) };
            if let Some((_, id)) = self.scope.iter().find(|(index, _)| index == name) {
                return Ok(Int::new(IntKind::Index(*id), leaf.span));
            }
            if self.sizes.contains(name) {
                return Ok(leaf.clone());
            }
            Err(self.unbound_index(name, leaf.span))
        })
    }

    fn unbound_index(&self, name: &str, span: Span) -> Error {
        let indices = list(self.scope.iter().map(|(index, _)| index.as_str()));
        let sizes = list(self.sizes.iter().map(String::as_str));
        Error::new(span, format!("`{name}` is neither an index nor a size")).help(format!(
            "name it on the left side or in a `sum[...]`; indices here: {indices}; sizes: {sizes}"
        ))
    }

    fn sum(&mut self, bounds: &[Bound], body: &Expr) -> Result<Node> {
        let outer = self.scope.len();
        let mut ids = Vec::new();
        for bound in bounds {
            let range = match &bound.range {
                Some(range) => self.range(range)?,
                None => Int::constant(0),
            };
            let span = Span::new(bound.span.start, bound.span.start + bound.name.len());
            ids.push(self.bind(&bound.name, span, range)?);
        }
        let body = self.expr(body)?;
        self.scope.truncate(outer);
        let used = body.used_indices();
        for (bound, &id) in bounds.iter().zip(&ids) {
            if !used.contains(&id) {
                return Err(Error::new(bound.span, format!("the summation index `{}` is not used", bound.name))
                    .help("the body of a `sum` ends before `+` and `-`: use brackets, or remove the index"));
            }
            if bound.range.is_none() {
                self.infer_range(id, bound, &body)?;
            }
        }
        Ok(Node::Sum(ids, Box::new(body)))
    }

    /// A written range: sizes only.
    fn range(&self, range: &Int) -> Result<Int> {
        range.try_map(&mut |leaf| match &leaf.kind {
            IntKind::Name(name) if !self.sizes.contains(name) => {
                let sizes = list(self.sizes.iter().map(String::as_str));
                Err(Error::new(leaf.span, format!("`{name}` is no size"))
                    .help(format!("the range of an index is made of sizes: {sizes}")))
            }
            _ => Ok(leaf.clone()),
        })
    }

    fn infer_range(&mut self, id: IndexId, bound: &Bound, body: &Node) -> Result<()> {
        let axes = lone_axes(id, body, &self.program.tensors);
        let mut axes = axes.into_iter();
        let Some(first) = axes.next() else {
            let name = &bound.name;
            let message = format!("the range of `{name}` is unknown: it never stands alone");
            return Err(Error::new(bound.span, message).help(format!(
                "write its range, `sum[{name} < SIZE]`, or use it as a subscript of its own"
            )));
        };
        self.program.indices[id].range = first.size.clone();
        for second in axes {
            match same_size(&first.size, &second.size) {
                Some(true) => {}
                Some(false) => {
                    return Err(different_sizes(&bound.name, bound.span, &first, &second, None));
                }
                None => self.program.same.push(SameSize {
                    index: id,
                    span: bound.span,
                    first: first.clone(),
                    second,
                }),
            }
        }
        Ok(())
    }
}

/// The axes on which the index stands alone: those of plain reads, or if there are none, those of padded ones.
pub(crate) fn lone_axes(
    id: IndexId,
    body: &Node,
    tensors: &BTreeMap<String, TensorType>,
) -> Vec<Axis> {
    let (mut plain, mut padded) = (Vec::new(), Vec::new());
    body.reads(&mut |read| {
        for (place, subscript) in read.subscripts.iter().enumerate() {
            let size = tensors.get(&read.tensor).and_then(|tensor| tensor.shape.get(place));
            if let (Some(size), true) = (size, subscript.as_index() == Some(id)) {
                let found = Axis { tensor: read.tensor.clone(), place, size: size.int.clone() };
                if read.padded { padded.push(found) } else { plain.push(found) }
            }
        }
    });
    if plain.is_empty() { padded } else { plain }
}

/// The error for an index on two axes of different sizes; `values` once they are known.
pub(crate) fn different_sizes(
    name: &str,
    span: Span,
    first: &Axis,
    second: &Axis,
    values: Option<(i64, i64)>,
) -> Error {
    let side = |axis: &Axis, value: Option<i64>| {
        let size = crate::shape::DimExpr { int: axis.size.clone() };
        let value = match value {
            Some(value) if value.to_string() != size.to_string() => format!(" = {value}"),
            _ => String::new(),
        };
        format!("axis {} of `{}` (size {size}{value})", axis.place, axis.tensor)
    };
    let message = format!(
        "the index `{name}` runs over axes of different sizes: {} and {}",
        side(first, values.map(|v| v.0)),
        side(second, values.map(|v| v.1)),
    );
    Error::new(span, message).help(format!("write the range that is meant, `sum[{name} < SIZE]`"))
}

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
