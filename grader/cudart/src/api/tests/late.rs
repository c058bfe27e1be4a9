//! Work that is done as late as the program's order allows.

use super::*;

unsafe extern "C" {
    fn cudaStreamCreate(to: *mut u64) -> u32;
    fn cudaStreamCreateWithFlags(to: *mut u64, flags: c_uint) -> u32;
    safe fn cudaStreamSynchronize(stream: u64) -> u32;
    safe fn cudaStreamWaitEvent(stream: u64, event: u64, flags: c_uint) -> u32;
    safe fn cudaStreamBeginCapture(stream: u64, mode: c_uint) -> u32;
    fn cudaStreamEndCapture(stream: u64, to: *mut u64) -> u32;
    fn cudaGraphInstantiate(to: *mut u64, graph: u64, flags: u64) -> u32;
    safe fn cudaGraphLaunch(graph: u64, stream: u64) -> u32;
    fn cudaEventCreate(to: *mut u64) -> u32;
    safe fn cudaEventRecord(event: u64, stream: u64) -> u32;
    fn cudaEventElapsedTime(to: *mut f32, from: u64, until: u64) -> u32;
    fn cudaMallocHost(to: *mut u64, bytes: usize) -> u32;
    fn cudaMallocManaged(to: *mut u64, bytes: usize, flags: c_uint) -> u32;
    safe fn cudaMemsetAsync(address: u64, value: c_int, bytes: usize, stream: u64) -> u32;
    safe fn cudaMemset(address: u64, value: c_int, bytes: usize) -> u32;
    fn cudaMemcpyAsync(to: u64, from: u64, bytes: usize, kind: c_int, stream: u64) -> u32;
    safe fn cudaFreeAsync(address: u64, stream: u64) -> u32;
    fn cudaLaunchHostFunc(
        stream: u64,
        function: Option<extern "C" fn(*mut c_void)>,
        data: *mut c_void,
    ) -> u32;
}

const NON_BLOCKING: c_uint = 1;

#[expect(clippy::unused_self, reason = "only a program that has its turn may call")]
impl Program {
    fn late() -> Self {
        let mut device = VmDevice::default();
        device.expect_streams();
        device.delay_streams();
        Self::on(device)
    }

    /// `count` ints of memory, all 0.
    fn zeros(&self, count: usize) -> u64 {
        let memory = self.memory(4 * count);
        assert_eq!(cudaMemset(memory, 0, 4 * count), SUCCESS);
        memory
    }

    /// Sets the first int at an address to 7.
    fn set(&self, x: u64, stream: u64) {
        assert_eq!(self.launch_in(FILL, ([1; 3], [1; 3], 0), x, stream), SUCCESS);
    }

    fn copy(&self, to: u64, from: u64, kind: c_int, stream: u64) {
        // SAFETY: the tests copy one int between memory that has room for it.
        assert_eq!(unsafe { cudaMemcpyAsync(to, from, 4, kind, stream) }, SUCCESS);
    }

    fn pinned(&self) -> *mut i32 {
        // SAFETY: the address of a variable.
        made(|to| unsafe { cudaMallocHost(to, 4) }) as *mut i32
    }
}

fn made(make: impl FnOnce(*mut u64) -> u32) -> u64 {
    let mut handle = 0;
    assert_eq!(make(&raw mut handle), SUCCESS);
    handle
}

fn streams(flags: c_uint) -> [u64; 2] {
    // SAFETY: the address of a variable.
    [(); 2].map(|()| made(|to| unsafe { cudaStreamCreateWithFlags(to, flags) }))
}

fn event() -> u64 {
    // SAFETY: the address of a variable.
    made(|to| unsafe { cudaEventCreate(to) })
}

#[test]
fn a_stream_that_waits_for_no_event_comes_too_early() {
    for (waits, expected) in [(false, 0), (true, 7)] {
        let program = Program::late();
        let ([first, second], event) = (streams(NON_BLOCKING), event());
        let (x, y) = (program.zeros(1), program.zeros(1));
        program.set(x, first);
        assert_eq!(cudaEventRecord(event, first), SUCCESS);
        if waits {
            assert_eq!(cudaStreamWaitEvent(second, event, 0), SUCCESS);
        }
        program.copy(y, x, DEVICE_TO_DEVICE, second);
        assert_eq!(cudaDeviceSynchronize(), SUCCESS);
        assert_eq!((program.read(x), program.read(y)), ([7], [expected]), "{waits}");
    }
}

#[test]
fn a_buffer_that_is_used_again_too_early_has_the_next_values() {
    let program = Program::late();
    let [first, second] = streams(0);
    let (x, y) = (program.zeros(1), program.zeros(1));
    program.copy(y, x, DEVICE_TO_DEVICE, first);
    program.set(x, second);
    assert_eq!(cudaDeviceSynchronize(), SUCCESS);
    assert_eq!(program.read(y), [7]);
}

#[test]
fn the_host_sees_a_copy_only_once_it_has_waited() {
    let program = Program::late();
    let [stream, other] = streams(NON_BLOCKING);
    let (x, pinned) = (program.zeros(1), program.pinned());
    // SAFETY: pinned memory of this size, which is read as a program reads it.
    let seen = || unsafe { pinned.read_volatile() };
    program.set(x, stream);
    program.copy(pinned as u64, x, DEVICE_TO_HOST, stream);
    assert_eq!(cudaStreamSynchronize(other), SUCCESS);
    assert_eq!(seen(), 0);
    assert_eq!(cudaStreamSynchronize(stream), SUCCESS);
    assert_eq!(seen(), 7);
    // The source of a copy is needed until then too.
    let y = program.zeros(1);
    program.copy(y, pinned as u64, HOST_TO_DEVICE, stream);
    // SAFETY: as above.
    unsafe { pinned.write_volatile(8) };
    assert_eq!(cudaStreamSynchronize(stream), SUCCESS);
    assert_eq!(program.read(y), [8]);
    // Pinned pages stay in the process else.
    assert_eq!(cudaDeviceReset(), SUCCESS);
}

#[test]
fn the_default_stream_waits_for_blocking_streams_alone() {
    for (flags, expected) in [(0, 7), (NON_BLOCKING, 0)] {
        let program = Program::late();
        let ([stream, _], x) = (streams(flags), program.zeros(1));
        program.set(x, stream);
        assert_eq!(program.read(x), [expected], "flags {flags}");
    }
}

extern "C" fn look(data: *mut c_void) {
    // SAFETY: the pinned int of the test.
    assert_eq!(unsafe { data.cast::<i32>().read_volatile() }, 7);
}

#[test]
fn what_the_program_could_notice_is_done_at_once() {
    let program = Program::late();
    let [stream, other] = streams(NON_BLOCKING);
    let x = program.zeros(2);
    // Memory that the program may use as soon as the call returns, in both directions.
    let mut own = 5i32;
    program.copy(x, (&raw const own) as u64, HOST_TO_DEVICE, stream);
    own = 6;
    program.copy((&raw mut own) as u64, x, DEVICE_TO_HOST, stream);
    assert_eq!(own, 5);
    // A function of the host, and what comes before it.
    let pinned = program.pinned();
    program.set(x, other);
    program.copy(pinned as u64, x, DEVICE_TO_HOST, other);
    // SAFETY: the data is what the function takes.
    assert_eq!(unsafe { cudaLaunchHostFunc(other, Some(look), pinned.cast()) }, SUCCESS);
    // Memory that host and device share, for which the host may wait in a loop.
    program.set(pinned as u64, stream);
    // SAFETY: as above, and the address of a variable.
    assert_eq!(unsafe { pinned.read_volatile() }, 7);
    let managed = made(|to| unsafe { cudaMallocManaged(to, 4, 1) });
    program.set(managed, stream);
    // SAFETY: managed memory of this size.
    assert_eq!(unsafe { (managed as *const i32).read_volatile() }, 7);
    // An error of the call.
    // SAFETY: nothing is there.
    let wild = unsafe { cudaMemcpyAsync(x, x + 4, 8, DEVICE_TO_DEVICE, stream) };
    assert_eq!(wild, INVALID_VALUE);
    assert_eq!(cudaDeviceReset(), SUCCESS);
}

#[test]
fn memory_that_is_freed_is_used_before() {
    let program = Program::late();
    let ([stream, other], x) = (streams(NON_BLOCKING), program.zeros(1));
    let y = program.zeros(1);
    program.set(x, stream);
    program.copy(y, x, DEVICE_TO_DEVICE, stream);
    assert_eq!(cudaFreeAsync(x, stream), SUCCESS);
    assert_eq!(cudaMemsetAsync(y, 0, 4, other), SUCCESS);
    assert_eq!(cudaFree(y), SUCCESS);
}

#[test]
fn a_graph_comes_after_what_its_stream_has_done() {
    let program = Program::late();
    let ([stream, _], x, y) = (streams(0), program.zeros(1), program.zeros(1));
    assert_eq!(cudaStreamBeginCapture(stream, 0), SUCCESS);
    program.copy(y, x, DEVICE_TO_DEVICE, stream);
    // SAFETY: the addresses of variables.
    let graph = made(|to| unsafe { cudaStreamEndCapture(stream, to) });
    let graph = made(|to| unsafe { cudaGraphInstantiate(to, graph, 0) });
    program.set(x, stream);
    assert_eq!(cudaGraphLaunch(graph, stream), SUCCESS);
    assert_eq!(cudaMemsetAsync(x, 0, 4, stream), SUCCESS);
    assert_eq!(cudaStreamSynchronize(stream), SUCCESS);
    assert_eq!((program.read(x), program.read(y)), ([0], [7]));
}

#[test]
fn events_have_the_times_of_what_lies_between_them() {
    let program = Program::late();
    let ([stream, _], x) = (streams(0), program.zeros(1));
    let (before, after) = (event(), event());
    assert_eq!(cudaEventRecord(before, stream), SUCCESS);
    program.set(x, stream);
    assert_eq!(cudaEventRecord(after, stream), SUCCESS);
    let mut milliseconds = 0.0;
    // SAFETY: the address of a variable.
    let code = unsafe { cudaEventElapsedTime(&raw mut milliseconds, before, after) };
    assert!(code == SUCCESS && milliseconds > 0.001, "{milliseconds}");
}

#[test]
fn a_program_with_one_stream_has_nothing_to_wait_for() {
    let program = Program::late();
    let x = program.memory(4);
    program.set(x, 0);
    // SAFETY: the address of a variable.
    let stream = made(|to| unsafe { cudaStreamCreate(to) });
    assert_eq!(program.launch_in(OUTSIDE, ([1; 3], [1; 3], 0), x, stream), SUCCESS);
    assert_eq!(cudaStreamSynchronize(stream), ILLEGAL_ADDRESS);
}
