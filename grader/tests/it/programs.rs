//! Whole programs: what they print and return on the virtual machine is what they print and return on an NVIDIA H200
//! (`tests/programs/compare.sh` compares the two where there is a GPU).

use cudart::fatbin;
use rayon::prelude::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use toolchain::Toolchain;
use toolchain::env::Env;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

fn run(args: &[&str]) -> Output {
    run_in(&folder(), args)
}

fn run_in(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_grader"));
    command.arg("run").args(args).current_dir(folder).env("NO_COLOR", "1");
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What follows `name` in the first line of a program.
fn note<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let first = source.lines().next()?;
    Some(first.split_once(name)?.1.split(" exit:").next()?.trim())
}

/// Each program by itself, and once more while it is counted: then it does the same.
#[test]
fn programs_do_what_they_do_on_a_gpu() {
    let mut sources: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| path.extension().is_some_and(|e| e == "cu"));
    assert!(sources.len() >= 15, "{sources:?}");
    let wrong: Vec<String> = sources.par_iter().flat_map_iter(|path| differences(path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where what a program prints and returns is not what is written beside it.
fn differences(path: &Path) -> Vec<String> {
    let source = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let expected = std::fs::read_to_string(path.with_extension("out")).unwrap();
    let exit = note(&source, " exit:").map_or(0, |code| code.parse().unwrap());
    let own: Vec<&str> = note(&source, " args:")
        .map_or(vec![], |text| text.split('"').enumerate().flat_map(arguments).collect());
    let mut wrong = Vec::new();
    for options in [&["--backend", "vm"][..], &["--profile"]] {
        let out = run(&[options, &[name, "--"], &own].concat());
        let printed = text(&out.stdout);
        if printed != expected || out.status.code() != Some(exit) {
            let stderr = text(&out.stderr);
            let status = out.status;
            wrong.push(format!(
                "{name} {options:?} ({status}):\n{printed}--\n{expected}--\n{stderr}"
            ));
        }
    }
    wrong
}

/// The words of a part of a command line; every second part stood in quotes.
fn arguments((number, part): (usize, &str)) -> Vec<&str> {
    if number % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }
}

#[test]
fn findings_are_shown_with_their_line_and_fail_the_check() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("race.cu");
    let source = "#include <cstdio>\n\
        __global__ void race(int* x) {\n\
        \x20   __shared__ int s[64];\n\
        \x20   s[threadIdx.x] = threadIdx.x;\n\
        \x20   x[threadIdx.x] = s[63 - threadIdx.x];\n\
        }\n\
        int main() {\n\
        \x20   int* x;\n\
        \x20   cudaMalloc(&x, 256);\n\
        \x20   race<<<1, 64>>>(x);\n\
        \x20   std::printf(\"%d\\n\", cudaDeviceSynchronize());\n\
        }\n";
    std::fs::write(&path, source).unwrap();
    let path = path.to_str().unwrap();
    let out = run(&["--backend", "vm", path]);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(0), "0\n".into()));
    assert!(text(&out.stderr).contains("--check shows them"), "{}", text(&out.stderr));
    let out = run(&["--check", path]);
    let stderr = text(&out.stderr);
    assert_eq!((out.status.code(), text(&out.stdout)), (Some(1), "0\n".into()));
    assert!(stderr.contains("race.cu:4:5") && stderr.contains("shared-memory race"), "{stderr}");
    assert!(stderr.contains("1 allocation of device memory never freed, 256 bytes"), "{stderr}");
}

/// A program whose argument says what of its order it leaves out.
#[test]
fn work_that_nothing_orders_is_told_with_both_sides() {
    let told = |without: &str| {
        let out = run(&["--check", "two_streams.cu", "--", without]);
        let first = text(&out.stdout).lines().next().unwrap_or_default().to_owned();
        (out.status.code(), text(&out.stderr), first)
    };
    let right = told("nothing");
    assert_eq!((right.0, right.2.as_str()), (Some(0), "3 3"), "{}", right.1);
    // Each with the sums that it prints. Those of the last two are read before, or are those of the other order as well.
    for (without, printed, title) in [
        (
            "wait for the values",
            "-3 -3",
            "nothing orders `fill` in stream 1, which writes allocation 1 (4096 bytes)[0], and `add` in stream 2, which reads it",
        ),
        (
            "wait for the sum",
            "6 6",
            "nothing orders `add` in stream 2, which reads allocation 1 (4096 bytes)[0], and `fill` in stream 1, which writes it",
        ),
        (
            "wait on the host",
            "0 0",
            "nothing orders `cudaMemcpyAsync` in stream 2, which writes allocation 3 (4096 bytes)[0], and the host's own code, which reads it",
        ),
        (
            "wait for the copy",
            "3 3",
            "nothing orders `cudaMemcpyAsync` in stream 2, which reads allocation 3 (4096 bytes)[7], and the host's own code, which writes it",
        ),
        (
            "wait for managed memory",
            "3 3",
            "nothing orders `fill` in the default stream, which writes allocation 4 (4096 bytes)[3], and the host's own code, which reads it",
        ),
        (
            "halves",
            "3 3",
            "nothing orders `add` in stream 2, which reads allocation 1 (4096 bytes)[512], and `cudaMemsetAsync` in stream 1, which writes it",
        ),
    ] {
        let (code, stderr, first) = told(without);
        assert_eq!((code, first.as_str()), (Some(1), printed), "{without}: {stderr}");
        // Without the first event, the fill behind the loop is not ordered either.
        let races = if without == "wait for the values" { 2 } else { 1 };
        assert_eq!(stderr.matches("nothing orders").count(), races, "{without}: {stderr}");
        assert!(stderr.contains(title), "{without}: {stderr}");
    }
}

/// Without other streams and without pinned memory as well.
#[test]
fn managed_memory_is_read_after_a_wait() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("early.cu");
    let source = "__global__ void fill(int* x, int y) { x[threadIdx.x] = y; }\n\
        int main(int waits, char**) {\n\
        \x20   int* x;\n\
        \x20   cudaMallocManaged(&x, 4096);\n\
        \x20   for (int i = 0; i < 1024; i++) x[i] = i;\n\
        \x20   fill<<<1, 1024>>>(x, 7);\n\
        \x20   if (waits > 1) cudaDeviceSynchronize();\n\
        \x20   int seen = static_cast<volatile int*>(x)[1000];\n\
        \x20   cudaFree(x);\n\
        \x20   return seen == 7 ? 0 : 2;\n\
        }\n";
    std::fs::write(&path, source).unwrap();
    let path = path.to_str().unwrap();
    let early = run(&["--check", path]);
    let stderr = text(&early.stderr);
    assert_eq!(early.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("which writes allocation 1 (4096 bytes)[1000]"), "{stderr}");
    let in_time = run(&["--check", path, "--", "wait"]);
    assert_eq!(in_time.status.code(), Some(0), "{}", text(&in_time.stderr));
}

/// One program, whose argument says what goes wrong.
#[test]
fn a_mistake_is_told_by_its_cause() {
    let dir = tempfile::tempdir().unwrap();
    let source = r#"
#include "scale.cuh"
#include <cassert>
__global__ void even(int n) { assert(n % 2 == 0); }
__global__ void hand_over(int* x, int* y) {
    if (blockIdx.x == 0) *x = 7;
    if (blockIdx.x == 1) *y = *x;
}
__global__ void step(const float* from, float* to) { to[threadIdx.x] = from[threadIdx.x]; }
int main(int argc, char** argv) {
    float* x;
    cudaMalloc(&x, 400);
    float* own = new float[32]();
    switch (argv[1][0]) {
    case 'a': even<<<1, 1>>>(3); break;
    case 'h': step<<<1, 32>>>(own, x); break;
    case 'l': step<<<1, 2048>>>(x, x); break;
    case 'b': hand_over<<<2, 1>>>((int*)x, (int*)x + 1); break;
    case 'f':
        for (int i = 0; i < 3; i++) scale<<<1, 32>>>(x);
        break;
    }
    cudaFree(x);
}
"#;
    let header = "__global__ void scale(float* x) {\n    float y = x[threadIdx.x];\n    if (y > 0) x[0] = y;\n}\n";
    std::fs::write(dir.path().join("scale.cuh"), header).unwrap();
    std::fs::write(dir.path().join("program.cu"), source).unwrap();
    let told = |options: &[&str], case: &str| {
        let out = run_in(dir.path(), &[options, &["program.cu", "--", case]].concat());
        (out.status.code(), text(&out.stderr))
    };
    let (code, plain) = told(&["--backend", "vm"], "a");
    assert!(code == Some(0) && plain.contains("assertion failed: n % 2 == 0"), "{plain}");
    let (_, of_host) = told(&["--check"], "h");
    assert!(of_host.contains("looks like an address of the host's memory"), "{of_host}");
    let (code, too_large) = told(&["--check"], "l");
    assert!(
        code == Some(1) && too_large.contains("a launch of step could not start"),
        "{too_large}"
    );
    assert!(!too_large.contains("no findings"), "{too_large}");
    let (_, between) = told(&["--check"], "b");
    assert!(between.contains("__threadfence()"), "{between}");
    let (_, freed) = told(&["--check"], "f");
    assert!(freed.contains("allocation 1 (400 bytes)") && !freed.contains("freed,"), "{freed}");
    assert!(
        freed.contains("float y = x[threadIdx.x];") && freed.contains("scale.cuh:2"),
        "{freed}"
    );
    assert!(freed.matches("error: ").count() == 1 && freed.contains("95 more such"), "{freed}");
}

/// A folder in `dir` with so many digits of seed 5 to learn from and to test with.
fn drawn(dir: &Path, train: &str, test: &str) -> PathBuf {
    let data = dir.join("data");
    let mut draw = Command::new(env!("CARGO_BIN_EXE_grader"));
    draw.args(["digits", "--train", train, "--test", test, "--seed", "5"]).arg(&data);
    assert!(draw.output().unwrap().status.success());
    data
}

/// The files of `grader digits`, read by the solution of puzzle 14: what it is given is what it hands out.
#[test]
fn digits_are_loaded_as_they_were_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let data = drawn(dir.path(), "30", "7");
    let solution = root.join("solutions/14_mnist_pipeline.cu");
    let program = format!(
        "#include {solution:?}
        #include <string>
        int main(int, char** argv)
        {{
            std::string data = argv[1];
            for (std::string name : {{\"/train\", \"/t10k\"}}) {{
                MnistSet set;
                if (!load_mnist_images((data + name + \"-images-idx3-ubyte\").c_str(), set)) return 1;
                if (!load_mnist_labels((data + name + \"-labels-idx1-ubyte\").c_str(), set)) return 2;
                for (int i = 0; i < set.count; i++) {{
                    long sum = 0;
                    for (int p = 0; p < 784; p++)
                        sum = (sum * 31 + int(set.images[784 * i + p] * 255 + 0.5f)) % 1000003;
                    printf(\"%d %ld\\n\", set.labels[i], sum);
                }}
            }}
        }}
"
    );
    let path = dir.path().join("look.cu");
    std::fs::write(&path, program).unwrap();
    let workbook = root.to_str().unwrap();
    let (path, data) = (path.to_str().unwrap(), data.to_str().unwrap());
    let out = run(&["--workbook", workbook, "--backend", "vm", path, "--", data]);
    let mut expected = String::new();
    for digit in digits::Writer::new(5).take(37) {
        let add = |sum: u64, &pixel: &u8| (sum * 31 + u64::from(pixel)) % 1_000_003;
        writeln!(expected, "{} {}", digit.label, digit.pixels.iter().fold(0, add)).unwrap();
    }
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert_eq!(String::from_utf8_lossy(&out.stdout), expected, "{stderr}");
}

/// `kernels/train_mnist.cu`, with the solution in the place of the student's file.
#[test]
fn lenet_is_trained_on_files() {
    let dir = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let data = drawn(dir.path(), "40", "12");
    let solution = root.join("solutions/15_training_loop.cu");
    let program = std::fs::read_to_string(root.join("kernels/train_mnist.cu")).unwrap();
    let own = "../puzzles/15_training_loop.cu";
    assert!(program.contains(own));
    let path = dir.path().join("train.cu");
    let references = format!("\"{}/kernels/references/", root.display());
    let program = program.replace("\"references/", &references);
    std::fs::write(&path, program.replace(own, solution.to_str().unwrap())).unwrap();
    let (workbook, path) = (root.to_str().unwrap(), path.to_str().unwrap());
    let train = |folder: &str, more: &[&str]| {
        let args = ["--workbook", workbook, "--backend", "vm", path, "--", folder];
        run(&[&args[..], more].concat())
    };
    let out = train(data.to_str().unwrap(), &["32", "3"]);
    let stdout = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    let mut lines = stdout.lines();
    assert_eq!(lines.next(), Some("32 images to learn from, 8 to be judged by"));
    let losses: Vec<f64> = lines
        .map(|line| {
            let (_, rest) = line.split_once("loss ").unwrap();
            rest.split_once(',').unwrap().0.parse().unwrap()
        })
        .collect();
    assert_eq!(losses.len(), 3, "{stdout}");
    assert!(losses[2] < losses[0] && losses[0] < 2.6, "{stdout}");
    let out = train("/nowhere", &[]);
    assert_eq!(out.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(stderr.contains("/nowhere has not the four files of MNIST"), "{stderr}");
}

/// Host code, which takes nvcc most of its time, does not change how the device code beside it is packed: that is compiled alone
/// in each way, and the program runs with the last.
#[test]
fn device_code_is_found_however_nvcc_packs_it() {
    let toolchain = Toolchain::locate(&Env::current(), None);
    let toolchain = toolchain.unwrap_or_else(|failure| panic!("{}", failure.render(false)));
    let dir = tempfile::tempdir().unwrap();
    let packed = dir.path().join("packed.fatbin");
    let several = "-gencode arch=compute_75,code=[sm_75,compute_75] -gencode arch=compute_100,code=compute_100";
    let mut found = Vec::new();
    for flags in [
        "--compress-mode=default",
        "--compress-mode=size",
        "--compress-mode=speed",
        "--compress-mode=balance",
        "--compress-mode=none",
        "--no-compress",
        "-Xfatbin -compress-all",
        // Machine code beside it, and PTX of other architectures.
        several,
    ] {
        let mut nvcc = Command::new(&toolchain.nvcc().path);
        nvcc.args("-fatbin -gencode arch=compute_90,code=compute_90 vector_add.cu -o".split(' '));
        nvcc.arg(&packed).args(flags.split(' ')).current_dir(folder());
        assert!(nvcc.status().unwrap().success(), "{flags}");
        let bytes = std::fs::read(&packed).unwrap();
        assert_eq!(fatbin::length(bytes.first_chunk().unwrap()), Some(bytes.len()), "{flags}");
        let ptx = fatbin::ptx(&bytes, 90).unwrap_or_else(|error| panic!("{flags}: {error}"));
        assert!(ptx.contains(".target sm_90") && ptx.contains(".visible .entry"), "{flags}: {ptx}");
        found.push(ptx);
    }
    assert!(found.iter().all(|ptx| *ptx == found[0]));

    let expected = std::fs::read_to_string(folder().join("vector_add.out")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_grader"));
    command.args(["run", "--backend", "vm", "vector_add.cu"]).current_dir(folder());
    let out = command.env("NVCC_APPEND_FLAGS", several).output().unwrap();
    assert_eq!(text(&out.stdout), expected, "{}", text(&out.stderr));
}

const WHO: &str = r#"#include <cstdio>
__global__ void who(int* arch) {
#ifdef __CUDA_ARCH__
    *arch = __CUDA_ARCH__;
#endif
}
__global__ void little() {}
int main() {
    int *arch, code = 0, blocks, attribute;
    cudaMalloc(&arch, 4);
    who<<<1, 1>>>(arch);
    cudaMemcpy(&code, arch, 4, cudaMemcpyDeviceToHost);
    cudaDeviceProp p;
    cudaGetDeviceProperties(&p, 0);
    cudaFuncAttributes f;
    cudaFuncGetAttributes(&f, who);
    cudaDeviceGetAttribute(&attribute, cudaDevAttrComputeCapabilityMajor, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, little, 512, 0);
    printf("%d %d.%d %d %d, ", code, p.major, p.minor, attribute, f.ptxVersion);
    printf("%d threads, %zu KiB, ", p.maxThreadsPerMultiProcessor, p.sharedMemPerMultiprocessor >> 10);
    for (size_t bytes : {p.sharedMemPerBlockOptin, p.sharedMemPerBlockOptin + 1})
        printf("%d ", cudaFuncSetAttribute(little, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    printf("%d blocks\n", blocks);
    cudaFree(arch);
}
"#;

#[test]
fn the_device_is_what_the_program_was_compiled_for() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("who.cu"), WHO).unwrap();
    for (arch, line) in [
        ("sm_75", "750 7.5 7 75, 1024 threads, 64 KiB, 0 1 2 blocks\n"),
        ("compute_80", "800 8.0 8 80, 2048 threads, 164 KiB, 0 1 4 blocks\n"),
        ("86", "860 8.6 8 86, 1536 threads, 100 KiB, 0 1 3 blocks\n"),
        ("sm_89", "890 8.9 8 89, 1536 threads, 100 KiB, 0 1 3 blocks\n"),
        ("sm_90", "900 9.0 9 90, 2048 threads, 228 KiB, 0 1 4 blocks\n"),
    ] {
        let out = run_in(dir.path(), &["--arch", arch, "who.cu"]);
        assert_eq!(text(&out.stdout), line, "{arch}: {}", text(&out.stderr));
    }
    let out = run_in(dir.path(), &["--backend", "vm", "who.cu"]);
    assert!(text(&out.stdout).starts_with("900 9.0"), "{}", text(&out.stdout));
}

#[test]
fn code_for_the_wrong_architecture_gets_the_right_one_named() {
    let out = run(&["--arch", "sm_75", "ampere.cu"]);
    let stderr = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{stderr}");
    let help = "CUDA for sm_75 lacks this, but it compiles for sm_90: remove --arch sm_75";
    assert!(stderr.contains(help), "{stderr}");

    // Addresses of several GPUs, where the device has them.
    let dir = tempfile::tempdir().unwrap();
    let source = "#include <cstdio>\n\
        __global__ void meet(int* x) {\n\
        \x20   x[threadIdx.x] = 1;\n\
        #if __CUDA_ARCH__ >= 900\n\
        \x20   asm volatile(\"multimem.red.relaxed.sys.global.add.u32 [%0], 1;\" :: \"l\"(x + 99));\n\
        #endif\n\
        \x20   __syncthreads();\n\
        \x20   if (threadIdx.x == 0) *x = x[40];\n\
        }\n\
        int main() {\n\
        \x20   int *x, one = 0;\n\
        \x20   cudaMalloc(&x, 256);\n\
        \x20   meet<<<1, 64>>>(x);\n\
        \x20   std::puts(cudaGetErrorName(cudaGetLastError()));\n\
        \x20   cudaMemcpy(&one, x, 4, cudaMemcpyDeviceToHost);\n\
        \x20   std::printf(\"%d\\n\", one);\n\
        }\n";
    std::fs::write(dir.path().join("meet.cu"), source).unwrap();
    let out = run_in(dir.path(), &["--backend", "vm", "meet.cu"]);
    let stderr = text(&out.stderr);
    assert!(text(&out.stdout).starts_with("cudaErrorNotSupported"), "{stderr}");
    assert!(stderr.starts_with("cudart: meet cannot run on the virtual device"), "{stderr}");
    assert!(stderr.contains("meet.cu:5") && stderr.contains("try --arch sm_75"), "{stderr}");
    let out = run_in(dir.path(), &["--arch", "sm_75", "meet.cu"]);
    assert_eq!(text(&out.stdout), "cudaSuccess\n1\n", "{}", text(&out.stderr));
}

const SLOW: &str = r#"#include <cstdio>
template <class T> __global__ void transpose(const T* in, T* out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
__global__ void banks(float* x) {
    __shared__ float s[32 * 32];
    int i = threadIdx.x;
    for (int j = 0; j < 32; j++) s[i * 32 + j] = x[j * 32 + i];
    __syncthreads();
    if (i == 0) printf("first %g\n", s[0]);
    x[i] = s[i * 32];
}
int main() {
    float *a, *b;
    cudaMalloc(&a, 4 * 64 * 64);
    cudaMalloc(&b, 4 * 64 * 64);
    cudaMemset(a, 0, 4 * 64 * 64);
    for (int i = 0; i < 3; i++) transpose<<<dim3(2, 8), dim3(32, 8)>>>(a, b, 64);
    transpose<<<dim3(1, 4), dim3(32, 8)>>>((int*)a, (int*)b, 32);
    banks<<<1, 32>>>(a);
    cudaDeviceSynchronize();
    cudaFree(a);
    cudaFree(b);
    puts("done");
}
"#;

#[test]
fn a_profile_sums_the_launches_of_each_kernel_and_says_what_is_slow() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("slow.cu"), SLOW).unwrap();
    let out = run_in(dir.path(), &["--profile", "--json", "counters.json", "slow.cu"]);
    assert_eq!(text(&out.stdout), "first 0\ndone\n");
    assert_eq!(out.status.code(), Some(0));
    insta::assert_snapshot!(text(&out.stderr));
    let json = std::fs::read(dir.path().join("counters.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let kernels = json["kernels"].as_array().unwrap();
    let names: Vec<_> = kernels.iter().map(|k| k["kernel"].as_str().unwrap()).collect();
    assert_eq!(names, ["transpose<float>", "transpose<int>", "banks"]);
    assert_eq!(kernels[0]["launches"], 3);
    // 3 launches of 16 blocks of 8 warps, each of which writes 32 sectors.
    assert_eq!(kernels[0]["total"]["global_store"]["sectors"], 3 * 16 * 8 * 32);
    assert_eq!(kernels[2]["total"]["shared"]["bank_conflicts"], 33 * 31);
}

const HEAP: &str = r#"#include <cstdio>
__global__ void take(size_t bytes, bool* got) {
    char* p = (char*)malloc(bytes);
    *got = p != nullptr;
    if (p) p[bytes - 1] = 1;
    free(p);
}
int main() {
    bool* got;
    cudaMallocManaged(&got, 1);
    printf("%s ", cudaGetErrorName(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20)));
    take<<<1, 1>>>(20 << 20, got);
    cudaDeviceSynchronize();
    printf("%d ", *got);
    printf("%s\n", cudaGetErrorName(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 8 << 20)));
    cudaFree(got);
}
"#;

#[test]
fn the_heap_of_kernels_is_as_large_as_the_program_says() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("heap.cu"), HEAP).unwrap();
    let out = run_in(dir.path(), &["--check", "heap.cu"]);
    // CUDA allows no change once a kernel has been launched that uses it.
    assert_eq!(text(&out.stdout), "cudaSuccess 1 cudaErrorInvalidValue\n");
    assert_eq!(text(&out.stderr), "1 kernel launch, no findings\n");
}

#[test]
fn a_profile_and_findings_go_together() {
    let dir = tempfile::tempdir().unwrap();
    let source = "__global__ void beyond(int* x) { x[threadIdx.x] = 1; }\n\
        int main() {\n\
        \x20   int* x;\n\
        \x20   cudaMalloc(&x, 64);\n\
        \x20   beyond<<<1, 32>>>(x);\n\
        \x20   beyond<<<1, 32>>>(x);\n\
        \x20   return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 7 : 0;\n\
        }\n";
    std::fs::write(dir.path().join("beyond.cu"), source).unwrap();
    let out = run_in(dir.path(), &["--profile", "--check", "beyond.cu"]);
    let stderr = text(&out.stderr);
    assert_eq!(out.status.code(), Some(7), "{stderr}");
    assert!(stderr.contains("beyond.cu:1:"), "{stderr}");
    // After the first launch the device is beyond help.
    assert!(stderr.contains("Kernel beyond\nbeyond.cu; 1 launch, 100.0 %"), "{stderr}");
}

#[test]
fn kernels_of_one_name_are_told_apart_by_their_parameters() {
    let dir = tempfile::tempdir().unwrap();
    let source = "__global__ void fill(int* x) { x[threadIdx.x] = 1; }\n\
        __global__ void fill(float* x) { x[threadIdx.x] = 1; }\n\
        __global__ void once(int*) {}\n\
        int main() {\n\
        \x20   int* x;\n\
        \x20   cudaMalloc(&x, 256);\n\
        \x20   fill<<<1, 64>>>(x);\n\
        \x20   fill<<<1, 32>>>((float*)x);\n\
        \x20   once<<<1, 32>>>(x);\n\
        \x20   return cudaFree(x);\n\
        }\n";
    std::fs::write(dir.path().join("fill.cu"), source).unwrap();
    let out = run_in(dir.path(), &["--profile", "fill.cu"]);
    let stderr = text(&out.stderr);
    let names: Vec<_> = stderr.lines().filter_map(|line| line.strip_prefix("Kernel ")).collect();
    assert_eq!(names, ["fill(int*)", "fill(float*)", "once"], "{stderr}");
}

/// Sources in CUDA, C++ and C, in two folders, with a function that two of them have for themselves.
#[test]
fn a_program_has_several_files_and_options_of_nvcc() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "main.cu",
            "#include <cstdio>\n#include <cuda_profiler_api.h>\n#include <nvtx3/nvToolsExt.h>\n#include <scale.h>\n\
             extern \"C\" int plus_one(int);\n\
             int sum(const int*, int);\n\
             __global__ void twice(int* x) {\n\
             \x20   auto f = [=] __device__(int v) { return v * FACTOR; };\n\
             \x20   x[threadIdx.x] = f(x[threadIdx.x]);\n\
             }\n\
             int main(int argc, char** argv) {\n\
             \x20   int* x;\n\
             \x20   cudaMallocManaged(&x, 64 * sizeof(int));\n\
             \x20   for (int i = 0; i < 64; ++i) x[i] = i;\n\
             \x20   cudaProfilerStart();\n\
             \x20   nvtxRangePush(\"twice\");\n\
             \x20   twice<<<1, 64>>>(x);\n\
             \x20   nvtxRangePop();\n\
             \x20   scale(x, 64, 5);\n\
             \x20   cudaDeviceSynchronize();\n\
             \x20   printf(\"%d %d %s %ld\\n\", sum(x, 64), plus_one(41), argv[argc - 1], __cplusplus / 100);\n\
             }\n",
        ),
        ("inc/scale.h", "void scale(int* x, int n, int by);\n"),
        (
            "sub/scale.cu",
            "#include <scale.h>\n\
             static __global__ void twice(int* x, int n, int by) {\n\
             \x20   if (threadIdx.x <= n) x[threadIdx.x] *= by;\n\
             }\n\
             void scale(int* x, int n, int by) { twice<<<1, n + EXTRA>>>(x, n, by); }\n",
        ),
        (
            "host.cpp",
            "int sum(const int* x, int n) {\n    int s = 0;\n    for (int i = 0; i < n; ++i) s += x[i];\n    return s;\n}\n",
        ),
        ("one.c", "int plus_one(int class) { return class + 1; }\n"),
    ] {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let words =
        "main.cu sub/scale.cu host.cpp one.c -I inc -std=c++20 -extended-lambda --check -DFACTOR=3";
    let words: Vec<&str> = words.split(' ').collect();
    let out = run_in(dir.path(), &[&words[..], &["-D", "EXTRA=0", "--", "-std=x"]].concat());
    assert_eq!(text(&out.stdout), "30240 42 -std=x 2020\n", "{}", text(&out.stderr));
    let out = run_in(dir.path(), &[&words[..], &["-D", "EXTRA=1"]].concat());
    let found = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1));
    assert!(found.contains("sub/scale.cu:3:"), "{found}");
    assert!(found.contains("if (threadIdx.x <= n) x[threadIdx.x] *= by;"), "{found}");
    for (other, words) in [
        (&["-I", "inc"][..], "identifier \"FACTOR\" is undefined"),
        (&["-I", "inc", "-D", "FACTOR=3", "--extended-lambda"], "name the file that does so"),
        (&["-D", "FACTOR=$(id)"], "would take `$` for one of its own signs"),
        (&["--nvcc-option=-arch=sm_90"], "use --arch"),
        (
            &["--nvcc-option=-lnone", "-Iinc", "-DFACTOR=3", "--extended-lambda"],
            "no library `none`",
        ),
        (
            &["main.cu", "-Iinc", "-DFACTOR=3", "--extended-lambda"],
            "`main` is defined more than once",
        ),
    ] {
        let out = run_in(dir.path(), &[&["main.cu", "--backend=vm"], other].concat());
        assert!(!out.status.success() && out.stdout.is_empty(), "{other:?}");
        assert!(text(&out.stderr).contains(words), "{other:?}: {}", text(&out.stderr));
    }
}

/// Words of a command line of nvcc, with a kernel that uses a function and a constant of another file.
#[test]
fn kernels_call_functions_of_other_files_if_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        (
            "main.cu",
            "#include <cstdio>\n\
             #include <helper_cuda.h>\n\
             extern __device__ float twice(float);\n\
             __global__ void k(float* x) { x[threadIdx.x] = twice(threadIdx.x) + SHIFT; }\n\
             int main() {\n\
             \x20   float* x;\n\
             \x20   checkCudaErrors(cudaMallocManaged(&x, 128));\n\
             \x20   k<<<1, 32>>>(x);\n\
             \x20   checkCudaErrors(cudaDeviceSynchronize());\n\
             \x20   printf(\"%g\\n\", x[31]);\n\
             }\n",
        ),
        ("other.cu", "__device__ float twice(float x) { return 2 * x; }\n"),
    ] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let words =
        "main.cu other.cu -O3 -lineinfo -DSHIFT=0.5f -Xcompiler -Wall -lcublas -l m --backend=vm";
    let words: Vec<&str> = words.split(' ').collect();
    let out = run_in(dir.path(), &[&words[..], &["-rdc=true"]].concat());
    assert_eq!(text(&out.stdout), "62.5\n", "{}", text(&out.stderr));
    let out = run_in(dir.path(), &[&words[..], &["--check"]].concat());
    assert!(!out.status.success(), "{}", text(&out.stdout));
    assert!(text(&out.stderr).contains("`_Z5twicef`, which has no body here"));
}

/// Triangles and groups of products by arrays of pointers, compared with the functions for a single one, to the bit.
#[test]
fn many_triangles_and_groups_of_products_are_those_of_single_calls() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("main.cu"),
        "#include <cstdio>\n\
         #include <cublas_v2.h>\n\
         float* numbers(int count, int seed) {\n\
         \x20   float* x;\n\
         \x20   cudaMallocManaged(&x, count * sizeof(float));\n\
         \x20   for (int i = 0; i < count; i++) x[i] = 1 + (i * 37 + seed * 11) % 17 / 8.0f;\n\
         \x20   return x;\n\
         }\n\
         template <class T> T** pointers(int count) {\n\
         \x20   T** all;\n\
         \x20   cudaMallocManaged(&all, count * sizeof(T*));\n\
         \x20   return all;\n\
         }\n\
         int main() {\n\
         \x20   cublasHandle_t handle;\n\
         \x20   cublasCreate(&handle);\n\
         \x20   const int m = 5, n = 4, batch = 3;\n\
         \x20   float alpha = 0.5f;\n\
         \x20   int bad = 0;\n\
         \x20   const float** A = pointers<const float>(batch);\n\
         \x20   float **B = pointers<float>(batch), **C = pointers<float>(batch);\n\
         \x20   for (int kind = 0; kind < 16; kind++) {\n\
         \x20       cublasSideMode_t side = kind & 1 ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT;\n\
         \x20       cublasFillMode_t uplo = kind & 2 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;\n\
         \x20       cublasOperation_t trans = kind & 4 ? CUBLAS_OP_T : CUBLAS_OP_N;\n\
         \x20       cublasDiagType_t diag = kind & 8 ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;\n\
         \x20       for (int i = 0; i < batch; i++) {\n\
         \x20           A[i] = numbers(36, i);\n\
         \x20           B[i] = numbers(6 * n, i + 5);\n\
         \x20           C[i] = numbers(6 * n, i + 5);\n\
         \x20           bad += cublasStrsm(handle, side, uplo, trans, diag, m, n, &alpha, A[i], 6, C[i], 6) != 0;\n\
         \x20       }\n\
         \x20       bad += cublasStrsmBatched(handle, side, uplo, trans, diag, m, n, &alpha, A, 6, B, 6, batch) != 0;\n\
         \x20       cudaDeviceSynchronize();\n\
         \x20       for (int i = 0; i < batch; i++) for (int j = 0; j < 6 * n; j++) bad += B[i][j] != C[i][j];\n\
         \x20   }\n\
         \x20   printf(\"triangles %d\\n\", bad);\n\
         \x20   int sizes[] = {2, 3}, in_group[] = {2, 1};\n\
         \x20   float alphas[] = {1, 2}, betas[] = {0, -1};\n\
         \x20   cublasOperation_t plain[] = {CUBLAS_OP_N, CUBLAS_OP_T}, none[] = {CUBLAS_OP_N, CUBLAS_OP_N};\n\
         \x20   const float** R = pointers<const float>(batch);\n\
         \x20   for (int i = 0; i < batch; i++) {\n\
         \x20       A[i] = numbers(9, i); R[i] = numbers(9, i + 3); B[i] = numbers(9, i + 6); C[i] = numbers(9, i + 6);\n\
         \x20       int g = i / 2, s = sizes[g];\n\
         \x20       bad += cublasSgemm(handle, plain[g], plain[0], s, s, s, alphas + g, A[i], s, R[i], s, betas + g, C[i], s) != 0;\n\
         \x20   }\n\
         \x20   bad += cublasGemmGroupedBatchedEx(handle, plain, none, sizes, sizes, sizes, alphas,\n\
         \x20       (const void* const*)A, CUDA_R_32F, sizes, (const void* const*)R, CUDA_R_32F, sizes, betas, (void* const*)B, CUDA_R_32F, sizes,\n\
         \x20       2, in_group, CUBLAS_COMPUTE_32F) != 0;\n\
         \x20   cudaDeviceSynchronize();\n\
         \x20   for (int i = 0; i < batch; i++) for (int j = 0; j < 9; j++) bad += B[i][j] != C[i][j];\n\
         \x20   printf(\"groups %d, %g\\n\", bad, B[0][0]);\n\
         }\n",
    )
    .unwrap();
    let out = run_in(dir.path(), &["main.cu", "--backend=vm"]);
    let shown = text(&out.stdout);
    assert!(shown.starts_with("triangles 0\ngroups 0, "), "{shown}{}", text(&out.stderr));
}

/// A kernel whose children add up the parts of an array, and whose last one takes their sums.
#[test]
fn kernels_launch_kernels_if_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("main.cu"),
        "#include <cstdio>\n\
         __global__ void part(const int* x, int n, int* sum) {\n\
         \x20   for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(sum, x[i]);\n\
         }\n\
         __global__ void total(const int* sums, int* to) {\n\
         \x20   *to = sums[0] - sums[1];\n\
         \x20   printf(\"%d %d\\n\", sums[0], sums[1]);\n\
         }\n\
         __global__ void all(const int* x, int* sums, int* to) {\n\
         \x20   if (threadIdx.x == 0) total<<<1, 1, 0, cudaStreamTailLaunch>>>(sums, to);\n\
         \x20   cudaStream_t own;\n\
         \x20   cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);\n\
         \x20   part<<<1, 32, 0, own>>>(x + 50 * threadIdx.x, 50, sums + threadIdx.x);\n\
         \x20   if (cudaGetLastError() != cudaSuccess) *to = -1;\n\
         \x20   cudaStreamDestroy(own);\n\
         }\n\
         int main() {\n\
         \x20   int* x;\n\
         \x20   cudaMallocManaged(&x, 103 * sizeof(int));\n\
         \x20   for (int i = 0; i < 103; i++) x[i] = i < 100 ? i : 0;\n\
         \x20   all<<<1, 2>>>(x, x + 100, x + 102);\n\
         \x20   printf(\"%d \", cudaDeviceSynchronize());\n\
         \x20   printf(\"%d\\n\", x[102]);\n\
         \x20   cudaFree(x);\n\
         }\n",
    )
    .unwrap();
    for option in ["--backend=vm", "--check"] {
        let out = run_in(dir.path(), &["main.cu", "-rdc=true", option]);
        let printed = (out.status.code(), text(&out.stdout));
        assert_eq!(printed, (Some(0), "1225 3725\n0 -2500\n".to_owned()), "{}", text(&out.stderr));
    }
    let out = run_in(dir.path(), &["main.cu", "--backend=vm"]);
    assert!(text(&out.stderr).contains("-rdc=true"), "{}", text(&out.stderr));
}

#[test]
fn a_profile_is_the_virtual_machines() {
    for (args, words) in [
        (["--profile", "--backend", "gpu"], "--profile works on the virtual machine"),
        (["--check", "--backend", "gpu"], "--check works on the virtual machine"),
        (["--json", "x.json", "--check"], "--profile"),
        (["--arch=sm_80", "--backend", "gpu"], "--arch works on the virtual machine"),
        (
            ["--arch", "sm_70", "--check"],
            "the virtual machine supports sm_75, sm_80, sm_86, sm_89, sm_90, sm_90a",
        ),
    ] {
        let out = run(&[&args[..], &["vector_add.cu"]].concat());
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(text(&out.stderr).contains(words), "{}", text(&out.stderr));
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("host.cu"), "int main() { return 3; }\n").unwrap();
    let out = run_in(dir.path(), &["--profile", "host.cu"]);
    assert_eq!(
        (out.status.code(), text(&out.stderr)),
        (Some(3), "host.cu: no kernel ran\n".into())
    );
}

#[test]
fn what_cannot_be_run_gets_one_message() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (path, code, words) in [
        ("missing.cu".to_owned(), 2, "cannot read missing.cu"),
        (file("broken.cu", "int main() { retrun 0; }\n"), 1, "retrun"),
        (
            file("asm.cu", "__global__ void k() {\n    asm(\"frob;\");\n}\nint main() {}\n"),
            1,
            "asm.cu:2:5",
        ),
        (file("none.cu", "__global__ void k() {}\n"), 3, "it has no function `main`"),
        (file("lost.cu", "int f(int);\nint main() { return f(1); }\n"), 1, "`f(int)` is declared"),
        (file("crash.cu", "int main() { *(volatile int*)8 = 1; }\n"), 139, ""),
    ] {
        let out = run(&["--backend", "vm", &path]);
        let stderr = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{path}: {stderr}");
        assert!(stderr.contains(words), "{path}: {stderr}");
    }
}
