//! Whether a kernel that was timed is right: its outputs after some runs against the formula, at sampled elements where all are too many.

use crate::job::{CheckedRun, Job};
use crate::plan::Plan;
use crate::values::seed_of;
use diagnostic::Failure;
use indexmath::{Approx, Values};
use puzzle::comparison::is_within_bound;
use puzzle::spec::Buffer;
use puzzle::tensor::{Tensor, decode};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Up to so many multiplications and additions all elements are computed, else some.
const ALL: u64 = 1 << 24;
/// Elements that are looked at, at random places of each output.
const RANDOM: u64 = 2_000;
/// Elements that are looked at on either end of each output.
const AT_ENDS: usize = 64;
/// Up to so many multiplications and additions for the elements of an output; where these take more, fewer are looked at.
const MOST: u64 = 1 << 28;

/// What the outputs of kernels are compared with: kernels of one formula share it, since finding it can take seconds. It is kept by all that
/// it depends on.
#[derive(Default)]
pub struct Expected {
    /// The elements of each output that are looked at.
    elements: BTreeMap<String, Rc<Vec<Output>>>,
    /// What they should be in the run with this number.
    values: BTreeMap<(String, u64), Rc<Vec<Vec<Approx>>>>,
}

/// The elements of the outputs of a plan that are compared with the formula.
pub struct Check<'a> {
    plan: &'a Plan<'a>,
    /// What the elements and their values depend on.
    key: String,
    outputs: Rc<Vec<Output>>,
}

/// Some elements of an output.
#[derive(Debug)]
struct Output {
    /// Its index among the buffers.
    buffer: usize,
    /// Its name in the formula.
    name: String,
    /// The elements, by their row-major positions; all if there are none.
    elements: Vec<u64>,
}

impl<'a> Check<'a> {
    /// Chooses the elements, unless they are among `shared`, where they then are.
    pub fn new(plan: &'a Plan<'a>, shared: &mut Expected) -> Self {
        let test = &plan.bench.test;
        let buffers: Vec<_> = test.buffers.iter().map(Buffer::computed).collect();
        let key = format!("{} {buffers:?}", plan.data_key());
        if let Some(outputs) = shared.elements.get(&key) {
            return Self { plan, key, outputs: Rc::clone(outputs) };
        }
        let names = test.outputs();
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        let all = test.formula.cost(&wanted).steps <= ALL;
        let output = |(i, buffer): (usize, &Buffer)| {
            let name = buffer.computed()?;
            let elements =
                if all { Vec::new() } else { affordable(plan, &name, &buffer.tensor, i) };
            Some(Output { buffer: i, name, elements })
        };
        let outputs = Rc::new(test.buffers.iter().enumerate().filter_map(output).collect());
        shared.elements.insert(key.clone(), Rc::clone(&outputs));
        Self { plan, key, outputs }
    }

    /// Has the elements read back.
    pub fn ask(&self, job: &mut Job) {
        let wanted = self.outputs.iter().map(|it| (it.buffer, it.elements.clone()));
        job.wanted = wanted.collect();
    }

    /// Whether all elements of all outputs are compared.
    pub fn is_complete(&self) -> bool {
        self.outputs.iter().all(|output| output.elements.is_empty())
    }

    /// The number of elements that were compared, or what is wrong.
    ///
    /// # Errors
    /// The formula cannot be evaluated.
    pub fn verdict(
        &self,
        runs: &[CheckedRun],
        shared: &mut Expected,
    ) -> Result<Result<u64, String>, Failure> {
        let mut compared = 0;
        for run in runs {
            let all = self.expected(run.run, shared)?;
            for ((output, expected), bytes) in self.outputs.iter().zip(&*all).zip(&run.outputs) {
                let Output { name, elements, .. } = output;
                let tensor = self.tensor(output);
                let got = decode(tensor.dtype, &bytes.0);
                if got.len() != expected.len() {
                    return Ok(Err(format!("`{name}` was not read back")));
                }
                let wrong = got.iter().zip(expected).position(|(g, e)| !is_within_bound(*g, e));
                if let Some(at) = wrong {
                    let flat = elements.get(at).map_or(at, |flat| *flat as usize);
                    let place = Tensor { name: name.clone(), ..tensor.clone() }.element_name(flat);
                    let Approx { value, .. } = expected[at];
                    return Ok(Err(format!(
                        "wrong in run {}: {place} should be {value}, but is {}",
                        run.run, got[at]
                    )));
                }
                compared += got.len() as u64;
            }
        }
        Ok(Ok(compared))
    }

    fn tensor(&self, output: &Output) -> &Tensor {
        &self.plan.bench.test.buffers[output.buffer].tensor
    }

    /// What the elements of each output should be in the run with number `run`.
    fn expected(&self, run: u64, shared: &mut Expected) -> Result<Rc<Vec<Vec<Approx>>>, Failure> {
        let key = (self.key.clone(), run);
        if let Some(expected) = shared.values.get(&key) {
            return Ok(Rc::clone(expected));
        }
        let expected = self.computed(&self.plan.known(run));
        let expected = Rc::new(expected.map_err(|error| self.plan.unknown(&error.to_string()))?);
        shared.values.insert(key, Rc::clone(&expected));
        Ok(expected)
    }

    fn computed(&self, known: &Values) -> Result<Vec<Vec<Approx>>, indexmath::Error> {
        let formula = &self.plan.bench.test.formula;
        if self.is_complete() {
            let names: Vec<&str> = self.outputs.iter().map(|output| output.name.as_str()).collect();
            let mut values = formula.evaluate(known, &names)?;
            let of = |name: &str| values.remove(name).unwrap_or_default();
            return Ok(names.into_iter().map(of).collect());
        }
        let coords: Vec<_> =
            self.outputs.iter().map(|it| coords(self.tensor(it), &it.elements)).collect();
        let names = self.outputs.iter().map(|output| output.name.as_str());
        let wanted: Vec<_> = names.zip(coords.iter().map(Vec::as_slice)).collect();
        formula.elements_of(known, &wanted)
    }
}

/// The coordinates of elements of a tensor.
fn coords(tensor: &Tensor, elements: &[u64]) -> Vec<Vec<i64>> {
    let of = |flat: &u64| tensor.coords(*flat as usize).into_iter().map(|at| at as i64).collect();
    elements.iter().map(of).collect()
}

/// Elements of an output that the formula gives within [`MOST`] steps: as many as possible, doubled again and again, and at
/// least one on either end and one more.
fn affordable(plan: &Plan<'_>, name: &str, tensor: &Tensor, output: usize) -> Vec<u64> {
    let some = |part| some_of(tensor, plan.seed, output, part);
    let mut part = RANDOM.next_power_of_two();
    let mut elements = some(part);
    while part > 1 {
        part /= 2;
        let more = some(part);
        if plan.steps_of(name, &coords(tensor, &more)) > MOST {
            break;
        }
        elements = more;
    }
    elements
}

/// Elements on both ends, and at random places; of them one in `part`.
fn some_of(tensor: &Tensor, seed: u64, output: usize, part: u64) -> Vec<u64> {
    let count = tensor.len();
    let at_ends = (AT_ENDS / part as usize).max(1);
    let ends = (0..count.min(at_ends)).chain(count.saturating_sub(at_ends)..count);
    let random = (0..(RANDOM / part).max(1)).map(|i| seed_of(seed, output, i) % count as u64);
    let all: BTreeSet<u64> = ends.map(|flat| flat as u64).chain(random).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{GivenTensors, Plan};
    use cudart::frame::Bytes;
    use puzzle::spec::Spec;
    use puzzle::tensor::encode;
    use std::path::Path;

    const SPEC: &str = r#"
title = "Product"
[dims]
free = ["M", "N", "K"]
[tensors]
A = "f32[M, K]"
B = "f32[K, N]"
C = "f32[M, N]"
[math]
forward = "C[i,j] = sum[k] A[i,k] * B[k,j]"
[[launch]]
kernel = "gemm"
args   = ["A", "B", "C", "M", "N", "K"]
block  = 64
grid   = "ceil_div(M*N, 64)"
[[test]]
name = "small"
dims = { M = 3, N = 2, K = 5 }
[[bench]]
name  = "all"
dims  = { M = 30, N = 20, K = 50 }
flops = "2*M*N*K"
bytes = "4*(M*K + K*N + M*N)"
gemm  = { a = "A", b = "B", c = "C", m = "M", n = "N", k = "K" }
[[bench]]
name  = "some"
dims  = { M = 3000, N = 500, K = 50 }
flops = "2*M*N*K"
bytes = "4*(M*K + K*N + M*N)"
"#;

    /// What a right kernel leaves of the wanted elements after a run.
    fn right(check: &Check<'_>, run: u64) -> CheckedRun {
        let expected = check.expected(run, &mut Expected::default()).unwrap();
        let outputs = check.outputs.iter().zip(&*expected).map(|(output, expected)| {
            let values: Vec<f64> = expected.iter().map(|e| e.value).collect();
            Bytes(encode(check.tensor(output).dtype, &values))
        });
        CheckedRun { run, outputs: outputs.collect() }
    }

    #[test]
    fn results_of_another_run_and_a_wrong_element_are_caught() {
        let spec = Spec::parse(SPEC, Path::new("x.toml")).unwrap();
        for (bench, complete) in spec.benches.iter().zip([true, false]) {
            let plan = Plan::new(&spec, bench, 5, &mut GivenTensors::default()).unwrap();
            let mut shared = Expected::default();
            let check = Check::new(&plan, &mut shared);
            assert_eq!(check.is_complete(), complete);
            let good = [right(&check, 3), right(&check, 16)];
            let compared = check.verdict(&good, &mut shared).unwrap().unwrap();
            assert_eq!(compared == 2 * 600, complete, "{compared}");
            // A kernel that keeps the results of an earlier run.
            let cached = CheckedRun { run: 16, ..right(&check, 3) };
            let caught = check.verdict(&[cached], &mut shared).unwrap().unwrap_err();
            assert!(caught.starts_with("wrong in run 16: C[0, 0] should be "), "{caught}");
            let mut wrong = right(&check, 3);
            let last = wrong.outputs[0].0.len() - 4;
            wrong.outputs[0].0[last..].copy_from_slice(&f32::NAN.to_le_bytes());
            let caught = check.verdict(&[wrong], &mut shared).unwrap().unwrap_err();
            assert!(caught.contains("but is NaN"), "{caught}");
        }
    }

    #[test]
    fn the_vendor_gets_the_same_tensors() {
        let spec = Spec::parse(SPEC, Path::new("x.toml")).unwrap();
        let plan = Plan::new(&spec, &spec.benches[0], 5, &mut GivenTensors::default()).unwrap();
        let job = plan.vendor_job(spec.benches[0].vendor.as_ref().unwrap(), true).unwrap();
        let crate::job::Task::Gemm(gemm) = job.task else { panic!("{job:?}") };
        assert_eq!((gemm.tensors, gemm.sizes), ([0, 1, 2], [30, 20, 50]));
    }
}
