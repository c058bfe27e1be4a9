//! The virtual machine as a backend, on the kernels of `kernels.cu`.

use super::*;
use crate::finding::{Element, Finding, FindingKind, Problem, SourceLoc, ThreadId};
use crate::provenance::Provenance;
use diagnostic::FailureKind;
use indexmath::Approx;
use ptxvm::finding::{AccessKind, GridSync, OutOfBounds, Space, Uninitialised};
use puzzle::case::{CaseArg, LaunchOptions};
use puzzle::tensor::{DType, Tensor};
use ruzstd::decoding::StreamingDecoder;

/// Elements of the tensors: a block of 32 and a part of another.
const N: usize = 40;

fn tensors() -> Vec<CaseTensor> {
    let tensor = |name: &str| Tensor { name: name.into(), dtype: DType::F32, shape: vec![8, 5] };
    let expected = Approx { value: 1.0, bound: 0.0, magnitude: 1.0, terms: 1 };
    vec![
        CaseTensor { tensor: tensor("x"), role: Role::Input((0..N).map(|i| i as f64).collect()) },
        CaseTensor { tensor: tensor("y"), role: Role::Output(vec![expected; N]) },
    ]
}

fn launch(kernel: &str, n: usize) -> CaseLaunch {
    let args = vec![CaseArg::Tensor(0), CaseArg::Tensor(1), CaseArg::Int(n as i32)];
    CaseLaunch {
        kernel: kernel.into(),
        grid: [2, 1, 1],
        block: [32, 1, 1],
        shared: 0,
        options: LaunchOptions::default(),
        args,
        constants: Vec::new(),
        moves_in: Vec::new(),
    }
}

fn load(ptx: &str, kernels: BTreeMap<String, String>) -> Result<VmBackend, Failure> {
    let source = SourceFile::new("kernels.cu", String::new());
    VmBackend::new(SharedModule::default().load(ptx, &source)?, kernels, &source)
}

fn backend() -> VmBackend {
    let names = [
        "twice",
        "reads_past",
        "writes_before",
        "adds_up",
        "writes_input",
        "never_ends",
        "backwards",
        "prints",
        "mirrors",
        "allocates",
    ];
    let kernels = names.iter().map(|n| ((*n).to_owned(), (*n).to_owned())).collect();
    load(&kernels_ptx(), kernels).unwrap()
}

fn kernels_ptx() -> String {
    let packed = &include_bytes!("kernels.ptx.zst")[..];
    std::io::read_to_string(StreamingDecoder::new(packed).unwrap()).unwrap()
}

fn run(kernel: &str) -> Run {
    backend().run_tensors(&tensors(), &[launch(kernel, N)]).unwrap()
}

/// Line of `kernels.cu` that has this text.
fn line_of(text: &str) -> SourceLoc {
    let found = include_str!("kernels.cu").lines().position(|l| l.contains(text)).unwrap();
    SourceLoc { file: "kernels.cu".into(), line: found as u32 + 1, column: 0 }
}

/// The only finding of a run, its column erased: it is nvcc's choice.
fn only(run: &Run) -> Finding {
    let [finding] = &run.findings[..] else { panic!("{:#?}", run.findings) };
    let mut finding = finding.clone();
    if let Some(line) = &mut finding.line {
        line.column = 0;
    }
    finding
}

fn place(tensor: &str, flat: i64) -> Element {
    Element { tensor: tensor.into(), shape: vec![8, 5], flat }
}

#[test]
fn values_and_written_elements_come_back() {
    let run = backend().run_tensors(&tensors(), &[launch("twice", N - 3)]).unwrap();
    assert_eq!(run.findings, []);
    let (values, written) = (&run.tensors[1].values, &run.tensors[1].written);
    assert!((0..N - 3).all(|i| values[i] == 2.0 * i as f64 && written[i]));
    assert!((N - 3..N).all(|i| values[i].is_nan() && !written[i]));
    assert_eq!(run.tensors[0].written, [true; N]);
}

#[test]
fn an_access_outside_is_told_by_tensor_line_and_thread() {
    let finding = only(&run("reads_past"));
    let Problem::Check(FindingKind::OutOfBounds(OutOfBounds {
        access: AccessKind::Read,
        space: Space::Global,
        place: at,
        ..
    })) = &finding.problem
    else {
        panic!("{finding:?}")
    };
    assert_eq!(at, &Some(place("x", N as i64)));
    assert_eq!(finding.line, Some(line_of("x[i + 1]")));
    assert_eq!(finding.thread, Some(ThreadId { block: [1, 0, 0], thread: [7, 0, 0] }));
    assert_eq!((finding.kernel.as_str(), finding.count), ("reads_past", 1));

    let finding = only(&run("writes_before"));
    assert!(
        matches!(&finding.problem, Problem::Check(FindingKind::OutOfBounds(OutOfBounds { access: AccessKind::Write, place: Some(p), .. })) if p.flat == -1),
        "{finding:?}"
    );
}

#[test]
fn a_read_of_what_nobody_wrote_and_a_write_to_an_input_are_found() {
    let finding = only(&run("adds_up"));
    let (space, at) = (Space::Global, Some(place("y", 0)));
    let read = Uninitialised { space, size: 4, place: at, offset: 0, array: None };
    assert_eq!((finding.problem, finding.count), (Problem::Check(read.into()), N as u64));
    let finding = only(&run("writes_input"));
    let Problem::Check(FindingKind::WriteToReadOnly(write)) = finding.problem else {
        panic!("{finding:?}")
    };
    assert_eq!(write.place, Some(place("x", 0)));
    assert_eq!(finding.line, Some(line_of("x[i] = y[i]")));
}

#[test]
fn blocks_meet_in_a_cooperative_launch_only() {
    let alone = launch("mirrors", N);
    let together = CaseLaunch { options: LaunchOptions::of_runtime(true), ..alone.clone() };
    let run = backend().run_tensors(&tensors(), &[together]).unwrap();
    assert_eq!(run.findings, []);
    let mirrored: Vec<f64> = (0..N).rev().map(|i| i as f64).collect();
    assert_eq!(run.tensors[1].values, mirrored);

    let run = backend().run_tensors(&tensors(), &[alone]).unwrap();
    let finding = only(&run);
    assert_eq!(finding.problem, Problem::Check(GridSync.into()));
    assert_eq!(finding.line, Some(line_of("this_grid().sync()")));
}

#[test]
fn the_heap_is_told_from_tensors() {
    let run = backend().run_tensors(&tensors(), &[launch("allocates", N)]).unwrap();
    let found = |is_it: fn(&FindingKind<Element>) -> bool| {
        let mut findings = run.findings.iter();
        let found = findings.find(|f| matches!(&f.problem, Problem::Check(kind) if is_it(kind)));
        found.map(|finding| finding.line.clone())
    };
    let line = |found: Option<Option<SourceLoc>>| found.flatten().map(|line| line.line);
    let overrun = found(|kind| {
        matches!(
            kind,
            FindingKind::OutOfBounds(OutOfBounds { space: Space::Heap, place: None, .. })
        )
    });
    assert_eq!(line(overrun), Some(line_of("own[1 + i / n]").line), "{:#?}", run.findings);
    let freed = found(
        |kind| matches!(kind, FindingKind::UseAfterFree(freed) if freed.access == AccessKind::Read),
    );
    assert_eq!(line(freed), Some(line_of("if (i == 0) y[0]").line), "{:#?}", run.findings);
}

#[test]
fn an_endless_loop_ends_the_case_at_its_line() {
    let launches = [launch("never_ends", N), launch("adds_up", N)];
    let run = backend().with_budget(10_000).run_tensors(&tensors(), &launches).unwrap();
    assert!(run.findings.iter().all(|f| f.kernel == "never_ends"), "{run:?}");
    let finding = &run.findings[0];
    assert!(
        matches!(&finding.problem, Problem::Check(FindingKind::EndlessLoop(found)) if found.instructions >= 10_000),
        "{finding:?}"
    );
    assert_eq!(finding.line.as_ref().map(|l| l.line), Some(line_of("while").line));
}

#[test]
fn what_is_only_tried_out_is_given_up_where_it_takes_long() {
    let tried = |kernel| backend().try_tensors(&tensors(), &[launch(kernel, N)]).unwrap();
    assert!(tried("never_ends").is_none());
    // Mistakes of other kinds are none of its business.
    for kernel in ["twice", "reads_past"] {
        let (tried, run) = (tried(kernel).unwrap(), run(kernel));
        assert_eq!((tried.findings, tried.tensors.len()), (run.findings, run.tensors.len()));
    }
}

#[test]
fn a_block_of_many_warps_that_loop_does_not_take_many_times_as_long() {
    let launch = CaseLaunch { grid: [1, 1, 1], block: [1024, 1, 1], ..launch("never_ends", 1024) };
    let run = backend().with_budget(1 << 20).run_tensors(&tensors(), &[launch]).unwrap();
    let endless = run.findings.iter().find_map(|f| match &f.problem {
        Problem::Check(FindingKind::EndlessLoop(found)) => Some(found.instructions),
        _ => None,
    });
    assert!(endless.is_some_and(|n| n < 1 << 17), "{endless:?}: 32 warps share 2 << 20");
}

#[test]
fn what_kernels_print_is_kept() {
    let run =
        backend().run_tensors(&tensors(), &[launch("prints", N), launch("prints", 6)]).unwrap();
    assert_eq!(run.printed, "x[5] is 5\nx[25] is 25\nx[5] is 5\n");
}

#[test]
fn the_writer_of_an_element_and_its_reads_are_found() {
    let found = |kernel: &str, flat| {
        backend().provenance_of(&tensors(), &[launch(kernel, N)], 1, flat).unwrap()
    };
    for flat in [0, 5, 38] {
        let i = N - 1 - flat;
        let provenance = found("backwards", flat);
        let (thread, line) = provenance.writer.unwrap();
        assert_eq!(
            thread,
            ThreadId { block: [i as u32 / 32, 0, 0], thread: [i as u32 % 32, 0, 0] }
        );
        assert_eq!(line.unwrap().line, line_of("y[n - 1 - i]").line);
        let mut reads: Vec<(&str, i64, u32)> =
            provenance.reads.iter().map(|r| (r.tensor.as_str(), r.flat, r.count)).collect();
        reads.sort_unstable();
        assert_eq!(reads, [("x", 0, 1), ("x", i as i64, 1)], "in whatever order nvcc reads them");
    }
    assert_eq!(found("writes_before", N - 1), Provenance::default(), "nobody wrote it");
}

#[test]
fn of_several_launches_the_last_that_writes_counts() {
    let writer = |launches: [CaseLaunch; 2]| {
        let provenance = backend().provenance_of(&tensors(), &launches, 1, 3).unwrap();
        (provenance.writer.unwrap().0, provenance.reads.len())
    };
    let by = |number: u32| ThreadId { block: [number / 32, 0, 0], thread: [number % 32, 0, 0] };
    assert_eq!(writer([launch("twice", N), launch("backwards", N)]), (by(36), 2));
    assert_eq!(writer([launch("backwards", N), launch("twice", N)]), (by(3), 1));
    assert_eq!(writer([launch("backwards", N), launch("twice", 0)]), (by(36), 2));
}

#[test]
fn a_launch_that_cannot_start_is_the_specs_or_the_signatures_matter() {
    let kind = |launch: CaseLaunch| backend().run_tensors(&tensors(), &[launch]).unwrap_err().kind;
    assert_eq!(kind(CaseLaunch { block: [2048, 1, 1], ..launch("twice", N) }), FailureKind::Usage);
    assert_eq!(kind(CaseLaunch { grid: [0, 1, 1], ..launch("twice", N) }), FailureKind::Usage);
    assert_eq!(kind(CaseLaunch { args: vec![], ..launch("twice", N) }), FailureKind::Kernel);
    assert_eq!(kind(launch("no_such_kernel", N)), FailureKind::Kernel);
}

#[test]
fn what_the_machine_cannot_do_is_not_the_students_mistake() {
    let ptx = kernels_ptx();
    let future = ptx.replacen("add.f32", "tanh.of.the.future.f32", 1);
    let twice = |ptx: &str, kernel: &str| {
        load(ptx, BTreeMap::from([("twice".to_owned(), kernel.to_owned())]))
    };
    assert!(twice(&future, "another one").is_ok(), "kernels that no launch needs do not matter");
    let unsupported = twice(&future, "twice").unwrap_err();
    assert_eq!(unsupported.kind, FailureKind::Environment);
    let diagnostic = &unsupported.diagnostics[0];
    assert!(diagnostic.title.contains("cannot run this kernel yet"), "{diagnostic:?}");
    let place = format!("from kernels.cu:{}", line_of("y[i] = 2 * x[i];").line);
    assert!(diagnostic.help.iter().any(|h| h.ends_with(&place)), "{diagnostic:?}");
    assert_eq!(twice("this is no PTX {", "k").unwrap_err().kind, FailureKind::Environment);
}

#[test]
fn the_budget_grows_with_the_work_within_limits() {
    let with_terms = |terms| {
        let expected = Approx { value: 1.0, bound: 0.0, magnitude: 1.0, terms };
        let mut tensors = tensors();
        tensors[1].role = Role::Output(vec![expected; N]);
        budget(&tensors)
    };
    assert_eq!((with_terms(1), with_terms(u64::MAX)), (4 << 20, 64 << 20));
    assert_eq!(with_terms(9999), 64 * (40 + 40 * 10_000));
    let mut tensors = tensors();
    for (expected, terms) in [(1, 9), (1, 99_999), (1, 99)].map(|(n, terms)| (n, terms)) {
        let element = Approx { value: 1.0, bound: 0.0, magnitude: 1.0, terms };
        tensors
            .push(CaseTensor { role: Role::Output(vec![element; expected]), ..tensors[1].clone() });
    }
    let longest = ElementWork { elements: N as u64 + 3, instructions: 256 * 100_000 };
    assert_eq!(element_work(&tensors), longest);
    assert_eq!(budget(&tensors), longest.instructions, "a warp may have it in every lane");
}
