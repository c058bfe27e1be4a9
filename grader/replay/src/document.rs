//! What the page shows, as data: names and values, in the terms of the spec and of the source.

mod memory;
mod steps;
mod trace;
mod variables;

use crate::debug_info;
use crate::values::number;
use device::finding::{FindingKind, Problem, SourceLoc, ThreadId};
use device::provenance::Factor;
use device::vm::VmBackend;
use diagnostic::{Failure, FailureKind};
use judge::expansion::{Row, RowKind};
use judge::explain::Explanation;
use judge::grade::Program;
use memory::{Layout, Memory};
use puzzle::case::Case;
use serde::Serialize;
use serde_json::Value;
use steps::{Accesses, Instruction, Writes};
pub use trace::Trace;
use variables::Variable;

/// Instructions of warps that are recorded at most.
const MOST_STEPS: usize = 120_000;
/// Bytes that a page may have.
const MOST_BYTES: usize = 20 << 20;

/// What is to be replayed.
#[derive(Debug)]
pub struct Subject<'s> {
    /// Number and title of the puzzle.
    pub title: String,
    /// The program, compiled for a debugger.
    pub program: &'s Program,
    /// A virtual machine with it.
    pub vm: &'s VmBackend,
    /// A virtual machine with the program as it is graded, which runs faster.
    pub optimised: &'s VmBackend,
    /// The test whose launch is recorded.
    pub case: &'s Case,
    /// The element whose terms are shown, and whose writer decides which block is recorded.
    pub explanation: &'s Explanation,
    /// The block, instead of that of the element's writer.
    pub block: Option<[u32; 3]>,
}

/// A recorded block with everything that its page shows.
#[derive(Debug)]
pub struct Document {
    json: String,
}

/// What the document consists of.
#[derive(Debug, Serialize)]
struct Recorded {
    title: String,
    test: String,
    seed: u64,
    dims: Vec<(String, i64)>,
    kernel: String,
    launch: usize,
    launches: usize,
    grid: [u32; 3],
    block_size: [u32; 3],
    block: [u32; 3],
    file: String,
    source: Vec<String>,
    code: Vec<Instruction>,
    memories: Vec<Memory>,
    variables: Vec<Variable>,
    pc: Vec<u32>,
    warp: Vec<u32>,
    lanes: Vec<u32>,
    accesses: Accesses,
    writes: Writes,
    cut: bool,
    findings: Vec<Finding>,
    element: Element,
}

/// A mistake that the virtual machine saw.
#[derive(Debug, Serialize)]
struct Finding {
    text: String,
    /// Where it was made; of a race, the earlier access and the later one.
    ends: Vec<End>,
}

/// A line and a thread that take part in a finding.
#[derive(Debug, Serialize)]
struct End {
    line: Option<u32>,
    /// Index of the thread in its block, if that is the recorded one.
    thread: Option<u32>,
}

/// The element that is explained.
#[derive(Debug, Serialize)]
struct Element {
    memory: usize,
    flat: usize,
    expected: Value,
    got: Value,
    correct: bool,
    terms: Vec<Term>,
}

/// A product of the formula, or of the kernel.
#[derive(Debug, Serialize)]
struct Term {
    text: String,
    kind: &'static str,
    value: Value,
    /// The elements that it is made of: memory and place.
    factors: Vec<(usize, usize)>,
    line: Option<u32>,
}

impl Document {
    /// Records a block, and gathers what the page shows. `titles` are the words of the explanation's findings.
    ///
    /// The launch runs once, to be recorded; again with fewer steps where the page would be too large; and once before on the
    /// optimised program where the explanation does not know the element's writer.
    ///
    /// # Errors
    /// The test has nothing to record, or the virtual machine cannot run it.
    pub fn new(subject: &Subject<'_>, titles: &[String]) -> Result<Self, Failure> {
        let mut steps = MOST_STEPS;
        loop {
            let recorded = Recorded::new(subject, titles, steps)?;
            // No element may begin or end in it.
            let json = serde_json::to_string(&recorded).unwrap_or_default().replace('<', "\\u003c");
            if json.len() <= MOST_BYTES || steps < 1_000 {
                return Ok(Self { json });
            }
            steps = recorded.pc.len() / 2;
        }
    }

    /// The document as the page's script reads it.
    pub fn json(&self) -> &str {
        &self.json
    }
}

impl Recorded {
    fn new(subject: &Subject<'_>, titles: &[String], most: usize) -> Result<Self, Failure> {
        let Subject { program, vm, optimised, case, explanation, .. } = *subject;
        // A tensor that is changed in place has another name in the formula.
        let element = case.output(&explanation.tensor.name);
        let writer = match (explanation.writer, element) {
            (Some(thread), _) if case.launches.len() == 1 => Some((0, thread)),
            (_, Some(tensor)) => optimised.last_writer(case, tensor, explanation.flat)?,
            (_, None) => None,
        };
        let (launch, written) =
            writer.map_or((0, [0; 3]), |(launch, thread)| (launch, thread.block));
        let of = &case.launches[launch];
        let block = subject.block.unwrap_or(written);
        if (0..3).any(|axis| block[axis] >= of.grid[axis]) {
            let title = format!("there is no block {block:?} in a grid of {:?}", of.grid);
            return Err(Failure::new(FailureKind::Usage, title, "blocks are counted from 0"));
        }
        let ptx = &program.compiled.ptx;
        let known = debug_info::variables(ptx);
        let mut watched = variables::Watched::default();
        let mut code = Vec::new();
        let mut layout = Layout::default();
        let mut shown = Vec::new();
        let file = program.compiled.source.path.display().to_string();
        let recorded = vm.record(case, launch, block, most, |kernel| {
            let symbols = kernel.symbols();
            code = steps::code(kernel, ptx, &file);
            layout = Layout::of(symbols, &known, case, of.shared);
            shown = variables::variables(kernel, &known, of, &case.tensors, &mut watched);
            watched.registers.clone()
        })?;
        let end = |loc: Option<&SourceLoc>, thread: Option<ThreadId>| End {
            line: loc.filter(|at| *at.file == *file).map(|at| at.line),
            thread: thread
                .filter(|thread| thread.block == block)
                .map(|thread| thread.index(of.block)),
        };
        let findings = explanation.findings.iter().zip(titles).map(|(finding, text)| {
            let here = |_: &ThreadId| finding.kernel == of.kernel;
            let later = end(finding.line.as_ref(), finding.thread.filter(here));
            let earlier =
                earlier_access(finding).map(|(loc, thread)| end(loc, thread.filter(here)));
            Finding { text: text.clone(), ends: earlier.into_iter().chain([later]).collect() }
        });
        let findings = findings.collect();
        let layout = layout.with_buffers(&recorded.buffers);
        let recording = &recorded.recording;
        Ok(Self {
            title: subject.title.clone(),
            test: case.test.clone(),
            seed: case.seed,
            dims: case.used_dims.iter().map(|name| (name.clone(), case.dims[name])).collect(),
            kernel: of.kernel.clone(),
            launch,
            launches: case.launches.len(),
            grid: of.grid,
            block_size: of.block,
            block,
            source: program.compiled.source.text.lines().map(str::to_owned).collect(),
            code,
            memories: layout.memories(case, &recorded),
            variables: shown,
            pc: recording.steps.iter().map(|step| step.pc).collect(),
            warp: recording.steps.iter().map(|step| step.warp).collect(),
            lanes: recording.steps.iter().map(|step| step.lanes).collect(),
            accesses: Accesses::of(recording, &layout),
            writes: Writes::of(recording),
            cut: recording.cut,
            findings,
            element: Element {
                memory: element.unwrap_or_default(),
                flat: explanation.flat,
                expected: number(explanation.expected),
                got: explanation.got.map_or(Value::Null, number),
                correct: explanation.correct,
                terms: explanation
                    .terms
                    .iter()
                    .flat_map(|terms| &terms.rows)
                    .map(|row| term(row, case, &file))
                    .collect(),
            },
            file,
        })
    }
}

/// The other end of a race: its line and its thread, as far as they are known.
fn earlier_access(
    finding: &device::finding::Finding,
) -> Option<(Option<&SourceLoc>, Option<ThreadId>)> {
    match &finding.problem {
        Problem::Check(FindingKind::SharedRace(race)) => {
            let block = race.other_block.or(finding.thread.map(|thread| thread.block));
            let thread = block.zip(race.other_thread);
            let thread = thread.map(|(block, thread)| ThreadId { block, thread });
            Some((race.other.as_ref(), thread))
        }
        Problem::Check(FindingKind::GlobalRace(race)) => {
            Some((race.other.as_ref(), race.other_thread))
        }
        _ => None,
    }
}

fn term(row: &Row, case: &Case, file: &str) -> Term {
    let place = |factor: &Factor| match factor {
        Factor::Element(element) => {
            let memory = case.tensors.iter().position(|t| t.tensor.name == element.tensor)?;
            Some((memory, case.tensors[memory].tensor.flat(&element.coords)?))
        }
        Factor::Outside(_) | Factor::Function(_) => None,
    };
    let name = |factor: &Factor| match factor {
        Factor::Element(element) => format!("{}{:?}", element.tensor, element.coords),
        Factor::Outside(outside) => format!("{}[{}]", outside.tensor, outside.flat),
        Factor::Function(text) => text.clone(),
    };
    let names: Vec<String> = row.factors.iter().map(name).collect();
    let coefficient = if row.kind == RowKind::Extra { row.kernel } else { row.formula };
    let product = if names.is_empty() { "1".to_owned() } else { names.join(" · ") };
    let text = if coefficient == 1.0 { product } else { format!("{coefficient} · {product}") };
    Term {
        text,
        kind: match row.kind {
            RowKind::Extra => "extra",
            RowKind::Missing => "missing",
            RowKind::Repeated => "repeated",
            RowKind::Coefficient => "coefficient",
            RowKind::Correct => "correct",
        },
        value: row.value.map_or(Value::Null, |value| number(value * coefficient)),
        factors: row.factors.iter().filter_map(place).collect(),
        line: row.line.as_ref().filter(|at| *at.file == *file).map(|at| at.line),
    }
}
