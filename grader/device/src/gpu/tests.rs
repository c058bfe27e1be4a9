//! The GPU backend against a stand-in for the device, in a real process: this test binary started once more.

use super::protocol::DriverFailure;
use super::serve::Device;
use super::*;
use indexmath::Approx;
use puzzle::tensor::{DType, Tensor, decode, encode};

/// Set in the process that plays the child.
const PLAY: &str = "GRADER_TEST_PLAYS_GPU_CHILD";

/// The child's side. Does nothing in an ordinary test run.
#[test]
fn plays_the_child() {
    if std::env::var_os(PLAY).is_none() {
        return;
    }
    let role = std::env::var(PLAY).unwrap();
    if role == "driver" {
        child_main();
        return;
    }
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let opens = role == "opens";
    let open = || {
        if opens {
            Ok(Fake::new())
        } else {
            Err(driver_failure(Stage::Open, "CUDA_ERROR_NO_DEVICE"))
        }
    };
    serve::serve(UnixStream::from(socket), open, || ()).unwrap();
}

fn play(opens: bool) -> Command {
    play_as(if opens { "opens" } else { "fails" })
}

fn play_as(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "gpu::tests::plays_the_child"]).stdout(Stdio::null()).env(PLAY, role);
    command
}

fn driver_failure(stage: Stage, code: &str) -> DriverFailure {
    DriverFailure { stage, code: code.into(), text: "words".into() }
}

/// Runs "kernels" by name on buffers of f32: argument 0 is the input, 1 the output, 2 a number.
struct Fake {
    info: GpuInfo,
    runs: usize,
}

impl Fake {
    fn new() -> Self {
        let info =
            GpuInfo { name: "Fake".into(), compute_capability: (7, 5), driver_version: 12040 };
        Self { info, runs: 0 }
    }
}

impl Device for Fake {
    fn info(&self) -> &GpuInfo {
        &self.info
    }

    fn run(
        &mut self,
        program: &Program,
        body: &[u8],
        launching: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<u8>>, DriverFailure> {
        self.runs += 1;
        let (image, mut rest) = body.split_at(program.image);
        assert_eq!(image, b"module");
        let mut buffers: Vec<Vec<u8>> = Vec::new();
        for &length in &program.buffers {
            let (bytes, others) = rest.split_at(length);
            buffers.push(bytes.to_vec());
            rest = others;
        }
        for (n, launch) in program.launches.iter().enumerate() {
            launching(n);
            let [
                Arg::Address { buffer: from, offset },
                Arg::Address { buffer: to, offset: at },
                Arg::Int(number),
            ] = launch.args[..]
            else {
                panic!("{launch:?}")
            };
            let values = decode(DType::F32, &buffers[from][offset..buffers[from].len() - offset]);
            let mut write = |buffer: usize, byte: usize, value: f64| {
                buffers[buffer][byte..byte + 4].copy_from_slice(&encode(DType::F32, &[value]));
            };
            match launch.kernel.as_str() {
                "_copy" => values
                    .iter()
                    .enumerate()
                    .for_each(|(i, v)| write(to, at + 4 * i, v + f64::from(number))),
                "_past_the_end" => write(to, at + 4 * (values.len() + 2), 1.0),
                "_clobbers_input" => write(from, offset + 4, 77.0),
                "_counts_runs" => write(to, at, self.runs as f64),
                "_illegal" => {
                    return Err(driver_failure(Stage::Wait(n), "CUDA_ERROR_ILLEGAL_ADDRESS"));
                }
                "_refused" => {
                    return Err(driver_failure(Stage::Launch(n), "CUDA_ERROR_INVALID_VALUE"));
                }
                "_hangs" => loop {
                    std::thread::park();
                },
                "_crashes" => std::process::abort(),
                "_short" => buffers[to].truncate(5),
                other => panic!("{other}"),
            }
        }
        Ok(buffers)
    }
}

/// A backend whose child is `command`.
fn backend_by(
    command: impl Fn() -> Command + Send + Sync + 'static,
) -> Result<GpuBackend, Failure> {
    let names = [
        "copy",
        "past_the_end",
        "clobbers_input",
        "counts_runs",
        "illegal",
        "refused",
        "hangs",
        "crashes",
        "short",
        "asserts",
    ];
    let kernels = names.iter().map(|n| ((*n).to_owned(), format!("_{n}"))).collect();
    let mut backend = GpuBackend::new(detect_by(&mut command())?, b"module".to_vec(), kernels);
    backend.command = Box::new(move || Ok(command()));
    Ok(backend.with_time_out(Duration::from_secs(20)))
}

fn backend() -> GpuBackend {
    backend_by(|| play(true)).unwrap()
}

fn tensors() -> Vec<CaseTensor> {
    let tensor = |name: &str| Tensor { name: name.into(), dtype: DType::F32, shape: vec![3] };
    let right = Approx { value: 1.0, bound: 0.0, magnitude: 1.0, terms: 1 };
    vec![
        CaseTensor { tensor: tensor("x"), role: Role::Input(vec![1.0, 2.0, 3.0]) },
        CaseTensor { tensor: tensor("y"), role: Role::Output(vec![right; 3]) },
    ]
}

fn launches(kernels: &[&str]) -> Vec<CaseLaunch> {
    let args = vec![CaseArg::Tensor(0), CaseArg::Tensor(1), CaseArg::Int(-1)];
    let launch = |k: &&str| CaseLaunch {
        kernel: (*k).into(),
        grid: [1; 3],
        block: [32, 1, 1],
        shared: 0,
        cooperative: false,
        args: args.clone(),
    };
    kernels.iter().map(launch).collect()
}

fn run(backend: &GpuBackend, kernels: &[&str]) -> Result<Run, Failure> {
    backend.run_tensors(&tensors(), &launches(kernels))
}

#[test]
fn values_come_back_and_one_process_serves_all_cases() {
    let backend = backend();
    assert_eq!(backend.describe(), "Fake, driver for CUDA 12.4");
    let first = run(&backend, &["copy"]).unwrap();
    assert_eq!(first.findings, []);
    assert_eq!(first.tensors[1], RunTensor { values: vec![0.0, 1.0, 2.0], written: vec![true; 3] });
    let second = run(&backend, &["counts_runs"]).unwrap();
    assert_eq!(second.tensors[1].values[0], 2.0, "the same process");
    assert_eq!(second.tensors[1].written, [true, false, false], "on fresh memory");
}

#[test]
fn a_case_runs_again_and_shows_what_differs() {
    let backend = backend();
    let repeat = |kernel: &str, nth| backend.repeat(&tensors(), &launches(&[kernel]), nth).unwrap();
    let firsts = |kernel: &str| -> Vec<f64> {
        let runs = (0..100).map_while(|nth| repeat(kernel, nth));
        runs.map(|tensors| tensors[1].values[0]).collect()
    };
    assert_eq!(firsts("copy"), [0.0; REPEATS]);
    let counted: Vec<f64> = (1..=REPEATS).map(|run| (REPEATS + run) as f64).collect();
    assert_eq!(firsts("counts_runs"), counted);
    assert_eq!(repeat("illegal", 0), None, "a run that failed says nothing");
}

#[test]
fn damage_is_laid_at_the_right_kernels_door() {
    let run = run(&backend(), &["copy", "past_the_end", "clobbers_input", "copy"]).unwrap();
    let found: Vec<(&str, &FindingKind)> =
        run.findings.iter().map(|f| (f.kernel.as_str(), &f.kind)).collect();
    let place = |tensor: &str, flat| Place { tensor: tensor.into(), shape: vec![3], flat };
    let expected = [
        ("clobbers_input", &FindingKind::InputChanged { place: place("x", 1) }),
        ("past_the_end", &FindingKind::GuardOverwritten { place: place("y", 5) }),
    ];
    assert_eq!(found, expected);
}

#[test]
fn after_an_error_a_fresh_process_serves() {
    let backend = backend();
    run(&backend, &["copy"]).unwrap();
    let failed = run(&backend, &["copy", "illegal"]).unwrap();
    let [Finding { kind: FindingKind::Driver { code, .. }, kernel, .. }] = &failed.findings[..]
    else {
        panic!("{failed:?}")
    };
    assert_eq!((code.as_str(), kernel.as_str()), ("CUDA_ERROR_ILLEGAL_ADDRESS", "illegal"));
    assert_eq!(failed.tensors[1].written, [false; 3], "no result is believed");
    let next = run(&backend, &["counts_runs"]).unwrap();
    assert_eq!(next.tensors[1].values[0], 1.0, "a new process");
}

#[test]
fn a_kernel_that_never_ends_is_stopped() {
    let mut backend = backend();
    backend.time_out = Duration::from_secs(2);
    let begin = Instant::now();
    let hung = run(&backend, &["copy", "hangs"]).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(30));
    let [finding] = &hung.findings[..] else { panic!("{hung:?}") };
    assert_eq!(
        (&finding.kind, finding.kernel.as_str()),
        (&FindingKind::TimeOut { seconds: 2.0 }, "hangs")
    );
    backend.time_out = RUN;
    run(&backend, &["copy"]).unwrap();
}

#[test]
fn a_crash_in_a_kernel_fails_the_test_and_not_the_grader() {
    let crashed = run(&backend(), &["crashes"]).unwrap();
    let [Finding { kind: FindingKind::Driver { code, .. }, .. }] = &crashed.findings[..] else {
        panic!("{crashed:?}")
    };
    assert_eq!(code, "ended by SIGABRT");
}

#[test]
fn what_is_no_result_is_no_pass() {
    let backend = backend();
    let short = run(&backend, &["short"]).unwrap_err();
    assert_eq!(short.kind, FailureKind::Environment);
    assert!(short.diagnostics[0].title.contains("damaged answer"), "{short:?}");
    assert_eq!(run(&backend, &["refused"]).unwrap_err().kind, FailureKind::Usage);
    assert_eq!(run(&backend, &["not_in_the_module"]).unwrap_err().kind, FailureKind::Kernel);
    run(&backend, &["copy"]).unwrap();
}

#[test]
fn a_machine_without_a_gpu_is_explained() {
    let failure = detect_by(&mut play(false)).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Environment);
    assert!(failure.diagnostics[0].title.contains("finds no GPU"), "{failure:?}");
    let failure =
        detect_by(Command::new("sh").args(["-c", "exit 3"]).stdout(Stdio::null())).unwrap_err();
    assert!(failure.diagnostics[0].title.contains("exit status: 3"), "{failure:?}");
}

/// Compiles the stand-in for the driver's library. Rust needs a C compiler for linking, so there is one.
fn fake_driver() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("fake_driver.c");
    std::fs::write(&source, include_str!("fake_driver.c")).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(dir.path().join("libcuda.so.1")).arg(source);
    assert!(cc.status().unwrap().success());
    dir
}

/// A backend over the real `device.rs` and the stand-in for the driver, of which `part` fails.
fn driver_backend(dir: &tempfile::TempDir, part: &str) -> Result<GpuBackend, Failure> {
    let (dir, part) = (dir.path().to_owned(), part.to_owned());
    backend_by(move || {
        let mut command = play_as("driver");
        command.env("LD_LIBRARY_PATH", &dir).env("FAKE_DRIVER", &part);
        command
    })
}

#[test]
fn the_driver_is_called_as_it_should_be() {
    let dir = fake_driver();
    let backend = driver_backend(&dir, "").unwrap();
    let info = GpuInfo { name: "Fake 5".into(), compute_capability: (9, 1), driver_version: 12040 };
    assert_eq!(backend.info, info);

    let mut launches = launches(&["copy"]);
    launches[0].args[2] = CaseArg::Int(2);
    launches[0].shared = 64 << 10;
    let half = backend.run_tensors(&tensors(), &launches).unwrap();
    assert_eq!((&half.tensors[1].values[..2], &half.findings[..]), (&[2.0, 4.0][..], &[][..]));
    assert_eq!(half.tensors[1].written, [true, true, false]);

    launches[0].args[2] = CaseArg::Int(3);
    let found = |kernel: &str| {
        let mut launches = launches.clone();
        launches[0].kernel = kernel.into();
        let run = backend.run_tensors(&tensors(), &launches).unwrap();
        let [Finding { kind, .. }] = &run.findings[..] else { panic!("{kernel}: {run:?}") };
        kind.clone()
    };
    assert!(
        matches!(found("past_the_end"), FindingKind::GuardOverwritten { place } if place.flat == 3)
    );
    assert!(
        matches!(found("clobbers_input"), FindingKind::InputChanged { place } if place.flat == 1)
    );
    assert!(
        matches!(found("illegal"), FindingKind::Driver { code, .. } if code == "CUDA_ERROR_ILLEGAL_ADDRESS")
    );
    let FindingKind::Trap { message: Some(message) } = found("asserts") else { panic!() };
    assert!(message.contains("Assertion `i < n` failed"), "{message}");

    for (block, shared) in [(2048, 0), (32, 64 << 11)] {
        let mut launches = launches.clone();
        (launches[0].block[0], launches[0].shared) = (block, shared);
        assert_eq!(
            backend.run_tensors(&tensors(), &launches).unwrap_err().kind,
            FailureKind::Usage
        );
    }
}

#[test]
fn what_the_driver_lacks_is_explained() {
    let dir = fake_driver();
    let title = |part: &str| {
        let failure = driver_backend(&dir, part).and_then(|b| run(&b, &["copy"])).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Environment);
        failure.diagnostics[0].title.clone()
    };
    assert!(title("init").contains("different versions"));
    assert!(title("device").contains("finds no GPU"));
    assert!(title("context").contains("GPU is busy"));
    assert!(title("memory").contains("not enough free memory"));

    let mut backend = driver_backend(&dir, "").unwrap();
    backend.image = b"other code".to_vec();
    let failure = run(&backend, &["copy"]).unwrap_err();
    assert!(failure.diagnostics[0].title.contains("CUDA_ERROR_NUMBER_200"), "{failure:?}");

    std::fs::write(dir.path().join("libcuda.so.1"), "no library").unwrap();
    assert!(title("").contains("no NVIDIA driver"));
}
