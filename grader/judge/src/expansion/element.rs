//! Sets the products of a kernel beside those of the formula.

use super::compare::compare;
use super::formula::{formula_terms, formula_terms_anew};
use super::locate::{Evidence, index_ranges, locate};
use super::terms::ElementTerms;
use device::provenance::{Factor, KernelSum, KernelTerm};
use indexmath::{Term, Values};
use puzzle::case::Case;
use puzzle::tensor::Tensor;

/// How far the value of the kernel's products may be from what it computed, of the sum of their absolute values:
/// roundings are no reason to doubt that they are its own.
const DOUBT: f64 = 1e-2;

/// The products of an element, formula and kernel side by side. None where the formula is no sum of products, or where
/// the kernel's do not add up to what it computed (`got`): then something was not followed.
pub fn element_terms(
    case: &Case,
    tensor: &Tensor,
    flat: usize,
    sum: &KernelSum,
    got: f64,
) -> Option<ElementTerms> {
    if is_unknown(sum) {
        return None;
    }
    let known = case.known_for(&tensor.name);
    let formula = terms_of_tensors(case, tensor, flat)?;
    adds_up(case, &known, sum, got).then(|| compare(&formula, sum, |f| value(case, &known, f)))
}

/// Every product has a factor that was not followed: beside those of the formula they would tell nothing.
fn is_unknown(sum: &KernelSum) -> bool {
    let unknown = |factor: &Factor| matches!(factor, Factor::Function(text) if text == "?()");
    let mut products = sum.terms.iter();
    !sum.terms.is_empty() && products.all(|t| t.factors.iter().any(|f| unknown(&f.factor)))
}

/// The terms of the formula. A number that kernels take by value is a constant to them, and so it is here.
fn terms_of_tensors(case: &Case, tensor: &Tensor, flat: usize) -> Option<Vec<Term>> {
    let known = case.known_for(&tensor.name);
    let mut terms = formula_terms(case, tensor, flat)?;
    for term in &mut terms {
        term.factors.retain(|element| {
            let constant = if is_by_value(case, &element.tensor) {
                known.get(&element.tensor).and_then(|values| values.first())
            } else {
                None
            };
            term.coefficient *= constant.unwrap_or(&1.0);
            constant.is_none()
        });
    }
    Some(terms)
}

fn is_by_value(case: &Case, tensor: &str) -> bool {
    !case.tensors.iter().any(|t| t.tensor.name == tensor)
}

/// Terms of other elements that are looked at to name a line.
const MAX_WORK: usize = 20_000;

/// Names the line to look at with the help of the kernel's text.
pub fn name_line(
    terms: &mut ElementTerms,
    case: &Case,
    tensor: &Tensor,
    flat: usize,
    sum: &KernelSum,
    source: &str,
) {
    if terms.equal() {
        return;
    }
    let mut work = 0;
    let mut other = None;
    let product = lasting_product(sum);
    let mut all = Vec::new();
    for element in 0..tensor.len() {
        let Some(formula) = terms_of_tensors(case, tensor, element) else { break };
        work += formula.len() + 1;
        if work > MAX_WORK {
            break;
        }
        if other.is_none()
            && element != flat
            && !formula.is_empty()
            && formula.len() == sum.terms.len()
            && product.as_ref().is_none_or(|factors| has_product(&formula, factors))
            && compare(&formula, sum, |_| None).equal()
        {
            other = Some(tensor.coords(element));
        }
        all.push(formula);
    }
    // What was not seen whole has no ranges.
    let indices =
        if all.len() == tensor.len() { index_ranges(all.iter().flatten()) } else { Vec::new() };
    let evidence = Evidence {
        source,
        case,
        sum,
        tensor,
        coords: &tensor.coords(flat),
        other: other.as_deref(),
        indices: &indices,
    };
    let passes_on = ["__shared__", "__shfl", "atomic"];
    terms.between_threads = passes_on.iter().any(|word| source.contains(word));
    if let Some((line, clue)) = locate(terms, &evidence) {
        (terms.line, terms.clue) = (Some(line), clue);
    }
    terms.belongs_to = other;
}

/// The factors of a product that the kernel added and did not take away again. Where the formula of an element lacks it, the kernel
/// did not compute that element: the quick part of a comparison.
fn lasting_product(sum: &KernelSum) -> Option<Vec<Factor>> {
    let factors = |term: &KernelTerm| -> Vec<Factor> {
        let mut factors: Vec<Factor> = term.factors.iter().map(|f| f.factor.clone()).collect();
        factors.sort();
        factors
    };
    let first = factors(sum.terms.first()?);
    let same = sum.terms.iter().filter(|term| factors(term) == first);
    let total: f64 = same.map(|term| term.coefficient).sum();
    (total != 0.0).then_some(first)
}

/// Is a product of these factors, in any order, among those of a formula?
fn has_product(formula: &[Term], factors: &[Factor]) -> bool {
    let of = |term: &Term, factor: &Factor| {
        let Factor::Element(element) = factor else { return false };
        let times = term.factors.iter().filter(|own| *own == element).count();
        times == factors.iter().filter(|other| *other == factor).count()
    };
    let is = |term: &Term| {
        term.factors.len() == factors.len() && factors.iter().all(|factor| of(term, factor))
    };
    formula.iter().any(is)
}

/// The formula gives the same products of an element for other inputs: it makes no choice by their values.
pub fn formula_is_general(case: &Case, tensor: &Tensor, flat: usize) -> bool {
    let mut others = case.known.clone();
    for (place, value) in others.values_mut().flatten().enumerate() {
        *value = -*value - 1.0 - place as f64 / 7.0;
    }
    let products = |case: &Case| {
        let terms = formula_terms_anew(case, tensor, flat)?;
        // Another number by value could be taken for this one.
        let constants = terms.iter().flat_map(|t| &t.factors).any(|e| is_by_value(case, &e.tensor));
        let products = terms.into_iter().map(|t| (t.coefficient, t.factors)).collect::<Vec<_>>();
        (!constants).then_some(products)
    };
    let here = products(case);
    here.is_some() && here == products(&Case { known: others, ..case.clone() })
}

fn adds_up(case: &Case, known: &Values, sum: &KernelSum, got: f64) -> bool {
    let mut total = 0.0;
    let mut size = 0.0;
    for term in &sum.terms {
        let mut factors = term.factors.iter().map(|f| value(case, known, &f.factor));
        let Some(product) = factors.try_fold(term.coefficient, |all, f| Some(all * f?)) else {
            // Some value is not known: nothing to hold against it, unless products of other blocks may be left out.
            return !sum.one_block;
        };
        total += product;
        size += product.abs();
    }
    (got.is_nan() && !sum.one_block) || (total - got).abs() <= DOUBT * size
}

fn value(case: &Case, known: &Values, factor: &Factor) -> Option<f64> {
    let Factor::Element(element) = factor else { return None };
    let values = known.get(&element.tensor)?;
    let shape = case.formula.shape(&element.tensor)?;
    let mut flat = 0;
    for (&at, &size) in element.coords.iter().zip(shape) {
        flat = flat * size + usize::try_from(at).ok()?;
    }
    values.get(flat).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::finding::ThreadId;
    use device::provenance::{KernelFactor, Outside};
    use indexmath::{Dims, ElementRef, Formula, TensorType};
    use puzzle::case::{CaseTensor, ReportOptions, Role};
    use std::collections::BTreeMap;

    /// y[i] = x[i] + x[i], of two elements 3 and 5.
    fn case(formula: &str) -> Case {
        let vector = || TensorType::parse("f32[n]").unwrap();
        let tensors = BTreeMap::from([("x".to_owned(), vector()), ("y".to_owned(), vector())]);
        let vector_x = Tensor { name: "x".into(), ..tensor() };
        let dims = Dims::from([("n".to_owned(), 2)]);
        let formula = Formula::parse(formula, &tensors).unwrap().at(&dims).unwrap();
        Case {
            test: "t".into(),
            about: None,
            dims,
            used_dims: Vec::new(),
            seed: 0,
            tensors: vec![CaseTensor { tensor: vector_x, role: Role::Input(vec![3.0, 5.0]) }],
            launches: Vec::new(),
            formula,
            closed: None,
            known: Values::from([("x".to_owned(), vec![3.0, 5.0])]),
            chained: BTreeMap::new(),
            bit_equal: Vec::new(),
            gates: Vec::new(),
            requirements: Vec::new(),
            options: ReportOptions::default(),
            pictures: Vec::new(),
            watched: Vec::new(),
        }
    }

    fn tensor() -> Tensor {
        Tensor { name: "y".into(), dtype: puzzle::tensor::DType::F32, shape: vec![2] }
    }

    fn sum(factors: &[Factor], one_block: bool) -> KernelSum {
        let term = |factor: &Factor| KernelTerm {
            coefficient: 1.0,
            factors: vec![KernelFactor { factor: factor.clone(), line: None }],
            line: None,
            scaled: None,
        };
        KernelSum {
            writer: ThreadId { block: [0; 3], thread: [0; 3] },
            line: None,
            terms: factors.iter().map(term).collect(),
            general: true,
            overwrote: false,
            one_block,
        }
    }

    fn x(at: i64) -> Factor {
        Factor::Element(ElementRef { tensor: "x".into(), coords: vec![at] })
    }

    #[test]
    fn products_that_do_not_add_up_to_the_value_are_not_believed() {
        let case = case("y[i] = x[i] + x[i]");
        let terms = |sum: &KernelSum, got| element_terms(&case, &tensor(), 1, sum, got);
        assert!(terms(&sum(&[x(1), x(1)], false), 10.0).unwrap().equal());
        assert!(!terms(&sum(&[x(1), x(0)], false), 8.0).unwrap().equal());
        assert!(terms(&sum(&[x(1)], false), 10.0).is_none());
        let outside = Factor::Outside(Outside { tensor: "x".into(), flat: 2 });
        assert!(terms(&sum(std::slice::from_ref(&outside), false), 7.0).is_some());
        assert!(terms(&sum(&[outside], true), 7.0).is_none(), "another block may have added to it");
    }

    #[test]
    fn a_product_that_lasts_is_looked_for_in_other_elements() {
        let formula = formula_terms(&case("y[i] = x[i] * x[i]"), &tensor(), 1).unwrap();
        let mut added = sum(&[x(1)], false);
        let factor = added.terms[0].factors[0].clone();
        added.terms[0].factors.push(factor);
        let squared = lasting_product(&added).unwrap();
        assert!(has_product(&formula, &squared));
        assert!(!has_product(&formula, &squared[..1]) && !has_product(&formula, &[x(1), x(0)]));
        added.terms.push(KernelTerm { coefficient: -1.0, ..added.terms[0].clone() });
        assert_eq!(lasting_product(&added), None, "it was taken away again");
    }

    #[test]
    fn a_sum_of_products_is_general() {
        assert!(formula_is_general(&case("y[i] = x[i] * x[i]"), &tensor(), 0));
        assert!(!formula_is_general(&case("y[i] = 1 / x[i]"), &tensor(), 0), "no sum of products");
    }
}
