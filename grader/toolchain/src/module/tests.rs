use super::*;
use crate::env::Env;
use crate::{Headers, Request, SourceFile, Toolchain, VirtualArch};
use diagnostic::{Diagnostic, Failure, FailureKind};

const SOURCE: &str = r#"#include <cuda_fp16.h>
#include <cuda_bf16.h>
namespace net {
template <typename T> __global__ void scale(T* out, const T* __restrict__ in, long rows, bool flag, short s, int3 v) { out[0] = in[rows]; }
__global__ void inner(float* x) { x[0] = 1; }
}
template __global__ void net::scale<float>(float*, const float*, long, bool, short, int3);
template __global__ void net::scale<double>(double*, const double*, long, bool, short, int3);
extern "C" __global__ void plain(const float* input, float *output, int n) {
    __shared__ float tile[12];
    __shared__ double other[3];
    tile[n] = input[n]; other[n % 3] = n; __syncthreads(); output[n] = tile[n + 1] + other[0];
}
namespace { __global__ void hidden(float* x) { x[0] = 1; } }
__global__ void halves(const __half* a, __nv_bfloat16* b, int* c, const double* d, float** e, void* f, unsigned n) { c[0] = n; }
template <int N> __global__ void tiled(float (&x)[3], float* o) { o[0] = N; }
template __global__ void tiled<16>(float (&)[3], float*);
__device__ float helper(float x) { return x; }
float on_the_cpu(float x) { return x; }
template <typename T> __global__ void never(T* x) { x[0] = 1; }
__global__ void nothing() {}
__global__ void big(float* x) {
    __shared__ float tile[128][128];
    tile[threadIdx.x][0] = x[0]; __syncthreads(); x[1] = tile[3][0];
}
"#;

fn compiled() -> (Vec<KernelDecl>, SourceFile) {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("k.cu");
    std::fs::write(&source, SOURCE).unwrap();
    let toolchain = Toolchain::locate(&Env::current(), None).expect("the tests need an nvcc");
    let base = dir.path();
    let arch = VirtualArch::default();
    let request = Request {
        source: &source,
        include_dirs: &[],
        headers: Headers::Any,
        base,
        arch,
        asynchronous: false,
        debugger: false,
        gpu: None,
    };
    let compiled = toolchain.compile(&request).unwrap();
    (kernels(&compiled.ptx), compiled.source)
}

/// What a failure says, with the marked text.
fn told(failure: &Failure) -> String {
    assert_eq!(failure.kind, FailureKind::Kernel);
    let Diagnostic { title, source, help, .. } = &failure.diagnostics[0];
    let mut lines = vec![title.clone()];
    for mark in source.iter().flat_map(|s| &s.marks) {
        let text = &source.as_ref().unwrap().text;
        lines.push(format!("  `{}` {}", &text[mark.span.clone()], mark.label));
    }
    lines.extend(help.iter().map(|h| format!("  help: {h}")));
    lines.join("\n")
}

#[test]
fn kernels_are_read_from_real_ptx() {
    let (kernels, _) = compiled();
    let list: Vec<String> = kernels
        .iter()
        .map(|k| {
            let params: Vec<String> = k
                .params
                .iter()
                .map(|p| format!("{}:{}", p.cpp_type.as_deref().unwrap_or("?"), p.size))
                .collect();
            format!("{} [{}] shared {}", k.name, params.join(", "), k.shared)
        })
        .collect();
    insta::assert_snapshot!(list.join("\n"), @r"
    plain [?:8, ?:8, ?:4] shared 72
    halves [__half const*:8, __nv_bfloat16*:8, int*:8, double const*:8, float**:8, void*:8, unsigned int:4] shared 0
    tiled<16> [float (&) [3]:8, float*:8] shared 0
    nothing [] shared 0
    big [float*:8] shared 65536
    net::inner [float*:8] shared 0
    net::scale<float> [float*:8, float const*:8, long:8, bool:1, short:2, int3:12] shared 0
    net::scale<double> [double*:8, double const*:8, long:8, bool:1, short:2, int3:12] shared 0
    (anonymous namespace)::hidden [float*:8] shared 0
    ");
}

#[test]
fn kernels_are_found_by_their_source_names() {
    let (kernels, source) = compiled();
    for (wanted, name) in [
        ("plain", "plain"),
        ("inner", "net::inner"),
        ("net::inner", "net::inner"),
        ("net::scale<float>", "net::scale<float>"),
        ("scale<double>", "net::scale<double>"),
        ("tiled", "tiled<16>"),
        ("tiled<16>", "tiled<16>"),
        ("hidden", "(anonymous namespace)::hidden"),
    ] {
        let found = find_kernel(&kernels, wanted, &source);
        assert_eq!(found.map(|k| k.name.as_str()), Ok(name), "{wanted}");
    }
}

#[test]
fn missing_kernels_are_explained() {
    let (kernels, source) = compiled();
    let tell = |wanted: &str| told(&find_kernel(&kernels, wanted, &source).unwrap_err());
    let wanted = ["scale", "plian", "helper", "on_the_cpu", "never", "softmax", "big"];
    insta::assert_snapshot!(wanted.map(tell).join("\n\n"), @r"
    several kernels are called `scale`: the kernels `net::scale<float>`, `net::scale<double>`
      help: keep one of them, so that the puzzle knows which to launch, in k.cu

    there is no kernel `plian` in k.cu
      `plain` 
      help: `plain` looks similar: rename it to `plian`, the name by which the puzzle launches it
      help: the file has the kernels `plain`, `halves`, `tiled<16>`, `nothing`, `big`, `net::inner`, `net::scale<float>`, `net::scale<double>`, `(anonymous namespace)::hidden`

    `helper` is not a kernel
      `helper` this is a __device__ function, which only other GPU code can call
      help: a kernel is declared with `__global__ void`, not with `__device__`

    `on_the_cpu` is not a kernel
      `on_the_cpu` this is an ordinary function, which runs on the CPU
      help: write `__global__` in front of it: `__global__ void`

    the template `never` was never instantiated, so there is no kernel `never`
      `never` a template makes no kernel by itself
      help: instantiate it below its definition: `template __global__ void never<float>(...);`

    there is no kernel `softmax` in k.cu
      help: the file has the kernels `plain`, `halves`, `tiled<16>`, `nothing`, `big`, `net::inner`, `net::scale<float>`, `net::scale<double>`, `(anonymous namespace)::hidden`

    the __shared__ arrays of `big` take 65536 bytes: a block can have at most 49152
      `__shared__` 
      help: make the tile smaller: a float has 4 bytes, so 12,288 of them fit
    ");
    let empty = SourceFile::new("k.cu", "__global__ void later(int n);");
    insta::assert_snapshot!(told(&find_kernel(&[], "later", &empty).unwrap_err()), @r"
    `later` is declared, but has no body
      `later` 
      help: write its body between { and } instead of the semicolon
    ");
    insta::assert_snapshot!(told(&find_kernel(&[], "other", &empty).unwrap_err()), @r"
    there is no kernel `other` in k.cu
      help: the file has no __global__ function
    ");
}

const F64: Scalar = Scalar { name: "double", bytes: 8 };
const F32: Scalar = Scalar { name: "float", bytes: 4 };
const I32: Scalar = Scalar { name: "int", bytes: 4 };
const F16: Scalar = Scalar { name: "__half", bytes: 2 };
const BF16: Scalar = Scalar { name: "__nv_bfloat16", bytes: 2 };

fn pointer(name: &str, element: Scalar, constant: bool) -> ArgDecl {
    ArgDecl { name: name.into(), kind: ArgKind::Pointer { element, constant } }
}

fn int(name: &str) -> ArgDecl {
    ArgDecl { name: name.into(), kind: ArgKind::Size }
}

#[test]
fn right_signatures_pass() {
    let (kernels, source) = compiled();
    let check = |name: &str, args: &[ArgDecl]| {
        check_signature(find_kernel(&kernels, name, &source).unwrap(), args, &source)
    };
    let plain = [pointer("a", F32, true), pointer("b", F32, false), int("n")];
    assert_eq!(check("plain", &plain), Ok(()));
    assert_eq!(check("nothing", &[]), Ok(()));
    let halves = [
        pointer("a", F16, true),
        pointer("b", BF16, false),
        pointer("c", I32, false),
        pointer("d", F64, true),
        pointer("e", F32, false), // float**: wrong
        pointer("f", F32, false), // void*: anything
        int("n"),                 // unsigned: the same four bytes
    ];
    insta::assert_snapshot!(told(&check("halves", &halves).unwrap_err()), @r"
    parameter 5 of `halves`, for `e`, has the wrong type
      `float** e` points to `float*`; the puzzle passes `float*`
      help: expected: __global__ void halves(const __half* a, __nv_bfloat16* b, int* c, const double* d, float* e, float* f, int n)
      help: found:    __global__ void halves(const __half* a, __nv_bfloat16* b, int* c, const double* d, float** e, void* f, unsigned n)
    ");
}

#[test]
fn a_size_is_widened_to_64_bits_and_another_int_is_not() {
    let source = SourceFile::new("k.cu", String::new());
    let fits = |kind: ArgKind, cpp_type: &str, size| {
        let params = vec![Param { size, cpp_type: Some(cpp_type.into()) }];
        let (symbol, name) = ("k".into(), "k".into());
        let kernel =
            KernelDecl { symbol, name, params, shared: 0, max_threads: None, definition: None };
        check_signature(&kernel, &[ArgDecl { name: "n".into(), kind }], &source).is_ok()
    };
    for wide in ["long", "long long", "unsigned long", "unsigned long long", "size_t"] {
        assert!(fits(ArgKind::Size, wide, 8), "{wide}");
        assert!(!fits(ArgKind::Value(I32), wide, 8), "{wide}");
    }
    assert!(fits(ArgKind::Size, "int", 4) && fits(ArgKind::Size, "unsigned int", 4));
    assert!(!fits(ArgKind::Size, "double", 8) && !fits(ArgKind::Size, "float", 4));
    assert!(!fits(ArgKind::Size, "short", 2) && !fits(ArgKind::Size, "float*", 8));
}

#[test]
fn wrong_signatures_are_shown_parameter_by_parameter() {
    let (kernels, source) = compiled();
    let tell = |name: &str, args: &[ArgDecl]| {
        let kernel = find_kernel(&kernels, name, &source).unwrap();
        told(&check_signature(kernel, args, &source).unwrap_err())
    };
    let f32 = |name: &str| pointer(name, F32, false);
    let input = || pointer("grad(output)", F32, true);
    let all = [
        tell("plain", &[input(), f32("out")]),
        tell("plain", &[input(), f32("out"), int("n"), int("batch"), int("C_in")]),
        tell("plain", &[pointer("a", F64, true), int("n"), f32("out")]),
        tell("scale<float>", &[f32("out"), input(), int("rows"), int("flag"), int("s"), int("v")]),
        tell("scale<double>", &[f32("out"), f32("in"), int("r"), int("f"), int("s"), int("v")]),
        tell("tiled", &[f32("x"), f32("o")]),
    ];
    insta::assert_snapshot!(all.join("\n\n"), @r"
    `plain` has 3 parameters, but the puzzle passes 2
      `int n` the puzzle passes nothing here
      help: expected: __global__ void plain(const float* grad_output, float* out)
      help: found:    __global__ void plain(const float* input, float *output, int n)

    `plain` has 3 parameters, but the puzzle passes 5
      `plain` no parameter for batch, C_in
      help: expected: __global__ void plain(const float* grad_output, float* out, int n, int batch, int C_in)
      help: found:    __global__ void plain(const float* input, float *output, int n)

    parameter 1 of `plain`, for `a`, has the wrong type
      `const float* input` points to `float`; the puzzle passes `const double*`
      `float *output` `float*` has 8 bytes; the puzzle passes an `int` of 4
      `int n` not a pointer; the puzzle passes `float*`
      help: expected: __global__ void plain(const double* a, int n, float* out)
      help: found:    __global__ void plain(const float* input, float *output, int n)

    parameter 4 of `scale`, for `flag`, has the wrong type
      `bool flag` `bool` has 1 byte; the puzzle passes an `int` of 4
      `short s` `short` has 2 bytes; the puzzle passes an `int` of 4
      `int3 v` has 12 bytes; the puzzle passes `int` of 4
      help: expected: __global__ void scale(float* out, const float* grad_output, int rows, int flag, int s, int v)
      help: found:    __global__ void scale(T* out, const T* __restrict__ in, long rows, bool flag, short s, int3 v)

    parameter 1 of `scale`, for `out`, has the wrong type
      `T* out` points to `double`; the puzzle passes `float*`
      `const T* __restrict__ in` points to `double`; the puzzle passes `float*`
      `bool flag` `bool` has 1 byte; the puzzle passes an `int` of 4
      `short s` `short` has 2 bytes; the puzzle passes an `int` of 4
      `int3 v` has 12 bytes; the puzzle passes `int` of 4
      help: expected: __global__ void scale(float* out, float* in, int r, int f, int s, int v)
      help: found:    __global__ void scale(T* out, const T* __restrict__ in, long rows, bool flag, short s, int3 v)

    parameter 1 of `tiled`, for `x`, has the wrong type
      `float (&x)[3]` not a pointer; the puzzle passes `float*`
      help: expected: __global__ void tiled(float* x, float* o)
      help: found:    __global__ void tiled(float (&x)[3], float* o)
    ");
}

#[test]
fn a_number_of_eight_bytes_is_told_precisely() {
    let ptx = ".visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u64 k_param_1\n)\n{\n}\n";
    let text = r#"extern "C" __global__ void k(float* x, size_t n) {}"#;
    let source = SourceFile::new("k.cu", text);
    let kernels = kernels(ptx);
    let n = ArgDecl { name: "n".into(), kind: ArgKind::Value(I32) };
    let args = [pointer("x", F32, false), n];
    insta::assert_snapshot!(told(&check_signature(&kernels[0], &args, &source).unwrap_err()), @r"
    parameter 2 of `k`, for `n`, has the wrong type
      `size_t n` `size_t` has 8 bytes; the puzzle passes an `int` of 4
      help: expected: __global__ void k(float* x, int n)
      help: found:    __global__ void k(float* x, size_t n)
    ");
    // Types under another name are judged by their size alone.
    let text = text.replace("size_t n", "rows n");
    let source = SourceFile::new("k.cu", text);
    insta::assert_snapshot!(told(&check_signature(&kernels[0], &args, &source).unwrap_err()), @r"
    parameter 2 of `k`, for `n`, has the wrong type
      `rows n` has 8 bytes; the puzzle passes `int` of 4
      help: expected: __global__ void k(float* x, int n)
      help: found:    __global__ void k(float* x, rows n)
    ");
}

proptest::proptest! {
    #[test]
    fn any_text_has_kernels_or_none(text in "(\\.entry|\\.param|\\.shared| \\.b8| \\.u64|[ k(){},;\\[\\]0-9\n])*") {
        kernels(&text);
    }
}

const CONSTANTS: &str = r"
__constant__ float taps[25];
namespace net { __constant__ int labels[2][3]; }
static __constant__ double rate;
__device__ float plain[9];
__global__ void k(float* y) { y[0] = taps[1] + net::labels[0][0] + rate + plain[2]; }
";

/// As nvcc writes them for [`CONSTANTS`].
const CONSTANTS_PTX: &str = "
.visible .const .align 4 .b8 taps[100];
.const .align 4 .b8 _ZN3net6labelsE[24] = {1, 2};
\t.const .align 8 .f64 rate;
.global .align 4 .b8 plain[36];
.visible .entry k() { }
";

#[test]
fn constants_are_found_in_their_namespaces() {
    let list: Vec<String> = variables(CONSTANTS_PTX)
        .iter()
        .map(|v| format!("{} {} {}", v.name, v.bytes, if v.constant { "const" } else { "global" }))
        .collect();
    assert_eq!(list, ["taps 100 const", "net::labels 24 const", "rate 8 const", "plain 36 global"]);
}

#[test]
fn a_constant_that_is_not_as_the_puzzle_needs_it_is_told_with_what_to_write() {
    let source = SourceFile::new("k.cu", CONSTANTS.to_owned());
    let float = Scalar { name: "float", bytes: 4 };
    let int = Scalar { name: "int", bytes: 4 };
    let found = |symbol: &str, element, elements| {
        let wanted = ConstantUse { symbol: symbol.into(), tensor: "w".into(), element, elements };
        find_constant(&variables(CONSTANTS_PTX), &wanted, &source)
            .map_or_else(|failure| told(&failure), |found| found.symbol.clone())
    };
    assert_eq!(found("taps", float, 25), "taps");
    assert_eq!(found("labels", int, 6), "_ZN3net6labelsE");
    let wrong = [
        found("tabs", float, 25),
        found("weights", float, 25),
        found("taps", float, 26),
        found("taps", int, 25),
        found("plain", float, 9),
        found("rate", float, 1),
    ];
    insta::assert_snapshot!(wrong.join("\n\n"));
}
