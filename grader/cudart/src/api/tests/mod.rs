//! The error codes of typical mistakes, function by function: as the CUDA Runtime API documents them, or as the runtime of
//! CUDA 13.0 returned them on an H200 where it does otherwise.
#![allow(
    clashing_extern_declarations,
    reason = "each file declares what it calls, as a program would"
)]

mod advice;
mod arrays;
mod device;
mod driver;
mod driver_images;
mod driver_links;
mod graphs;
mod late;
mod launch;
mod libraries;
mod memory;
mod per_thread;
mod pools;
mod streams;
mod symbols;
mod virtual_memory;

use super::c::Dim3;
use crate::client::{self, Function, Image, registry};
use crate::fatbin::tests::container;
use crate::server::serve;
use crate::vm::VmDevice;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The codes, as `cuda_runtime_api.h` has them.
const SUCCESS: u32 = 0;
const INVALID_VALUE: u32 = 1;
const MEMORY_ALLOCATION: u32 = 2;
const INVALID_PITCH_VALUE: u32 = 12;
const INVALID_SYMBOL: u32 = 13;
const INVALID_CHANNEL_DESCRIPTOR: u32 = 20;
const INVALID_FILTER_SETTING: u32 = 26;
const INVALID_MEMCPY_DIRECTION: u32 = 21;
const INVALID_DEVICE_FUNCTION: u32 = 98;
const INVALID_DEVICE: u32 = 101;
const INVALID_RESOURCE_HANDLE: u32 = 400;
const ILLEGAL_STATE: u32 = 401;
const ILLEGAL_ADDRESS: u32 = 700;
const ALREADY_REGISTERED: u32 = 712;
const NOT_REGISTERED: u32 = 713;
const NOT_SUPPORTED: u32 = 801;
const STREAM_CAPTURE_UNSUPPORTED: u32 = 900;
const STREAM_CAPTURE_INVALIDATED: u32 = 901;
const STREAM_CAPTURE_UNJOINED: u32 = 904;
const CAPTURED_EVENT: u32 = 907;
const GRAPH_EXEC_UPDATE_FAILURE: u32 = 910;

/// Values of `cudaMemcpyKind`.
const HOST_TO_HOST: c_int = 0;
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;
const DEVICE_TO_DEVICE: c_int = 3;
const DEFAULT: c_int = 4;

// What a program sees of this library.
unsafe extern "C" {
    safe fn cudaGetLastError() -> u32;
    safe fn cudaPeekAtLastError() -> u32;
    safe fn cudaGetErrorName(code: u32) -> *const c_char;
    safe fn cudaGetErrorString(code: u32) -> *const c_char;
    safe fn cudaDeviceSynchronize() -> u32;
    safe fn cudaDeviceReset() -> u32;
    fn cudaMalloc(to: *mut u64, bytes: usize) -> u32;
    safe fn cudaFree(address: u64) -> u32;
    fn cudaMemcpy(to: u64, from: u64, bytes: usize, kind: c_int) -> u32;
    fn cudaLaunchKernel(
        host: *const c_void,
        grid: Dim3,
        block: Dim3,
        args: *const *const c_void,
        shared: usize,
        stream: u64,
    ) -> u32;
}

/// The PTX of `fixtures/errors.cu`.
const MODULE: &str = include_str!("../../../fixtures/errors.ptx");

/// The host side of kernels and variables, of which only the addresses matter.
static HOST: [u8; 8] = [0; 8];

const FILL: usize = 0;
const OUTSIDE: usize = 1;
const SHARED: usize = 2;
const TABLE: usize = 3;
const COUNTER: usize = 4;
/// The host side of a kernel that is registered, but is not in the module.
const MISSING: usize = 5;
/// The host side of a kernel that is not registered.
const UNKNOWN: usize = 6;

fn host(which: usize) -> *const c_void {
    (&raw const HOST[which]).cast()
}

static ONE: Mutex<()> = Mutex::new(());

/// A program with its device. The process has one at a time.
struct Program {
    _turn: MutexGuard<'static, ()>,
}

#[expect(clippy::unused_self, reason = "only a program that has its turn may call")]
impl Program {
    fn new() -> Self {
        Self::on(VmDevice::default())
    }

    fn on(mut device: VmDevice) -> Self {
        let turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (client, server) = UnixStream::pair().unwrap();
        std::thread::Builder::new().spawn(move || serve(server, &mut device)).unwrap();
        client::connect(client, &[]);
        cudaGetLastError();
        let mut registry = registry();
        let module = registry.add(Some(Image::Container(container(MODULE, 75))));
        for (which, name) in
            [(FILL, "fill"), (OUTSIDE, "outside"), (SHARED, "shared"), (MISSING, "missing")]
        {
            let function =
                Function { module, name: name.into(), opted_in: 0, large_clusters: false };
            registry.functions.insert(host(which) as usize, function);
        }
        for (which, name) in [(TABLE, "table"), (COUNTER, "counter"), (MISSING, "missing")] {
            registry.add_variable(host(which) as usize, module, name.into());
        }
        Self { _turn: turn }
    }

    /// Allocates device memory.
    fn memory(&self, bytes: usize) -> u64 {
        let mut address = 0;
        // SAFETY: the address of a variable.
        assert_eq!(unsafe { cudaMalloc(&raw mut address, bytes) }, SUCCESS);
        address
    }

    /// Does what `kernel<<<grid, block, shared>>>(x, 7)` does, but not through nvcc's code.
    fn launch(&self, which: usize, grid: [u32; 3], block: [u32; 3], shared: usize, x: u64) -> u32 {
        self.launch_in(which, (grid, block, shared), x, 0)
    }

    /// The same in a stream.
    fn launch_in(
        &self,
        which: usize,
        (grid, block, shared): ([u32; 3], [u32; 3], usize),
        x: u64,
        stream: u64,
    ) -> u32 {
        let value = 7i32;
        let args = [(&raw const x).cast(), (&raw const value).cast()];
        let dim = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        // SAFETY: the kernels have at most these two parameters.
        unsafe {
            cudaLaunchKernel(host(which), dim(grid), dim(block), args.as_ptr(), shared, stream)
        }
    }

    /// The first ints at an address.
    fn read<const N: usize>(&self, from: u64) -> [i32; N] {
        let mut values = [0; N];
        let to = (&raw mut values) as u64;
        // SAFETY: there is room for so many.
        assert_eq!(unsafe { cudaMemcpy(to, from, N * 4, DEVICE_TO_HOST) }, SUCCESS);
        values
    }
}

fn text(of: *const c_char) -> String {
    // SAFETY: the library's texts are C strings that live for ever.
    unsafe { CStr::from_ptr(of) }.to_str().unwrap().to_owned()
}

#[test]
fn the_last_error_stays_until_somebody_looks() {
    let program = Program::new();
    assert_eq!(cudaFree(12), INVALID_VALUE);
    // A call that succeeds does not hide it.
    let x = program.memory(4);
    assert_eq!((cudaPeekAtLastError(), cudaPeekAtLastError()), (INVALID_VALUE, INVALID_VALUE));
    assert_eq!((cudaGetLastError(), cudaGetLastError()), (INVALID_VALUE, SUCCESS));
    assert_eq!(cudaFree(x), SUCCESS);
}

#[test]
fn what_a_kernel_breaks_stays_broken_until_a_reset() {
    let program = Program::new();
    let x = program.memory(256);
    // The launch itself succeeds; whoever waits for it learns more.
    assert_eq!(program.launch(OUTSIDE, [1; 3], [1; 3], 0, x), SUCCESS);
    assert_eq!(cudaPeekAtLastError(), SUCCESS);
    assert_eq!(cudaDeviceSynchronize(), ILLEGAL_ADDRESS);
    for _ in 0..2 {
        assert_eq!((cudaGetLastError(), cudaGetLastError()), (ILLEGAL_ADDRESS, SUCCESS));
        assert_eq!(cudaFree(x), ILLEGAL_ADDRESS);
        assert_eq!(program.launch(FILL, [1; 3], [1; 3], 0, x), ILLEGAL_ADDRESS);
        let mut more = 0;
        // SAFETY: the address of a variable.
        assert_eq!(unsafe { cudaMalloc(&raw mut more, 4) }, ILLEGAL_ADDRESS);
        assert_eq!(more, 0);
    }
    assert_eq!(cudaDeviceReset(), SUCCESS);
    assert_eq!(cudaGetLastError(), ILLEGAL_ADDRESS);
    // Its memory is gone.
    assert_eq!(cudaFree(x), INVALID_VALUE);
    let x = program.memory(256);
    assert_eq!(program.launch(FILL, [1; 3], [2, 1, 1], 0, x), SUCCESS);
    assert_eq!(program.read(x), [7, 7]);
}

#[test]
fn errors_have_names_and_texts() {
    for (code, name, words) in [
        (SUCCESS, "cudaSuccess", "no error"),
        (INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"),
        (INVALID_PITCH_VALUE, "cudaErrorInvalidPitchValue", "invalid pitch argument"),
        (ILLEGAL_ADDRESS, "cudaErrorIllegalAddress", "an illegal memory access was encountered"),
        (12_345, "unrecognized error code", "unrecognized error code"),
    ] {
        assert_eq!(text(cudaGetErrorName(code)), name);
        assert_eq!(text(cudaGetErrorString(code)), words);
    }
}
