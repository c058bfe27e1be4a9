//! What a run of `grader bench` found, as data: the reports word it, and JSON keeps it with all samples.

use crate::model::{Rates, Work};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use std::collections::BTreeMap;

/// The version of the JSON document.
pub const SCHEMA_VERSION: u32 = 1;

/// The results of a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The version of the document.
    pub schema_version: u32,
    /// What was asked for: `puzzle 46`, or `ladder maxpool2d_backward`.
    pub subject: String,
    /// The title of the puzzle or the ladder.
    pub title: String,
    /// Where the kernels ran.
    pub machine: Machine,
    /// A part for each `[[bench]]` of the spec.
    pub sizes: Vec<SizeOutcome>,
    /// What else is worth knowing; each a sentence.
    pub notes: Vec<String>,
}

/// Where the kernels ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Machine {
    /// On a GPU.
    Gpu(GpuFacts),
    /// On the virtual machine, which counts; times are a model's, by the data sheet of this GPU.
    Model {
        /// The GPU's short name.
        gpu: String,
    },
}

/// A GPU, and what it reached before the kernels were timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpuFacts {
    /// Name and driver.
    pub description: String,
    /// Bytes per second of a large copy, counting what is read and what is written.
    pub copy: f64,
    /// Operations per second of a large matrix product of the vendor's library, by type; empty where it is not installed.
    pub products: BTreeMap<String, f64>,
    /// Seconds that an empty kernel takes between the two events.
    pub empty_launch: f64,
    /// The vendor's library and its version, or why there is none.
    pub library: Result<String, String>,
    /// Whether the L2 cache was overwritten before each sample; if not, the inputs have just been written.
    pub cold: bool,
}

/// Everything that ran at the sizes of one `[[bench]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeOutcome {
    /// The name of the `[[bench]]`.
    pub name: String,
    /// The free sizes, in the order of the spec.
    pub dims: Vec<(String, i64)>,
    /// The narrowest type of the tensors, which decides how fast operations can be.
    pub dtype: String,
    /// The work at these sizes.
    pub work: Work,
    /// What the machine can reach: measured, or by its data sheet.
    pub rates: Rates,
    /// The test whose launches were counted, if they were, with the work at its sizes.
    pub counted: Option<(String, Work)>,
    /// The kernels, the student's first.
    pub contestants: Vec<Contestant>,
    /// The spec's bounds on the time.
    #[serde(default)]
    pub gates: Vec<GateOutcome>,
}

/// A bound on the time of the first kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateOutcome {
    /// As in the spec: `time <= 0.8 * puzzle(19)`.
    pub bound: String,
    /// One sentence for the student.
    pub about: Option<String>,
    /// What came of it.
    pub verdict: GateVerdict,
}

/// What came of a bound on the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// It is kept: the time as a multiple of the reference's.
    Kept(f64),
    /// It is not kept: that multiple.
    Missed(f64),
    /// It was not judged: why.
    NotJudged(String),
}

/// A kernel file, or the vendor's library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contestant {
    /// `your kernel`, `solution`, `puzzle 18`, `cuBLAS`, or the name of a step.
    pub label: String,
    /// The file, relative to the workbook; `None` for a library.
    pub file: Option<String>,
    /// What came of it.
    pub result: ContestantResult,
}

/// What came of timing or counting a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContestantResult {
    /// It was timed.
    Timed(Times),
    /// It was counted.
    Counted(Counted),
    /// It is not right, or could not run: why.
    Refused(String),
}

/// The samples of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Seconds of each run.
    pub samples: Vec<f64>,
    /// Whether the launches were captured as a graph; else they were started one by one.
    pub graph: bool,
    /// Elements of outputs that were compared with the formula, over all checks.
    pub compared: u64,
    /// Whether these were all elements of the outputs.
    pub all_elements: bool,
    /// Clocks and throttling while it ran, or why they are not known.
    pub clocks: Result<Clocks, String>,
}

/// What NVML saw while a kernel was timed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// The lowest and the highest clock of the multiprocessors in MHz.
    pub sm: (u32, u32),
    /// The highest that the GPU allows.
    pub most: u32,
    /// Reasons for a lower clock that NVML gave at any time.
    pub throttled: Vec<String>,
}

/// What the virtual machine counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// PTX instructions of warps.
    pub instructions: u64,
    /// Matrix instructions of warps.
    pub matrix_instructions: u64,
    /// Sectors of 32 bytes that loads touch.
    pub load_sectors: u64,
    /// Sectors of 32 bytes that stores touch.
    pub store_sectors: u64,
    /// Atomic operations of threads.
    pub atomic_operations: u64,
    /// Bytes that they read and write in global memory.
    pub atomic_bytes: u64,
    /// Passes through the banks of shared memory.
    pub shared_wavefronts: u64,
    /// Those of them that conflicts cost.
    pub bank_conflicts: u64,
    /// Barriers of warps.
    pub barriers: u64,
    /// Bytes of local memory.
    pub local_bytes: u64,
}

/// What documents of all versions have.
#[derive(Deserialize)]
struct Version {
    schema_version: u32,
}

impl Outcome {
    /// The JSON document, with all samples.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Whether every bound on the time that was judged is kept.
    pub fn keeps_gates(&self) -> bool {
        let mut gates = self.sizes.iter().flat_map(|size| &size.gates);
        gates.all(|gate| !matches!(gate.verdict, GateVerdict::Missed(_)))
    }

    /// Reads a document that [`Self::json`] wrote.
    ///
    /// # Errors
    /// It is another document, or one of another version: why.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let invalid = |error: serde_json::Error| match error.classify() {
            Category::Data => "it is another document".to_owned(),
            Category::Io | Category::Syntax | Category::Eof => format!("it is no JSON: {error}"),
        };
        // A document of another version may differ in everything else.
        let Version { schema_version: version } = serde_json::from_str(text).map_err(invalid)?;
        if version != SCHEMA_VERSION {
            return Err(format!("it has version {version}, not {SCHEMA_VERSION}"));
        }
        serde_json::from_str(text).map_err(invalid)
    }
}
