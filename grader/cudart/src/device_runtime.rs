//! The functions of the device runtime that kernels call to launch, copy and allocate.
//!
//! Copies and fills of a kernel are launches of kernels without code, which have the names of the host's functions: the device that runs
//! what a kernel has launched does the work of these in the place of a launch.

use crate::device::Answer;
use crate::error::{CudaError, SUCCESS};

/// Functions of the device runtime that kernels call, by name, with what they do. Launches of a kernel run one after another when it has
/// ended, in the order in which it made them, so its streams need no more than a handle.
const FUNCTIONS: [(&str, &str); 13] = [
    (
        "cudaGraphSetConditional",
        ".visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n\
         {\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n\
         ld.param.u64 %rd1, [handle];\nld.param.u32 %r1, [value];\n\
         st.global.u32 [%rd1], %r1;\nret;\n}\n",
    ),
    (
        "__cudaCDP2StreamCreateWithFlags",
        ".visible .func (.param .b32 error) __cudaCDP2StreamCreateWithFlags(.param .b64 to, .param .b32 flags)\n\
         {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [to];\nst.u64 [%rd1], 256;\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2StreamDestroy",
        ".visible .func (.param .b32 error) __cudaCDP2StreamDestroy(.param .b64 stream)\n\
         {\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    // `cudaMalloc` of a kernel takes from the heap of `malloc` (CUDA C++ Programming Guide, "Dynamic Parallelism", "Memory
    // Footprint").
    (
        "__cudaCDP2Malloc",
        ".visible .func (.param .b32 error) __cudaCDP2Malloc(.param .b64 to, .param .b64 bytes)\n\
         {\n.reg .b64 %rd<4>;\n.reg .b32 %r<2>;\n.reg .pred %p<2>;\n\
         ld.param.u64 %rd1, [to];\nld.param.u64 %rd2, [bytes];\n\
         {\n.param .b64 size;\n.param .b64 place;\nst.param.b64 [size], %rd2;\n\
         call.uni (place), malloc, (size);\nld.param.b64 %rd3, [place];\n}\n\
         st.u64 [%rd1], %rd3;\nsetp.eq.u64 %p1, %rd3, 0;\nselp.b32 %r1, 2, 0, %p1;\n\
         st.param.b32 [error], %r1;\nret;\n}\n",
    ),
    (
        "__cudaCDP2Free",
        ".visible .func (.param .b32 error) __cudaCDP2Free(.param .b64 address)\n\
         {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [address];\n\
         {\n.param .b64 place;\nst.param.b64 [place], %rd1;\ncall.uni free, (place);\n}\n\
         st.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2GetLastError",
        ".visible .func (.param .b32 error) __cudaCDP2GetLastError()\n{\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2PeekAtLastError",
        ".visible .func (.param .b32 error) __cudaCDP2PeekAtLastError()\n{\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2EventCreateWithFlags",
        ".visible .func (.param .b32 error) __cudaCDP2EventCreateWithFlags(.param .b64 to, .param .b32 flags)\n\
         {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [to];\nst.u64 [%rd1], 256;\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2EventDestroy",
        ".visible .func (.param .b32 error) __cudaCDP2EventDestroy(.param .b64 event)\n\
         {\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2EventRecord",
        ".visible .func (.param .b32 error) __cudaCDP2EventRecord(.param .b64 event, .param .b64 stream)\n\
         {\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2StreamWaitEvent",
        ".visible .func (.param .b32 error) __cudaCDP2StreamWaitEvent\
         (.param .b64 stream, .param .b64 event, .param .b32 flags)\n{\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    (
        "__cudaCDP2GetDeviceCount",
        ".visible .func (.param .b32 error) __cudaCDP2GetDeviceCount(.param .b64 to)\n\
         {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [to];\nst.u32 [%rd1], 1;\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
    // Not `__cudaCDP2GetDeviceCount`, whose name begins so: the parameters follow the name.
    (
        "__cudaCDP2GetDevice_param",
        ".visible .func (.param .b32 error) __cudaCDP2GetDevice(.param .b64 to)\n\
         {\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [to];\nst.u32 [%rd1], 0;\nst.param.b32 [error], 0;\nret;\n}\n",
    ),
];

/// A parameter of a copy or fill: its name, its bits, and whether the device gets it.
type Parameter = (&'static str, u32, bool);

/// The copies and fills: the name of the host's function, and the parameters.
const TRANSFERS: [(&str, &[Parameter]); 4] = [
    (
        "cudaMemcpyAsync",
        &[
            ("to", 64, true),
            ("from", 64, true),
            ("bytes", 64, true),
            ("kind", 32, false),
            ("stream", 64, false),
        ],
    ),
    (
        "cudaMemsetAsync",
        &[("to", 64, true), ("value", 32, true), ("bytes", 64, true), ("stream", 64, false)],
    ),
    (
        "cudaMemcpy2DAsync",
        &[
            ("to", 64, true),
            ("pitch", 64, true),
            ("from", 64, true),
            ("spitch", 64, true),
            ("width", 64, true),
            ("height", 64, true),
            ("kind", 32, false),
            ("stream", 64, false),
        ],
    ),
    (
        "cudaMemset2DAsync",
        &[
            ("to", 64, true),
            ("pitch", 64, true),
            ("value", 32, true),
            ("width", 64, true),
            ("height", 64, true),
            ("stream", 64, false),
        ],
    ),
];

/// The name of a function as nvcc 13 calls it in kernels.
fn called(name: &str) -> String {
    name.replacen("cuda", "__cudaCDP2", 1)
}

/// The PTX of a copy or fill: a kernel without code, and the function that launches it.
fn transfer(name: &str, parameters: &[Parameter]) -> String {
    let list = |given: bool| -> String {
        let parameters = parameters.iter().filter(|(.., passed)| *passed || !given);
        let texts: Vec<String> =
            parameters.map(|(name, bits, _)| format!(".param .b{bits} {name}")).collect();
        texts.join(", ")
    };
    let ones = "st.param.b32 [size], 1;\nst.param.b32 [size+4], 1;\nst.param.b32 [size+8], 1;\n";
    let (grid, block) = (ones.replace("size", "grid"), ones.replace("size", "block"));
    let mut offset = 0;
    let passed = parameters.iter().filter(|(.., passed)| *passed);
    let stores = passed.map(|(parameter, bits, _)| {
        let (bytes, register) = (bits / 8, if *bits == 64 { "%rd3" } else { "%r2" });
        let at = u32::next_multiple_of(offset, bytes);
        offset = at + bytes;
        format!(
            "ld.param.b{bits} {register}, [{parameter}];\nst.b{bits} [%rd2+{at}], {register};\n"
        )
    });
    let stores: String = stores.collect();
    format!(
        ".visible .entry {name}({given})\n{{\nret;\n}}\n\
         .visible .func (.param .b32 error) {called}({all})\n\
         {{\n.reg .b64 %rd<5>;\n.reg .b32 %r<3>;\n.reg .pred %p<2>;\n\
         mov.u64 %rd1, {name};\n\
         {{\n.param .b64 kernel;\nst.param.b64 [kernel], %rd1;\n\
         .param .align 4 .b8 grid[12];\n{grid}.param .align 4 .b8 block[12];\n{block}\
         .param .b32 shared;\nst.param.b32 [shared], 0;\n.param .b64 place;\n\
         call.uni (place), __cudaCDP2GetParameterBufferV2, (kernel, grid, block, shared);\n\
         ld.param.b64 %rd2, [place];\n}}\n\
         setp.eq.u64 %p1, %rd2, 0;\n@%p1 bra FULL;\n{stores}\
         ld.param.b64 %rd4, [stream];\n\
         {{\n.param .b64 place;\nst.param.b64 [place], %rd2;\n.param .b64 queue;\nst.param.b64 [queue], %rd4;\n\
         .param .b32 code;\ncall.uni (code), __cudaCDP2LaunchDeviceV2, (place, queue);\nld.param.b32 %r1, [code];\n}}\n\
         st.param.b32 [error], %r1;\nret;\nFULL:\nst.param.b32 [error], 2;\nret;\n}}\n",
        given = list(true),
        called = called(name),
        all = list(false),
    )
}

/// The codes that the device runtime returns, and those that programs may ask about.
const CODES: [u32; 8] = [
    SUCCESS,
    CudaError::INVALID_VALUE.0,
    CudaError::MEMORY_ALLOCATION.0,
    CudaError::INVALID_CONFIGURATION.0,
    CudaError::INVALID_PITCH_VALUE.0,
    CudaError::LAUNCH_MAX_DEPTH_EXCEEDED.0,
    CudaError::INVALID_DEVICE_FUNCTION.0,
    CudaError::NOT_SUPPORTED.0,
];

/// A function that tells the name or the text of a code: its PTX, with the texts of all codes.
fn teller(function: &str, success: &str, text: fn(CudaError) -> Option<&'static str>) -> String {
    let constant = |which: &str, text: &str| {
        let bytes: Vec<String> = text.bytes().chain([0]).map(|byte| byte.to_string()).collect();
        let (length, bytes) = (bytes.len(), bytes.join(", "));
        format!(".global .align 1 .b8 {function}_{which}[{length}] = {{{bytes}}};\n")
    };
    let known = |code: u32| if code == SUCCESS { Some(success) } else { text(CudaError(code)) };
    let known = CODES.iter().filter_map(|&code| Some((code, known(code)?)));
    let mut constants = constant("unknown", "unrecognized error code");
    let choices = known.map(|(code, text)| {
        constants.push_str(&constant(&code.to_string(), text));
        format!(
            "setp.eq.u32 %p1, %r1, {code};\nmov.u64 %rd2, {function}_{code};\nselp.b64 %rd1, %rd2, %rd1, %p1;\n"
        )
    });
    let choices: String = choices.collect();
    format!(
        "{constants}.visible .func (.param .b64 text) {function}(.param .b32 code)\n\
         {{\n.reg .b64 %rd<3>;\n.reg .b32 %r<2>;\n.reg .pred %p<2>;\n\
         ld.param.u32 %r1, [code];\nmov.u64 %rd1, {function}_unknown;\n{choices}\
         cvta.global.u64 %rd1, %rd1;\nst.param.b64 [text], %rd1;\nret;\n}}\n"
    )
}

/// What a transfer needs the PTX to declare.
const LAUNCHES: [(&str, &str); 2] = [
    (
        "__cudaCDP2GetParameterBufferV2",
        ".extern .func (.param .b64 place) __cudaCDP2GetParameterBufferV2\
         (.param .b64 kernel, .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared);\n",
    ),
    (
        "__cudaCDP2LaunchDeviceV2",
        ".extern .func (.param .b32 error) __cudaCDP2LaunchDeviceV2(.param .b64 place, .param .b64 stream);\n",
    ),
];

/// PTX with the functions of the device runtime that it calls.
pub(crate) fn with_device_runtime(mut ptx: String) -> String {
    let functions = FUNCTIONS.iter().filter(|(name, _)| ptx.contains(name));
    let mut added: String = functions.map(|&(_, function)| function).collect();
    for (function, success, text) in [
        ("__cudaCDP2GetErrorString", "no error", CudaError::text as fn(_) -> _),
        ("__cudaCDP2GetErrorName", "cudaSuccess", CudaError::name),
    ] {
        if ptx.contains(function) {
            added.push_str(&teller(function, success, text));
        }
    }
    let transfers = TRANSFERS.iter().filter(|(name, _)| ptx.contains(&called(name)));
    let transfers: Vec<String> =
        transfers.map(|(name, parameters)| transfer(name, parameters)).collect();
    if !transfers.is_empty() {
        let missing = LAUNCHES.iter().filter(|(name, _)| !ptx.contains(name));
        added.extend(missing.map(|&(_, declaration)| declaration));
        added.extend(transfers);
    }
    ptx.push_str(&added);
    ptx
}

/// A copy or fill that a kernel has asked for: rows of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub to: u64,
    pub pitch: u64,
    /// Where the rows come from, and their pitch there; else the value of each byte.
    pub from: Result<(u64, u64), u8>,
    pub width: u64,
    pub height: u64,
}

impl Transfer {
    /// That of a launch from a kernel, if it is one; an error where rows are longer than their pitch.
    pub fn of(kernel: &str, params: &[Vec<u8>]) -> Option<Answer<Self>> {
        let (name, _) = TRANSFERS.iter().find(|(name, _)| *name == kernel)?;
        let number = |bytes: &Vec<u8>| {
            bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        let words: Vec<u64> = params.iter().map(number).collect();
        let transfer = match (*name, words.as_slice()) {
            ("cudaMemcpyAsync", &[to, from, width]) => {
                Self { to, pitch: width, from: Ok((from, width)), width, height: 1 }
            }
            ("cudaMemsetAsync", &[to, value, width]) => {
                Self { to, pitch: width, from: Err(value as u8), width, height: 1 }
            }
            ("cudaMemcpy2DAsync", &[to, pitch, from, other, width, height]) => {
                Self { to, pitch, from: Ok((from, other)), width, height }
            }
            ("cudaMemset2DAsync", &[to, pitch, value, width, height]) => {
                Self { to, pitch, from: Err(value as u8), width, height }
            }
            _ => return Some(Err(CudaError::INVALID_VALUE)),
        };
        let pitch = transfer.from.map_or(transfer.pitch, |(_, pitch)| pitch.min(transfer.pitch));
        let fits = transfer.height <= 1 || transfer.width <= pitch;
        Some(if fits { Ok(transfer) } else { Err(CudaError::INVALID_PITCH_VALUE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Code, Device, Launch};
    use crate::frame::Bytes;
    use crate::vm::VmDevice;

    /// As nvcc 13.0 compiles `cudaGraphSetConditional(handle, 9)`.
    const SETS: &str = ".version 9.0
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional
(
    .param .b64 cudaGraphSetConditional_param_0,
    .param .b32 cudaGraphSetConditional_param_1
)
;
.visible .entry set(.param .u64 set_param_0)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [set_param_0];
    mov.u32 %r1, 9;
    {
    .param .b64 param0;
    st.param.b64 [param0+0], %rd1;
    .param .b32 param1;
    st.param.b32 [param1+0], %r1;
    call.uni cudaGraphSetConditional, (param0, param1);
    }
    ret;
}
";

    /// As nvcc 13.0 compiles a kernel with `cudaMalloc`, a store and `cudaFree`.
    const ALLOCATES: &str = ".version 9.0
.target sm_75
.address_size 64
.extern .func (.param .b32 func_retval0) __cudaCDP2Malloc
(
    .param .b64 __cudaCDP2Malloc_param_0,
    .param .b64 __cudaCDP2Malloc_param_1
)
;
.extern .func (.param .b32 func_retval0) __cudaCDP2Free(.param .b64 __cudaCDP2Free_param_0);
.visible .entry takes(.param .u64 takes_param_0)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    .local .align 8 .b8 __local_depot0[8];
    ld.param.u64 %rd1, [takes_param_0];
    mov.u64 %rd2, __local_depot0;
    cvta.local.u64 %rd2, %rd2;
    { .param .b64 param0; st.param.b64 [param0+0], %rd2; .param .b64 param1; st.param.b64 [param1+0], 8; .param .b32 retval0;
    call.uni (retval0), __cudaCDP2Malloc, (param0, param1); ld.param.b32 %r1, [retval0+0]; }
    ld.u64 %rd3, [%rd2];
    st.u32 [%rd3+4], 7;
    ld.u32 %r2, [%rd3+4];
    { .param .b64 param0; st.param.b64 [param0+0], %rd3; .param .b32 retval0;
    call.uni (retval0), __cudaCDP2Free, (param0); ld.param.b32 %r3, [retval0+0]; }
    add.s32 %r2, %r2, %r1;
    add.s32 %r2, %r2, %r3;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

    /// What a kernel of one thread writes to the buffer that it is given.
    fn result_of(text: &str, kernel: &str) -> Vec<u8> {
        let mut device = VmDevice::default();
        let module = device.load(Code::ptx(&with_device_runtime(text.into()))).unwrap();
        let result = device.alloc(4).unwrap();
        let params = vec![result.to_le_bytes().to_vec()];
        let (grid, block) = ([1; 3], [1; 3]);
        let launch =
            Launch { module, kernel: kernel.into(), grid, block, params, ..Launch::default() };
        let launched = device.launch(launch).unwrap();
        assert_eq!((launched.fault, launched.complete), (None, true));
        device.read(result, 4).unwrap().0
    }

    #[test]
    fn a_kernel_allocates_by_the_runtime() {
        assert_eq!(result_of(ALLOCATES, "takes"), 7u32.to_le_bytes());
    }

    #[test]
    fn a_kernel_sets_a_condition() {
        assert_eq!(result_of(SETS, "set"), 9u32.to_le_bytes());
    }

    /// As nvcc 13.0 declares and calls the copies and fills; the kernel copies 4 of 8 bytes and fills two rows.
    const TRANSFERS: &str = ".version 9.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) __cudaCDP2MemcpyAsync
(.param .b64 p0, .param .b64 p1, .param .b64 p2, .param .b32 p3, .param .b64 p4);
.extern .func (.param .b32 r) __cudaCDP2Memset2DAsync
(.param .b64 p0, .param .b64 p1, .param .b32 p2, .param .b64 p3, .param .b64 p4, .param .b64 p5);
.visible .entry move(.param .u64 to, .param .u64 from)
{
.reg .b32 %r<3>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from]; add.u64 %rd3, %rd1, 8;
{ .param .b64 p0; st.param.b64 [p0], %rd1; .param .b64 p1; st.param.b64 [p1], %rd2; .param .b64 p2; st.param.b64 [p2], 4;
.param .b32 p3; st.param.b32 [p3], 3; .param .b64 p4; st.param.b64 [p4], 0; .param .b32 r;
call.uni (r), __cudaCDP2MemcpyAsync, (p0, p1, p2, p3, p4); }
{ .param .b64 p0; st.param.b64 [p0], %rd3; .param .b64 p1; st.param.b64 [p1], 4; .param .b32 p2; st.param.b32 [p2], 7;
.param .b64 p3; st.param.b64 [p3], 2; .param .b64 p4; st.param.b64 [p4], 2; .param .b64 p5; st.param.b64 [p5], 0; .param .b32 r;
call.uni (r), __cudaCDP2Memset2DAsync, (p0, p1, p2, p3, p4, p5); }
mov.u32 %r1, 9; st.global.u8 [%rd2], %r1; ret;
}
";

    #[test]
    fn a_kernel_copies_and_fills_when_it_has_ended() {
        let mut device = VmDevice::default();
        let module = device.load(Code::ptx(&with_device_runtime(TRANSFERS.into()))).unwrap();
        let (to, from) = (device.alloc(16).unwrap(), device.alloc(8).unwrap());
        device.write(from, Bytes(&[1, 2, 3, 4])).unwrap();
        let launch = |from: u64| Launch {
            module,
            kernel: "move".into(),
            grid: [1; 3],
            block: [1; 3],
            params: vec![to.to_le_bytes().to_vec(), from.to_le_bytes().to_vec()],
            ..Launch::default()
        };
        let launched = device.launch(launch(from)).unwrap();
        assert!(launched.complete && launched.fault.is_none());
        let bytes = device.read(to, 16).unwrap().0;
        assert_eq!(bytes, [9, 2, 3, 4, 255, 255, 255, 255, 7, 7, 255, 255, 7, 7, 255, 255]);
        // What was never written stays so, and is no mistake.
        assert_eq!(
            device.launch(launch(from + 5)).unwrap().fault,
            Some(CudaError::ILLEGAL_ADDRESS)
        );
        assert_eq!(device.launch(launch(from + 3)).unwrap().fault, None);
    }

    #[test]
    fn a_kernel_asks_for_the_text_of_an_error() {
        let asks = ".version 9.0
.target sm_75
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetErrorString(.param .b32 c);
.visible .entry asks(.param .u64 to, .param .u32 code)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [code];
{ .param .b32 c; st.param.b32 [c], %r1; .param .b64 r; call.uni (r), __cudaCDP2GetErrorString, (c); ld.param.b64 %rd2, [r]; }
ld.u8 %r2, [%rd2]; st.global.u8 [%rd1], %r2; ld.u8 %r3, [%rd2+1]; st.global.u8 [%rd1+1], %r3; ret;
}
";
        let mut device = VmDevice::default();
        let module = device.load(Code::ptx(&with_device_runtime(asks.into()))).unwrap();
        let to = device.alloc(4).unwrap();
        // "no error", "invalid argument", "out of memory", "unrecognized error code".
        for (code, start) in [(0u32, b"no"), (1, b"in"), (2, b"ou"), (12_345, b"un")] {
            let launched = device.launch(Launch {
                module,
                kernel: "asks".into(),
                grid: [1; 3],
                block: [1; 3],
                params: vec![to.to_le_bytes().to_vec(), code.to_le_bytes().to_vec()],
                ..Launch::default()
            });
            assert!(launched.unwrap().complete);
            assert_eq!(device.read(to, 2).unwrap().0, start, "{code}");
        }
    }
}
