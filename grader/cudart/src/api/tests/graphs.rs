use super::*;

unsafe extern "C" {
    fn cudaStreamCreate(to: *mut u64) -> u32;
    safe fn cudaStreamSynchronize(stream: u64) -> u32;
    safe fn cudaStreamWaitEvent(stream: u64, event: u64, flags: c_uint) -> u32;
    safe fn cudaStreamBeginCapture(stream: u64, mode: c_uint) -> u32;
    fn cudaStreamEndCapture(stream: u64, to: *mut u64) -> u32;
    fn cudaStreamIsCapturing(stream: u64, to: *mut c_int) -> u32;
    fn cudaEventCreate(to: *mut u64) -> u32;
    safe fn cudaEventRecord(event: u64, stream: u64) -> u32;
    safe fn cudaEventSynchronize(event: u64) -> u32;
    fn cudaMemsetAsync(address: u64, value: c_int, bytes: usize, stream: u64) -> u32;
    fn cudaMemcpyAsync(to: u64, from: u64, bytes: usize, kind: c_int, stream: u64) -> u32;
    fn cudaGraphInstantiate(to: *mut u64, graph: u64, flags: u64) -> u32;
    safe fn cudaGraphLaunch(graph: u64, stream: u64) -> u32;
    safe fn cudaGraphExecDestroy(graph: u64) -> u32;
    safe fn cudaGraphDestroy(graph: u64) -> u32;
}

/// The result that a function stores through its pointer.
fn made(make: impl FnOnce(*mut u64) -> u32) -> u64 {
    let mut handle = 0;
    assert_eq!(make(&raw mut handle), SUCCESS);
    handle
}

#[test]
fn a_graph_does_what_its_streams_were_told_each_time_it_is_launched() {
    let program = Program::new();
    let (x, y) = (program.memory(16), program.memory(16));
    // SAFETY: of the whole test: addresses of variables and of device memory.
    let (own, other) =
        unsafe { (made(|to| cudaStreamCreate(to)), made(|to| cudaStreamCreate(to))) };
    // SAFETY: as above.
    let event = unsafe { made(|to| cudaEventCreate(to)) };
    let fill = |value: i32, stream| {
        let args = [(&raw const x).cast(), (&raw const value).cast()];
        let (grid, block) = (Dim3 { x: 1, y: 1, z: 1 }, Dim3 { x: 2, y: 1, z: 1 });
        // SAFETY: the kernel has these two parameters.
        unsafe { cudaLaunchKernel(host(FILL), grid, block, args.as_ptr(), 0, stream) }
    };
    assert_eq!(fill(1, own), SUCCESS);
    assert_eq!(cudaStreamBeginCapture(0, 0), STREAM_CAPTURE_UNSUPPORTED);
    assert_eq!(cudaStreamBeginCapture(own, 0), SUCCESS);
    assert_eq!(cudaStreamBeginCapture(own, 0), ILLEGAL_STATE);
    let mut status = 0;
    // SAFETY: as above.
    assert_eq!(unsafe { cudaStreamIsCapturing(own, &raw mut status) }, SUCCESS);
    assert_eq!(status, 1);
    assert_eq!(fill(7, own), SUCCESS);
    // Another stream takes part from where it waits for this one.
    assert_eq!(
        (cudaEventRecord(event, own), cudaStreamWaitEvent(other, event, 0)),
        (SUCCESS, SUCCESS)
    );
    // SAFETY: as above.
    unsafe {
        assert_eq!(cudaMemcpyAsync(y, x, 8, DEVICE_TO_DEVICE, other), SUCCESS);
        assert_eq!(cudaMemsetAsync(x, 0, 4, own), SUCCESS);
    }
    // SAFETY: as above.
    let graph = unsafe { made(|to| cudaStreamEndCapture(own, to)) };
    // SAFETY: as above.
    assert_eq!(unsafe { cudaStreamEndCapture(own, std::ptr::null_mut()) }, ILLEGAL_STATE);
    assert_eq!(program.read(x), [1, 1], "nothing has run yet");
    // SAFETY: as above.
    let executable = unsafe { made(|to| cudaGraphInstantiate(to, graph, 0)) };
    assert_eq!(cudaGraphDestroy(graph), SUCCESS);
    assert_eq!(cudaGraphDestroy(graph), INVALID_VALUE);
    for _ in 0..2 {
        assert_eq!(fill(3, other), SUCCESS);
        assert_eq!(cudaGraphLaunch(executable, own), SUCCESS);
        assert_eq!(cudaStreamSynchronize(own), SUCCESS);
        assert_eq!((program.read(x), program.read(y)), ([0, 7], [7, 7]));
    }
    assert_eq!(cudaGraphExecDestroy(executable), SUCCESS);
    assert_eq!(cudaGraphLaunch(executable, own), INVALID_VALUE);
}

#[test]
fn waiting_in_a_capture_spoils_it_whatever_its_mode() {
    let _program = Program::new();
    // SAFETY: of the whole test: addresses of variables.
    let (own, event) = unsafe { (made(|to| cudaStreamCreate(to)), made(|to| cudaEventCreate(to))) };
    let waits: [&dyn Fn() -> u32; 3] =
        [&|| cudaDeviceSynchronize(), &|| cudaStreamSynchronize(own), &|| {
            cudaEventSynchronize(event)
        }];
    // As an H200 answers with CUDA 13.0.
    let answers = [STREAM_CAPTURE_UNSUPPORTED, STREAM_CAPTURE_UNSUPPORTED, CAPTURED_EVENT];
    for ((mode, wait), answer) in (0..3).zip(waits).zip(answers) {
        assert_eq!(cudaStreamBeginCapture(own, mode), SUCCESS);
        assert_eq!(cudaEventRecord(event, own), SUCCESS);
        assert_eq!(wait(), answer);
        // SAFETY: the address is not used: the work is refused.
        assert_eq!(unsafe { cudaMemsetAsync(0, 0, 0, own) }, STREAM_CAPTURE_INVALIDATED);
        let mut graph = 7;
        // SAFETY: as above.
        assert_eq!(
            unsafe { cudaStreamEndCapture(own, &raw mut graph) },
            STREAM_CAPTURE_INVALIDATED
        );
        assert_eq!(graph, 0);
        assert_eq!(cudaDeviceSynchronize(), SUCCESS, "the capture is over");
    }
}
