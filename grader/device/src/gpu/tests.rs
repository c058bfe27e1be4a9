//! The GPU backend over the real driver code and a stand-in for the driver's library, in a real process: this test binary
//! started once more.

use super::*;
use crate::backend::RunTensor;
use crate::checked::Placed;
use crate::finding::FindingKind;
use cudart::device::{Launch, Limit, Request};
use cudart::error::CudaError;
use cudart::frame;
use indexmath::Approx;
use ptxvm::finding::Trap;
use puzzle::case::{CaseArg, LaunchOptions, Role};
use puzzle::tensor::{DType, Tensor};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

/// Set in the process that plays the child.
const PLAY: &str = "GRADER_TEST_PLAYS_GPU_CHILD";

/// The child's side. Does nothing in an ordinary test run.
#[test]
fn plays_the_child() {
    if std::env::var_os(PLAY).is_some() {
        child_main();
    }
}

/// This binary as the child, with a driver of which `part` fails, from the library in `folder`.
fn play(folder: &Path, part: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "gpu::tests::plays_the_child"])
        .stdout(Stdio::null())
        .env(PLAY, "1")
        .env("LD_LIBRARY_PATH", folder)
        .env("FAKE_DRIVER", part);
    command
}

/// The folder of the stand-in for the driver's library. Rust needs a C compiler for linking, so there is one.
fn fake_driver() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::current_exe().unwrap().with_file_name("fake_driver");
        std::fs::create_dir_all(&folder).unwrap();
        let building = tempfile::tempdir_in(&folder).unwrap();
        let (source, built) = (building.path().join("driver.c"), building.path().join("driver.so"));
        std::fs::write(&source, include_str!("fake_driver.c")).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(&built).arg(source);
        assert!(cc.status().unwrap().success());
        // Another process may use the one that is there.
        std::fs::rename(built, folder.join("libcuda.so.1")).unwrap();
        folder
    })
}

/// The device of the stand-in, of which `part` fails.
pub fn start(part: &str) -> Result<RemoteGpu, Failure> {
    RemoteGpu::start(&mut play(fake_driver(), part))
}

/// The kernels of the stand-in, which compute y[i] = 2 * x[i] from (x, y, n); one writes two bytes.
const KERNELS: [&str; 9] = [
    "two_bytes",
    "doubles",
    "past_the_end",
    "clobbers_input",
    "counts_launches",
    "illegal",
    "asserts",
    "hangs",
    "crashes",
];

fn ptx() -> String {
    let entry = |name: &&str| {
        format!(
            ".visible .entry _{name}(\n.param .u64 x,\n.param .u64 y,\n.param .u32 n\n)\n{{\nret;\n}}\n"
        )
    };
    KERNELS.iter().map(entry).collect()
}

/// A backend whose children are `command`.
fn backend_by(
    command: impl Fn() -> Command + Send + Sync + 'static,
) -> Result<GpuBackend, Failure> {
    let kernels = KERNELS.iter().map(|n| ((*n).to_owned(), format!("_{n}"))).collect();
    let gpu = RemoteGpu::start(&mut command())?;
    let mut backend = GpuBackend::new(gpu, ptx(), Some(b"module".to_vec()), kernels);
    backend.command = Box::new(move || Ok(command()));
    backend.time_out = Duration::from_secs(20);
    Ok(backend)
}

/// A backend over a driver of which `part` fails.
fn backend_without(part: &'static str) -> Result<GpuBackend, Failure> {
    backend_by(move || play(fake_driver(), part))
}

fn backend() -> GpuBackend {
    backend_without("").unwrap()
}

fn tensors() -> Vec<CaseTensor> {
    let tensor = |name: &str| Tensor { name: name.into(), dtype: DType::F32, shape: vec![3] };
    let expected = Approx { value: 1.0, bound: 0.0, magnitude: 1.0, terms: 1 };
    vec![
        CaseTensor { tensor: tensor("x"), role: Role::Input(vec![1.0, 2.0, 3.0]) },
        CaseTensor { tensor: tensor("y"), role: Role::Output(vec![expected; 3]) },
    ]
}

fn launches(kernels: &[&str]) -> Vec<CaseLaunch> {
    let args = vec![CaseArg::Tensor(0), CaseArg::Tensor(1), CaseArg::Int(3)];
    let launch = |k: &&str| CaseLaunch {
        kernel: (*k).into(),
        grid: [1; 3],
        block: [32, 1, 1],
        shared: 0,
        options: LaunchOptions::default(),
        args: args.clone(),
        constants: Vec::new(),
        moves_in: Vec::new(),
    };
    kernels.iter().map(launch).collect()
}

fn run(backend: &GpuBackend, kernels: &[&str]) -> Result<Run, Failure> {
    backend.run_tensors(&tensors(), &launches(kernels))
}

/// The problem of the only finding of a run.
fn found(backend: &GpuBackend, kernel: &str) -> Problem {
    let run = run(backend, &[kernel]).unwrap();
    let [Finding { problem, .. }] = &run.findings[..] else { panic!("{kernel}: {run:?}") };
    problem.clone()
}

#[test]
fn the_driver_tells_which_device_it_has() {
    let backend = backend();
    assert_eq!(backend.describe(), "Fake 5, driver for CUDA 12.4");
    let Properties { capability, driver_version, memory, multiprocessors, .. } = backend.info;
    assert_eq!((capability, driver_version, memory, multiprocessors), ((9, 1), 12040, 1 << 30, 7));
}

#[test]
fn values_come_back_and_one_process_serves_all_cases() {
    let backend = backend();
    let mut launches = launches(&["doubles"]);
    launches[0].args[2] = CaseArg::Int(2);
    launches[0].shared = 64 << 10;
    let first = backend.run_tensors(&tensors(), &launches).unwrap();
    assert_eq!((&first.tensors[1].values[..2], &first.findings[..]), (&[2.0, 4.0][..], &[][..]));
    assert_eq!(first.tensors[1].written, [true, true, false]);
    assert_eq!(first.tensors[0], RunTensor { values: vec![1.0, 2.0, 3.0], written: vec![true; 3] });
    let second = run(&backend, &["counts_launches"]).unwrap();
    assert_eq!(second.tensors[1].values, [2.0, 4.0, 6.0], "the same process");
}

#[test]
fn a_byte_that_is_written_as_poison_is_told_from_one_that_is_not() {
    let mut tensors = tensors();
    tensors[1].tensor.dtype = DType::U8;
    let run = backend().run_tensors(&tensors, &launches(&["two_bytes"])).unwrap();
    let RunTensor { values, written } = &run.tensors[1];
    assert_eq!((&values[..2], &written[..]), (&[253.0, 245.0][..], &[true, true, false][..]));
    assert_eq!(run.findings, []);
}

#[test]
fn a_case_runs_again_and_shows_what_differs() {
    let backend = backend();
    let repeat = |kernel: &str, nth| backend.repeat(&tensors(), &launches(&[kernel]), nth).unwrap();
    let firsts = |kernel: &str| -> Vec<f64> {
        let runs = (0..100).map_while(|nth| repeat(kernel, nth));
        runs.map(|tensors| tensors[1].values[0]).collect()
    };
    assert_eq!(firsts("doubles"), [2.0; REPEATS]);
    let counted: Vec<f64> = (1..=REPEATS).map(|run| (REPEATS + run) as f64).collect();
    assert_eq!(firsts("counts_launches"), counted);
    assert_eq!(repeat("illegal", 0), None, "a run that failed says nothing");
}

#[test]
fn damage_is_laid_at_the_right_kernels_door() {
    let kernels = ["doubles", "past_the_end", "clobbers_input", "doubles"];
    let run = run(&backend(), &kernels).unwrap();
    let found: Vec<(&str, &Problem)> =
        run.findings.iter().map(|f| (f.kernel.as_str(), &f.problem)).collect();
    let place = |tensor: &str, flat| Element { tensor: tensor.into(), shape: vec![3], flat };
    let expected = [
        ("clobbers_input", &Problem::InputChanged { place: place("x", 1) }),
        ("past_the_end", &Problem::GuardOverwritten { place: place("y", 3) }),
    ];
    assert_eq!(found, expected);
}

#[test]
fn after_an_error_a_fresh_process_serves() {
    let backend = backend();
    run(&backend, &["doubles"]).unwrap();
    let failed = run(&backend, &["doubles", "illegal"]).unwrap();
    let [Finding { problem: Problem::Driver { code, .. }, kernel, .. }] = &failed.findings[..]
    else {
        panic!("{failed:?}")
    };
    assert_eq!((code.as_str(), kernel.as_str()), ("CUDA_ERROR_ILLEGAL_ADDRESS", "illegal"));
    assert_eq!(failed.tensors[1].written, [false; 3], "no result is believed");
    let next = run(&backend, &["counts_launches"]).unwrap();
    assert_eq!(next.tensors[1].values[0], 1.0, "a new process");
    let Problem::Check(FindingKind::Trap(Trap { message: Some(message) })) =
        found(&backend, "asserts")
    else {
        panic!()
    };
    assert!(message.contains("Assertion `i < n` failed"), "{message}");
}

#[test]
fn a_kernel_that_never_ends_is_stopped() {
    let mut backend = backend();
    backend.time_out = Duration::from_secs(2);
    let begin = Instant::now();
    let hung = run(&backend, &["doubles", "hangs"]).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(30));
    let [finding] = &hung.findings[..] else { panic!("{hung:?}") };
    assert_eq!(
        (&finding.problem, finding.kernel.as_str()),
        (&Problem::TimeOut { seconds: 2.0 }, "hangs")
    );
    backend.time_out = RUN;
    run(&backend, &["doubles"]).unwrap();
}

#[test]
fn a_crash_in_a_kernel_fails_the_test_and_not_the_grader() {
    let Problem::Driver { code, .. } = found(&backend(), "crashes") else { panic!() };
    assert_eq!(code, "ended by SIGABRT");
}

#[test]
fn a_launch_that_cannot_start_is_the_specs_matter() {
    let backend = backend();
    for (block, shared) in [(2048, 0), (32, 64 << 11)] {
        let mut launches = launches(&["doubles"]);
        (launches[0].block[0], launches[0].shared) = (block, shared);
        let refused = backend.run_tensors(&tensors(), &launches).unwrap_err();
        assert_eq!(refused.kind, FailureKind::Usage);
        assert!(refused.diagnostics[0].title.contains("CUDA_ERROR_INVALID_VALUE"), "{refused:?}");
    }
    assert_eq!(run(&backend, &["not_in_the_module"]).unwrap_err().kind, FailureKind::Kernel);
    run(&backend, &["doubles"]).unwrap();
}

#[test]
fn what_the_driver_lacks_is_explained() {
    let title = |part| {
        let failure = backend_without(part).and_then(|b| run(&b, &["doubles"])).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Environment);
        failure.diagnostics[0].title.clone()
    };
    assert!(title("init").contains("different versions"));
    assert!(title("device").contains("finds no GPU"));
    assert!(title("context").contains("GPU is busy"));
    assert!(title("memory").contains("enough free memory"));

    let mut backend = backend();
    backend.machine_code = Some(b"other code".to_vec());
    let failure = run(&backend, &["doubles"]).unwrap_err();
    assert!(failure.diagnostics[0].title.contains("CUDA_ERROR_NUMBER_200"), "{failure:?}");
}

#[test]
fn a_machine_without_a_gpu_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("libcuda.so.1"), "no library").unwrap();
    let failure = RemoteGpu::start(&mut play(folder.path(), "")).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Environment);
    assert!(failure.diagnostics[0].title.contains("no NVIDIA driver"), "{failure:?}");
    let mut quits = Command::new("sh");
    let failure = RemoteGpu::start(quits.args(["-c", "exit 3"]).stdout(Stdio::null())).unwrap_err();
    assert!(failure.diagnostics[0].title.contains("exit status: 3"), "{failure:?}");
}

#[test]
fn host_code_finds_a_whole_device() {
    let mut gpu = start("").unwrap();
    let address = gpu.alloc(8).unwrap();
    gpu.write(address, Bytes(&[1, 2, 3, 4])).unwrap();
    gpu.copy(address + 4, address, 4).unwrap();
    gpu.fill(address, 2, 9).unwrap();
    assert_eq!(gpu.read(address, 8).unwrap().0, [9, 9, 3, 4, 1, 2, 3, 4]);
    let module = gpu.load(Code { ptx: &ptx(), machine: Some(Bytes(b"module")) }).unwrap();
    let kernel = gpu.kernel(module, "_doubles").unwrap();
    assert_eq!((kernel.params, kernel.registers, kernel.ptx_version), (vec![8, 8, 4], 32, 75));
    gpu.write_symbol(module, "weights", 4, Bytes(&[5; 4])).unwrap();
    assert_eq!(gpu.read_symbol(module, "weights", 6, 4).unwrap().0, [5, 5, 0, 0]);
    assert_eq!(gpu.read_symbol(module, "weights", 12, 5), Err(CudaError::INVALID_VALUE));
    assert_eq!(gpu.symbol(module, "biases"), Err(CudaError::INVALID_SYMBOL));
    assert_eq!(gpu.limit(Limit::MallocHeapSize), Ok(8 << 20));
    gpu.set_limit(Limit::MallocHeapSize, 64 << 20).unwrap();
    assert_eq!(gpu.limit(Limit::MallocHeapSize), Ok(64 << 20));
    assert_eq!(gpu.limit(Limit::DevRuntimeSyncDepth), Err(CudaError::UNSUPPORTED_LIMIT));
    gpu.free(address).unwrap();
    assert_eq!(gpu.memory_info().unwrap().free, 1 << 29);
    // Fewer bytes than the kernel takes are never launched.
    let mut launch = Launch { module, kernel: "_doubles".into(), ..Launch::default() };
    launch.params = vec![vec![0; 8], vec![0; 8], vec![0; 2]];
    assert_eq!(gpu.launch(launch), Err(CudaError::INVALID_VALUE));
    assert_eq!(gpu.load(Code::ptx("nonsense")), Err(CudaError(200)));
    assert_eq!(gpu.load_error().unwrap(), "line 1: no such thing as nonsense");
    gpu.unload(module).unwrap();
    assert_eq!(gpu.kernel(module, "_doubles"), Err(CudaError::INVALID_RESOURCE_HANDLE));
    assert!(gpu.clear());
}

/// A shell command that sends a value over the socket in the place of standard input.
fn send(value: &impl serde::Serialize) -> String {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, value).unwrap();
    let octal: Vec<String> = bytes.iter().map(|b| format!("{b:03o}")).collect();
    format!("printf '\\{}' >&0", octal.join("\\"))
}

#[test]
fn a_damaged_answer_is_no_result() {
    let hello = send(&Ok::<_, ()>(Properties::default()));
    let three_bytes = send(&Ok::<_, CudaError>(Bytes([1, 2, 3])));
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{hello}; {three_bytes}; read x")]).stdout(Stdio::null());
    let mut gpu = RemoteGpu::start(&mut shell).unwrap();
    let tensors = tensors();
    let error = gpu.contents(&tensors[1], 1 << 20).unwrap_err();
    let failure = gpu.explain(Step::Read, error).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Environment);
    assert!(failure.diagnostics[0].title.contains("damaged answer"), "{failure:?}");
    assert!(!gpu.clear() && gpu.free(1).is_err(), "nothing more is asked");
    let placed = Placed::new(&mut gpu, (&tensors, &[]), |_| false).unwrap();
    assert_eq!(gpu.findings(&placed).len(), 1);
}

#[test]
fn a_child_does_not_outlive_the_grader() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut command = play(fake_driver(), "");
    let mut child = command.stdin(OwnedFd::from(theirs)).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    frame::read::<Result<Properties, cudart::device::ErrorText>>(&mut ours).unwrap().unwrap();
    let code = Code { ptx: &ptx(), machine: Some(Bytes(b"module")) };
    frame::write(&mut ours, &Request::Load { code }).unwrap();
    let params = vec![vec![0; 8], vec![0; 8], vec![0; 4]];
    let kernel = "_hangs".to_owned();
    let launch = Launch { kernel, grid: [1; 3], block: [1; 3], params, ..Launch::default() };
    frame::write(&mut ours, &Request::Launch { launch }).unwrap();
    frame::read::<Result<u64, CudaError>>(&mut ours).unwrap().unwrap();
    drop(ours);
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(20), "it still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}
