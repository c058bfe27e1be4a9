//! A formula: parse, query, differentiate and print it, and fix its sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use crate::error::Result;
use crate::integer::evaluate::Dims;
use crate::program::ir::{Assignment, Program};
use crate::program::resolve::resolve;
use crate::shape::TensorType;
use crate::sized_formula::SizedFormula;
use crate::syntax::parser::statement::parse_statements;
use crate::transform::propagated_errors::with_propagated_errors;
use crate::transform::reverse_mode::differentiate;
use crate::transform::unparse::statement_text;

/// Statements over typed tensors, at any sizes: names and ranks are checked, and every index has a range.
#[derive(Clone, Debug)]
pub struct Formula {
    program: Arc<Program>,
}

impl Formula {
    /// Parses one or more statements (one a line, or separated by `;`). The names in the shapes of
    /// `tensors` are the sizes. `grad(X)` may be read where X is declared; it has X's type.
    ///
    /// # Errors
    /// The first mistake in the text, with its place.
    pub fn parse(text: &str, tensors: &BTreeMap<String, TensorType>) -> Result<Self> {
        Self::parse_with(text, tensors, &[])
    }

    /// As [`Self::parse`], with further sizes that no shape contains: a stride, for example.
    ///
    /// # Errors
    /// The first mistake in the text, with its place.
    pub fn parse_with(
        text: &str,
        tensors: &BTreeMap<String, TensorType>,
        sizes: &[&str],
    ) -> Result<Self> {
        let extra: BTreeSet<String> = sizes.iter().map(|&name| name.to_owned()).collect();
        let program = resolve(&parse_statements(text)?, tensors, &extra)?;
        Ok(Self { program: Arc::new(program) })
    }

    /// The tensors that are read and never assigned, in order of first appearance.
    pub fn inputs(&self) -> Vec<String> {
        let assigned = self.assigned();
        let mut inputs: Vec<String> = Vec::new();
        self.each_read(&mut |name| {
            if !assigned.iter().any(|other| other == name)
                && !inputs.iter().any(|other| other == name)
            {
                inputs.push(name.to_owned());
            }
        });
        inputs
    }

    /// The tensors that are assigned, in order.
    pub fn assigned(&self) -> Vec<String> {
        self.program.statements.iter().map(|statement| statement.target.clone()).collect()
    }

    /// The assigned tensors that no later statement reads. Their cotangents `grad(T)` are the seeds of the reverse pass.
    pub fn outputs(&self) -> Vec<String> {
        let mut read = BTreeSet::new();
        for statement in &self.program.statements {
            statement.other_reads(&mut |name| {
                read.insert(name.to_owned());
            });
        }
        self.assigned().into_iter().filter(|name| !read.contains(name)).collect()
    }

    /// The inputs that `tensor` depends on, directly or indirectly; an input depends on itself.
    pub fn sources(&self, tensor: &str) -> BTreeSet<String> {
        self.needs(tensor).1
    }

    /// The assigned tensors that `tensor` depends on, in order, with itself as the last; none for an input.
    pub fn steps(&self, tensor: &str) -> Vec<String> {
        self.needs(tensor).0
    }

    /// The assigned tensors that `tensor` depends on, in order, and the inputs.
    fn needs(&self, tensor: &str) -> (Vec<String>, BTreeSet<String>) {
        let mut open = BTreeSet::from([tensor.to_owned()]);
        let mut steps = Vec::new();
        for statement in self.program.statements.iter().rev() {
            if open.remove(&statement.target) {
                steps.push(statement.target.clone());
                statement.other_reads(&mut |name| {
                    open.insert(name.to_owned());
                });
            }
        }
        steps.reverse();
        (steps, open)
    }

    fn each_read(&self, f: &mut impl FnMut(&str)) {
        for statement in &self.program.statements {
            statement.reads(&mut |read| f(&read.tensor));
        }
    }

    /// Appends the gradient by automatic differentiation in reverse mode: afterwards `grad(X)` of every declared
    /// floating-point tensor X that is not an output is assigned, and `grad(T)` of every output T is an input.
    ///
    /// # Errors
    /// A formula that has cotangents already, and a declared cotangent of another shape than its tensor.
    pub fn differentiate(&self) -> Result<Self> {
        Ok(Self { program: Arc::new(differentiate(&self.program)?) })
    }

    /// Whether the statement that computes `tensor` has a range that depends on other indices or on data.
    pub fn has_cut_ranges(&self, tensor: &str) -> bool {
        let of_tensor = |s: &&Assignment| s.target == tensor;
        let statement = self.program.statements.iter().find(of_tensor);
        let mut contributions = statement.iter().flat_map(|statement| &statement.contributions);
        contributions.any(|contribution| contribution.body.has_guards())
    }

    /// The statement that computes `tensor`, as text, in gather form:
    /// `grad(input)[b,c,h,w] = sum[k,fh,fw] grad(output)?[b,k,h-fh,w-fw] * filters[k,c,fh,fw]`. Where the subscripts of a
    /// contribution cannot be solved for the element, a condition selects what belongs to it.
    pub fn text_of(&self, tensor: &str) -> Option<String> {
        let statement = self.program.statements.iter().find(|s| s.target == tensor)?;
        Some(statement_text(&self.program, statement))
    }

    /// Fixes the sizes and proves that every plain subscript stays inside its tensor.
    ///
    /// # Errors
    /// Sizes that are missing, too large or less than 1, and subscripts that can leave their tensor.
    pub fn at(&self, dims: &Dims) -> Result<SizedFormula> {
        SizedFormula::new(with_propagated_errors(&self.program), dims)
    }
}

impl Display for Formula {
    /// One statement a line, in the form of [`Self::text_of`].
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (position, statement) in self.program.statements.iter().enumerate() {
            let line_end = if position == 0 { "" } else { "\n" };
            write!(f, "{line_end}{}", statement_text(&self.program, statement))?;
        }
        Ok(())
    }
}
