//! What is said of host code that does not fit its spec, and of a test that it fails.

use diagnostic::{Failure, FailureKind};
use insta::assert_snapshot;
use judge::grade::{self, Machine};
use puzzle::oracle;
use puzzle::workbook::Workbook;
use std::fs;
use std::process::Command;
use toolchain::Toolchain;
use toolchain::env::Env;

const SPEC: &str = r#"title = "Twice"
[dims]
free = ["n"]
[tensors]
x = "f32[n]"
y = "f32[n]"
[math]
forward = "y[i] = 2 * x[i]"
[[call]]
function = "void twice(const float* d_x, float* d_y, int n)"
code = "twice(x, y, n);"
[[test]]
name = "small"
dims = { n = 3 }
data = { x = [1, 2, 3] }
"#;

const KERNEL: &str = "\
__global__ void double_all(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
";

/// A workbook with one puzzle.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new(spec: &str, source: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["puzzles", "solutions"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("puzzles/01_twice.toml"), spec).unwrap();
        fs::write(dir.path().join("puzzles/01_twice.cu"), format!("{KERNEL}{source}")).unwrap();
        Self { dir }
    }

    /// Why the file does not do.
    fn failure(&self) -> Failure {
        let workbook = Workbook::open(self.dir.path()).unwrap();
        let puzzle = workbook.puzzle(1).unwrap();
        let spec = oracle::load(&puzzle.spec, workbook.relative(&puzzle.spec)).unwrap();
        let toolchain = Toolchain::locate(&Env::current(), None).unwrap();
        let program = grade::compile(&toolchain, &workbook, &spec, &puzzle.stub, None);
        match program.and_then(|program| Machine::new(&program, None)) {
            Ok(_) => panic!("it does"),
            Err(failure) => failure,
        }
    }

    /// What the student reads, without what differs from run to run.
    fn page(&self) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_grader"))
            .args(["puzzle", "1", "--backend", "vm", "--seed", "1"])
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        let page = String::from_utf8(output.stdout).unwrap();
        let kept = page.lines().filter(|line| {
            !line.starts_with("puzzles/01") && !line.contains(" ms") && !line.contains(" s  ")
        });
        kept.collect::<Vec<_>>().join("\n") + &String::from_utf8(output.stderr).unwrap()
    }
}

fn page(spec: &str, source: &str) -> String {
    let failure = Bench::new(spec, source).failure();
    let kind = failure.kind;
    format!("{kind:?}\n{}", failure.render(false))
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let pages = [
        page(SPEC, ""),
        page(SPEC, "void twice(const float* d_x, float* d_y, long n) {}\n"),
        page(SPEC, "static void twice(const float* d_x, float* d_y, int n) {}\n"),
        page(SPEC, "__global__ void twice(const float* d_x, float* d_y, int n) {}\n"),
        page(
            SPEC,
            "void helper(int n);\nvoid twice(const float* d_x, float* d_y, int n) { helper(n); }\n",
        ),
        page(SPEC, "void twice(const float* d_x, float* d_y, int n) { y = 1; }\n"),
    ];
    assert_snapshot!(pages.join("\n\n----\n\n"));
}

#[test]
fn a_mistake_in_the_code_of_a_call_is_the_author_s() {
    let spec = SPEC.replace("twice(x, y, n);", "twice(x, y, n, m);");
    let failure = Bench::new(&spec, "void twice(const float*, float*, int) {}\n").failure();
    assert_eq!(failure.kind, FailureKind::Usage);
    let title = &failure.diagnostics[0].title;
    assert!(title.starts_with("puzzles/01_twice.toml, line 11: "), "{title}");
}

/// Host code that is right, however it moves the tensors about.
#[test]
fn tensors_are_device_memory_to_every_call() {
    for code in [
        // The whole work on the host.
        "float h[9]; cudaMemcpy(h, d_x, n * 4, cudaMemcpyDeviceToHost);
         for (int i = 0; i < n; i++) h[i] *= 2;
         cudaMemcpy(d_y, h, n * 4, cudaMemcpyHostToDevice);",
        "cudaMemset(d_y, 0, n * 4); cudaMemcpy(d_y, d_x, n * 4, cudaMemcpyDeviceToDevice);
         double_all<<<1, n>>>(d_y, d_y, n);",
        "cudaMemcpy(d_y, d_x, n * 4, cudaMemcpyDefault); double_all<<<1, n>>>(d_y, d_y, n);",
        "cudaDeviceReset(); double_all<<<1, n>>>(d_x, d_y, n);",
        "cudaPointerAttributes at; cudaPointerGetAttributes(&at, d_x + 1);
         if (at.type == cudaMemoryTypeDevice) double_all<<<1, n>>>(d_x, d_y, n);",
    ] {
        let source = format!("void twice(const float* d_x, float* d_y, int n)\n{{\n{code}\n}}\n");
        let page = Bench::new(SPEC, &source).page();
        assert!(page.contains("1 of 1 tests passed"), "{code}\n{page}");
    }
    let source = "void twice(const float* d_x, float* d_y, int n)\n{\n cudaFree(d_y); double_all<<<1, n>>>(d_x, d_y, n);\n}\n";
    let page = Bench::new(SPEC, source).page();
    assert!(page.contains("cudaErrorInvalidValue"), "{page}");
}

/// Whatever the order in which the work of two streams runs here.
#[test]
fn two_streams_need_an_event() {
    let page = |wait: &str| {
        let source = format!(
            "void twice(const float* d_x, float* d_y, int n)\n{{\n\
            \x20   float* t;\n    cudaMalloc(&t, n * 4);\n    cudaStream_t s[2];\n\
            \x20   for (auto& of : s) cudaStreamCreateWithFlags(&of, cudaStreamNonBlocking);\n\
            \x20   cudaEvent_t copied;\n    cudaEventCreate(&copied);\n\
            \x20   cudaMemcpyAsync(t, d_x, n * 4, cudaMemcpyDeviceToDevice, s[0]);\n\
            \x20   cudaEventRecord(copied, s[0]);\n    {wait};\n\
            \x20   double_all<<<1, n, 0, s[1]>>>(t, d_y, n);\n\
            \x20   cudaDeviceSynchronize();\n    cudaFree(t);\n}}\n"
        );
        Bench::new(SPEC, &source).page()
    };
    for wait in [
        "cudaStreamWaitEvent(s[1], copied, 0)",
        "cudaEventSynchronize(copied)",
        "cudaDeviceSynchronize()",
    ] {
        let right = page(wait);
        assert!(right.contains("1 of 1 tests passed"), "{wait}: {right}");
    }
    for wait in ["", "cudaStreamWaitEvent(s[0], copied, 0)", "cudaFree(nullptr)"] {
        let wrong = page(wait);
        assert!(!wrong.contains("1 of 1 tests passed"), "{wait}: {wrong}");
        assert!(wrong.contains("nothing orders `cudaMemcpyAsync` in stream 1"), "{wait}: {wrong}");
    }
}

/// Whoever calls the function copies its results in the default stream, which waits for no non-blocking one by itself.
#[test]
fn results_are_read_in_the_default_stream() {
    let page = |flags: &str, wait: &str| {
        let source = format!(
            "void twice(const float* d_x, float* d_y, int n)\n{{\n    cudaStream_t s;\n\
            \x20   cudaStreamCreateWithFlags(&s, {flags});\n\
            \x20   cudaEvent_t done;\n    cudaEventCreate(&done);\n\
            \x20   double_all<<<1, n, 0, s>>>(d_x, d_y, n);\n\
            \x20   cudaEventRecord(done, s);\n    {wait};\n}}\n"
        );
        Bench::new(SPEC, &source).page()
    };
    for (flags, wait) in [
        ("cudaStreamDefault", ""),
        ("cudaStreamNonBlocking", "cudaStreamSynchronize(s)"),
        ("cudaStreamNonBlocking", "cudaStreamWaitEvent(0, done)"),
    ] {
        let right = page(flags, wait);
        assert!(right.contains("1 of 1 tests passed"), "{flags}, {wait}: {right}");
    }
    let wrong = page("cudaStreamNonBlocking", "");
    assert!(!wrong.contains("1 of 1 tests passed"), "{wrong}");
    assert!(wrong.contains("nothing orders `double_all` in stream 1"), "{wrong}");
    assert!(wrong.contains("`the caller's cudaMemcpy` in the default stream"), "{wrong}");
}

#[test]
fn the_heap_of_kernels_is_as_large_as_host_code_says() {
    let source = "__global__ void take(size_t bytes, const float* x, float* y, int n)\n{\n\
        \x20   char* own = (char*)malloc(bytes);\n\
        \x20   for (int i = 0; own && i < n; i++) y[i] = 2 * x[i];\n\
        \x20   free(own);\n}\n\
        void twice(const float* d_x, float* d_y, int n)\n{\n\
        \x20   cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20);\n\
        \x20   take<<<1, 1>>>(32 << 20, d_x, d_y, n);\n}\n";
    let page = Bench::new(SPEC, source).page();
    assert!(page.contains("1 of 1 tests passed"), "{page}");
    // No device of a puzzle has as much.
    let greedy = source.replace("64 << 20", "64ull << 30");
    let page = Bench::new(SPEC, &greedy).page();
    assert!(page.contains("cudaErrorMemoryAllocation"), "{page}");
}

/// As for a program that `nvcc -arch=compute_75` made, on an H100.
#[test]
fn the_device_may_be_newer_than_the_code() {
    let source = "__global__ void arch(float* y)\n{\n\
        #ifdef __CUDA_ARCH__\n    y[0] = __CUDA_ARCH__;\n#endif\n}\n\
        void twice(const float* d_x, float* d_y, int n)\n{\n\
        \x20   arch<<<1, 1>>>(d_y);\n    float code;\n\
        \x20   cudaMemcpy(&code, d_y, 4, cudaMemcpyDeviceToHost);\n\
        \x20   cudaDeviceProp of;\n    cudaGetDeviceProperties(&of, 0);\n\
        \x20   cudaFuncAttributes kernel;\n    cudaFuncGetAttributes(&kernel, arch);\n\
        \x20   printf(\"compiled for %g and %d, on %d.%d\\n\", code, kernel.ptxVersion, of.major, of.minor);\n\
        \x20   double_all<<<1, n>>>(d_x, d_y, n);\n}\n";
    let page = Bench::new(SPEC, &format!("#include <cstdio>\n{source}")).page();
    assert!(page.contains("compiled for 750 and 75, on 9.0\n"), "{page}");
    assert!(page.contains("1 of 1 tests passed"), "{page}");
}

#[test]
fn the_report_names_lines_and_errors_of_cuda() {
    let launch = |launch: &str| {
        let source =
            format!("void twice(const float* d_x, float* d_y, int n)\n{{\n    {launch}\n}}\n");
        Bench::new(SPEC, &source).page()
    };
    let right = launch("double_all<<<1, n>>>(d_x, d_y, n);");
    assert!(right.contains("1 of 1 tests passed"), "{right}");
    let pages = [
        launch("double_all<<<1, 4>>>(d_x, d_y, 4);"),
        launch("double_all<<<0, n>>>(d_x, d_y, n);"),
        launch("float* d; cudaMalloc(&d, 12); double_all<<<1, n>>>(d, d_y, n);"),
        launch("d_y[0] = d_x[0];"),
    ];
    assert_snapshot!(pages.join("\n\n====\n\n"));
}
