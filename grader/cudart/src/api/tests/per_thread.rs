//! Programs that were compiled with `--default-stream per-thread`.

use super::*;
use std::thread;

unsafe extern "C" {
    fn cudaLaunchKernel_ptsz(
        host: *const c_void,
        grid: Dim3,
        block: Dim3,
        args: *const *const c_void,
        shared: usize,
        stream: u64,
    ) -> u32;
    fn cudaStreamGetId(stream: u64, to: *mut u64) -> u32;
    fn cudaStreamGetId_ptsz(stream: u64, to: *mut u64) -> u32;
    safe fn cudaStreamSynchronize_ptsz(stream: u64) -> u32;
    safe fn cudaMemsetAsync_ptsz(address: u64, value: c_int, bytes: usize, stream: u64) -> u32;
    fn cudaMemcpy_ptds(to: u64, from: u64, bytes: usize, kind: c_int) -> u32;
}

/// `cudaStreamLegacy` and `cudaStreamPerThread`.
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

#[test]
fn stream_0_is_that_of_the_thread() {
    let _program = Program::new();
    let id = |stream| {
        let mut id = 0;
        // SAFETY: the address of a variable.
        assert_eq!(unsafe { cudaStreamGetId_ptsz(stream, &raw mut id) }, SUCCESS);
        id
    };
    let mut other = 7;
    // SAFETY: as above.
    assert_eq!(unsafe { cudaStreamGetId(0, &raw mut other) }, SUCCESS);
    assert_eq!((other, id(LEGACY)), (0, 0));
    let own = id(0);
    assert!(own != 0 && own == id(PER_THREAD) && own == id(0));
    let elsewhere = thread::scope(|scope| scope.spawn(|| id(0)).join().unwrap());
    assert!(elsewhere != 0 && elsewhere != own);
}

/// Work of the thread's stream waits for the thread: it is done late, and a copy in the same stream comes after it.
#[test]
fn work_of_a_thread_is_in_its_order() {
    let mut device = VmDevice::default();
    device.expect_streams();
    device.delay_streams();
    let program = Program::on(device);
    let x = program.memory(8);
    let value = 7i32;
    let args = [(&raw const x).cast(), (&raw const value).cast()];
    let dim = |x| Dim3 { x, y: 1, z: 1 };
    let mut seen = [0i32; 2];
    let to = (&raw mut seen) as u64;
    // SAFETY: the kernel has these two parameters, and there is room for two ints.
    unsafe {
        assert_eq!(cudaMemsetAsync_ptsz(x, 0, 8, 0), SUCCESS);
        let code = cudaLaunchKernel_ptsz(host(FILL), dim(1), dim(1), args.as_ptr(), 0, 0);
        assert_eq!(code, SUCCESS);
        assert_eq!(cudaMemcpy_ptds(to, x, 8, DEVICE_TO_HOST), SUCCESS);
    }
    assert_eq!((seen, cudaStreamSynchronize_ptsz(0)), ([7, 0], SUCCESS));
}
