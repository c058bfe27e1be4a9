//! Automatic differentiation in reverse mode (Griewank and Walther, "Evaluating Derivatives", 2nd edition, 2008, chapter 3),
//! from formula to formula: statement by statement, last first.
//!
//! For `y[s] += body` over some loops, the cotangent of every read `x[r]` in `body` gets
//! `grad(x)[r] += grad(y)[s] · ∂body/∂x[r]` over the same loops and those of the sums around the
//! read. That holds for any subscripts; a padded read becomes a padded (guarded) target.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::integer::polynomial::same_size;
use crate::program::ir::{
    Assignment, Contribution, Index, Program, Recurrence, cotangent, is_cotangent, total_cotangent,
};
use crate::program::node::{Guard, IndexId, Node};
use crate::shape::TensorType;
use crate::span::Span;
use crate::syntax::int_expr::{IntExpr, Read};
use crate::transform::fresh_indices::FreshIndices;
use crate::transform::local_derivatives::LocalDerivatives;

/// The program followed by its reverse pass: statements for the cotangents of all floating-point tensors but the outputs,
/// whose cotangents are inputs.
///
/// # Errors
/// A program that has cotangents already, and a declared cotangent whose shape is not that of its tensor.
pub fn differentiate(program: &Program) -> Result<Program> {
    let targets = || program.statements.iter().map(|statement| statement.target.as_str());
    let mut reads = Vec::new();
    for statement in &program.statements {
        statement.other_reads(&mut |name| reads.push(name));
    }
    if let Some(name) = targets().chain(reads.iter().copied()).find(|name| is_cotangent(name)) {
        let message = format!("a formula with `{name}` cannot be differentiated again");
        return Err(Error::unplaced(message)
            .help("give the tensor a plain name, or state only the forward formula"));
    }
    let mut reverse = program.clone();
    let floats = || {
        let floats = program.tensors.iter();
        floats.filter(|(name, tensor)| tensor.dtype.is_float() && !is_cotangent(name))
    };
    for (name, tensor) in floats() {
        let cotangent = cotangent(name);
        match program.tensors.get(&cotangent) {
            Some(declared) => check_shape(&cotangent, declared, name, tensor)?,
            None => {
                reverse.tensors.insert(cotangent, tensor.clone());
            }
        }
    }
    let rules = LocalDerivatives {
        fresh: FreshIndices { table: &mut reverse.indices },
        is_active: |node: &Node| is_active(node, program),
    };
    let mut pass = ReversePass { program, rules, contributions: BTreeMap::new() };
    let mut statements = Vec::new();
    for statement in program.statements.iter().rev() {
        let target = &statement.target;
        if !program.tensors[target].dtype.is_float() {
            continue;
        }
        let is_read = reads.contains(&target.as_str());
        let seed_name = match &statement.recurrence {
            Some(_) if !is_read => total_cotangent(target),
            _ => cotangent(target),
        };
        if is_read && statement.recurrence.is_none() {
            statements.push(pass.cotangent_of(target));
        }
        for contribution in &statement.contributions {
            let seed = Node::Read(Read {
                tensor: seed_name.clone(),
                subscripts: contribution.subscripts.clone(),
                padded: contribution.padded,
                span: Span::default(),
            });
            pass.propagate(&contribution.body, seed, &Around::loops(&contribution.loops));
        }
        if let Some(recurrence) = &statement.recurrence {
            let total = pass.through_time(statement, recurrence, seed_name, is_read);
            statements.push(total);
        }
    }
    let assigned: BTreeSet<&str> = targets().collect();
    let inputs = floats().filter(|(name, _)| !assigned.contains(name.as_str()));
    statements.extend(inputs.map(|(name, _)| pass.cotangent_of(name)));
    for statement in &statements {
        let name = &statement.target;
        if let Some(base) = name.strip_prefix("total(").and_then(|rest| rest.strip_suffix(')')) {
            reverse.tensors.insert(name.clone(), program.tensors[base].clone());
        }
    }
    reverse.statements.extend(statements);
    Ok(reverse)
}

/// Checks that a declared cotangent has the shape of its tensor; its element type may be another.
fn check_shape(
    cotangent: &str,
    declared: &TensorType,
    name: &str,
    tensor: &TensorType,
) -> Result<()> {
    let mut axes = declared.shape.iter().zip(&tensor.shape);
    if declared.shape.len() == tensor.shape.len()
        && axes.all(|(a, b)| same_size(&a.int, &b.int) == Some(true))
    {
        return Ok(());
    }
    let message = format!("`{cotangent}` is declared as {declared}, but `{name}` as {tensor}");
    Err(Error::unplaced(message).help("a cotangent has the shape of its tensor"))
}

/// Whether a gradient flows into the node: whether it reads a floating-point tensor.
fn is_active(node: &Node, program: &Program) -> bool {
    let mut active = false;
    node.reads(&mut |read| active |= program.tensors[&read.tensor].dtype.is_float());
    active
}

/// Names for the axes of a cotangent that is only copied.
const AXIS_NAMES: [&str; 4] = ["i", "j", "k", "l"];

/// What stands around a node in its statement.
struct Around {
    loops: Vec<IndexId>,
    /// The conditions under which an iteration of the loops takes part.
    guards: Vec<Guard>,
}

impl Around {
    fn loops(loops: &[IndexId]) -> Self {
        Self { loops: loops.to_vec(), guards: Vec::new() }
    }
}

/// A reverse pass under way.
struct ReversePass<'a, A> {
    program: &'a Program,
    rules: LocalDerivatives<'a, A>,
    /// For each tensor, the contributions to its cotangent so far.
    contributions: BTreeMap<String, Vec<Contribution>>,
}

impl<A: Fn(&Node) -> bool> ReversePass<'_, A> {
    /// Takes the contributions to the cotangent of `tensor`, once all of its uses were passed.
    fn cotangent_of(&mut self, tensor: &str) -> Assignment {
        let contributions = self.contributions.remove(tensor).unwrap_or_default();
        Assignment { target: cotangent(tensor), contributions, recurrence: None }
    }

    /// The whole cotangent of a recurrence, which goes through its steps from the last to the first (backpropagation through
    /// time: Werbos, Proceedings of the IEEE 78, 1990). If nothing else reads the tensor, its cotangent is given, and added.
    fn through_time(
        &mut self,
        statement: &Assignment,
        recurrence: &Recurrence,
        target: String,
        is_read: bool,
    ) -> Assignment {
        let mut contributions = self.contributions.remove(&statement.target).unwrap_or_default();
        if !is_read {
            contributions.insert(0, self.given_cotangent(&statement.target));
        }
        let (axis, backwards) = (recurrence.axis, !recurrence.backwards);
        let recurrence = Some(Recurrence { axis, backwards, errors: None });
        Assignment { target, contributions, recurrence }
    }

    /// A contribution of the given cotangent of `tensor`, element by element.
    fn given_cotangent(&mut self, tensor: &str) -> Contribution {
        let table = &mut *self.rules.fresh.table;
        let shape = self.program.tensors[tensor].shape.iter();
        let loops: Vec<IndexId> = shape
            .zip(AXIS_NAMES.iter().cycle())
            .map(|(size, name)| {
                let (name, range) = ((*name).to_owned(), size.int.clone());
                table.push(Index { name, range, span: Span::default() });
                table.len() - 1
            })
            .collect();
        let subscripts: Vec<IntExpr> = loops.iter().map(|&id| IntExpr::index(id)).collect();
        let (tensor, own) = (cotangent(tensor), subscripts.clone());
        let body =
            Node::Read(Read { tensor, subscripts: own, padded: false, span: Span::default() });
        Contribution { loops, subscripts, padded: false, body }
    }

    /// Adds what `node` contributes to the cotangents of the tensors that it reads. `cotangent` is its own.
    fn propagate(&mut self, node: &Node, cotangent: Node, around: &Around) {
        if !is_active(node, self.program) {
            return;
        }
        if let Node::Read(read) = node {
            self.contribute(read, cotangent, around);
            return;
        }
        for passed_on in self.rules.of(node, cotangent) {
            let inner = Around {
                loops: [around.loops.as_slice(), passed_on.bound].concat(),
                guards: [around.guards.as_slice(), passed_on.guards].concat(),
            };
            self.propagate(passed_on.operand, passed_on.cotangent, &inner);
        }
    }

    fn contribute(&mut self, read: &Read, body: Node, around: &Around) {
        if !self.program.tensors[&read.tensor].dtype.is_float() {
            return;
        }
        self.contributions.entry(read.tensor.clone()).or_default().push(Contribution {
            loops: around.loops.clone(),
            subscripts: read.subscripts.clone(),
            padded: read.padded,
            body: Node::guarded(around.guards.clone(), body),
        });
    }
}
