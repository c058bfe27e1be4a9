//! Evaluates trees element by element, as a kernel in f32 would: with its overflow, and with a bound of its rounding error.
//!
//! This is no oracle. It takes formulas that are wrong, reads wherever their addresses lead inside a tensor, and computes only the
//! elements that it is asked for.

mod reductions;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::evaluate::data::Values;
use crate::integer::arithmetic::apply;
use crate::integer::evaluate::{Dims, evaluate_size};
use crate::syntax::int_expr::IntOp;
use crate::syntax::operators::{Condition, Connective, Function, Reduction};
use crate::variants::code::{Code, Compiler, Int, Read};
use crate::variants::kept::{self, Kept, OwnReductions, PartReduction, Replaced};
use crate::variants::tree::{Access, Model, Part, TensorId, Tree};
use crate::variants::value::{Value, binary, call, exact, stored};

/// A model at fixed sizes and data.
pub(crate) struct Machine<'a> {
    model: &'a Model,
    pub dims: Dims,
    bodies: Vec<Code>,
    shapes: Vec<Vec<i64>>,
    known: Vec<Option<&'a [f64]>>,
    /// The part that computes a tensor.
    part_of: Vec<Option<usize>>,
    /// For each part, those that read its tensor, directly or not, and itself.
    readers: Vec<Vec<bool>>,
    /// The reductions of the parts; none if they cannot be told apart by their indices.
    reductions: Vec<PartReduction>,
    memo: RefCell<Memo>,
    reduced: RefCell<Reduced>,
    /// What may still be computed, in reads.
    pub budget: Cell<u64>,
}

/// A tree in the place of one of the model's, at the machine's sizes.
pub(crate) struct Replacement<'m> {
    part: usize,
    /// What stands there in the model.
    place: &'m Code,
    path: Vec<usize>,
    // Where it stays, whatever becomes of the replacement: the addresses of its reductions count.
    code: Box<Code>,
    /// The reductions of the code; `None` if they cannot be told apart by their indices.
    reductions: Option<OwnReductions>,
}

/// A `select` that was evaluated.
pub(crate) struct Selected<'m> {
    pub condition: &'m Condition<Tree>,
    pub holds: bool,
    /// Both values of each comparison, left to right.
    pub compared: Vec<f64>,
    /// The branch that is not taken, and its value.
    pub other: (&'m Tree, f64),
}

impl Replacement<'_> {
    /// Whether it is not what stands there already.
    pub(crate) fn changes_something(&self) -> bool {
        *self.place != *self.code
    }

    /// A number that tells its place from the others of the machine.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self.place).addr()
    }
}

impl PartialEq for Replacement<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.place, other.place) && self.code == other.code
    }
}

/// Elements of parts that are known.
type Memo = HashMap<(usize, usize), Value, BuildHasherDefault<PlaceHasher>>;
/// The values of some indices, packed.
type Point = u128;
/// Reductions that are known, and what to evaluate each once more would take off the budget.
type Reduced = HashMap<(usize, Point), (Value, u64), BuildHasherDefault<PlaceHasher>>;

/// Spreads the places of elements; nobody has chosen them to collide.
#[derive(Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, key: usize) {
        /// 2^64 divided by the golden ratio (Knuth, "The Art of Computer Programming", 6.4).
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
        self.0 = (self.0 ^ key as u64).wrapping_mul(SPREAD).rotate_left(32);
    }

    fn write_u128(&mut self, key: u128) {
        self.write_usize(key as usize);
        self.write_usize((key >> 64) as usize);
    }
}

/// Where a read leads in its tensor.
enum Address {
    Inside(usize),
    /// Outside of what its bounds checks allow.
    Outside,
}

/// One evaluation of a model with replacements.
struct Run<'m, 'a> {
    machine: &'m Machine<'a>,
    replaced: &'m [&'m Replacement<'m>],
    affected: Vec<bool>,
    env: Vec<i64>,
    own: Memo,
    /// The reductions whose values are kept, and those that have them for this evaluation alone.
    kept: Vec<Kept<'m>>,
    own_reduced: Reduced,
    /// What the elements of parts that were not known before have taken off the budget.
    for_elements: u64,
    /// The inputs that are read, if somebody wants to know them.
    inputs: Option<Inputs>,
}

/// The elements of inputs that an evaluation reads.
#[derive(Default)]
pub(crate) struct Inputs {
    /// Whether each is computed with, and does not only choose: in a condition, an index, or among others for the largest.
    pub found: BTreeMap<(TensorId, usize), bool>,
    /// The elements of parts that were evaluated: part, element, and whether it was to choose.
    seen: HashSet<(usize, usize, bool)>,
    /// How many choices the evaluation is inside of.
    choices: usize,
}

impl<'a> Machine<'a> {
    /// The model at the sizes `dims`; `None` if a size has no value.
    pub(crate) fn new(model: &'a Model, dims: &Dims, known: &'a Values) -> Option<Self> {
        let shapes = model
            .tensors
            .iter()
            .map(|tensor| tensor.shape.iter().map(|size| evaluate_size(size, dims).ok()).collect());
        let shapes = shapes.collect::<Option<Vec<Vec<i64>>>>()?;
        let compiler = Compiler { model, dims, shapes: &shapes };
        let bodies = model.parts.iter().map(|part| compiler.tree(&part.body));
        let bodies = bodies.collect::<Option<Vec<_>>>()?;
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
        let reductions = kept::of_parts(model, &bodies, &part_of).unwrap_or_default();
        let (memo, reduced) = (RefCell::default(), RefCell::default());
        let dims = dims.clone();
        let budget = Cell::new(0);
        Some(Self {
            model,
            dims,
            bodies,
            shapes,
            known,
            part_of,
            readers,
            reductions,
            memo,
            reduced,
            budget,
        })
    }

    pub(crate) fn len(&self, tensor: TensorId) -> usize {
        usize::try_from(self.shapes[tensor].iter().product::<i64>()).unwrap_or(0)
    }

    /// `tree` in the place of what stands at `path` in a part. `None` if it has no value at these sizes.
    pub(crate) fn replacement(
        &self,
        part: usize,
        path: &[usize],
        tree: &Tree,
    ) -> Option<Replacement<'_>> {
        let compiler = Compiler { model: self.model, dims: &self.dims, shapes: &self.shapes };
        let place = self.bodies[part].at(path)?;
        let code = Box::new(compiler.tree(tree)?);
        let own = (part, &self.bodies[..], &self.part_of[..]);
        let at = (&self.model.parts[part].axes[..], path);
        let reductions = OwnReductions::of(&code, at, own, &self.reductions);
        Some(Replacement { part, place, path: path.to_vec(), code, reductions })
    }

    /// `tree` in the place of the whole part that computes a tensor.
    pub(crate) fn replaced_part(&self, target: TensorId, tree: &Tree) -> Option<Replacement<'_>> {
        self.replacement(self.part_of[target]?, &[], tree)
    }

    /// The elements `flats` of the model's last part, where trees are `replaced`. `None` if one cannot be computed, the budget is
    /// spent, or `keep` refuses one.
    pub(crate) fn elements(
        &self,
        replaced: &[&Replacement],
        flats: impl Iterator<Item = usize>,
        mut keep: impl FnMut(usize, Value) -> bool,
    ) -> Option<()> {
        let mut run = self.run(replaced);
        let last = self.model.parts.len() - 1;
        for flat in flats {
            let value = run.element(last, flat)?;
            if !keep(flat, value) {
                return None;
            }
        }
        Some(())
    }

    /// The inputs of element `flat` of the model's last part. `None` if it cannot be computed, or the budget is spent.
    pub(crate) fn inputs_of(&self, flat: usize) -> Option<Inputs> {
        let mut run = self.run(&[]);
        run.inputs = Some(Inputs::default());
        run.element(self.model.parts.len() - 1, flat)?;
        run.inputs
    }

    /// The values of the trees behind element `flat` of the model's last part for which `wanted` holds, the innermost first: outside
    /// of reductions, and so in the parts that it reads there. Inputs are none of them.
    pub(crate) fn values_of(
        &self,
        flat: usize,
        wanted: &dyn Fn(&Tree) -> bool,
    ) -> Vec<(&Tree, f64)> {
        let mut found = Vec::new();
        self.note(&mut self.run(&[]), self.model.parts.len() - 1, flat, wanted, &mut found);
        found
    }

    /// The `select`s by which element `flat` of the model's last part comes to its value, the outermost first: that of the part's body,
    /// and those of the branches that are taken. They end where a value cannot be computed.
    pub(crate) fn selects_of(&self, flat: usize) -> Vec<Selected<'_>> {
        let last = self.model.parts.len() - 1;
        let dtype = self.model.tensors[self.model.parts[last].target].dtype;
        let mut run = self.run(&[]);
        run.env = self.coordinates(last, flat);
        let (mut code, mut tree) = (&self.bodies[last], &self.model.parts[last].body);
        let mut found = Vec::new();
        while let (Code::Select(when, yes, no), Tree::Select(condition, tree_yes, tree_no)) =
            (code, tree)
        {
            let mut sides = Vec::new();
            when.values(&mut |side| sides.push(side));
            let compared =
                sides.into_iter().map(|side| Some(run.value(side, Reduction::Sum)?.value));
            let Some(compared) = compared.collect::<Option<Vec<f64>>>() else { break };
            let Some(holds) = run.condition(when) else { break };
            let ((taken, taken_tree), (other, other_tree)) = if holds {
                ((yes, tree_yes), (no, tree_no))
            } else {
                ((no, tree_no), (yes, tree_yes))
            };
            let Some(other) = run.value(other, Reduction::Sum) else { break };
            let other = (&**other_tree, stored(other, dtype).value);
            found.push(Selected { condition, holds, compared, other });
            (code, tree) = (taken, taken_tree);
        }
        found
    }

    /// What the search of an `argmax` or `argmin`, which element `flat` of the model's last part is, finds at the position `at`: the value, and
    /// the element that it is. `None` if the part is no such search, or the position lies outside.
    pub(crate) fn candidate_of(
        &self,
        flat: usize,
        at: i64,
    ) -> Option<(f64, Option<(TensorId, usize)>)> {
        let last = self.model.parts.len() - 1;
        let Code::Reduce(kind, ranges, body) = &self.bodies[last] else { return None };
        let mut run = self.run(&[]);
        run.env = self.coordinates(last, flat);
        let mut rest = at;
        for range in ranges.iter().rev() {
            let size = run.int(&range.to)?;
            run.env[range.index] = rest.checked_rem_euclid(size)?;
            rest = rest.checked_div_euclid(size)?;
        }
        if rest != 0 || !kind.gives_position() {
            return None;
        }
        let value = run.value(body, *kind)?.value;
        let element = match &**body {
            Code::Read(read) => match run.address(read)? {
                Address::Inside(flat) => Some((read.tensor, flat)),
                Address::Outside => None,
            },
            _ => None,
        };
        Some((value, element))
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
        while let Some((code, tree, inside)) = open.pop() {
            // Within a reduction only what does not change there.
            let fixed = |access: &Access| access.subscripts.iter().all(|int| int.uses_only(axes));
            if !inside || matches!(tree, Tree::Read(access) if fixed(access)) {
                here.push((code, tree));
            }
            let inside = inside || matches!(tree, Tree::Reduce(..));
            let children = code.children().into_iter().zip(tree.children());
            open.extend(children.map(|(code, tree)| (code, tree, inside)));
        }
        for (code, tree) in here.into_iter().rev() {
            run.env = self.coordinates(part, flat);
            let read = match code {
                Code::Read(read) => match (self.part_of[read.tensor], run.address(read)) {
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
            let whole = std::ptr::eq(code, &raw const self.bodies[part]);
            if !whole
                && wanted(tree)
                && let Some(value) = run.value(code, Reduction::Sum)
            {
                found.push((tree, value.value));
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

    fn run<'m>(&'m self, replaced: &'m [&'m Replacement<'m>]) -> Run<'m, 'a> {
        let mut affected = vec![false; self.model.parts.len()];
        for replacement in replaced {
            for (to, &from) in affected.iter_mut().zip(&self.readers[replacement.part]) {
                *to |= from;
            }
        }
        let places: Vec<Replaced<'m>> = replaced
            .iter()
            .map(|r| Replaced { part: r.part, path: &r.path, own: r.reductions.as_ref() })
            .collect();
        let kept = kept::kept(&self.reductions, &places, &affected).unwrap_or_default();
        Run {
            machine: self,
            replaced,
            affected,
            env: Vec::new(),
            own: Memo::default(),
            kept,
            own_reduced: Reduced::default(),
            for_elements: 0,
            inputs: None,
        }
    }
}

impl Inputs {
    fn is_new(&mut self, part: usize, flat: usize) -> bool {
        self.seen.insert((part, flat, self.choices > 0))
    }
}

impl Run<'_, '_> {
    fn element(&mut self, part: usize, flat: usize) -> Option<Value> {
        let machine = self.machine;
        let key = (part, flat);
        let known = if self.affected[part] {
            self.own.get(&key).copied()
        } else {
            machine.memo.borrow().get(&key).copied()
        };
        // Whoever wants to know the inputs goes through each part once more.
        let is_new = self.inputs.as_mut().is_some_and(|inputs| inputs.is_new(part, flat));
        if let Some(found) = known.filter(|_| !is_new) {
            return Some(found);
        }
        let outer = std::mem::replace(&mut self.env, machine.coordinates(part, flat));
        let (budget, for_elements) = (machine.budget.get(), self.for_elements);
        let value = self.value(&machine.bodies[part], Reduction::Sum);
        self.for_elements = for_elements + (budget - machine.budget.get());
        self.env = outer;
        let value = stored(value?, machine.model.tensors[machine.model.parts[part].target].dtype);
        if self.affected[part] {
            self.own.insert(key, value);
        } else {
            machine.memo.borrow_mut().insert(key, value);
        }
        Some(value)
    }

    /// What stands in the place of `code`, if anything does, else itself.
    fn current<'c>(&self, code: &'c Code) -> &'c Code
    where
        Self: 'c,
    {
        let here = self.replaced.iter().find(|other| std::ptr::eq(other.place, code));
        here.map_or(code, |replacement| &replacement.code)
    }

    /// `around` is the reduction whose identity a read outside has.
    fn value(&mut self, code: &Code, around: Reduction) -> Option<Value> {
        let code = self.current(code);
        match code {
            Code::Number(value) => Some(exact(*value)),
            Code::Int(int) => Some(exact(self.int(int)? as f64)),
            Code::Read(read) => self.read(read, around),
            Code::Neg(inner) => {
                let Value { value, error } = self.value(inner, around)?;
                Some(Value { value: -value, error })
            }
            Code::Binary(op, left, right) => {
                let (a, b) = (self.value(left, around)?, self.value(right, around)?);
                Some(binary(*op, a, b))
            }
            Code::Reduce(kind, ranges, body) => self.reduction(code, *kind, ranges, body),
            Code::Call(function, values) => {
                let chooses = matches!(function, Function::Max | Function::Min);
                let (a, b) = self.choosing(chooses, |run| {
                    let a = run.value(values.first()?, around)?;
                    let b = values.get(1).map_or(Some(exact(0.0)), |b| run.value(b, around))?;
                    Some((a, b))
                })?;
                Some(call(*function, a, b))
            }
            Code::Select(condition, yes, no) => {
                let holds = self.choosing(true, |run| run.condition(condition))?;
                self.value(if holds { yes } else { no }, around)
            }
        }
    }

    fn condition(&mut self, condition: &Condition<Code>) -> Option<bool> {
        match condition {
            Condition::Compare(comparison, a, b) => {
                let (a, b) = (self.value(a, Reduction::Sum)?, self.value(b, Reduction::Sum)?);
                Some(comparison.holds(a.value, b.value))
            }
            Condition::Join(Connective::And, a, b) => {
                Some(self.condition(a)? && self.condition(b)?)
            }
            Condition::Join(Connective::Or, a, b) => Some(self.condition(a)? || self.condition(b)?),
        }
    }

    /// What `evaluate` gives; what it reads chooses, if `chooses`.
    fn choosing<T>(&mut self, chooses: bool, evaluate: impl FnOnce(&mut Self) -> T) -> T {
        let add = |run: &mut Self, by: isize| {
            if let Some(inputs) = run.inputs.as_mut().filter(|_| chooses) {
                inputs.choices = inputs.choices.saturating_add_signed(by);
            }
        };
        add(self, 1);
        let found = evaluate(self);
        add(self, -1);
        found
    }

    fn note_input(&mut self, tensor: TensorId, flat: usize) {
        if let Some(inputs) = &mut self.inputs {
            *inputs.found.entry((tensor, flat)).or_default() |= inputs.choices == 0;
        }
    }

    /// Where a read leads.
    fn address(&mut self, read: &Read) -> Option<Address> {
        for (subscript, first, last) in &read.checks {
            if !(*first..=*last).contains(&self.int(subscript)?) {
                return Some(Address::Outside);
            }
        }
        Some(Address::Inside(usize::try_from(self.int(&read.address)?).ok()?))
    }

    fn read(&mut self, read: &Read, around: Reduction) -> Option<Value> {
        let machine = self.machine;
        machine.budget.set(machine.budget.get().checked_sub(1)?);
        let Address::Inside(flat) = self.address(read)? else {
            return Some(exact(around.identity()));
        };
        self.fetch(read.tensor, flat)
    }

    /// The element of a tensor, given or computed.
    #[inline]
    fn fetch(&mut self, tensor: TensorId, flat: usize) -> Option<Value> {
        let machine = self.machine;
        match (machine.known[tensor], machine.part_of[tensor]) {
            (_, Some(part)) if flat < machine.len(tensor) => self.element(part, flat),
            (Some(values), _) => {
                self.note_input(tensor, flat);
                values.get(flat).map(|&value| exact(value))
            }
            _ => None,
        }
    }

    /// Mostly it is a linear form.
    #[inline]
    fn int(&mut self, int: &Int) -> Option<i64> {
        match int {
            Int::Linear(linear) => Some(linear.value(&self.env)),
            other => self.any_int(other),
        }
    }

    fn any_int(&mut self, int: &Int) -> Option<i64> {
        match int {
            Int::Linear(linear) => Some(linear.value(&self.env)),
            Int::Neg(inner) => self.int(inner)?.checked_neg(),
            Int::Binary(op, a, b) => {
                let (a, b) = (self.int(a)?, self.int(b)?);
                match op {
                    IntOp::Add => a.checked_add(b),
                    _ => apply(*op, a, b).ok(),
                }
            }
            Int::Element(tensor, address) => {
                let flat = usize::try_from(self.int(address)?).ok()?;
                let value = match (self.machine.known[*tensor], self.machine.part_of[*tensor]) {
                    (Some(values), _) => {
                        self.choosing(true, |run| run.note_input(*tensor, flat));
                        *values.get(flat)?
                    }
                    (None, Some(part)) => self.choosing(true, |run| run.element(part, flat))?.value,
                    (None, None) => return None,
                };
                (value.fract() == 0.0).then_some(value as i64)
            }
        }
    }
}

/// Indices that slips may add.
pub(crate) const FRESH: usize = 4;
