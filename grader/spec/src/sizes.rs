//! `[dims]`: the free sizes, and the sizes derived from them.

use super::fault::{Checked, Fault};
use indexmath::{DimExpr, Dims};
use specfile::{Table, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

/// The names of all sizes, and how the derived ones are computed from the free ones.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// The names that each test gives a value, in the order of the file.
    pub free: Vec<String>,
    /// Free sizes that a test may set to 0, such as a padding.
    pub may_be_zero: Vec<String>,
    /// The names and expressions of derived sizes; each reads only free sizes and those before it.
    pub derived: Vec<(String, DimExpr)>,
    /// Where the file has the derived expressions.
    places: BTreeMap<String, Range<usize>>,
}

/// A derived size before the order of computation is known.
struct Pending<'a> {
    name: &'a str,
    expr: DimExpr,
    place: Range<usize>,
}

impl Sizes {
    pub(crate) fn read(text: &str, table: &Spanned<Table>) -> Checked<Self> {
        let mut free: Vec<String> = Vec::new();
        let mut pending = Vec::new();
        let mut has_free = false;
        let mut zero: &[Spanned<Value>] = &[];
        for (key, value) in table.get_ref() {
            let name = key.get_ref().as_str();
            match (name, value.get_ref()) {
                ("free", Value::List(names)) => {
                    has_free = true;
                    free = free_names(names)?;
                }
                ("may_be_zero", Value::List(names)) => zero = names,
                ("may_be_zero", other) => {
                    let title = format!(
                        "`may_be_zero` must be a list of names, but this is {}",
                        other.kind()
                    );
                    return Err(
                        Fault::at(value.span(), title).help("write may_be_zero = [\"pad\"]")
                    );
                }
                ("free", other) => {
                    let title =
                        format!("`free` must be a list of names, but this is {}", other.kind());
                    return Err(
                        Fault::at(value.span(), title).help("write free = [\"batch\", \"N\"]")
                    );
                }
                (_, Value::Text(expr)) => {
                    check_name(name, &key.span())?;
                    let place = value.span();
                    let expr = DimExpr::parse(expr).map_err(|e| Fault::math(text, &place, e))?;
                    pending.push(Pending { name, expr, place });
                }
                (_, Value::Int(number)) => {
                    check_name(name, &key.span())?;
                    let place = value.span();
                    let expr = DimExpr::parse(&number.to_string())
                        .map_err(|_| Fault::at(place.clone(), "a size cannot be negative"))?;
                    pending.push(Pending { name, expr, place });
                }
                (_, other) => {
                    let title =
                        format!("a size must be an expression, but this is {}", other.kind());
                    return Err(Fault::at(value.span(), title).help("write H_out = \"H - F + 1\""));
                }
            }
        }
        if !has_free {
            return Err(Fault::at(table.span(), "the free sizes are missing")
                .help("name the sizes that each test gives: free = [\"batch\", \"N\"]"));
        }
        for key in table.get_ref().keys() {
            if free.contains(key.get_ref()) {
                let title = format!("`{}` is both free and derived", key.get_ref());
                return Err(Fault::at(key.span(), title).help("remove one of the two"));
            }
        }
        let may_be_zero = free_names(zero)?;
        let is_free = |entry: &&Spanned<Value>| matches!(entry.get_ref(), Value::Text(name) if free.contains(name));
        if let Some(other) = zero.iter().find(|entry| !is_free(entry)) {
            return Err(Fault::at(other.span(), "this is not a free size")
                .help("a derived size is 0 if its expression is 0"));
        }
        let places = pending.iter().map(|p| (p.name.to_owned(), p.place.clone())).collect();
        let derived = in_order(text, &free, pending)?;
        Ok(Self { free, may_be_zero, derived, places })
    }

    /// All names, free ones first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.free.iter().chain(self.derived.iter().map(|(name, _)| name)).map(String::as_str)
    }

    /// Whether there is a size with this name.
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|n| n == name)
    }

    /// Adds the derived sizes to the free ones.
    ///
    /// # Errors
    /// A derived size cannot be computed.
    pub fn derive(&self, text: &str, mut dims: Dims) -> Checked<Dims> {
        for (name, expr) in &self.derived {
            let value = expr.eval(&dims).map_err(|e| Fault::math(text, &self.places[name], e))?;
            dims.insert(name.clone(), value);
        }
        Ok(dims)
    }

    /// Checks that the name of a size or a tensor is one that formulas can read.
    pub(crate) fn check_names(
        &self,
        text: &str,
        expr: &DimExpr,
        place: &Range<usize>,
    ) -> Checked<()> {
        for (name, span) in expr.names() {
            if !self.contains(&name) {
                return Err(self.unknown(text, &name, span, place));
            }
        }
        Ok(())
    }

    fn unknown(
        &self,
        text: &str,
        name: &str,
        span: indexmath::Span,
        place: &Range<usize>,
    ) -> Fault {
        unknown(text, name, span, place, &self.names().collect::<Vec<_>>())
    }
}

fn unknown(
    text: &str,
    name: &str,
    span: indexmath::Span,
    place: &Range<usize>,
    known: &[&str],
) -> Fault {
    let error = indexmath::Error::new(span, format!("unknown size `{name}`"));
    Fault::math(text, place, error).label("not in [dims]").suggest(
        name,
        known.iter().copied(),
        "size",
    )
}

fn free_names(names: &[Spanned<Value>]) -> Checked<Vec<String>> {
    let mut free: Vec<String> = Vec::new();
    for entry in names {
        let Value::Text(name) = entry.get_ref() else {
            let title = format!("a name must be a string, but this is {}", entry.get_ref().kind());
            return Err(Fault::at(entry.span(), title).help("write free = [\"batch\", \"N\"]"));
        };
        check_name(name, &entry.span())?;
        if free.contains(name) {
            return Err(Fault::at(entry.span(), format!("`{name}` is listed twice")));
        }
        free.push(name.clone());
    }
    Ok(free)
}

/// Sizes and tensors have the names that formulas can read.
pub(crate) fn check_name(name: &str, place: &Range<usize>) -> Checked<()> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err(Fault::at(place.clone(), format!("`{}` is not a name", name.escape_debug()))
            .help("a name is made of the letters a to z, digits and _, and does not start with a digit"));
    }
    Ok(())
}

/// Sorts by dependency, so that each expression reads only sizes before it.
fn in_order(
    text: &str,
    free: &[String],
    mut pending: Vec<Pending>,
) -> Checked<Vec<(String, DimExpr)>> {
    let all: Vec<&str> =
        free.iter().map(String::as_str).chain(pending.iter().map(|p| p.name)).collect();
    for Pending { expr, place, .. } in &pending {
        for (name, span) in expr.names() {
            if !all.contains(&name.as_str()) {
                return Err(unknown(text, &name, span, place, &all));
            }
        }
    }
    let mut sorted: Vec<(String, DimExpr)> = Vec::new();
    while !pending.is_empty() {
        let known = |name: &str, sorted: &[(String, DimExpr)]| {
            free.iter().any(|f| f == name) || sorted.iter().any(|(n, _)| n == name)
        };
        let ready = pending
            .iter()
            .position(|p| p.expr.names().iter().all(|(name, _)| known(name, &sorted)));
        let Some(ready) = ready else {
            return Err(cycle(text, &pending));
        };
        let next = pending.remove(ready);
        sorted.push((next.name.to_owned(), next.expr));
    }
    Ok(sorted)
}

/// The fault for a cycle: all of `pending` depend on each other. Follows the first name that blocks until one repeats.
fn cycle(text: &str, pending: &[Pending]) -> Fault {
    let blocker = |at: usize| {
        pending[at]
            .expr
            .names()
            .into_iter()
            .find_map(|(name, span)| Some((pending.iter().position(|p| p.name == name)?, span)))
    };
    let mut path = vec![0];
    while let Some((next, span)) = path.last().and_then(|&at| blocker(at)) {
        if let Some(first) = path.iter().position(|&p| p == next) {
            let at = path[path.len() - 1];
            let names: Vec<&str> =
                path[first..].iter().chain([&next]).map(|&p| pending[p].name).collect();
            let message = format!("a size depends on itself: {}", names.join(" -> "));
            let error = indexmath::Error::new(span, message);
            return Fault::math(text, &pending[at].place, error)
                .help("derive each size from the free ones, or from sizes derived before");
        }
        path.push(next);
    }
    Fault::at(pending[0].place.clone(), "this size cannot be computed from the free ones")
}
