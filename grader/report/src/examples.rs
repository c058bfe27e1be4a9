//! Verdicts of small wrong kernels of puzzle 10, for the tests of the report. The kernels run here, in Rust.

use super::{Compile, RunInfo};
use device::backend::{Run, RunTensor};
use device::finding::{Element, Problem, SourceLoc, ThreadId};
use device::provenance::ElementRead;
use device::provenance::Provenance;
use judge::judgement::{element_to_trace, judge, with_causes, with_formula, with_provenance};
use judge::verdict::{Deviation, Mismatch, TensorDiff, TestVerdict};
use ptxvm::finding::{AccessKind, OutOfBounds, Space};
use puzzle::case::{Case, Role};
use puzzle::spec::Spec;
use puzzle::tensor::{DType, Tensor};
use std::path::Path;
use std::time::Duration;

const SPEC: &str = r#"
title = "Conv2D backward: input gradient"
[dims]
free  = ["batch", "C_in", "H", "W", "C_out", "F"]
H_out = "H - F + 1"
W_out = "W - F + 1"
[tensors]
input   = "f32[batch, C_in, H, W]"
filters = "f32[C_out, C_in, F, F]"
output  = "f32[batch, C_out, H_out, W_out]"
[math]
forward = "output[b,k,oh,ow] = sum[c,fh,fw] input[b,c,oh+fh,ow+fw] * filters[k,c,fh,fw]"
[[launch]]
kernel = "conv2d_backward_input"
args   = ["grad(output)", "filters", "grad(input)", "batch", "C_in", "H", "W", "C_out", "F"]
block  = 256
grid   = "ceil_div(batch*C_in*H*W, 256)"
[[test]]
name   = "tiny"
about  = "One 5x5 image, one 3x3 filter of 1..9, a gradient of ones: small enough to check by hand."
dims   = { batch = 1, C_in = 1, H = 5, W = 5, C_out = 1, F = 3 }
data   = { filters = [1, 2, 3, 4, 5, 6, 7, 8, 9], "grad(output)" = "ones" }
[[test]]
name   = "asymmetric"
about  = "Two samples, 2 channels in, 3 out, 7x6 pixels: sizes differ from their neighbours."
dims   = { batch = 2, C_in = 2, H = 7, W = 6, C_out = 3, F = 3 }
[[test]]
name   = "real_data"
dims   = { batch = 2, C_in = 2, H = 28, W = 29, C_out = 3, F = 3 }
data   = "normal"
"#;

/// A kernel as its student wrote it; line 4 reads both tensors, line 6 stores.
pub(super) const SOURCE: &str = "\
__global__ void conv2d_backward_input(const float* g, const float* filters, float* grad_input)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = g[idx] * filters[idx + 5]; // the mistake
    if (idx >= 25) return;
    grad_input[idx] = sum;
}
";

pub(super) fn run_info() -> RunInfo {
    RunInfo {
        puzzle: 10,
        title: "Conv2D backward: input gradient".into(),
        warnings: Vec::new(),
        file: "puzzles/10_conv_backward_input.cu".into(),
        source: SOURCE.into(),
        backend: "vm".into(),
        backend_description: "PTX virtual machine, 2 threads".into(),
        seed: 42,
        compile: Compile { cached: false, time: Duration::from_millis(812) },
        tests: ["tiny", "asymmetric", "real_data"].map(String::from).to_vec(),
        command: "grader puzzle 10".into(),
        replay: Some("grader replay 10".into()),
        chapter: "book/src/10_conv_backward_input.md".into(),
    }
}

pub(super) fn line(line: u32, column: u32) -> SourceLoc {
    SourceLoc { file: "/tmp/x/10_conv_backward_input.cu".into(), line, column }
}

/// A read outside every tensor, of which this place is the nearest.
pub(super) fn outside(place: Element) -> Problem {
    let (space, access) = (Space::Global, AccessKind::Read);
    let address = 0x7000_0024;
    Problem::Check(
        OutOfBounds { space, access, size: 4, place: Some(place), array: None, address }.into(),
    )
}

/// What a kernel sees of memory, with a list of what it read.
pub(super) struct Memory<'a> {
    case: &'a Case,
    reads: Vec<ElementRead>,
}

impl Memory<'_> {
    /// Reads an element; the coordinates may lie outside their axes, as in the kernels of students.
    pub fn read(&mut self, tensor: &str, coords: [i64; 4]) -> f64 {
        let found = self.case.tensors.iter().find(|t| t.tensor.name == tensor).unwrap();
        let shape = &found.tensor.shape;
        let flat = coords.iter().zip(shape).fold(0, |flat, (&c, &size)| flat * size as i64 + c);
        let known = self.reads.iter_mut().find(|r| r.tensor == tensor && r.flat == flat);
        match known {
            Some(read) => read.count += 1,
            None => self.reads.push(ElementRead {
                tensor: tensor.into(),
                shape: shape.clone(),
                flat,
                count: 1,
                line: Some(line(4, 0)),
            }),
        }
        let Role::Input(values) = &found.role else { panic!("only inputs are read") };
        usize::try_from(flat).ok().and_then(|f| values.get(f)).copied().unwrap_or(0.0)
    }

    pub fn size(&self, name: &str) -> i64 {
        self.case.dims[name]
    }
}

/// Runs `kernel` (memory and coordinates to a value, `None` where it stores nothing) for every element of
/// `grad(input)` and judges it.
pub(super) fn verdict(
    test: &str,
    kernel: impl Fn(&mut Memory, [i64; 4]) -> Option<f64>,
) -> TestVerdict {
    let spec = Spec::parse(SPEC, Path::new("spec.toml")).unwrap();
    let case = puzzle::oracle::build_case(&spec, spec.test(test).unwrap(), 42).unwrap();
    let at = |tensor: &Tensor, flat: usize| {
        let coords: Vec<i64> = tensor.coords(flat).iter().map(|&c| c as i64).collect();
        <[i64; 4]>::try_from(coords).unwrap()
    };
    let element = |tensor: &Tensor, flat: usize| {
        let mut memory = Memory { case: &case, reads: Vec::new() };
        (kernel(&mut memory, at(tensor, flat)), memory.reads)
    };
    let tensors = case.tensors.iter().map(|t| match &t.role {
        Role::Result | Role::Workspace => panic!("these puzzles have none"),
        Role::Input(values) => {
            RunTensor { values: values.clone(), written: vec![true; values.len()] }
        }
        Role::Output(expected) | Role::InPlace { expected, .. } => {
            let got: Vec<Option<f64>> =
                (0..expected.len()).map(|flat| element(&t.tensor, flat).0).collect();
            RunTensor {
                // As from the GPU: a f32.
                values: got.iter().map(|v| f64::from(v.unwrap_or(f64::NAN) as f32)).collect(),
                written: got.iter().map(Option::is_some).collect(),
            }
        }
    });
    let time = Duration::from_micros(3210);
    let run = Run { tensors: tensors.collect(), time, ..Run::default() };
    let verdict = with_causes(judge(&case, &run), &case, &run);
    let verdict = with_formula(verdict, &case);
    let Some((index, flat)) = element_to_trace(&case, &verdict) else { return verdict };
    let (stored, reads) = element(&case.tensors[index].tensor, flat);
    let id = ThreadId { block: [0; 3], thread: [flat as u32, 0, 0] };
    let writer = stored.map(|_| (id, Some(line(6, 5))));
    with_provenance(verdict, &case, &Provenance { writer, reads })
}

/// The solution of puzzle 10 with places for mistakes: which filter element, which outputs, which sample.
pub(super) struct Conv {
    pub filter: fn(i64, i64, i64) -> (i64, i64),
    pub skip: fn(oh: i64, ow: i64, h_out: i64, w_out: i64) -> bool,
    pub sample: fn(i64) -> i64,
}

impl Conv {
    pub const CORRECT: Self = Self {
        filter: |fh, fw, _| (fh, fw),
        skip: |oh, ow, h_out, w_out| oh < 0 || oh >= h_out || ow < 0 || ow >= w_out,
        sample: |b| b,
    };

    pub fn sum(&self, memory: &mut Memory, [b, c, h, w]: [i64; 4]) -> f64 {
        let size = memory.size("F");
        let (h_out, w_out) = (memory.size("H_out"), memory.size("W_out"));
        let mut sum = 0.0;
        for k in 0..memory.size("C_out") {
            for fh in 0..size {
                for fw in 0..size {
                    let (oh, ow) = (h - fh, w - fw);
                    if (self.skip)(oh, ow, h_out, w_out) {
                        continue;
                    }
                    let (rh, rw) = (self.filter)(fh, fw, size);
                    let gradient = memory.read("grad(output)", [(self.sample)(b), k, oh, ow]);
                    sum += gradient * memory.read("filters", [k, c, rh, rw]);
                }
            }
        }
        sum
    }
}

/// A wrong tensor `t` of which only the first elements' errors are given; the others are correct.
pub(super) fn diff(shape: &[usize], errors: &[Deviation]) -> TensorDiff {
    let tensor = Tensor { name: "t".into(), dtype: DType::F32, shape: shape.into() };
    let mut errors = errors.to_vec();
    errors.resize(tensor.len(), Deviation::Correct);
    let mismatch = |flat: usize| Mismatch {
        flat,
        expected: 1.0,
        got: match errors[flat] {
            Deviation::Unwritten => None,
            Deviation::Nan => Some(f64::NAN),
            Deviation::Correct => Some(1.0),
            Deviation::Off(by) => Some(1.0 + by),
        },
        allowed: 0.0,
    };
    let first = errors.iter().position(|&error| error != Deviation::Correct);
    TensorDiff::new(tensor, errors.clone(), first.expect("one is wrong"), mismatch)
}
