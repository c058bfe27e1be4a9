//! Recorded runs for tests.

use crate::model::{Rates, Work};
use crate::outcome::{
    Clocks, Contestant, ContestantResult, Counted, GateOutcome, GateVerdict, GpuFacts, Machine,
    Outcome, SCHEMA_VERSION, SizeOutcome, Times,
};
use std::collections::BTreeMap;

/// A run on a GPU: a matrix product with samples around the given seconds.
pub fn timed() -> Outcome {
    let library = "cuBLAS 13.1";
    let machine = Machine::Gpu(GpuFacts {
        description: "NVIDIA H200, driver for CUDA 13.0".to_owned(),
        copy: 4.1e12,
        products: BTreeMap::from([("f32".to_owned(), 5.1e13), ("f16".to_owned(), 7.39e14)]),
        empty_launch: 2.1e-6,
        library: Ok(library.to_owned()),
        cold: true,
    });
    let contestants = vec![
        contestant("your kernel", Some("puzzles/46_wmma_gemm.cu"), times(7.3e-3, 0.08)),
        contestant("solution", Some("solutions/46_wmma_gemm.cu"), times(6.1e-3, 0.002)),
        contestant(library, None, times(2.1e-4, 0.002)),
        contestant(
            "puzzle 18",
            Some("solutions/18_sgemm_tiled.cu"),
            ContestantResult::Refused("wrong in run 3: C[0, 0] should be 1, but is NaN".to_owned()),
        ),
    ];
    outcome(machine, contestants, None, Rates { bandwidth: 4.1e12, flops: Some(7.39e14) })
}

/// A run without a GPU.
pub fn counted() -> Outcome {
    let count = |instructions| {
        ContestantResult::Counted(Counted {
            instructions,
            matrix_instructions: 480,
            load_sectors: 5_000,
            store_sectors: 400,
            shared_wavefronts: 9_000,
            barriers: 120,
            ..Counted::default()
        })
    };
    let contestants = vec![
        contestant("your kernel", Some("puzzles/46_wmma_gemm.cu"), count(80_000)),
        contestant("solution", Some("solutions/46_wmma_gemm.cu"), count(60_123)),
    ];
    let machine = Machine::Model { gpu: "h200".to_owned() };
    let test = ("wmma_gemm_64_576_32".to_owned(), Work { flops: 2_359_296, bytes: 188_416 });
    outcome(machine, contestants, Some(test), Rates { bandwidth: 4.8e12, flops: Some(9.894e14) })
}

fn outcome(
    machine: Machine,
    contestants: Vec<Contestant>,
    counted: Option<(String, Work)>,
    rates: Rates,
) -> Outcome {
    let size = 4096;
    let work = Work { flops: 2 * size * size * size, bytes: 8 * size * size };
    let dims = ["M", "N", "K"].map(|name| (name.to_owned(), size as i64)).to_vec();
    let gate = |verdict| GateOutcome {
        bound: "time <= 0.8 * puzzle(18)".to_owned(),
        about: Some("let tensor cores multiply".to_owned()),
        verdict,
    };
    let gates = match &machine {
        Machine::Gpu(_) => {
            vec![gate(GateVerdict::Kept(0.42)), gate(GateVerdict::Missed(0.93))]
        }
        Machine::Model { .. } => {
            vec![gate(GateVerdict::NotJudged("times are taken on a GPU only".to_owned()))]
        }
    };
    let (name, dtype) = ("square_4096_f16".to_owned(), "f16".to_owned());
    Outcome {
        schema_version: SCHEMA_VERSION,
        subject: "puzzle 46".to_owned(),
        title: "Matrix multiplication on tensor cores".to_owned(),
        machine,
        sizes: vec![SizeOutcome { name, dims, dtype, work, rates, counted, contestants, gates }],
        notes: Vec::new(),
    }
}

fn contestant(label: &str, file: Option<&str>, result: ContestantResult) -> Contestant {
    Contestant { label: label.to_owned(), file: file.map(str::to_owned), result }
}

/// Samples that lie evenly within a part of the given seconds on both sides.
fn times(seconds: f64, part: f64) -> ContestantResult {
    let samples = (0..20).map(|i| seconds * (1.0 + part * (f64::from(i) - 9.5) / 9.5));
    ContestantResult::Timed(Times {
        samples: samples.collect(),
        graph: true,
        compared: 6_384,
        all_elements: false,
        clocks: Ok(Clocks { sm: (1_755, 1_980), most: 1_980, throttled: Vec::new() }),
    })
}
