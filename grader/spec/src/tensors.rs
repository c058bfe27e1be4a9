//! `[tensors]` and `[math]`: element types, shapes and the formula, differentiated if the spec uses gradients.

use super::code::{names_tensor, uses_gradients};
use super::fault::{Checked, Fault, nearest};
use super::sizes::{Sizes, check_name};
use indexmath::{Dims, Formula, TensorType};
use specfile::RawSpec;
use std::collections::BTreeMap;
use std::ops::Range;
use tensor::Tensor;
use toml::Spanned;

/// The tensors of a spec and the formula that relates them.
#[derive(Clone, Debug)]
pub struct Tensors {
    /// Declared types by name; `grad(X)` and `X'` have the type of X.
    pub types: BTreeMap<String, TensorType>,
    /// The types of the workspaces, which the formula does not know.
    pub workspaces: BTreeMap<String, TensorType>,
    /// The forward formula, and the reverse pass where a launch takes a `grad(..)`.
    pub formula: Formula,
    /// The forward formula with gradients in the form that the spec states, for the search of mistakes.
    pub closed: Option<Closed>,
    /// The names of the formula's inputs, and of tensors of which only the new value X' is computed.
    pub inputs: Vec<String>,
    /// The names of the tensors that the formula assigns.
    pub computed: Vec<String>,
    /// The tensors of the forward formula that it computes but does not read.
    pub outputs: Vec<String>,
    /// Where the file has the string of the formula.
    pub place: Range<usize>,
    places: Places,
}

/// Where the file declares each tensor: its name, and its type.
pub(super) type Places = BTreeMap<String, (Range<usize>, Range<usize>)>;

/// Gradients in closed form.
#[derive(Clone, Debug)]
pub struct Closed {
    /// The forward formula and the stated gradients.
    pub formula: Formula,
    /// The names of the gradients that are stated.
    pub states: Vec<String>,
    /// Where the file has them.
    pub place: Range<usize>,
}

impl Closed {
    fn read(
        text: &str,
        raw: &RawSpec,
        types: &BTreeMap<String, TensorType>,
        sizes: &[&str],
        computed: &[String],
    ) -> Checked<Option<Self>> {
        let Some(closed) = &raw.math.closed else { return Ok(None) };
        let place = closed.span();
        let math = |e: indexmath::Error| Fault::math(text, &place, e);
        let forward = raw.math.forward.get_ref();
        let types = with_primed(types, forward);
        let states = Formula::parse_with(closed.get_ref(), &types, sizes).map_err(math)?.assigned();
        for name in &states {
            if grad_of(name).is_none() || !computed.contains(name) {
                let title = format!("`{name}` is not a gradient that the launches use");
                return Err(Fault::at(place.clone(), title).help(
                    "state gradients that follow from the forward formula: `grad(X)[i] = ...`",
                ));
            }
        }
        let both = format!("{forward}\n{}", closed.get_ref());
        let formula = Formula::parse_with(&both, &types, sizes).map_err(math)?;
        Ok(Some(Self { formula, states, place }))
    }
}

impl Tensors {
    pub(crate) fn read(text: &str, raw: &RawSpec, sizes: &Sizes) -> Checked<Self> {
        let (types, mut places) = read_types(text, raw.tensors.get_ref(), sizes)?;
        let (workspaces, workspace_places) = read_types(text, &raw.workspace, sizes)?;
        check_workspaces(&workspaces, &workspace_places, &places)?;
        let place = raw.math.forward.span();
        let math = |e: indexmath::Error| {
            let unknown =
                e.message.strip_prefix("unknown tensor `").and_then(|m| m.strip_suffix('`'));
            let fault = Fault::math(text, &place, e.clone());
            if unknown.is_some_and(|name| workspaces.contains_key(name)) {
                return fault.help("a workspace has no values that a formula could use");
            }
            let declared: Vec<&str> = types.keys().map(String::as_str).collect();
            if let Some(near) = unknown.and_then(|name| nearest(name, &declared)) {
                return fault.help(format!("did you mean `{near}`?"));
            }
            let begins = |line: &str, name| line.trim_start().strip_prefix(name)?.chars().next();
            let mut lines = raw.math.forward.get_ref().split(['\n', ';']);
            if unknown.is_some_and(|name| {
                lines.any(|line| matches!(begins(line, name), Some('[' | ' ' | '=')))
            }) {
                return fault
                    .help("what the formula computes on the way is declared in [tensors], too");
            }
            fault
        };
        let names: Vec<&str> = sizes.names().collect();
        let forward = raw.math.forward.get_ref();
        let forward =
            Formula::parse_with(forward, &with_primed(&types, forward), &names).map_err(math)?;
        let outputs = forward.outputs();
        let backward =
            raw.launch.iter().flat_map(|l| &l.args).any(|a| grad_of(a.get_ref()).is_some())
                || raw.call.iter().any(|call| uses_gradients(call.code.get_ref()));
        let formula = if backward { forward.differentiate().map_err(math)? } else { forward };
        let closed = Closed::read(text, raw, &types, &names, &formula.assigned())?;
        let mut inputs = formula.inputs();
        let computed = formula.assigned();
        for (name, (key, _)) in &places {
            // A kernel that sets a tensor to zero does not read it, but the tensor has contents before.
            let changed = computed.contains(&prime(name)) && !computed.contains(name);
            if changed && !inputs.contains(name) {
                inputs.push(name.clone());
            }
            // The inputs of a function that learns are in no formula.
            let unread = !inputs.contains(name) && !computed.contains(name);
            if !raw.require.is_empty() && unread && is_taken(raw, name) {
                inputs.push(name.clone());
            }
            if !inputs.contains(name) && !computed.contains(name) {
                let title = format!("the formula does not use `{name}`");
                return Err(Fault::at(key.clone(), title)
                    .also(place.clone(), "the formula")
                    .help("remove the tensor, or complete the formula"));
            }
        }
        places.extend(workspace_places);
        Ok(Self { types, workspaces, formula, closed, inputs, computed, outputs, place, places })
    }

    /// All names that a launch or a test can refer to.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().chain(&self.computed).map(String::as_str)
    }

    /// Whether it is a workspace.
    pub fn is_workspace(&self, name: &str) -> bool {
        self.workspaces.contains_key(name)
    }

    /// Where the file declares the tensor or workspace.
    pub(crate) fn declared_at(&self, name: &str) -> Range<usize> {
        self.places.get(name).map_or(self.place.clone(), |(key, _)| key.clone())
    }

    /// All names that the arguments of a launch can have.
    pub(crate) fn argument_names(&self) -> impl Iterator<Item = &str> {
        self.names().chain(self.workspaces.keys().map(String::as_str))
    }

    /// Whether the formula computes it.
    pub fn is_computed(&self, name: &str) -> bool {
        self.computed.iter().any(|c| c == name)
    }

    /// The declared type; for `grad(X)` and `X'`, that of X.
    pub fn type_of(&self, name: &str) -> Option<&TensorType> {
        self.types.get(declared(name)).or_else(|| self.workspaces.get(name))
    }

    /// The same tensors, of whose formula no closed form is known.
    #[must_use]
    pub fn without_closed_form(&self) -> Self {
        Self { closed: None, ..self.clone() }
    }

    /// The tensor at fixed sizes. [`Tensors::check_shapes`] must have checked all axes.
    ///
    /// # Errors
    /// The size of an axis cannot be computed.
    pub fn at(&self, text: &str, name: &str, dims: &Dims) -> Checked<Tensor> {
        let Some(ty) = self.type_of(name) else {
            return Err(Fault::at(self.place.clone(), format!("`{name}` has no type")));
        };
        let mut shape = Vec::new();
        for axis in &ty.shape {
            let size = axis.eval(dims).map_err(|e| self.in_shape(text, name, e))?;
            shape.push(usize::try_from(size).unwrap_or(0));
        }
        Ok(Tensor { name: name.to_owned(), dtype: ty.dtype, shape })
    }

    fn in_shape(&self, text: &str, name: &str, error: indexmath::Error) -> Fault {
        let place = self.places.get(declared(name)).map_or(&self.place, |(_, value)| value);
        Fault::math(text, place, error)
    }

    /// Checks that every axis has at least one element, and that all tensors together have at most `limit`. `sizes_at`
    /// is where the file gives the sizes.
    pub(crate) fn check_shapes(
        &self,
        text: &str,
        dims: &Dims,
        sizes_at: &Range<usize>,
        limit: u64,
    ) -> Checked<()> {
        let mut total: u64 = 0;
        for (name, ty) in self.types.iter().chain(&self.workspaces) {
            let (_, place) = &self.places[name];
            let mut elements: u64 = 1;
            for (i, axis) in ty.shape.iter().enumerate() {
                let size = axis.eval(dims).map_err(|e| self.in_shape(text, name, e))?;
                let Ok(size @ 1..) = u64::try_from(size) else {
                    let title = format!("axis {i} of `{name}` has size {size} in this test");
                    return Err(Fault::at(sizes_at.clone(), title)
                        .label("these sizes")
                        .also(place.clone(), "the shape")
                        .help("every axis needs at least one element"));
                };
                elements = elements.saturating_mul(size);
            }
            total = total.saturating_add(elements);
        }
        if total > limit {
            let title = format!("the tensors of this test have {} elements", readable(total));
            return Err(Fault::at(sizes_at.clone(), title).label("these sizes").help(format!(
                "a test may have at most {limit}; smaller sizes find the same mistakes"
            )));
        }
        Ok(())
    }
}

/// The types that `[tensors]` or `[workspace]` declares.
fn read_types(
    text: &str,
    table: &BTreeMap<Spanned<String>, Spanned<String>>,
    sizes: &Sizes,
) -> Checked<(BTreeMap<String, TensorType>, Places)> {
    let mut types = BTreeMap::new();
    let mut places = Places::new();
    for (key, value) in table {
        let name = key.get_ref();
        check_name(name, &key.span())?;
        if sizes.contains(name) {
            let title = format!("`{name}` is both a size and a tensor");
            return Err(Fault::at(key.span(), title).help("rename one of the two"));
        }
        let place = value.span();
        let ty = TensorType::parse(value.get_ref()).map_err(|e| Fault::math(text, &place, e))?;
        for axis in &ty.shape {
            sizes.check_names(text, axis, &place)?;
        }
        types.insert(name.clone(), ty);
        places.insert(name.clone(), (key.span(), place));
    }
    Ok((types, places))
}

/// Checks the declarations of workspaces: each has a name of its own beside the tensors, and an axis.
fn check_workspaces(
    types: &BTreeMap<String, TensorType>,
    places: &Places,
    tensors: &Places,
) -> Checked<()> {
    for (name, (key, value)) in places {
        if let Some((tensor, _)) = tensors.get(name) {
            let title = format!("`{name}` is both a tensor and a workspace");
            return Err(Fault::at(key.clone(), title)
                .also(tensor.clone(), "the tensor")
                .help("rename one of the two"));
        }
        if types.get(name).is_some_and(|ty| ty.shape.is_empty()) {
            return Err(Fault::at(value.clone(), format!("the workspace `{name}` has no axis"))
                .help("a single element is an axis of 1, such as \"i32[1]\""));
        }
    }
    Ok(())
}

/// Whether a launch or a call takes this tensor.
fn is_taken(raw: &RawSpec, name: &str) -> bool {
    let by_launch =
        raw.launch.iter().flat_map(|launch| &launch.args).any(|arg| arg.get_ref() == name);
    by_launch || raw.call.iter().any(|call| names_tensor(call.code.get_ref(), name))
}

fn readable(total: u64) -> String {
    if total == u64::MAX { "far too many".into() } else { total.to_string() }
}

/// The `X` in `grad(X)`.
pub fn grad_of(name: &str) -> Option<&str> {
    name.strip_prefix("grad(")?.strip_suffix(')')
}

/// The name `X'`, the value of X after the launches.
pub fn prime(name: &str) -> String {
    format!("{name}'")
}

/// The declared name that gives `name` its type: X for `grad(X)`, for the `total(X)` of a tensor that a step computes, and for `X'`.
fn declared(name: &str) -> &str {
    let total = || name.strip_prefix("total(")?.strip_suffix(')');
    let name = grad_of(name).or_else(total).unwrap_or(name);
    name.strip_suffix('\'').unwrap_or(name)
}

/// The declared types, and those of all `X'` in `formula`.
fn with_primed(
    types: &BTreeMap<String, TensorType>,
    formula: &str,
) -> BTreeMap<String, TensorType> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut all = types.clone();
    for (before, _) in formula.match_indices('\'').map(|(at, _)| formula.split_at(at)) {
        let start = before.trim_end_matches(in_name).len();
        let name = &before[start..];
        if let Some(ty) = types.get(name) {
            all.insert(prime(name), ty.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primed_names_have_the_type_of_their_tensor() {
        let ty = |text: &str| TensorType::parse(text).unwrap();
        let types =
            BTreeMap::from([("w".to_owned(), ty("f16[N]")), ("g".to_owned(), ty("f32[N]"))]);
        let primed = |formula: &str| {
            let all = with_primed(&types, formula);
            all.into_iter().filter(|(name, _)| !types.contains_key(name)).collect::<Vec<_>>()
        };
        let weights = ("w'".to_owned(), ty("f16[N]"));
        assert_eq!(primed("w'[i] = w[i] - g[i]"), std::slice::from_ref(&weights));
        assert_eq!(
            primed("w'[i]=2*w[i];g'[i]=0 # w', v'"),
            [("g'".to_owned(), ty("f32[N]")), weights]
        );
        assert_eq!(primed("y[i] = w[i] ' v'[i] + ww'[i]"), []);
        assert_eq!(primed("'w[i] = é'"), []);
        assert_eq!([declared("w'"), declared("grad(w)"), declared("w")], ["w"; 3]);
    }
}
