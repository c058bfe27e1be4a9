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
