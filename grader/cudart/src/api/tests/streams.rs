use super::*;

unsafe extern "C" {
    fn cudaStreamCreate(to: *mut u64) -> u32;
    fn cudaStreamCreateWithFlags(to: *mut u64, flags: c_uint) -> u32;
    safe fn cudaStreamDestroy(stream: u64) -> u32;
    safe fn cudaStreamSynchronize(stream: u64) -> u32;
    safe fn cudaStreamQuery(stream: u64) -> u32;
    safe fn cudaStreamWaitEvent(stream: u64, event: u64, flags: c_uint) -> u32;
    safe fn cudaLaunchHostFunc(stream: u64, function: Option<extern "C" fn()>, data: u64) -> u32;
    fn cudaEventCreate(to: *mut u64) -> u32;
    fn cudaEventCreateWithFlags(to: *mut u64, flags: c_uint) -> u32;
    safe fn cudaEventRecord(event: u64, stream: u64) -> u32;
    safe fn cudaEventQuery(event: u64) -> u32;
    safe fn cudaEventSynchronize(event: u64) -> u32;
    fn cudaEventElapsedTime(to: *mut f32, from: u64, until: u64) -> u32;
    safe fn cudaEventDestroy(event: u64) -> u32;
}

/// A number that is not a valid handle.
const WILD: u64 = 0x1234_5678;

fn stream() -> u64 {
    let mut stream = 0;
    // SAFETY: the address of a variable.
    assert_eq!(unsafe { cudaStreamCreate(&raw mut stream) }, SUCCESS);
    stream
}

fn event(flags: c_uint) -> u64 {
    let mut event = 0;
    // SAFETY: the address of a variable.
    assert_eq!(unsafe { cudaEventCreateWithFlags(&raw mut event, flags) }, SUCCESS);
    event
}

#[test]
fn streams() {
    let program = Program::new();
    // SAFETY: null, or the address of a variable.
    unsafe {
        assert_eq!(cudaStreamCreate(std::ptr::null_mut()), INVALID_VALUE);
        let mut stream = 7;
        assert_eq!(cudaStreamCreateWithFlags(&raw mut stream, 2), INVALID_VALUE);
        assert_eq!(stream, 7);
    }
    let own = stream();
    for good in [0, 1, 2, own] {
        assert_eq!((cudaStreamSynchronize(good), cudaStreamQuery(good)), (SUCCESS, SUCCESS));
    }
    let e = event(0);
    for bad in [WILD, e] {
        assert_eq!(cudaStreamSynchronize(bad), INVALID_RESOURCE_HANDLE);
        assert_eq!(cudaStreamDestroy(bad), INVALID_RESOURCE_HANDLE);
        assert_eq!(cudaStreamWaitEvent(bad, e, 0), INVALID_RESOURCE_HANDLE);
    }
    assert_eq!(cudaStreamWaitEvent(own, own, 0), INVALID_RESOURCE_HANDLE);
    assert_eq!(cudaLaunchHostFunc(own, None, 0), INVALID_VALUE);
    assert_eq!(cudaStreamDestroy(0), INVALID_RESOURCE_HANDLE);
    assert_eq!(cudaStreamDestroy(own), SUCCESS);
    assert_eq!(cudaStreamDestroy(own), INVALID_RESOURCE_HANDLE);
    // The fault of a kernel shows at whoever waits, whatever the stream.
    let (x, own) = (program.memory(4), stream());
    assert_eq!(program.launch(OUTSIDE, [1; 3], [1; 3], 0, x), SUCCESS);
    assert_eq!(cudaStreamSynchronize(own), ILLEGAL_ADDRESS);
    assert_eq!(cudaStreamDestroy(own), ILLEGAL_ADDRESS);
}

#[test]
fn events() {
    let _program = Program::new();
    let elapsed = |from, until| {
        let mut milliseconds = -1.0;
        // SAFETY: the address of a variable.
        let code = unsafe { cudaEventElapsedTime(&raw mut milliseconds, from, until) };
        (code, milliseconds)
    };
    // SAFETY: null, or the address of a variable.
    unsafe {
        assert_eq!(cudaEventCreate(std::ptr::null_mut()), INVALID_VALUE);
        let mut event = 7;
        assert_eq!(cudaEventCreateWithFlags(&raw mut event, 8), INVALID_VALUE);
        assert_eq!(event, 7);
    }
    let (first, second, untimed) = (event(0), event(1), event(2));
    assert_eq!(elapsed(first, second), (INVALID_RESOURCE_HANDLE, -1.0), "not recorded");
    assert_eq!(cudaEventRecord(first, 0), SUCCESS);
    assert_eq!(elapsed(first, second), (INVALID_RESOURCE_HANDLE, -1.0), "one is not recorded");
    assert_eq!((cudaEventRecord(second, 0), cudaEventRecord(untimed, 0)), (SUCCESS, SUCCESS));
    assert_eq!(elapsed(first, second), (SUCCESS, 0.0));
    let (mut device, host) = (0, vec![0u8; 16 << 20]);
    // SAFETY: so many bytes lie at both places.
    unsafe {
        assert_eq!(cudaMalloc(&raw mut device, host.len()), SUCCESS);
        assert_eq!(cudaMemcpy(device, host.as_ptr() as u64, host.len(), 1), SUCCESS);
    }
    assert_eq!(cudaEventRecord(second, 0), SUCCESS);
    let (code, milliseconds) = elapsed(first, second);
    assert!(code == SUCCESS && (0.5..2.0).contains(&milliseconds), "{milliseconds}");
    assert_eq!(elapsed(first, untimed), (INVALID_RESOURCE_HANDLE, -1.0), "without times");
    // SAFETY: null is refused.
    let null = unsafe { cudaEventElapsedTime(std::ptr::null_mut(), first, second) };
    assert_eq!(null, INVALID_VALUE);
    for bad in [0, WILD, stream()] {
        assert_eq!(cudaEventRecord(bad, 0), INVALID_RESOURCE_HANDLE);
        assert_eq!(cudaEventQuery(bad), INVALID_RESOURCE_HANDLE);
        assert_eq!(cudaEventSynchronize(bad), INVALID_RESOURCE_HANDLE);
        assert_eq!(cudaEventDestroy(bad), INVALID_RESOURCE_HANDLE);
    }
    assert_eq!(cudaEventRecord(first, WILD), INVALID_RESOURCE_HANDLE);
    assert_eq!(cudaEventDestroy(first), SUCCESS);
    assert_eq!(cudaEventDestroy(first), INVALID_RESOURCE_HANDLE);
    assert_eq!(elapsed(first, second), (INVALID_RESOURCE_HANDLE, -1.0));
}
