//! Evaluates trees element by element, as a kernel in f32 would: with its overflow, and with a bound of its rounding error.
//!
//! This is no oracle. It takes formulas that are wrong, reads wherever their addresses lead inside a tensor, and computes only the
//! elements that it is asked for.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::dtype::DType;
use crate::evaluate::data::Values;
use crate::integer::arithmetic::apply;
use crate::integer::evaluate::{Dims, evaluate_size, fold_constants};
use crate::rounding::format::Format;
use crate::syntax::int_expr::{IntExpr, IntKind, IntOp};
use crate::syntax::operators::{Condition, Connective, Function, Op, Reduction};
use crate::variants::tree::{Access, Model, Part, Range, TensorId, Tree};

/// A value, and how far that of a kernel in f32 may be from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub value: f64,
    pub error: f64,
}

/// The unit roundoff of f32.
pub(crate) const UNIT: f64 = 1.0 / 16_777_216.0;

/// A model at fixed sizes and data.
pub(crate) struct Machine<'a> {
    model: &'a Model,
    pub dims: Dims,
    bodies: Vec<Tree>,
    shapes: Vec<Vec<i64>>,
    known: Vec<Option<&'a [f64]>>,
    /// The part that computes a tensor.
    part_of: Vec<Option<usize>>,
    /// For each part, those that read its tensor, directly or not, and itself.
    readers: Vec<Vec<bool>>,
    memo: RefCell<HashMap<(usize, usize), Value>>,
    /// What may still be computed, in reads.
    pub budget: Cell<u64>,
}

/// Parts in place of those of the model.
pub(crate) type Changed = Vec<(TensorId, Tree)>;

/// Where a read leads in its tensor.
enum Address {
    Inside(usize),
    /// Outside of what its bounds checks allow.
    Outside,
}

/// One evaluation of a changed model.
struct Run<'m, 'a> {
    machine: &'m Machine<'a>,
    bodies: Vec<Option<Tree>>,
    affected: Vec<bool>,
    env: Vec<i64>,
    own: HashMap<(usize, usize), Value>,
}

impl<'a> Machine<'a> {
    /// The model at the sizes `dims`; `None` if a size has no value.
    pub(crate) fn new(model: &'a Model, dims: &Dims, known: &'a Values) -> Option<Self> {
        let fold = |tree: &Tree| tree.map_ints(&mut |int| fold_constants(int, dims).ok());
        let bodies = model.parts.iter().map(|part| fold(&part.body)).collect::<Option<Vec<_>>>()?;
        let shapes = model
            .tensors
            .iter()
            .map(|tensor| tensor.shape.iter().map(|size| evaluate_size(size, dims).ok()).collect());
        let shapes = shapes.collect::<Option<Vec<Vec<i64>>>>()?;
        let mut part_of = vec![None; model.tensors.len()];
        for (index, part) in model.parts.iter().enumerate() {
            part_of[part.target] = Some(index);
        }
        let known = model.tensors.iter().enumerate().map(|(id, tensor)| {
            let values = known.get(&tensor.name).filter(|_| part_of[id].is_none());
            values.map(Vec::as_slice)
        });
        let known = known.collect();
        let mut readers = vec![vec![false; model.parts.len()]; model.parts.len()];
        for part in (0..model.parts.len()).rev() {
            readers[part][part] = true;
            let mut read = Vec::new();
            let body = &model.parts[part].body;
            body.visit(&mut Vec::new(), &mut |_, tree| {
                if let Tree::Read(access) = tree {
                    read.extend(part_of[access.tensor]);
                }
            });
            // Elements of tensors stand in indices too.
            body.map_ints(&mut |int| {
                int.elements(&mut |element| {
                    read.extend(model.tensor(&element.tensor).and_then(|id| part_of[id]));
                });
                Some(int.clone())
            });
            let own = readers[part].clone();
            for source in read {
                for (to, &from) in readers[source].iter_mut().zip(&own) {
                    *to |= from;
                }
            }
        }
        let memo = RefCell::default();
        let dims = dims.clone();
        let budget = Cell::new(0);
        Some(Self { model, dims, bodies, shapes, known, part_of, readers, memo, budget })
    }

    pub(crate) fn len(&self, tensor: TensorId) -> usize {
        usize::try_from(self.shapes[tensor].iter().product::<i64>()).unwrap_or(0)
    }

    /// The elements `flats` of the model's last part, where `changed` stands in the place of its parts. `None` if one cannot be
    /// computed, or the budget is spent.
    pub(crate) fn elements(
        &self,
        changed: &Changed,
        flats: impl Iterator<Item = usize>,
        mut keep: impl FnMut(usize, Value) -> bool,
    ) -> Option<()> {
        let mut run = self.run(changed)?;
        let last = self.model.parts.len() - 1;
        for flat in flats {
            let value = run.element(last, flat)?;
            if !keep(flat, value) {
                return None;
            }
        }
        Some(())
    }

    /// The values of the trees behind element `flat` of the model's last part for which `wanted` holds, the innermost first: outside
    /// of reductions, and so in the parts that it reads there. Inputs are none of them.
    pub(crate) fn values_of(
        &self,
        flat: usize,
        wanted: &dyn Fn(&Tree) -> bool,
    ) -> Vec<(&Tree, f64)> {
        let mut found = Vec::new();
        if let Some(mut run) = self.run(&Vec::new()) {
            self.note(&mut run, self.model.parts.len() - 1, flat, wanted, &mut found);
        }
        found
    }

    fn note<'s>(
        &'s self,
        run: &mut Run<'_, '_>,
        part: usize,
        flat: usize,
        wanted: &dyn Fn(&Tree) -> bool,
        found: &mut Vec<(&'s Tree, f64)>,
    ) {
        let Part { axes, body, .. } = &self.model.parts[part];
        let mut open = vec![(&self.bodies[part], body, false)];
        let mut here = Vec::new();
        while let Some((tree, named, inside)) = open.pop() {
            // Within a reduction only what does not change there.
            let fixed = |access: &Access| access.subscripts.iter().all(|int| int.uses_only(axes));
            if !inside || matches!(tree, Tree::Read(access) if fixed(access)) {
                here.push((tree, named));
            }
            let inside = inside || matches!(tree, Tree::Reduce(..));
            let children = tree.children().into_iter().zip(named.children());
            open.extend(children.map(|(tree, named)| (tree, named, inside)));
        }
        for (tree, named) in here.into_iter().rev() {
            run.env = self.coordinates(part, flat);
            let read = match tree {
                Tree::Read(access) => match (self.part_of[access.tensor], run.address(access)) {
                    (Some(source), Some(Address::Inside(at))) => Some((source, at)),
                    // An input.
                    _ => continue,
                },
                _ => None,
            };
            if let Some((source, at)) = read {
                self.note(run, source, at, wanted, found);
                run.env = self.coordinates(part, flat);
            }
            // A part that is one reduction stands for it, and the element itself is no part of itself.
            let whole = std::ptr::eq(tree, &raw const self.bodies[part]);
            if !whole
                && wanted(tree)
                && let Some(value) = run.tree(tree, Reduction::Sum)
            {
                found.push((named, value.value));
            }
        }
    }

    /// The values of a part's indices at an element.
    fn coordinates(&self, part: usize, flat: usize) -> Vec<i64> {
        let Part { target, axes, .. } = &self.model.parts[part];
        let mut env = vec![0; self.model.indices.len() + FRESH];
        let mut rest = flat as i64;
        for (&axis, &size) in axes.iter().zip(&self.shapes[*target]).rev() {
            env[axis] = rest % size.max(1);
            rest /= size.max(1);
        }
        env
    }

    fn run<'m>(&'m self, changed: &Changed) -> Option<Run<'m, 'a>> {
        let parts = self.model.parts.len();
        let (mut bodies, mut affected) = (vec![None; parts], vec![false; parts]);
        for (target, tree) in changed {
            let part = self.part_of[*target]?;
            bodies[part] = Some(tree.map_ints(&mut |int| fold_constants(int, &self.dims).ok())?);
            for (to, &from) in affected.iter_mut().zip(&self.readers[part]) {
                *to |= from;
            }
        }
        Some(Run { machine: self, bodies, affected, env: Vec::new(), own: HashMap::new() })
    }
}

impl Run<'_, '_> {
    fn element(&mut self, part: usize, flat: usize) -> Option<Value> {
        let machine = self.machine;
        let key = (part, flat);
        if self.affected[part] {
            if let Some(found) = self.own.get(&key) {
                return Some(*found);
            }
        } else if let Some(found) = machine.memo.borrow().get(&key) {
            return Some(*found);
        }
        let Part { target, .. } = &machine.model.parts[part];
        let outer = std::mem::replace(&mut self.env, machine.coordinates(part, flat));
        let body = self.bodies[part].take();
        let value = self.tree(body.as_ref().unwrap_or(&machine.bodies[part]), Reduction::Sum);
        self.bodies[part] = body;
        self.env = outer;
        let value = stored(value?, machine.model.tensors[*target].dtype);
        if self.affected[part] {
            self.own.insert(key, value);
        } else {
            machine.memo.borrow_mut().insert(key, value);
        }
        Some(value)
    }

    /// `around` is the reduction whose identity a read outside has.
    fn tree(&mut self, tree: &Tree, around: Reduction) -> Option<Value> {
        match tree {
            Tree::Number(value) => Some(exact(*value)),
            Tree::Int(int) => Some(exact(self.int(int)? as f64)),
            Tree::Read(access) => self.read(access, around),
            Tree::Neg(inner) => {
                let Value { value, error } = self.tree(inner, around)?;
                Some(Value { value: -value, error })
            }
            Tree::Binary(op, left, right) => {
                let (a, b) = (self.tree(left, around)?, self.tree(right, around)?);
                Some(binary(*op, a, b))
            }
            Tree::Reduce(kind, ranges, body) => self.reduce(*kind, ranges, body),
            Tree::Call(function, values) => {
                let a = self.tree(values.first()?, around)?;
                let b = values.get(1).map_or(Some(exact(0.0)), |b| self.tree(b, around))?;
                Some(call(*function, a, b))
            }
            Tree::Select(condition, yes, no) => {
                let holds = self.condition(condition)?;
                self.tree(if holds { yes } else { no }, around)
            }
        }
    }

    fn condition(&mut self, condition: &Condition<Tree>) -> Option<bool> {
        match condition {
            Condition::Compare(comparison, a, b) => {
                let (a, b) = (self.tree(a, Reduction::Sum)?, self.tree(b, Reduction::Sum)?);
                Some(comparison.holds(a.value, b.value))
            }
            Condition::Join(Connective::And, a, b) => {
                Some(self.condition(a)? && self.condition(b)?)
            }
            Condition::Join(Connective::Or, a, b) => Some(self.condition(a)? || self.condition(b)?),
        }
    }

    /// Where a read leads.
    fn address(&mut self, access: &Access) -> Option<Address> {
        let machine = self.machine;
        let own = &machine.shapes[access.tensor];
        let mut flat = 0_i64;
        let mut size_of = access.shape.iter();
        for (axis, subscript) in access.subscripts.iter().enumerate() {
            let at = self.int(subscript)?;
            if let Some(check) = access.checks.get(axis) {
                let inside = check.low.is_none_or(|low| at >= low)
                    && check.high.is_none_or(|high| at < own[axis] + high);
                if !inside {
                    return Some(Address::Outside);
                }
            }
            let size = self.int(size_of.next()?)?;
            flat = flat.checked_mul(size)?.checked_add(at)?;
        }
        Some(Address::Inside(usize::try_from(flat).ok()?))
    }

    fn read(&mut self, access: &Access, around: Reduction) -> Option<Value> {
        let machine = self.machine;
        machine.budget.set(machine.budget.get().checked_sub(1)?);
        let Address::Inside(flat) = self.address(access)? else {
            return Some(exact(around.identity()));
        };
        match (machine.known[access.tensor], machine.part_of[access.tensor]) {
            (_, Some(part)) if flat < machine.len(access.tensor) => self.element(part, flat),
            (Some(values), _) => values.get(flat).map(|&value| exact(value)),
            _ => None,
        }
    }

    fn reduce(&mut self, kind: Reduction, ranges: &[Range], body: &Tree) -> Option<Value> {
        let mut sum = Sum { kind, value: 0.0, error: 0.0, magnitude: 0.0, count: 0, whole: true };
        sum.value = kind.identity();
        let mut position = if kind.gives_position() { Some(-1) } else { None };
        self.nest(kind, ranges, body, &mut sum, 0, &mut position)?;
        match position {
            Some(position) => Some(exact(position as f64)),
            None => Some(sum.finish()),
        }
    }

    fn nest(
        &mut self,
        kind: Reduction,
        ranges: &[Range],
        body: &Tree,
        sum: &mut Sum,
        at: i64,
        position: &mut Option<i64>,
    ) -> Option<()> {
        let Some((range, inner)) = ranges.split_first() else {
            let machine = self.machine;
            machine.budget.set(machine.budget.get().checked_sub(1)?);
            let value = self.tree(body, kind)?;
            if sum.add(value)
                && let Some(position) = position
            {
                *position = at;
            }
            return Some(());
        };
        let (from, to) = (self.int(&range.from)?, self.int(&range.to)?);
        for step in from..to {
            let index = if range.backwards { to - 1 - (step - from) } else { step };
            self.env[range.index] = index;
            let at = at.checked_mul(to)?.checked_add(index)?;
            self.nest(kind, inner, body, sum, at, position)?;
        }
        Some(())
    }

    fn int(&mut self, int: &IntExpr) -> Option<i64> {
        match &int.kind {
            IntKind::Const(value) => Some(*value),
            IntKind::Name(name) => self.machine.dims.get(name).copied(),
            IntKind::Index(id) => self.env.get(*id).copied(),
            IntKind::Neg(inner) => self.int(inner)?.checked_neg(),
            IntKind::Binary(IntOp::Add, a, b) => self.int(a)?.checked_add(self.int(b)?),
            IntKind::Binary(op, a, b) => {
                let (a, b) = (self.int(a)?, self.int(b)?);
                apply(*op, a, b).ok()
            }
            IntKind::Element(read) => {
                let id = self.machine.model.tensor(&read.tensor)?;
                let mut flat = 0;
                for (subscript, size) in read.subscripts.iter().zip(&self.machine.shapes[id]) {
                    flat = flat * size + self.int(subscript)?;
                }
                let value = match (self.machine.known[id], self.machine.part_of[id]) {
                    (Some(values), _) => *values.get(usize::try_from(flat).ok()?)?,
                    (None, Some(part)) => self.element(part, usize::try_from(flat).ok()?)?.value,
                    (None, None) => return None,
                };
                (value.fract() == 0.0).then_some(value as i64)
            }
        }
    }
}

/// Indices that slips may add.
pub(crate) const FRESH: usize = 4;

/// A reduction under way.
struct Sum {
    kind: Reduction,
    value: f64,
    error: f64,
    magnitude: f64,
    count: u64,
    /// All terms are whole and exact.
    whole: bool,
}

impl Sum {
    /// Whether the value is the extremum so far.
    fn add(&mut self, new: Value) -> bool {
        self.count += 1;
        if self.kind == Reduction::Sum {
            self.value += new.value;
            self.magnitude += new.value.abs();
            self.error += new.error;
            self.whole &= new.error == 0.0 && new.value.fract() == 0.0;
            return false;
        }
        self.error = self.error.max(new.error);
        let best = self.count == 1 || self.kind.beats(new.value, self.value);
        if best {
            self.value = new.value;
        }
        best
    }

    fn finish(self) -> Value {
        let Self { kind, value, error, magnitude, count, whole } = self;
        let exact = kind != Reduction::Sum || count <= 1 || (whole && magnitude <= 1.0 / UNIT);
        let roundings = (count as f64).min(4.0 * (count as f64).sqrt()) + 1.0;
        let error = if exact { error } else { error + roundings * UNIT * magnitude };
        overflow(Value { value, error })
    }
}

fn exact(value: f64) -> Value {
    Value { value, error: 0.0 }
}

/// What f32 makes of a value outside its range.
fn overflow(v: Value) -> Value {
    let max = f64::from(f32::MAX);
    if v.value.abs() > max && v.value.is_finite() {
        Value { value: f64::INFINITY.copysign(v.value), error: 0.0 }
    } else if v.value.abs() < 1e-45 && v.error < 1e-45 {
        Value { value: 0.0, error: 0.0 }
    } else {
        v
    }
}

/// The value after a rounding, with the error that it brings.
fn rounded(value: f64, error: f64, units: f64) -> Value {
    let fits = error == 0.0 && f64::from(value as f32) == value;
    let error = if fits || !value.is_finite() { error } else { error + units * UNIT * value.abs() };
    overflow(Value { value, error })
}

fn binary(op: Op, a: Value, b: Value) -> Value {
    let (x, y) = (a.value, b.value);
    match op {
        Op::Add => rounded(x + y, a.error + b.error, 1.0),
        Op::Sub => rounded(x - y, a.error + b.error, 1.0),
        Op::Mul => {
            let error = x.abs() * b.error + y.abs() * a.error + a.error * b.error;
            rounded(x * y, if error.is_nan() { 0.0 } else { error }, 1.0)
        }
        Op::Div => {
            let value = x / y;
            let room = y.abs() - b.error;
            let error = if a.error == 0.0 && b.error == 0.0 {
                0.0
            } else if room > 0.0 {
                (a.error + value.abs() * b.error) / room
            } else {
                f64::INFINITY
            };
            rounded(value, error, 2.0)
        }
    }
}

fn call(function: Function, a: Value, b: Value) -> Value {
    let value = function.value(a.value, b.value);
    match function {
        Function::Max | Function::Min => Value { value, error: a.error.max(b.error) },
        Function::Abs => Value { value, error: a.error },
        Function::Floor => Value { value, error: if a.error == 0.0 { 0.0 } else { 1.0 } },
        Function::Cast(dtype) => stored(a, dtype),
        Function::Exp
        | Function::Log
        | Function::Sqrt
        | Function::Rsqrt
        | Function::Tanh
        | Function::Sin
        | Function::Cos
        | Function::Erf
        | Function::Sigmoid
        | Function::Pow => {
            // By differences: how far the errors of the arguments move the value.
            let moved = |da: f64, db: f64| {
                let other = function.value(a.value + da, b.value + db);
                if other == value { 0.0 } else { (other - value).abs() }
            };
            let propagated = if a.error == 0.0 && b.error == 0.0 {
                0.0
            } else {
                moved(a.error, 0.0).max(moved(-a.error, 0.0))
                    + moved(0.0, b.error).max(moved(0.0, -b.error))
            };
            let error = if propagated.is_nan() { f64::INFINITY } else { propagated };
            rounded(value, error, if function == Function::Pow { 16.0 } else { 4.0 })
        }
    }
}

/// What a tensor of this type keeps of a value.
fn stored(v: Value, dtype: DType) -> Value {
    match dtype {
        DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::U8 => v,
        DType::F16 | DType::BF16 => {
            let format = Format::of(dtype);
            let value = format.round(v.value);
            if v.error == 0.0 && f64::from(v.value as f32) == v.value {
                return Value { value, error: 0.0 };
            }
            let error = v.error + 2.0 * (v.value.abs() + v.error) * 2_f64.powi(-format.precision);
            Value { value, error: error + 2_f64.powi(format.min_exponent) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Formula, TensorType};

    const TYPES: [(&str, &str); 9] = [
        ("x", "f32[R, H]"),
        ("w", "f32[O, H]"),
        ("gamma", "f32[H]"),
        ("mean", "f32[R]"),
        ("rstd", "f32[R]"),
        ("y", "f32[R, O]"),
        ("image", "f32[H + O - 1]"),
        ("z", "f32[H]"),
        ("loss", "f32[]"),
    ];

    const TEXT: &str = "mean[r] = (sum[j] x[r,j]) / index(H)
        rstd[r] = rsqrt((sum[j] (x[r,j] - mean[r]) * (x[r,j] - mean[r])) / index(H) + 0.01)
        y[r,o] = (max[j] x[r,j]) + sum[j] (x[r,j] - mean[r]) * rstd[r] * gamma[j] * w[o,j]
        z[h] = sum[o,r] max(image[h+o], 0) * y[r,o] * select(image[h+o] < 0.1, 2, 3)
        loss = sum[h] log(1 + exp(z[h])) * tanh(z[h])";

    #[test]
    fn without_a_slip_the_machine_agrees_with_the_oracle() {
        let parsed =
            |(name, ty): &(&str, &str)| ((*name).to_owned(), TensorType::parse(ty).unwrap());
        let types: BTreeMap<_, _> = TYPES.iter().map(parsed).collect();
        let formula = Formula::parse(TEXT, &types).unwrap().differentiate().unwrap();
        let dims: Dims = [("R", 2), ("H", 5), ("O", 3)].map(|(n, v)| (n.to_owned(), v)).into();
        let sized = formula.at(&dims).unwrap();
        let values = |len: usize, salt: usize| -> Vec<f64> {
            (0..len)
                .map(|i| f64::from((((i * i + 3 * i + salt * 11 + 1) as f32) * 0.37).sin()))
                .collect()
        };
        let inputs = formula.inputs();
        let known: Values = inputs
            .iter()
            .enumerate()
            .map(|(salt, name)| {
                (name.clone(), values(sized.shape(name).unwrap().iter().product(), salt))
            })
            .collect();
        for name in ["loss", "y", "grad(x)", "grad(w)", "grad(gamma)", "grad(image)"] {
            let expected = sized.evaluate(&known, &[name]).unwrap().remove(name).unwrap();
            let model =
                Model::new(sized.program(), name, &|given| known.contains_key(given)).unwrap();
            let machine = Machine::new(&model, &dims, &known).unwrap();
            machine.budget.set(1_000_000);
            let part = model.parts.last().unwrap();
            let same = vec![(part.target, part.body.clone())];
            let done = machine.elements(&same, 0..expected.len(), |flat, value| {
                let off = (value.value - expected[flat].value).abs();
                assert!(
                    off <= 1e-9 * (1.0 + off),
                    "{name}[{flat}]: {} and {}",
                    value.value,
                    expected[flat].value
                );
                // The oracle's analysis is finer, but not by orders of magnitude.
                let bound = expected[flat].bound;
                assert!(value.error <= 10.0 * bound + 1e-6, "{name}[{flat}]: {value:?}, {bound:e}");
                true
            });
            assert_eq!(done, Some(()), "{name}");
        }
    }
}
