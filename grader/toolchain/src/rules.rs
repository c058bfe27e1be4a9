//! One sentence for each of the usual beginner's mistakes.

/// A rule: the first one whose fragments all occur wins.
struct Rule {
    /// Fragments of the compiler's message, in any order.
    message: &'static [&'static str],
    /// Fragments of the student's line.
    line: &'static [&'static str],
    /// The advice to the student, one sentence.
    help: &'static str,
}

const fn rule(message: &'static [&'static str], help: &'static str) -> Rule {
    Rule { message, line: &[], help }
}

const fn rule_for_line(
    message: &'static [&'static str],
    line: &'static [&'static str],
    help: &'static str,
) -> Rule {
    Rule { message, line, help }
}

/// The sentence for a message, if a rule knows one. `line` is the student's line.
pub fn help(message: &str, line: &str) -> Option<&'static str> {
    let fits = |r: &&Rule| {
        r.message.iter().all(|f| message.contains(f)) && r.line.iter().all(|f| line.contains(f))
    };
    RULES.iter().find(fits).map(|r| r.help)
}

/// Special cases stand before general ones.
const RULES: &[Rule] = &[
    // Of the assembler.
    rule(
        &["requires .target sm_"],
        "puzzles are compiled for compute capability 7.5, so that they run on every GPU since Turing",
    ),
    // Punctuation.
    rule_for_line(
        &["expected a \"(\""],
        &["for ", " in "],
        "a loop is written `for (int i = 0; i < n; i++) { ... }`",
    ),
    rule_for_line(
        &["expected a \";\""],
        &["for"],
        "the head of a loop has three parts with semicolons between them: `for (int i = 0; i < n; i++)`",
    ),
    rule(&["expected a \";\""], "every statement ends with a semicolon"),
    rule_for_line(
        &["expected a statement"],
        &["else"],
        "put { } around several statements between `if` and `else`",
    ),
    rule(&["expected a \"}\""], "a { is never closed: add the missing }"),
    rule(&["expected a \")\""], "a ( is never closed: count the brackets of this expression"),
    rule(&["expected a \"]\""], "a [ is never closed: count the brackets of this expression"),
    rule_for_line(
        &["expected a declaration"],
        &["}"],
        "there is one } too many, or a { is missing further up",
    ),
    rule(
        &["expected a declaration"],
        "statements belong inside a function: a } further up may close it too early",
    ),
    rule(
        &["invalid specifier for structured binding"],
        "statements belong inside a function (is there a } too many further up?), and an array is declared `int name[3];`",
    ),
    rule(
        &["this declaration has no storage class or type specifier"],
        "a kernel begins with `__global__ void`, and statements belong inside a function",
    ),
    rule(&["expected an expression"], "a value or a name is missing here"),
    rule(
        &["missing closing quote"],
        "the text that begins here needs a closing \" on the same line",
    ),
    rule(&["expected a \":\""], "`condition ? a : b` needs both values"),
    rule(
        &["operand of \"*\" must be a pointer"],
        "C++ has no operator ** for powers: multiply, or call powf(x, y)",
    ),
    rule(&["multicharacter character literal"], "write text in double quotes: \"ab\""),
    // Characters and the preprocessor.
    rule(
        &["extended character"],
        "this character only looks like the one that C++ needs (text copied from a web page or a \
         PDF has such characters): type it again",
    ),
    rule(&["unterminated #if"], "every #if needs an #endif"),
    rule(
        &["user-defined literal operator not found"],
        "write a float as `1.0f`, a double as `1.0` and an integer as `1`",
    ),
    rule(&["extra text after expected end of number"], "a number has one decimal point: `1.0f`"),
    // Types.
    rule(
        &["no operator", "dim3"],
        "threadIdx, blockIdx, blockDim and gridDim have three parts: `blockIdx.x * blockDim.x + threadIdx.x`",
    ),
    rule(
        &["no operator", "uint3"],
        "threadIdx and blockIdx have three parts: write `threadIdx.x`, `.y` or `.z`",
    ),
    rule(
        &["no suitable conversion function from \"const uint3\""],
        "threadIdx and blockIdx have three parts: write `threadIdx.x`, `.y` or `.z`",
    ),
    rule(
        &["no suitable conversion function from \"const dim3\""],
        "blockDim and gridDim have three parts: write `blockDim.x`, `.y` or `.z`",
    ),
    rule(
        &["more than one conversion function from \"__half\""],
        "of two halves this is ambiguous: convert each first, `__half2float(a) * __half2float(b)`",
    ),
    rule(
        &["more than one conversion function from \"__nv_bfloat16\""],
        "of two of these it is ambiguous: convert each first, `__bfloat162float(a) * __bfloat162float(b)`",
    ),
    rule(
        &["more than one operator", "half"],
        "half and float do not mix: convert the half first, `__half2float(h) * x`",
    ),
    rule(
        &["more than one operator", "bfloat16"],
        "__nv_bfloat16 and float do not mix: convert first, `__bfloat162float(b) * x`",
    ),
    rule(
        &["argument of type \"const ", "is incompatible with parameter of type"],
        "the function could change what is const here: declare its parameter with `const`",
    ),
    rule(
        &["is incompatible with parameter of type"],
        "the function expects another type: compare its declaration",
    ),
    rule(
        &["a value of type", "(*)", "cannot be"],
        "an array of arrays is not a plain pointer: write `&t[0][0]` for its first element",
    ),
    rule(
        &["a value of type", "*\"", "cannot be"],
        "this mixes an address and a value, or two kinds of addresses: write `p[i]` for the element",
    ),
    rule(
        &["too few arguments in function call"],
        "compare the call with the function's declaration: arguments are missing",
    ),
    rule(
        &["too many arguments in function call"],
        "compare the call with the function's declaration: there are more arguments than parameters",
    ),
    rule(
        &["no instance of overloaded function"],
        "no version of this function takes so many arguments of these types: compare their number, or convert them, as in `(float) x`",
    ),
    rule(
        &["expression must have a constant value"],
        "the size of an array must be known when compiling",
    ),
    rule_for_line(
        &["incomplete type", "[]\" is not allowed"],
        &["__shared__"],
        "give it a size that is known when compiling: `__shared__ float tile[16];`",
    ),
    rule(
        &["initializer not allowed for __shared__ variable"],
        "declare it without a value, let the threads write it, then call __syncthreads()",
    ),
    rule(
        &["expression must have pointer-to-object type"],
        "only arrays and pointers can be indexed, and this is a single value already: a tensor is \
         one flat array with one index",
    ),
    rule(
        &["expression must have integral or unscoped enum type"],
        "indices and the operators % & | ^ << >> need integers: this is a float or a pointer",
    ),
    rule(
        &["has already been declared in the current scope"],
        "this name is taken: choose another one, or assign without repeating the type",
    ),
    rule(
        &["has already been defined"],
        "there are two definitions of the same name: remove or rename one",
    ),
    rule(&["class \"dim3\" has no member"], "the members are called x, y and z, in lower case"),
    rule(&["class \"uint3\" has no member"], "the members are called x, y and z, in lower case"),
    rule(&["operator -> or ->* applied to"], "use `.` instead of `->`: this is not a pointer"),
    rule(
        &["expression must have class type but it has type", "*\""],
        "a pointer has no members: index it first, `p[i]`",
    ),
    rule(&["expression must have class type"], "a number has no members"),
    rule(
        &["return value type does not match"],
        "the function's declared type and the returned value differ; a kernel is `void` and returns nothing",
    ),
    rule(
        &["too many initializer values"],
        "the array has fewer elements than there are values in { }",
    ),
    rule(&["is not a type name"], "a type is expected here: `int`, `float`, ..."),
    rule(&["type name is not allowed"], "a value is expected here, and this is the name of a type"),
    // CUDA.
    rule(
        &["a __global__ function must have a void return type"],
        "a kernel begins with `__global__ void`: results go through its pointers",
    ),
    rule(
        &["explicit type is missing"],
        "write the return type in front of the name: `void` for a kernel",
    ),
    rule(
        &["a __global__ function call must be configured"],
        "a kernel cannot be called like a function: declare a function that kernels call as `__device__`",
    ),
    rule(
        &["kernel launch from __device__ or __global__ functions"],
        "the kernel of a puzzle cannot launch kernels; of a program it can with -rdc=true",
    ),
    rule(
        &["constexpr __host__ function(\"max\")"],
        "std::max runs on the CPU only: write max(a, b), or fmaxf(a, b) for floats",
    ),
    rule(
        &["constexpr __host__ function(\"min\")"],
        "std::min runs on the CPU only: write min(a, b), or fminf(a, b) for floats",
    ),
    rule(
        &["a host variable", "cannot be directly read in a device function"],
        "write `__constant__` or `__device__` in front of this variable, or `constexpr` if its value is fixed",
    ),
    rule(
        &["address of a host variable"],
        "this is in the CPU's memory: a kernel can access only its arguments and GPU memory",
    ),
    rule(
        &["__device__ annotation on lambda requires"],
        "write a plain lambda `[&](int i) { ... }`, or a `__device__` function; for whole programs, `grader run` has `--extended-lambda`",
    ),
    rule(&["cannot be a member function"], "move the kernel out of the class"),
    rule(
        &["uses too much shared data"],
        "a block has 48 KB of shared memory: make the __shared__ arrays smaller",
    ),
    rule(
        &["excessive recursion at instantiation"],
        "the template instantiates itself without end: add a specialisation that ends the recursion",
    ),
    // The C++ library.
    rule(
        &["namespace \"std\" has no member \"vector\""],
        "host code needs #include <vector>; a kernel works on plain arrays and pointers",
    ),
    rule(
        &["namespace \"std\" has no member \"cout\""],
        "host code needs #include <iostream>; a kernel prints with printf(\"%f\\n\", x)",
    ),
    rule(
        &["namespace \"std\" has no member"],
        "host code needs the header that declares it, such as <algorithm>; a kernel has CUDA's own max, min, sqrtf, expf",
    ),
    // Warnings.
    rule(
        &["missing return statement at end of non-void function"],
        "add the `return`: without it, the caller gets an undefined value",
    ),
    rule(
        &["is used before its value is set"],
        "give it a value where it is declared, as in `float sum = 0.0f;`",
    ),
    rule(
        &["pointless comparison of unsigned integer with zero"],
        "an unsigned number is never negative: use `int` for indices that may go below 0",
    ),
    rule(&["division by zero"], "an integer division by 0 has no defined result"),
    rule_for_line(
        &["expression has no effect"],
        &["__syncthreads"],
        "a call needs brackets: `__syncthreads();`",
    ),
    rule_for_line(&["expression has no effect"], &["=="], "`==` compares; `=` assigns"),
    rule(&["expression has no effect"], "its value is computed and discarded"),
];

/// Headers and advice for names that are known, but not to the compiler.
pub fn known_name(name: &str) -> Option<&'static str> {
    let advice = match name {
        "cout" | "cerr" | "endl" => {
            "host code needs #include <iostream>; a kernel prints with printf(\"%f\\n\", x)"
        }
        "vector" | "string" | "array" => {
            "the C++ library runs on the CPU only: a kernel works on plain arrays and pointers"
        }
        "half" | "half2" | "__half" | "__half2" => "add `#include <cuda_fp16.h>` at the top",
        "bfloat16" | "nv_bfloat16" | "__nv_bfloat16" | "__nv_bfloat162" => {
            "the type is __nv_bfloat16; add `#include <cuda_bf16.h>` at the top"
        }
        "FLT_MAX" | "FLT_MIN" | "FLT_EPSILON" | "DBL_MAX" => "add `#include <cfloat>` at the top",
        "uint32_t" | "int32_t" | "uint64_t" | "int64_t" | "uint8_t" | "uint16_t" => {
            "add `#include <cstdint>` at the top"
        }
        "INT_MAX" | "INT_MIN" | "UINT_MAX" => "add `#include <climits>` at the top",
        "assert" => "add `#include <cassert>` at the top",
        "threadDim" => {
            "the threads of a block are counted by `blockDim`; `threadIdx` is a thread's own index"
        }
        "gridIdx" => {
            "the blocks of the grid are counted by `gridDim`; `blockIdx` is a block's own index"
        }
        "then" => "C++ has no `then`: `if (condition) statement;`",
        "None" | "null" => "the null pointer is written `nullptr`",
        "True" => "written `true`",
        "False" => "written `false`",
        "__syncthread" | "syncthreads" | "__synchthreads" | "sync_threads" => {
            "the barrier is called __syncthreads()"
        }
        _ if name.starts_with("__reduce_") && name.ends_with("_sync") => {
            "only GPUs of compute capability 8.0 or higher have it, and puzzles are compiled for \
             7.5: five steps of `__shfl_xor_sync` do the same"
        }
        _ => return None,
    };
    Some(advice)
}

/// Names that CUDA gives every kernel: candidates for a misspelt one.
pub const BUILT_IN: &[&str] = &[
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "__syncthreads",
    "__syncwarp",
    "__shared__",
    "__device__",
    "__global__",
    "__restrict__",
    "__constant__",
    "atomicAdd",
    "atomicMax",
    "atomicMin",
    "atomicCAS",
    "atomicExch",
    "__shfl_down_sync",
    "__shfl_up_sync",
    "__shfl_xor_sync",
    "__shfl_sync",
    "__ballot_sync",
    "__ldg",
    "printf",
    "min",
    "max",
    "fminf",
    "fmaxf",
    "expf",
    "logf",
    "sqrtf",
    "rsqrtf",
    "powf",
    "tanhf",
    "fabsf",
    "float",
    "double",
    "unsigned",
    "return",
    "while",
    "const",
    "INFINITY",
];
