//! The kernels of `tests/checks`: each finding that a comment there names, at its line, and no other; the same with any number of
//! host threads.

use std::collections::BTreeSet;

use ptxvm::finding::EndlessLoop;
use ptxvm::{Access, BufferId, Finding, FindingKind, Init, Launch, Memory, Module, Options};

use crate::support::{bytes_of, fixture, integers, kind_name};

/// What nvcc made of the sources, without `.ptx`.
const FILES: [&str; 19] = [
    "memory",
    "init",
    "shared_race",
    "global_race",
    "sync",
    "calls",
    "heap",
    "grid",
    "lanes",
    "tiles",
    "tensor",
    "barrier_objects",
    "barrier_objects_sm90",
    "fences",
    "usual",
    "waits",
    "volatile",
    "read_only",
    "strict",
];

/// `lanes.cu` at other levels of optimisation.
const LANES: [&str; 2] = ["lanes_O0", "lanes_G"];

/// The name and the text of a source, and its compiled module.
fn load(compiled: &str) -> (String, String, Module) {
    let (source, _) = compiled.split_once("_sm90").unwrap_or((compiled, ""));
    let source = format!("{source}.cu");
    let ptx = fixture(&format!("checks/{compiled}.ptx"));
    let module = Module::load(&ptx).unwrap_or_else(|error| panic!("{compiled}: {error}"));
    let text = fixture(&format!("checks/{source}"));
    (source, text, module)
}

/// A finding by line and kind.
type Mark = (u32, String);

/// A kernel with its launch and what its comments say.
struct Case<'s> {
    name: &'s str,
    launch: &'s str,
    expected: BTreeSet<Mark>,
    missed: BTreeSet<Mark>,
}

/// The kernels of a source, by the comments before and inside them.
fn cases(source: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case> = Vec::new();
    let mut launch = "";
    for (line, number) in source.lines().zip(1..) {
        if let Some(text) = line.strip_prefix("// launch: ") {
            launch = text;
        }
        if let Some((_, head)) = line.split_once("extern \"C\" __global__ void ") {
            let name = head.split('(').next().unwrap_or_default();
            assert!(!launch.is_empty(), "{name} has no launch");
            let (expected, missed) = (BTreeSet::new(), BTreeSet::new());
            cases.push(Case { name, launch: std::mem::take(&mut launch), expected, missed });
        }
        let Some(case) = cases.last_mut() else { continue };
        let marks = |text: &str| -> Vec<Mark> {
            text.split(", ").map(|kind| (number, kind.trim().to_owned())).collect()
        };
        if let Some((_, kinds)) = line.split_once("// expect: ") {
            case.expected.extend(marks(kinds));
        }
        if let Some((_, kinds)) = line.split_once("// missed: ") {
            case.missed.extend(marks(kinds));
        }
    }
    cases
}

/// `(2,1,1)` as three numbers.
fn triple(text: &str) -> [u32; 3] {
    let inner = text.trim_matches(['(', ')']);
    let numbers: Vec<u32> = inner.split(',').map(|n| n.parse().expect("a number")).collect();
    numbers.try_into().expect("three numbers")
}

/// Bytes of a buffer `TYPE[N]` with the values that `README.md` names.
fn values(spec: &str) -> Vec<u8> {
    let (ty, count) = spec.trim_end_matches(']').split_once('[').expect("TYPE[N]");
    let floats = integers(count.parse().expect("a number"), 1);
    let whole = floats.iter().map(|x| (x + 8.0) as i32);
    match ty {
        "f32" => bytes_of(&floats),
        "i32" => bytes_of(&whole.collect::<Vec<_>>()),
        "u8" => whole.map(|x| x as u8).collect(),
        other => panic!("no type {other}"),
    }
}

/// Memory and launch of a case, and its buffers in the order of the parameters.
fn prepare(text: &str) -> (Memory, Launch, Vec<BufferId>) {
    let (mut memory, mut buffers) = (Memory::default(), Vec::new());
    let mut launch = Launch { grid: [1; 3], block: [1; 3], dynamic_shared: 0, params: Vec::new() };
    // `cooperative` is for the options.
    for item in text.split(' ').filter(|item| *item != "cooperative") {
        let (name, value) = item.split_once('=').expect("NAME=VALUE");
        let buffer = match (name, value) {
            ("grid", _) => {
                launch.grid = triple(value);
                continue;
            }
            ("block", _) => {
                launch.block = triple(value);
                continue;
            }
            ("shared", _) => {
                launch.dynamic_shared = value.parse().expect("a number");
                continue;
            }
            (_, "null") => {
                launch.params.push(vec![0; 8]);
                continue;
            }
            ("in", _) => memory.alloc(Init::Bytes(values(value)), Access::ReadOnly),
            ("inout", _) => memory.alloc(Init::Bytes(values(value)), Access::ReadWrite),
            ("zeros", _) => {
                memory.alloc(Init::Bytes(vec![0; values(value).len()]), Access::ReadWrite)
            }
            ("out", _) => {
                memory.alloc(Init::Undefined { len: values(value).len() }, Access::ReadWrite)
            }
            _ => {
                launch.params.push(bytes_of(&[value.parse::<i32>().expect("a number")]));
                continue;
            }
        };
        launch.params.push(memory.address(buffer).to_le_bytes().to_vec());
        buffers.push(buffer);
    }
    (memory, launch, buffers)
}

/// The findings of a launch, and the bytes of the buffers after it.
fn run(module: &Module, name: &str, text: &str, threads: usize) -> (Vec<Finding>, Vec<Vec<u8>>) {
    run_within(1 << 16, module, name, text, threads)
}

/// The same with another budget.
fn run_within(
    budget: u64,
    module: &Module,
    name: &str,
    text: &str,
    threads: usize,
) -> (Vec<Finding>, Vec<Vec<u8>>) {
    let kernel = module.kernel(name).expect(name);
    let (mut memory, launch, buffers) = prepare(text);
    let cooperative = text.starts_with("cooperative");
    let options = Options { budget, cooperative, ..Options::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let outcome = pool.install(|| ptxvm::launch(module, kernel, &launch, &mut memory, &options));
    let findings = outcome.unwrap_or_else(|error| panic!("{name}: {error}")).findings;
    (findings, buffers.iter().map(|id| memory.bytes(*id)).collect())
}

#[test]
fn each_finding_and_no_other() {
    let mut wrong = Vec::new();
    let (mut bad, mut good) = (0, 0);
    for (file, source, module) in FILES.map(load) {
        for case in cases(&source) {
            let is_bad = case.name.starts_with("bad_");
            *if is_bad { &mut bad } else { &mut good } += 1;
            let marks = case.expected.len() + case.missed.len();
            assert_eq!(is_bad, marks > 0, "{}", case.name);
            let findings = run(&module, case.name, case.launch, 1).0;
            let found: BTreeSet<Mark> = findings
                .iter()
                .map(|finding| {
                    let loc = finding.loc.as_ref();
                    assert!(loc.is_none_or(|loc| *loc.file == *file), "{loc:?}");
                    (loc.map_or(0, |loc| loc.line), kind_name(&finding.kind))
                })
                .collect();
            if found != case.expected {
                wrong.push(format!("{file}: {}: {found:?}, not {:?}", case.name, case.expected));
            }
            if run(&module, case.name, case.launch, 4).0 != findings {
                wrong.push(format!("{file}: {}: other findings with more threads", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(bad >= 40 && good >= 30, "{bad} bad and {good} good kernels");
}

/// Lanes wait for each other in the same way at every level of optimisation, and leave the same.
#[test]
fn lanes_wait_for_each_other_however_they_are_compiled() {
    let (_, source, optimised) = load("lanes");
    for compiled in LANES {
        let ptx = fixture(&format!("checks/{compiled}.ptx"));
        let module = Module::load(&ptx).unwrap_or_else(|error| panic!("{compiled}: {error}"));
        for case in cases(&source) {
            let name = format!("{}, {compiled}", case.name);
            let (findings, bytes) = run_within(1 << 20, &module, case.name, case.launch, 1);
            let kinds: BTreeSet<_> =
                findings.iter().map(|finding| kind_name(&finding.kind)).collect();
            let expected: BTreeSet<_> =
                case.expected.iter().map(|(_, kind)| kind.clone()).collect();
            assert_eq!(kinds, expected, "{name}: {findings:?}");
            if kinds.is_empty() {
                assert_eq!(bytes, run(&optimised, case.name, case.launch, 1).1, "{name}");
            }
        }
    }
}

/// Threads that wait for each other for ever are told of long before the budget is spent.
#[test]
fn waiting_in_vain_is_found_at_once() {
    let (_, source, module) = load("lanes");
    let mut found = 0;
    for case in cases(&source) {
        if !case.expected.iter().any(|(_, kind)| kind == "EndlessLoop") {
            continue;
        }
        for finding in run_within(1 << 40, &module, case.name, case.launch, 1).0 {
            if let FindingKind::EndlessLoop(EndlessLoop { instructions }) = finding.kind {
                assert!(instructions < 1 << 16, "{}: {instructions}", case.name);
                found += 1;
            }
        }
    }
    assert_eq!(found, 5);
}

/// Right kernels leave in their buffers what they leave there on an H200.
#[test]
fn right_kernels_give_what_a_gpu_gives() {
    let sums = fixture("checks/sums.tsv");
    let (mut wrong, mut compared) = (Vec::new(), BTreeSet::new());
    for (_, source, module) in FILES.map(load) {
        for case in cases(&source) {
            let named = |line: &&str| line.split('\t').next() == Some(case.name);
            let Some(theirs) = sums.lines().find(named) else { continue };
            // What nobody writes, as the padding of structures, is zero there.
            let launch = case.launch.replace(" out=", " zeros=");
            let mut words = vec![case.name.to_owned()];
            for bytes in run(&module, case.name, &launch, 1).1 {
                let add = |sum: u64, byte: &u8| sum.wrapping_mul(31).wrapping_add((*byte).into());
                words.push(format!("{:x}", bytes.iter().fold(0, add)));
            }
            let ours = words.join("\t");
            compared.insert(case.name.to_owned());
            if ours != theirs {
                wrong.push(format!("{ours}, not {theirs}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(compared.len(), sums.lines().count());
}

#[test]
fn counting_changes_nothing_that_a_launch_does() {
    let (mut all, mut others) = (0, Vec::new());
    for (file, source, module) in FILES.map(load) {
        for case in cases(&source) {
            let kernel = module.kernel(case.name).expect(case.name);
            let cooperative = case.launch.starts_with("cooperative");
            let options = Options { budget: 1 << 16, cooperative, ..Options::default() };
            let (mut memory, launch, _) = prepare(case.launch);
            let plain = ptxvm::launch(&module, kernel, &launch, &mut memory, &options);
            let plain = plain.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let (mut other, launch, _) = prepare(case.launch);
            let counted = ptxvm::launch_profiled(&module, kernel, &launch, &mut other, &options);
            let (outcome, counters) =
                counted.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            assert_eq!(outcome.findings, plain.findings, "{}", case.name);
            assert_eq!(outcome.printed, plain.printed, "{}", case.name);
            assert_eq!(outcome.lane_instructions, plain.lane_instructions, "{}", case.name);
            for id in (0..launch.params.len()).map(BufferId) {
                assert_eq!(other.bytes(id), memory.bytes(id), "{}: {id:?}", case.name);
            }
            let endless = |found: &Finding| {
                let kind = kind_name(&found.kind);
                ["EndlessLoop", "NeverCompletes", "StackOverflow"].contains(&kind.as_str())
            };
            assert_eq!(counters.endless, plain.findings.iter().any(endless), "{}", case.name);
            let (mut alone, launch, _) = prepare(case.launch);
            let alone = ptxvm::launch_counted(&module, kernel, &launch, &mut alone, &options);
            all += 1;
            // Most of the kernels with fences wait for other blocks.
            let other = file != "fences.cu" && alone.ok().as_ref() != Some(&counters);
            others.extend(other.then(|| case.name.to_owned()));
        }
    }
    // Where warps wait in loops for others, how often they look depends on the turns that blocks take.
    assert!(others.len() * 20 < all, "counted otherwise without checks: {others:?} of {all}");
}

#[test]
fn the_table_in_the_docs_is_that_of_the_kernels() {
    let docs = include_str!("../../docs/checks.md");
    for (file, source, _) in FILES.map(load) {
        for case in cases(&source) {
            let marks: Vec<String> =
                case.expected.iter().map(|(line, kind)| format!("`{kind}` {line}")).collect();
            let is_bad = case.name.starts_with("bad_");
            let cell = if marks.is_empty() { "-".to_owned() } else { marks.join(", ") };
            let row = format!("| `{}` | {cell} |", case.name);
            assert!(!is_bad || docs.contains(&row), "{file}: not in docs/checks.md: {row}");
        }
    }
}
