use super::*;
use std::ffi::CString;

unsafe extern "C" {
    fn cudaLibraryLoadData(
        to: *mut u64,
        code: *const c_void,
        options: *const c_int,
        values: *const *mut c_void,
        count: c_uint,
        library_options: *const c_void,
        library_values: *const c_void,
        library_count: c_uint,
    ) -> u32;
    safe fn cudaLibraryUnload(library: u64) -> u32;
    fn cudaLibraryGetKernel(to: *mut u64, library: u64, name: *const c_char) -> u32;
    fn cuModuleLoad(to: *mut u64, path: *const c_char) -> u32;
    fn cuModuleLoadData(to: *mut u64, code: *const c_void) -> u32;
    fn cuModuleLoadDataEx(
        to: *mut u64,
        code: *const c_void,
        count: c_uint,
        options: *const c_int,
        values: *const *mut c_void,
    ) -> u32;
    safe fn cuModuleUnload(module: u64) -> u32;
    pub(super) fn cuModuleGetFunction(to: *mut u64, module: u64, name: *const c_char) -> u32;
    fn cuModuleGetGlobal_v2(
        to: *mut u64,
        bytes: *mut usize,
        module: u64,
        name: *const c_char,
    ) -> u32;
    fn cuFuncGetAttribute(to: *mut c_int, attribute: c_int, function: u64) -> u32;
    pub(super) fn cuLaunchKernel(
        function: u64,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: u64,
        args: *const *const c_void,
        extra: *const *const c_void,
    ) -> u32;
    safe fn cuMemsetD32_v2(address: u64, value: c_uint, count: usize) -> u32;
    safe fn cuCtxSynchronize() -> u32;
}

/// A kernel that adds a variable to words, with launch bounds.
const ADDS: &CStr = c".version 8.0\n.target sm_75\n.address_size 64\n.global .u32 summand = 5;\n\
    .visible .entry adds(.param .u64 words)\n.maxntid 64, 2, 1\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n\
    ld.param.u64 %rd1, [words];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd0, %r0, 4;\nadd.u64 %rd1, %rd1, %rd0;\n\
    ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [summand];\nadd.u32 %r1, %r1, %r2;\n\
    st.global.u32 [%rd1], %r1;\nret;\n}\n";

/// The code that a function returns, and the handle that it stores.
fn handle(make: impl FnOnce(*mut u64) -> u32) -> (u32, u64) {
    let mut handle = 0;
    (make(&raw mut handle), handle)
}

#[test]
fn the_driver_loads_and_launches() {
    let program = Program::new();
    // SAFETY: PTX and names that end with zero, addresses of variables, one argument for the only parameter.
    unsafe {
        let (code, module) = handle(|to| cuModuleLoadData(to, ADDS.as_ptr().cast()));
        assert_eq!(code, SUCCESS);
        let (code, adds) = handle(|to| cuModuleGetFunction(to, module, c"adds".as_ptr()));
        assert_eq!(code, SUCCESS);
        let again = handle(|to| cuModuleGetFunction(to, module, c"adds".as_ptr()));
        assert_eq!(again, (SUCCESS, adds));
        assert_eq!(handle(|to| cuModuleGetFunction(to, module, c"other".as_ptr())).0, 500);
        let mut most = 0;
        assert_eq!(cuFuncGetAttribute(&raw mut most, 0, adds), SUCCESS);
        assert_eq!(most, 128, "its launch bounds");
        assert_eq!(cuFuncGetAttribute(&raw mut most, 10, adds), INVALID_VALUE);
        let (mut summand, mut bytes) = (0, 0);
        let name = c"summand".as_ptr();
        let found = cuModuleGetGlobal_v2(&raw mut summand, &raw mut bytes, module, name);
        assert_eq!((found, bytes), (SUCCESS, 4));
        let words = program.memory(4096);
        assert_eq!(cuMemsetD32_v2(words, 0x0102_0304, 1024), SUCCESS);
        assert_eq!(cuMemsetD32_v2(summand, 7, 1), SUCCESS);
        for (address, count) in [(words, 1025), (words, usize::MAX), (words + 1, 1), (8, 1)] {
            assert_eq!(cuMemsetD32_v2(address, 1, count), INVALID_VALUE, "{count}");
        }
        let argument = (&raw const words).cast::<c_void>();
        let args = [argument];
        let launch = |args: *const *const c_void, extra: *const *const c_void| {
            cuLaunchKernel(adds, 1, 1, 1, 32, 1, 1, 0, 0, args, extra)
        };
        assert_eq!(launch(args.as_ptr(), std::ptr::null()), SUCCESS);
        assert_eq!(cuCtxSynchronize(), SUCCESS);
        let mut found = [0x0102_0304; 1024];
        found[..32].fill(0x0102_030B);
        assert_eq!(program.read(words), found);
        // An H200 says so of blocks beyond the launch bounds, too.
        let beyond =
            cuLaunchKernel(adds, 1, 1, 1, 129, 1, 1, 0, 0, args.as_ptr(), std::ptr::null());
        assert_eq!(beyond, INVALID_VALUE);
        // All arguments in one buffer: its address behind 1, the place of its size behind 2, and 0.
        let null = std::ptr::null();
        let number = |number: usize| std::ptr::without_provenance::<c_void>(number);
        let mut size = 8usize;
        let extra = |size: *const usize| [number(1), argument, number(2), size.cast(), null];
        assert_eq!(launch(null.cast(), extra(&raw const size).as_ptr()), SUCCESS);
        found[..32].fill(0x0102_0312);
        assert_eq!(program.read(words), found);
        size = 7;
        assert_eq!(launch(null.cast(), extra(&raw const size).as_ptr()), INVALID_VALUE);
        assert_eq!(launch(null.cast(), [number(5), null, null].as_ptr()), INVALID_VALUE);
        assert_eq!(cuModuleUnload(module), SUCCESS);
        assert_eq!(cuModuleUnload(module), INVALID_RESOURCE_HANDLE);
        assert_ne!(launch(args.as_ptr(), null.cast()), SUCCESS);
    }
}

#[test]
fn the_runtime_loads_fat_binaries_too() {
    let program = Program::new();
    let null = std::ptr::null::<c_void>();
    let load = |code: *const u8| {
        // SAFETY: device code, or text that ends with zero.
        handle(|to| unsafe {
            cudaLibraryLoadData(to, code.cast(), null.cast(), null.cast(), 0, null, null, 0)
        })
    };
    let code = container(MODULE, 75);
    let (loaded, library) = load(code.as_ptr());
    assert_eq!(loaded, SUCCESS);
    // SAFETY: a name that ends with zero.
    let kernel = |library, name: &CStr| {
        handle(|to| unsafe { cudaLibraryGetKernel(to, library, name.as_ptr()) })
    };
    let (found, fill) = kernel(library, c"fill");
    assert_eq!(found, SUCCESS);
    let words = program.memory(4096);
    let value = 7u32;
    let args = [(&raw const words).cast::<c_void>(), (&raw const value).cast()];
    let (grid, block) = (Dim3 { x: 1, y: 1, z: 1 }, Dim3 { x: 1024, y: 1, z: 1 });
    // SAFETY: an argument for each parameter.
    let launched =
        unsafe { cudaLaunchKernel(fill as *const c_void, grid, block, args.as_ptr(), 0, 0) };
    assert_eq!((launched, cudaDeviceSynchronize()), (SUCCESS, SUCCESS));
    assert_eq!(program.read(words), [7; 1024]);
    assert_eq!(kernel(library, c"nothing").0, 500);
    assert_eq!(kernel(library + 1, c"fill").0, INVALID_RESOURCE_HANDLE);
    assert_eq!(cudaLibraryUnload(library), SUCCESS);
    assert_eq!(kernel(library, c"fill").0, INVALID_RESOURCE_HANDLE);
}

#[test]
fn what_is_no_device_code_is_refused() {
    let _program = Program::new();
    // SAFETY: texts that end with zero; null is refused.
    let load = |code: *const c_char| handle(|to| unsafe { cuModuleLoadData(to, code.cast()) }).0;
    // As on an H100: what is not PTX at all, and what begins as PTX.
    assert_eq!(load(c"garbage".as_ptr()), 200);
    assert_eq!(load(c".version 9.0 garbage".as_ptr()), 218);
    assert_eq!(load(std::ptr::null()), INVALID_VALUE);
    assert_eq!(load(c"\x7fELF".as_ptr()), 209);
    // The log says what is wrong, as much of it as there is room for.
    let mut log = [1u8; 40];
    let values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
    let broken = c".version 9.0\n.target sm_90\n.address_size 64\nnonsense".as_ptr().cast();
    let load = |to| unsafe { cuModuleLoadDataEx(to, broken, 2, [5, 6].as_ptr(), values.as_ptr()) };
    assert_eq!(handle(load).0, 218);
    let text = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
    assert!(text.starts_with("line 4 of the PTX: found `nonsense`"), "{text}");
    assert_eq!(text.len(), 39);
    // SAFETY: the same.
    let file = handle(|to| unsafe { cuModuleLoad(to, c"/no/such/file.ptx".as_ptr()) });
    assert_eq!(file.0, 301);
}

/// A kernel that counts and launches itself `left` times behind its own end, or below itself.
fn launches_itself(stream: u32) -> CString {
    let text = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n\
         .extern .func (.param .b64 q) __cudaCDP2GetParameterBufferV2\n\
         (.param .b64 k, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);\n\
         .extern .func (.param .b32 q) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n\
         .extern .func (.param .b32 q) __cudaCDP2StreamCreateWithFlags(.param .b64 s, .param .b32 f);\n\
         .visible .entry again(.param .u64 count, .param .u32 left) {{\n\
         .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p; .local .align 8 .b8 stream[8];\n\
         ld.param.u64 %rd1,[count]; ld.param.u32 %r1,[left]; atom.global.add.u32 %r2,[%rd1],1;\n\
         setp.eq.u32 %p,%r1,0; @%p bra END; sub.u32 %r1,%r1,1; mov.u64 %rd2,again;\n\
         {{ .param .b64 p0; cvta.local.u64 %rd5,stream; st.param.b64 [p0],%rd5; .param .b32 p1; st.param.b32 [p1],1;\n\
         .param .b32 q; call.uni (q), __cudaCDP2StreamCreateWithFlags, (p0, p1); }}\n\
         ld.local.u64 %rd4,[stream]; {{ .reg .pred %none; setp.eq.u64 %none,%rd4,0; @%none trap; }}\n\
         {{ .param .b64 p0; st.param.b64 [p0],%rd2;\n\
         .param .align 4 .b8 p1[12]; st.param.b32 [p1],1; st.param.b32 [p1+4],1; st.param.b32 [p1+8],1;\n\
         .param .align 4 .b8 p2[12]; st.param.b32 [p2],1; st.param.b32 [p2+4],1; st.param.b32 [p2+8],1;\n\
         .param .b32 p3; st.param.b32 [p3],0; .param .b64 q;\n\
         call.uni (q), __cudaCDP2GetParameterBufferV2, (p0, p1, p2, p3); ld.param.b64 %rd3,[q]; }}\n\
         st.u64 [%rd3],%rd1; st.u32 [%rd3+8],%r1;\n\
         {{ .param .b64 p0; st.param.b64 [p0],%rd3; .param .b64 p1; st.param.b64 [p1],{stream}; .param .b32 q;\n\
         call.uni (q), __cudaCDP2LaunchDeviceV2, (p0, p1); }}\n\
         END: ret;\n}}\n"
    );
    CString::new(text).unwrap()
}

#[test]
fn kernels_launch_kernels() {
    for (stream, times, count, ended) in
        [(0, 24, 25, SUCCESS), (0, 40, 25, 65), (3, 500, 501, SUCCESS)]
    {
        let program = Program::new();
        let counted = program.memory(4);
        assert_eq!(cuMemsetD32_v2(counted, 0, 1), SUCCESS);
        let code = launches_itself(stream);
        // SAFETY: PTX and a name that end with zero, addresses of variables, an argument for each parameter.
        unsafe {
            let (_, module) = handle(|to| cuModuleLoadData(to, code.as_ptr().cast()));
            let (_, again) = handle(|to| cuModuleGetFunction(to, module, c"again".as_ptr()));
            let left = times;
            let args = [(&raw const counted).cast::<c_void>(), (&raw const left).cast()];
            let null = std::ptr::null();
            let launched = cuLaunchKernel(again, 1, 1, 1, 1, 1, 1, 0, 0, args.as_ptr(), null);
            assert_eq!(launched, SUCCESS);
        }
        assert_eq!(cuCtxSynchronize(), ended, "{stream} {times}");
        if ended == SUCCESS {
            assert_eq!(program.read(counted), [count]);
        }
        cudaDeviceReset();
    }
}
