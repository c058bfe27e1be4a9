//! What elements are made of: the launches run again with the provenance of their values.

use super::{Session, VmBackend};
use crate::finding::{SourceLoc, ThreadId};
use crate::provenance::{Factor, KernelFactor, KernelSum, KernelTerm, Place};
use diagnostic::Failure;
use indexmath::Values;
use ptxvm::{BufferId, Expansion, Number, Product, Provenance, StoredElement};
pub use ptxvm::{ComputedStep, ReplacedValue, RoundedOnTheWay};
use puzzle::case::{Case, Role};
use puzzle::tensor::{DType, size_of};

/// How much work following the values may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// How many different values are remembered.
    pub nodes: usize,
    /// How many instructions of warps are executed.
    pub steps: u64,
}

impl Effort {
    /// Some ten milliseconds: what a report may take.
    pub const QUICK: Self = Self { nodes: 100_000, steps: 300_000 };
    /// Some tenths of a second.
    pub const MORE: Self = Self { nodes: 1_000_000, steps: 1_000_000 };
    /// A second or two.
    pub const LONG: Self = Self { nodes: 4_000_000, steps: 16_000_000 };
}

/// An element of a tensor of a case that another one was computed from.
#[derive(Clone, Debug)]
pub struct OriginElement {
    /// Index of its tensor in the case.
    pub tensor: usize,
    /// Its position in row-major order.
    pub flat: usize,
    /// The derivative with respect to it; NaN where that is not known.
    pub slope: f64,
    /// The line that loaded it.
    pub line: Option<SourceLoc>,
}

/// Products of an element that are listed at most.
const MAX_PRODUCTS: usize = 5_000;
/// Characters of a function that is written out.
const MAX_TEXT: usize = 60;

/// A case whose values were followed to their end.
#[derive(Debug)]
pub struct Followed<'a> {
    session: Session<'a>,
    provenance: Provenance,
    one_block: bool,
}

impl VmBackend {
    /// Runs the case with the provenance of its values, or only one block of it. None where that is too much work, or where the kernel does
    /// what is not followed.
    ///
    /// # Errors
    /// As [`Backend::run`](crate::backend::Backend::run).
    pub fn follow<'a>(
        &'a self,
        case: &'a Case,
        effort: Effort,
        block: Option<[u32; 3]>,
    ) -> Result<Option<Followed<'a>>, Failure> {
        // What memory was computed from before another tensor was copied there says nothing of that.
        if case.launches.iter().any(|launch| !launch.moves_in.is_empty()) {
            return Ok(None);
        }
        let mut session = Session::new(self, (&case.tensors, &case.launches))?;
        let numbers = case.tensors.iter().enumerate();
        let numbers =
            numbers.filter_map(|(i, t)| Some((session.buffer(i)?, number(t.tensor.dtype)?)));
        let mut provenance = Provenance::new(numbers).with_limits(effort.nodes, effort.steps);
        if let Some(block) = block {
            provenance = provenance.with_block(block);
        }
        for launch in &case.launches {
            let copies = session.copies(launch);
            session.launch(launch, |module, kernel, start, memory, options| {
                provenance.set_copies(module, copies.iter().map(|(name, id)| (name.as_str(), *id)));
                ptxvm::launch_with_provenance(
                    module,
                    kernel,
                    start,
                    memory,
                    options,
                    &mut provenance,
                )
            })?;
        }
        Ok(provenance.is_complete().then_some(Followed {
            session,
            provenance,
            one_block: block.is_some(),
        }))
    }
}

/// Where an element lies in its tensor.
fn byte(case: &Case, at: Place) -> u64 {
    (at.flat * size_of(case.tensors[at.tensor].tensor.dtype)) as u64
}

fn number(dtype: DType) -> Option<Number> {
    Some(match dtype {
        DType::F64 => Number::F64,
        DType::F32 => Number::F32,
        DType::F16 => Number::F16,
        DType::BF16 => Number::Bf16,
        DType::I32 | DType::I64 | DType::U8 => return None,
    })
}

/// What an element can be made of.
#[derive(Clone, Copy)]
struct Scope<'a> {
    case: &'a Case,
    /// What its formula starts from.
    known: &'a Values,
}

impl Followed<'_> {
    /// What an element was made of; None if no kernel wrote it, if it has too many
    /// products, or if it is made of elements of a tensor that is itself computed by the formula.
    pub fn sum(&self, case: &Case, at: Place) -> Option<KernelSum> {
        let tensor = at.tensor;
        let (wanted, _) = case.tensors.get(tensor)?.wanted()?;
        let scope = Scope { case, known: &case.known_for(&wanted.name) };
        let buffer = self.session.buffer(tensor)?;
        let byte = byte(case, at);
        let memory = self.session.device.memory();
        let written = self.provenance.element(memory, buffer, byte, MAX_PRODUCTS)?;
        let Expansion::Products(products) = written.value else { return None };
        let terms: Option<Vec<KernelTerm>> =
            products.iter().map(|product| self.term(scope, product)).collect();
        Some(KernelSum {
            writer: ThreadId { block: written.block, thread: written.thread },
            line: written.loc.clone(),
            terms: terms?,
            general: !self.provenance.depends_on_values(),
            overwrote: written.overwrote,
            one_block: self.one_block,
        })
    }

    /// For each number of `instead`: the values behind an element, `got`, which, if they had been that, would have made it one for which
    /// `is_right` holds, with their lines.
    pub fn replaceable(
        &self,
        case: &Case,
        at: Place,
        got: f64,
        instead: &[f64],
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<Vec<ReplacedValue>> {
        let replaceable =
            |it: StoredElement<'_>| self.provenance.replaceable(it, instead, is_right);
        self.ask(case, at, got, replaceable).unwrap_or_else(|| vec![Vec::new(); instead.len()])
    }

    /// The roundings behind an element, `got`, without which it would have been one for which `is_right` holds.
    pub fn roundings(
        &self,
        case: &Case,
        at: Place,
        got: f64,
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<RoundedOnTheWay> {
        self.ask(case, at, got, |it| self.provenance.roundings(it, is_right)).unwrap_or_default()
    }

    /// The step whose lost digits make an element, `got`, wrong: with exact values there it would have been one for which `is_right` holds.
    pub fn loses_digits(
        &self,
        case: &Case,
        at: Place,
        got: f64,
        is_right: &dyn Fn(f64) -> bool,
    ) -> Option<ComputedStep> {
        self.ask(case, at, got, |it| self.provenance.loses_digits(it, is_right))?
    }

    /// The first step on the way to an element, `got`, for which `holds` does not, though it does for what the step is computed from.
    pub fn first_without(
        &self,
        case: &Case,
        at: Place,
        got: f64,
        holds: fn(f64) -> bool,
    ) -> Option<ComputedStep> {
        self.ask(case, at, got, |it| self.provenance.first_without(it, holds))?
    }

    /// The thread that stored an element last; `None` if no kernel wrote it.
    pub fn writer(&self, case: &Case, at: Place) -> Option<ThreadId> {
        let buffer = self.session.buffer(at.tensor)?;
        let (block, thread) = self.provenance.last_writer(buffer, byte(case, at))?;
        Some(ThreadId { block, thread })
    }

    /// The elements, as a report names them, that are NaN or infinite and each of which makes this one, `got`, wrong: without them it would
    /// have been one for which `is_right` holds.
    pub fn not_finite(
        &self,
        case: &Case,
        at: Place,
        got: f64,
        is_right: &dyn Fn(f64) -> bool,
    ) -> Vec<(String, f64)> {
        let found = self.ask(case, at, got, |it| self.provenance.not_finite(it, is_right));
        let named = |(buffer, byte): (BufferId, i64)| {
            let address = self.session.device.memory().address(buffer);
            let tensor = &case.tensors[self.session.placed.index(address)?].tensor;
            let flat = usize::try_from(byte).ok()? / size_of(tensor.dtype);
            Some((tensor.element_name(flat), self.start(case, buffer, byte)?))
        };
        found.unwrap_or_default().into_iter().filter_map(named).collect()
    }

    /// The elements of tensors that an element, `got`, was computed from; `None` where that was not followed to its end.
    pub fn origins(&self, case: &Case, at: Place, got: f64) -> Option<Vec<OriginElement>> {
        let found = self.ask(case, at, got, |it| self.provenance.origins(it))??;
        let named = |origin: ptxvm::Origin| {
            let (buffer, byte) = origin.place;
            let address = self.session.device.memory().address(buffer);
            let tensor = self.session.placed.index(address)?;
            let flat = usize::try_from(byte).ok()? / size_of(case.tensors[tensor].tensor.dtype);
            Some(OriginElement { tensor, flat, slope: origin.slope, line: origin.loc })
        };
        found.into_iter().map(named).collect()
    }

    /// Asks for something about an element, `got`; `None` if its tensor has no buffer.
    fn ask<R>(
        &self,
        case: &Case,
        at: Place,
        got: f64,
        question: impl FnOnce(StoredElement<'_>) -> R,
    ) -> Option<R> {
        let start = |buffer, byte| self.start(case, buffer, byte);
        let buffer = self.session.buffer(at.tensor)?;
        Some(question(StoredElement { buffer, byte: byte(case, at), value: got, start: &start }))
    }

    /// What an element was before the first launch.
    fn start(&self, case: &Case, buffer: BufferId, byte: i64) -> Option<f64> {
        let address = self.session.device.memory().address(buffer);
        let given = &case.tensors[self.session.placed.index(address)?];
        let flat = byte.div_euclid(size_of(given.tensor.dtype) as i64);
        given.start()?.get(usize::try_from(flat).ok()?).copied()
    }

    fn term(&self, scope: Scope, product: &Product) -> Option<KernelTerm> {
        let factors: Option<Vec<KernelFactor>> =
            product.factors.iter().map(|factor| self.factor(scope, factor)).collect();
        Some(KernelTerm {
            coefficient: product.coefficient,
            factors: factors?,
            line: product.loc.clone(),
            scaled: product.scaled.clone(),
        })
    }

    fn factor(&self, scope: Scope, factor: &ptxvm::Factor) -> Option<KernelFactor> {
        match factor {
            ptxvm::Factor::Element { buffer, byte, loc } => {
                let start = self.session.device.memory().address(*buffer);
                let index = self.session.placed.index(start)?;
                let given = &scope.case.tensors[index];
                let size = size_of(given.tensor.dtype) as i64;
                // The formula's terms are made of its inputs; what it computes itself cannot be found among them.
                let comparable = matches!(given.role, Role::Output(_))
                    || scope.known.contains_key(&given.tensor.name);
                comparable.then(|| KernelFactor {
                    factor: Factor::of(&given.tensor, byte.div_euclid(size)),
                    line: loc.clone(),
                })
            }
            ptxvm::Factor::Function { name, arguments, loc } => {
                let texts: Vec<String> =
                    arguments.iter().map(|argument| self.text(scope, argument)).collect();
                let text = format!("{name}({})", texts.join(", "));
                Some(KernelFactor { factor: Factor::Function(text), line: loc.clone() })
            }
        }
    }

    /// A value as a student could write it, if that is short.
    fn text(&self, scope: Scope, value: &Expansion) -> String {
        let Expansion::Products(products) = value else { return "...".into() };
        let product = |product: &Product| {
            let mut factors: Vec<String> = Vec::new();
            if product.coefficient != 1.0 || product.factors.is_empty() {
                factors.push(product.coefficient.to_string());
            }
            factors.extend(product.factors.iter().map(|f| match self.factor(scope, f) {
                Some(KernelFactor { factor: Factor::Element(e), .. }) => {
                    let coords: Vec<String> = e.coords.iter().map(ToString::to_string).collect();
                    format!("{}[{}]", e.tensor, coords.join(", "))
                }
                Some(KernelFactor { factor: Factor::Outside(o), .. }) => {
                    format!("{}[{}]", o.tensor, o.flat)
                }
                Some(KernelFactor { factor: Factor::Function(text), .. }) => text,
                None => "...".into(),
            }));
            factors.join(" * ")
        };
        let text = products.iter().take(4).map(product).collect::<Vec<_>>().join(" + ");
        match text.as_str() {
            "" => "0".into(),
            _ if products.len() > 4 || text.len() > MAX_TEXT => "...".into(),
            _ => text,
        }
    }
}
