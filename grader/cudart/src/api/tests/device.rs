use super::*;

unsafe extern "C" {
    fn cudaGetDeviceCount(to: *mut c_int) -> u32;
    fn cudaGetDevice(to: *mut c_int) -> u32;
    safe fn cudaSetDevice(device: c_int) -> u32;
    fn cudaGetDeviceProperties(to: *mut [u64; 126], device: c_int) -> u32;
    fn cudaDeviceGetAttribute(to: *mut c_int, which: c_int, device: c_int) -> u32;
    safe fn cudaDeviceSetLimit(which: c_int, value: usize) -> u32;
    fn cudaDeviceGetLimit(to: *mut usize, which: c_int) -> u32;
    fn cudaDeviceCanAccessPeer(to: *mut c_int, from: c_int, peer: c_int) -> u32;
    safe fn cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> u32;
    safe fn cudaDeviceDisablePeerAccess(peer: c_int) -> u32;
    fn cudaDeviceGetP2PAttribute(to: *mut c_int, which: c_int, from: c_int, peer: c_int) -> u32;
    fn cudaRuntimeGetVersion(to: *mut c_int) -> u32;
    safe fn cudaUserObjectCreate() -> u32;
    fn cudaDeviceGetSharedMemConfig(to: *mut c_int) -> u32;
    safe fn cudaDeviceSetSharedMemConfig(config: c_int) -> u32;
}

/// The code that a function returns, and the value that it stores.
fn asked<T: Default>(question: impl FnOnce(*mut T) -> u32) -> (u32, T) {
    let mut value = T::default();
    let code = question(&raw mut value);
    (code, value)
}

#[test]
fn there_is_one_device() {
    let _program = Program::new();
    assert_eq!(cudaSetDevice(0), SUCCESS);
    for device in [1, -1, c_int::MAX] {
        assert_eq!(cudaSetDevice(device), INVALID_DEVICE);
        let mut properties = [0; 126];
        // SAFETY: addresses of variables; the structure has this size.
        unsafe {
            assert_eq!(cudaGetDeviceProperties(&raw mut properties, device), INVALID_DEVICE);
            let warp = asked(|to| cudaDeviceGetAttribute(to, 10, device));
            assert_eq!(warp, (INVALID_DEVICE, 0));
            assert_eq!(asked(|to| cudaDeviceCanAccessPeer(to, 0, device)).0, INVALID_DEVICE);
        }
        assert_eq!(properties, [0; 126]);
    }
    // SAFETY: addresses of variables, or null.
    unsafe {
        assert_eq!(asked(|to| cudaGetDeviceCount(to)), (SUCCESS, 1));
        assert_eq!(asked(|to| cudaGetDevice(to)), (SUCCESS, 0));
        assert_eq!(asked(|to| cudaRuntimeGetVersion(to)), (SUCCESS, 13_000));
        let null = std::ptr::null_mut();
        assert_eq!(cudaGetDeviceCount(null), INVALID_VALUE);
        assert_eq!(cudaGetDevice(null), INVALID_VALUE);
        assert_eq!(cudaGetDeviceProperties(null.cast(), 0), INVALID_VALUE);
        assert_eq!(cudaDeviceGetAttribute(null, 10, 0), INVALID_VALUE);
    }
}

#[test]
fn no_device_is_a_peer() {
    let _program = Program::new();
    // As an H200 answers.
    for (peer, enabled, disabled) in [(0, 217, 705), (1, INVALID_DEVICE, INVALID_DEVICE)] {
        assert_eq!(cudaDeviceEnablePeerAccess(peer, 0), enabled);
        assert_eq!(cudaDeviceDisablePeerAccess(peer), disabled);
        // SAFETY: address of a variable.
        let supported = asked(|to| unsafe { cudaDeviceGetP2PAttribute(to, 2, 0, peer) });
        assert_eq!(supported, (INVALID_DEVICE, 0));
    }
    assert_eq!(cudaDeviceEnablePeerAccess(0, 1), INVALID_VALUE);
}

#[test]
fn attributes_and_limits() {
    let _program = Program::new();
    // SAFETY: addresses of variables.
    let attribute = |which| asked(|to| unsafe { cudaDeviceGetAttribute(to, which, 0) });
    assert_eq!(attribute(10), (SUCCESS, 32));
    assert_eq!((attribute(75), attribute(76)), ((SUCCESS, 9), (SUCCESS, 0)));
    // Memory that programs map, and lines of the L2 cache that persist.
    assert_eq!((attribute(102), attribute(108)), ((SUCCESS, 1), (SUCCESS, 3 << 20)));
    assert_eq!((attribute(-1), attribute(100_000)), ((INVALID_VALUE, 0), (INVALID_VALUE, 0)));
    // SAFETY: addresses of variables.
    let limit = |which| asked(|to| unsafe { cudaDeviceGetLimit(to, which) });
    assert_eq!(limit(2), (SUCCESS, 8 << 20));
    assert_eq!(cudaDeviceSetLimit(2, 64 << 20), SUCCESS);
    let mut width = 0;
    // SAFETY: the address of a variable.
    assert_eq!(unsafe { cudaDeviceGetSharedMemConfig(&raw mut width) }, SUCCESS);
    assert_eq!((cudaDeviceSetSharedMemConfig(2), width), (SUCCESS, 1));
    assert_eq!(limit(2), (SUCCESS, 64 << 20));
    assert_eq!(cudaDeviceSetLimit(2, 1 << 50), MEMORY_ALLOCATION);
    assert_eq!(limit(2), (SUCCESS, 64 << 20));
    assert_eq!((limit(99), limit(-1)), ((INVALID_VALUE, 0), (INVALID_VALUE, 0)));
    assert_eq!(cudaDeviceSetLimit(99, 1), INVALID_VALUE);
    // `cudaErrorUnsupportedLimit`.
    assert_eq!(limit(3), (215, 0));
    assert_eq!(cudaDeviceReset(), SUCCESS);
    assert_eq!(limit(2), (SUCCESS, 8 << 20));
}

#[test]
fn what_is_not_supported_says_so() {
    let _program = Program::new();
    assert_eq!(cudaUserObjectCreate(), NOT_SUPPORTED);
    assert_eq!((cudaGetLastError(), cudaGetLastError()), (NOT_SUPPORTED, SUCCESS));
}

/// A kernel that calls `printf`, and prints nothing.
const PRINTS: &str = ".version 7.5 .target sm_75 .address_size 64
    .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
    .global .align 1 .b8 text[2] = {104, 0};
    .visible .entry prints(.param .u64 x, .param .u32 y) {
        .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %p<2>;
        ld.param.u32 %r1, [y]; setp.eq.u32 %p1, %r1, 7; @%p1 ret;
        mov.u64 %rd1, text; cvta.global.u64 %rd2, %rd1;
        { .param .b64 a0; st.param.b64 [a0], %rd2; .param .b64 a1; st.param.b64 [a1], 0; .param .b32 r0;
          call.uni (r0), vprintf, (a0, a1); }
        ret;
    }";

#[test]
fn the_buffer_of_printf_keeps_its_size_once_a_kernel_may_print() {
    const PRINTF: c_int = 1;
    let program = Program::new();
    let kernel = 7;
    {
        let mut registry = registry();
        let module = registry.add(Some(Image::Ptx(PRINTS.into())));
        let name = "prints".into();
        let function = Function { module, name, opted_in: 0, large_clusters: false };
        registry.functions.insert(host(kernel) as usize, function);
    }
    let x = program.memory(4);
    assert_eq!(program.launch(FILL, [1; 3], [1; 3], 0, x), SUCCESS);
    assert_eq!(cudaDeviceSetLimit(PRINTF, 1 << 21), SUCCESS);
    assert_eq!(program.launch(kernel, [1; 3], [1; 3], 0, x), SUCCESS);
    assert_eq!(cudaDeviceSetLimit(PRINTF, 1 << 22), INVALID_VALUE);
    assert_eq!(cudaDeviceReset(), SUCCESS);
    assert_eq!(cudaDeviceSetLimit(PRINTF, 1 << 22), SUCCESS);
}
