//! What the tests share.

use std::collections::BTreeMap;

use indexmath::{Approx, Dims, ElementRef, Formula, SizedFormula, TensorType, Values};

pub fn tensors(types: &[(&str, &str)]) -> BTreeMap<String, TensorType> {
    let parse =
        |text: &str| TensorType::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    types.iter().map(|(name, text)| ((*name).to_owned(), parse(text))).collect()
}

pub fn dims(sizes: &[(&str, i64)]) -> Dims {
    sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect()
}

/// Values from a closure over the flat index.
pub fn fill(len: usize, f: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..len).map(f).collect()
}

/// A small linear congruential generator: the same numbers at every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0;
        (x ^ (x >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (x >> 29)
    }

    /// A uniform random number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn integer(&mut self, low: i64, high: i64) -> f64 {
        (low + (self.bits() >> 1) as i64 % (high - low + 1)) as f64
    }

    /// About normal, rounded to f32.
    pub fn normal(&mut self) -> f64 {
        let sum: f64 = (0..12).map(|_| self.unit()).sum();
        f64::from((sum - 6.0) as f32)
    }
}

/// Random values for all inputs of a formula.
pub fn inputs(formula: &Formula, concrete: &SizedFormula, mut draw: impl FnMut() -> f64) -> Values {
    formula
        .inputs()
        .into_iter()
        .map(|name| {
            let len = concrete.shape(&name).map_or(0, |shape| shape.iter().product());
            let values = (0..len).map(|_| draw()).collect();
            (name, values)
        })
        .collect()
}

pub fn values(elements: &[Approx]) -> Vec<f64> {
    elements.iter().map(|element| element.value).collect()
}

/// A convolution with bias.
pub const CONV: &str =
    "output[b,k,oh,ow] = bias[k] + sum[c,fh,fw] input[b,c,oh+fh,ow+fw] * filters[k,c,fh,fw]";

pub fn conv() -> Formula {
    let tensors = tensors(&[
        ("input", "f32[batch, C_in, H, W]"),
        ("filters", "f32[C_out, C_in, F, F]"),
        ("bias", "f32[C_out]"),
        ("output", "f32[batch, C_out, H - F + 1, W - F + 1]"),
    ]);
    Formula::parse(CONV, &tensors).unwrap_or_else(|error| panic!("{error}"))
}

pub fn conv_dims(sizes: [i64; 6]) -> Dims {
    let names = ["batch", "C_in", "H", "W", "C_out", "F"];
    names.iter().zip(sizes).map(|(name, size)| ((*name).to_owned(), size)).collect()
}

/// A formula of f64 tensors with all data that it needs, and everything that must hold for it.
pub struct Checked {
    pub types: BTreeMap<String, TensorType>,
    pub formula: Formula,
    pub sized: SizedFormula,
    pub dims: Dims,
    pub known: Values,
}

impl Checked {
    /// The formula with its gradients; random values of floats where `given` has none.
    pub fn new(
        types: &[(&str, &str)],
        text: &str,
        with: &[(&str, i64)],
        given: &[(&str, &[f64])],
    ) -> Self {
        let types = tensors(types);
        let parsed = Formula::parse(text, &types).unwrap_or_else(|error| panic!("{text}: {error}"));
        let formula = parsed.differentiate().unwrap_or_else(|error| panic!("{text}: {error}"));
        let sized = formula.at(&dims(with)).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut random = Random::new(7);
        let mut known = inputs(&formula, &sized, || random.normal());
        known.extend(given.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())));
        Self { types, formula, sized, dims: dims(with), known }
    }

    pub fn values(&self, name: &str) -> Vec<f64> {
        let found = self.sized.evaluate(&self.known, &[name]);
        values(&found.unwrap_or_else(|error| panic!("{name}: {error}"))[name])
    }

    /// L = Σ output · grad(output), where `name` has the element `at` moved by `step`.
    fn loss(&self, name: &str, at: usize, step: f64) -> f64 {
        let mut known = self.known.clone();
        known.get_mut(name).unwrap()[at] += step;
        let seeds = known.keys().filter_map(|key| key.strip_prefix("grad(")?.strip_suffix(')'));
        let seeds: Vec<&str> = seeds.collect();
        let results = self.sized.evaluate(&known, &seeds).unwrap();
        seeds
            .iter()
            .flat_map(|seed| {
                values(&results[*seed]).into_iter().zip(&known[&format!("grad({seed})")])
            })
            .map(|(value, cotangent)| value * cotangent)
            .sum()
    }

    /// Gradients against central differences, single elements, terms and printed statements against the whole.
    pub fn check(&self) {
        for name in self.formula.inputs() {
            let is_float = self.types.get(&name).is_some_and(|ty| ty.dtype.is_float());
            if name.starts_with("grad(") || !is_float {
                continue;
            }
            let gradient = format!("grad({name})");
            for (at, got) in self.values(&gradient).into_iter().enumerate() {
                let want = (self.loss(&name, at, 1e-5) - self.loss(&name, at, -1e-5)) / 2e-5;
                assert!(
                    (got - want).abs() < 1e-6 * (1.0 + want.abs()),
                    "{gradient}[{at}]: {got}, but {want}"
                );
            }
        }
        for name in self.formula.assigned() {
            self.check_elements(&name);
            // What reads itself is printed for people: the parser knows it as a start and a step.
            let text = self.formula.text_of(&name).unwrap();
            if text.matches(name.as_str()).count() == 1 && !text.contains("total(") {
                self.check_text(&name);
            }
        }
    }

    fn check_elements(&self, name: &str) {
        let whole = self.values(name);
        let shape = self.sized.shape(name).unwrap().to_vec();
        for (flat, value) in whole.iter().enumerate() {
            let mut rest = flat as i64;
            let mut coords: Vec<i64> = shape
                .iter()
                .rev()
                .map(|&size| {
                    let at = rest % size as i64;
                    rest /= size as i64;
                    at
                })
                .collect();
            coords.reverse();
            let at = ElementRef { tensor: name.to_owned(), coords };
            let near = |other: f64| (other - value).abs() <= 1e-9 * (1.0 + value.abs());
            let element = self.sized.element(&self.known, &at).unwrap();
            assert!(near(element.value), "{at:?}: {element:?}, but {value}");
            if let Some(terms) = self.sized.terms(&self.known, &at, 1000).unwrap() {
                let sum: f64 = terms.iter().map(|term| term.value).sum();
                assert!(near(sum), "{at:?}: {terms:?}, but {value}");
            }
        }
    }

    /// What is printed can be read again, and means the same.
    fn check_text(&self, name: &str) {
        let text = self.formula.text_of(name).unwrap();
        let mut types = self.types.clone();
        for assigned in self.formula.assigned().iter().chain(&self.formula.inputs()) {
            if let Some(base) =
                assigned.strip_prefix("grad(").and_then(|rest| rest.strip_suffix(')'))
            {
                types.insert(assigned.clone(), types[base].clone());
            }
        }
        let printed =
            Formula::parse(&text, &types).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut known = self.known.clone();
        for read in printed.inputs() {
            if !known.contains_key(&read) {
                known.insert(read.clone(), self.values(&read));
            }
        }
        let sized = printed.at(&self.dims).unwrap_or_else(|error| panic!("{text}: {error}"));
        let again =
            sized.evaluate(&known, &[name]).unwrap_or_else(|error| panic!("{text}: {error}"));
        let want = self.values(name);
        for (a, b) in values(&again[name]).iter().zip(&want) {
            assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{text}: {a}, but {b}");
        }
    }
}
