//! From a `[[bench]]` of a spec to the job of the process that drives the GPU, and to the data that it will draw.

use crate::job::{
    Contents, ConvJob, GemmJob, Job, LaunchJob, ModuleJob, Param, PoolJob, Task, TensorJob,
};
use crate::statistics::StoppingRule;
use crate::values::{Kind, seed_of};
use cudart::frame::Bytes;
use device::host::{RecordedLaunch, RecordedParam, Recording};
use diagnostic::{Failure, FailureKind};
use indexmath::{DType, Values};
use judge::grade::Program;
use puzzle::case::{CaseLaunch, LaunchOptions};
use puzzle::oracle;
use puzzle::spec::{Bench, Buffer, Call, CallArg, Pass, Pool, Purpose, Spec, Vendor};
use puzzle::tensor::{Tensor, encode};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use toolchain::module;

/// The runs after which outputs are read, besides the last one: the first, and one among those that always take place.
const CHECKED_RUNS: [u64; 2] = [0, 13];

/// Computed tensors that kernels are given. Kernels of one formula share them, since computing them can take seconds.
#[derive(Default)]
pub struct GivenTensors(Vec<(String, Rc<Values>)>);

/// A `[[bench]]` with a seed: what each run's data are.
pub struct Plan<'a> {
    /// The spec of the kernels.
    pub spec: &'a Spec,
    /// Sizes, launches and kinds of data.
    pub bench: &'a Bench,
    /// From which all data are drawn.
    pub seed: u64,
    /// Computed tensors that kernels are given.
    given: Rc<Values>,
    /// The inputs whose data are the same in each run, since given tensors are computed from them.
    fixed: BTreeSet<String>,
}

impl<'a> Plan<'a> {
    /// Computes what kernels are given, unless it is among `shared`, where it then is.
    ///
    /// # Errors
    /// The formula cannot be evaluated with these data.
    pub fn new(
        spec: &'a Spec,
        bench: &'a Bench,
        seed: u64,
        shared: &mut GivenTensors,
    ) -> Result<Self, Failure> {
        let test = &bench.test;
        let names: BTreeSet<&str> = test.given(&spec.tensors).into_iter().collect();
        let sources = names.iter().flat_map(|name| test.formula.sources(name)).collect();
        let mut plan = Self { spec, bench, seed, given: Rc::default(), fixed: sources };
        if names.is_empty() {
            return Ok(plan);
        }
        let key = plan.data_key();
        if let Some((_, given)) = shared.0.iter().find(|(other, _)| *other == key) {
            plan.given = Rc::clone(given);
            return Ok(plan);
        }
        let mut given = Values::new();
        let mut known = plan.inputs(0);
        // In the order of the formula, so that a given tensor comes before those computed from it.
        for name in spec.tensors.computed.iter().filter(|name| names.contains(name.as_str())) {
            let values = test.formula.evaluate(&known, &[name]);
            let mut values = values.map_err(|error| plan.unknown(&error.to_string()))?;
            let exact: Vec<f64> =
                values.remove(name).unwrap_or_default().iter().map(|a| a.value).collect();
            let dtype = spec.tensors.type_of(name).map_or(DType::F32, |ty| ty.dtype);
            let stored = puzzle::tensor::decode(dtype, &encode(dtype, &exact));
            known.insert(name.clone(), stored.clone());
            given.insert(name.clone(), stored);
        }
        plan.given = Rc::new(given);
        shared.0.push((key, Rc::clone(&plan.given)));
        Ok(plan)
    }

    /// All that the values of a run depend on, but for its number.
    pub fn data_key(&self) -> String {
        let test = &self.bench.test;
        let given = test.given(&self.spec.tensors);
        let of_data = format!("{} {given:?} {:?} {:?}", self.seed, test.dims, test.inputs);
        format!("{of_data} {:?}\n{}", test.data, self.spec.tensors.formula)
    }

    /// All that the formula reads in the run with number `run`.
    pub fn known(&self, run: u64) -> Values {
        let mut known = self.inputs(run);
        known.extend(self.given.iter().map(|(name, values)| (name.clone(), values.clone())));
        known
    }

    /// About how many steps the formula takes for some elements of an output.
    pub fn steps_of(&self, output: &str, at: &[Vec<i64>]) -> u64 {
        self.bench.test.formula.steps_of(&self.given, output, at).unwrap_or(0)
    }

    /// A failure to compute what is expected.
    pub fn unknown(&self, why: &str) -> Failure {
        let title =
            format!("the formula cannot be evaluated for the bench `{}`: {why}", self.bench.name());
        Failure::new(FailureKind::Usage, title, "give the bench other data or sizes")
    }

    fn inputs(&self, run: u64) -> Values {
        let inputs = self.bench.test.inputs.iter().enumerate();
        let values = |(stream, tensor): (usize, &Tensor)| {
            let seed = seed_of(self.seed, stream, if self.is_fresh(tensor) { run } else { 0 });
            (tensor.name.clone(), self.kind(tensor).values(tensor.dtype, seed, tensor.len()))
        };
        inputs.map(values).collect()
    }

    /// Whether an input has new data in each run. An argument that is passed by value is part of the launch.
    fn is_fresh(&self, tensor: &Tensor) -> bool {
        !self.fixed.contains(&tensor.name) && !tensor.shape.is_empty()
    }

    fn kind(&self, tensor: &Tensor) -> Kind {
        Kind::of(&self.bench.test.data[&tensor.name], tensor)
    }

    /// The job of a compiled kernel file.
    pub fn job(&self, program: &Program, cold: bool) -> Job {
        let compiled = &program.compiled;
        let declared = module::kernels(&compiled.ptx);
        let launch = |call: &Call| self.launch(call, &program.kernels, &declared);
        let module = ModuleJob {
            ptx: compiled.ptx.clone(),
            machine: compiled.machine_code.clone().map(Bytes),
        };
        let launches = self.bench.test.calls.iter().map(launch).collect();
        self.job_of(Task::Kernels { modules: vec![module], launches }, cold)
    }

    /// The calls of host functions.
    pub fn calls(&self) -> Vec<CaseLaunch> {
        let test = &self.bench.test;
        let by_value = test.inputs.iter().filter(|input| input.shape.is_empty());
        let scalars = by_value.map(|input| (input.name.clone(), vec![self.scalar(&input.name).1]));
        let scalars: Values = scalars.collect();
        test.calls.iter().map(|call| oracle::launch(self.spec, test, call, &scalars)).collect()
    }

    /// The job of what host code launched.
    pub fn recorded_job(&self, recording: Recording, cold: bool) -> Job {
        let param = |param: RecordedParam| match param {
            RecordedParam::Address(tensor, offset) => Param::Tensor(tensor, offset),
            RecordedParam::Bytes(bytes) => Param::Bytes(bytes),
        };
        let launch = |RecordedLaunch { module, launch, params }: RecordedLaunch| LaunchJob {
            module,
            symbol: launch.kernel,
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared,
            options: LaunchOptions::of_runtime(launch.cooperative),
            params: params.into_iter().map(param).collect(),
            constants: Vec::new(),
        };
        let module = |ptx: String| ModuleJob { ptx, machine: None };
        let modules = recording.modules.into_iter().map(module).collect();
        let launches = recording.launches.into_iter().map(launch).collect();
        self.job_of(Task::Kernels { modules, launches }, cold)
    }

    /// The job of the vendor's library: the same tensors and data.
    pub fn vendor_job(&self, vendor: &Vendor, cold: bool) -> Option<Job> {
        let buffers = &self.bench.test.buffers;
        let find = |name: &String| buffers.iter().position(|b| b.tensor.name == *name);
        let task = match vendor {
            Vendor::Gemm(gemm) => {
                let tensors = [find(&gemm.a)?, find(&gemm.b)?, find(&gemm.c)?];
                let [m, n, k] = gemm.sizes.map(i32::try_from);
                let sizes = [m.ok()?, n.ok()?, k.ok()?];
                Task::Gemm(GemmJob { tensors, sizes, transposed: gemm.transposed })
            }
            Vendor::Conv(conv) => {
                let [x, w, y] = &conv.tensors;
                let bias = match &conv.bias {
                    Some(name) => Some(find(name)?),
                    None => None,
                };
                let small = |sizes: [u64; 4]| -> Option<[i32; 4]> {
                    let small = sizes.map(|size| i32::try_from(size).unwrap_or_default());
                    (!small.contains(&0)).then_some(small)
                };
                let [images, _, rows, columns] = conv.images;
                let [filters, _, height, width] = conv.filters;
                let past = 2 * conv.pad + 1;
                let results = [images, filters, rows + past - height, columns + past - width];
                Task::Conv(ConvJob {
                    computed: match conv.pass {
                        Pass::Data => 0,
                        Pass::Weights => 1,
                        Pass::Forward => 2,
                    },
                    tensors: [find(x)?, find(w)?, find(y)?],
                    bias,
                    sizes: [small(conv.images)?, small(conv.filters)?, small(results)?],
                    pad: i32::try_from(conv.pad).ok()?,
                    channels_last: conv.channels_last,
                })
            }
            Vendor::Pool(pool) => return self.pool_job(pool, cold),
        };
        Some(self.job_of(task, cold))
    }

    /// The job of a pooling, which needs the images and the results of the forward pass, too.
    fn pool_job(&self, pool: &Pool, cold: bool) -> Option<Job> {
        let test = &self.bench.test;
        let find = |name: &String| test.buffers.iter().position(|b| b.tensor.name == *name);
        let [dy, dx] = [find(&pool.gradients[0])?, find(&pool.gradients[1])?];
        let images = test.inputs.iter().find(|input| input.name == pool.x)?;
        let small = |size: u64| i32::try_from(size).ok();
        let three = |[a, b, c]: [u64; 3]| Some([small(a)?, small(b)?, small(c)?]);
        // Behind the tensors of the launches; the first of them may be there already.
        let first = test.buffers.len();
        let x = find(&pool.x).unwrap_or(first);
        let y = x.max(first - 1) + 1;
        let mut job = self.job_of(
            Task::Pool(PoolJob {
                tensors: [x, y, dy, dx],
                sizes: [three(pool.images)?, three(pool.results)?],
                window: small(pool.window)?,
                stride: small(pool.stride)?,
                pad: small(pool.pad)?,
            }),
            cold,
        );
        let more = |contents, count| TensorJob { dtype: images.dtype.into(), count, contents };
        if x == first {
            job.tensors.push(more(self.drawn(images), images.len()));
        }
        job.tensors.push(more(Contents::Undefined, job.tensors[dy].count));
        Some(job)
    }

    fn job_of(&self, task: Task, cold: bool) -> Job {
        let tensor = |buffer: &Buffer| TensorJob {
            dtype: buffer.tensor.dtype.into(),
            count: buffer.tensor.len(),
            contents: self.contents(buffer),
        };
        Job {
            task,
            tensors: self.bench.test.buffers.iter().map(tensor).collect(),
            seed: self.seed,
            cold,
            rule: StoppingRule::USUAL,
            wanted: Vec::new(),
            checked_runs: CHECKED_RUNS.to_vec(),
        }
    }

    fn contents(&self, buffer: &Buffer) -> Contents {
        let name = &buffer.tensor.name;
        match buffer.purpose {
            Purpose::Output | Purpose::Result | Purpose::Workspace => Contents::Undefined,
            Purpose::Given => {
                let values = self.given.get(name).map_or(&[][..], |values| &values[..]);
                Contents::Held(Bytes(encode(buffer.tensor.dtype, values)))
            }
            Purpose::Input | Purpose::InPlace => self.drawn(&buffer.tensor),
        }
    }

    /// The data of an input of the formula.
    fn drawn(&self, tensor: &Tensor) -> Contents {
        let stream = self.bench.test.inputs.iter().position(|input| input.name == tensor.name);
        let (kind, fresh) = (self.kind(tensor), self.is_fresh(tensor));
        Contents::Drawn { kind, stream: stream.unwrap_or_default(), fresh }
    }

    fn launch(
        &self,
        call: &Call,
        symbols: &BTreeMap<String, String>,
        declared: &[module::KernelDecl],
    ) -> LaunchJob {
        let of_spec = &self.spec.launches[call.launch];
        let symbol = symbols.get(&of_spec.kernel).cloned().unwrap_or_default();
        let kernel = declared.iter().find(|kernel| kernel.symbol == symbol);
        let size = |i: usize| Some(kernel?.params.get(i)?.size);
        let param = |(i, arg): (usize, &CallArg)| match arg {
            CallArg::Buffer(tensor) => Param::Tensor(*tensor, 0),
            // An `int` for a parameter of 8 bytes is widened, as C++ would.
            CallArg::Int(value) if size(i) == Some(8) => {
                Param::Bytes(i64::from(*value).to_le_bytes().to_vec())
            }
            CallArg::Int(value) => Param::Bytes(value.to_le_bytes().to_vec()),
            CallArg::Scalar(name) => {
                let (dtype, value) = self.scalar(name);
                Param::Bytes(encode(dtype, &[value]))
            }
        };
        LaunchJob {
            module: 0,
            grid: call.grid,
            block: call.block,
            shared: call.shared,
            options: of_spec.options,
            params: call.args.iter().enumerate().map(param).collect(),
            constants: call
                .constants
                .iter()
                .map(|(name, tensor)| (symbols.get(name).cloned().unwrap_or_default(), *tensor))
                .collect(),
            symbol,
        }
    }

    /// An argument that is passed by value.
    fn scalar(&self, name: &str) -> (DType, f64) {
        let mut inputs = self.bench.test.inputs.iter().enumerate();
        let Some((stream, tensor)) = inputs.find(|(_, input)| input.name == name) else {
            return (DType::F32, 0.0);
        };
        let values = self.kind(tensor).values(tensor.dtype, seed_of(self.seed, stream, 0), 1);
        (tensor.dtype, values[0])
    }
}

/// The narrowest type of floating-point number among the tensors of a bench.
pub fn narrowest(bench: &Bench) -> DType {
    let has = |wanted: DType| bench.test.buffers.iter().any(|b| b.tensor.dtype == wanted);
    let order = [DType::F16, DType::BF16, DType::F32, DType::F64];
    order.into_iter().find(|dtype| has(*dtype)).unwrap_or(DType::F32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const POOLING: &str = r#"
title = "Pooling"
[dims]
free = ["N"]
[tensors]
x = "f32[N, 6, 8]"
y = "f32[N, 3, 4]"
place = "i32[N, 3, 4]"
[math]
forward = """
y[n,i,j] = max[p < 2, q < 2] x[n,2*i+p,2*j+q]
place[n,i,j] = argmax[p < 2, q < 2] x[n,2*i+p,2*j+q]
"""
[[launch]]
kernel = "backward"
args   = ["grad(y)", "given(place)", "grad(x)"]
block  = 1
grid   = 1
[[test]]
name = "small"
dims = { N = 1 }
[[bench]]
name  = "large"
dims  = { N = 5 }
flops = "1"
bytes = "1"
pool  = { x = "x", y = "y", window = "2", stride = "2", pad = "0" }
"#;

    #[test]
    fn a_pooling_of_the_library_gets_images_from_which_the_given_winners_come() {
        for read in [false, true] {
            let args = if read {
                "\"grad(y)\", \"x\", \"grad(x)\""
            } else {
                "\"grad(y)\", \"given(place)\", \"grad(x)\""
            };
            let text = POOLING.replace("\"grad(y)\", \"given(place)\", \"grad(x)\"", args);
            let spec = Spec::parse(&text, Path::new("x.toml")).unwrap();
            let bench = &spec.benches[0];
            let plan = Plan::new(&spec, bench, 5, &mut GivenTensors::default()).unwrap();
            let job = plan.vendor_job(bench.vendor.as_ref().unwrap(), true).unwrap();
            let Task::Pool(pool) = job.task else { panic!("{job:?}") };
            assert_eq!(pool.tensors, if read { [1, 3, 0, 2] } else { [3, 4, 0, 2] });
            assert_eq!(pool.sizes, [[5, 6, 8], [5, 3, 4]]);
            let [x, y, ..] = pool.tensors.map(|tensor| &job.tensors[tensor]);
            assert_eq!([x.count, y.count], [5 * 48, 5 * 12]);
            // Winners that are given belong to the same images in each run.
            assert!(matches!(x.contents, Contents::Drawn { fresh, .. } if fresh == read), "{x:?}");
            assert!(matches!(y.contents, Contents::Undefined), "{y:?}");
        }
    }
}
