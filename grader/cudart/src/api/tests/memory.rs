use super::*;
use crate::client::MAX_PIECE;

unsafe extern "C" {
    fn cudaMallocManaged(to: *mut u64, bytes: usize, flags: c_uint) -> u32;
    fn cudaMallocHost(to: *mut u64, bytes: usize) -> u32;
    fn cudaHostAlloc(to: *mut u64, bytes: usize, flags: c_uint) -> u32;
    safe fn cudaFreeHost(address: u64) -> u32;
    fn cudaMallocPitch(to: *mut u64, pitch: *mut usize, width: usize, height: usize) -> u32;
    fn cudaMemset(address: u64, value: c_int, bytes: usize) -> u32;
    fn cudaMemset2D(address: u64, pitch: usize, value: c_int, width: usize, height: usize) -> u32;
    fn cudaMemset2DAsync(
        address: u64,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
        stream: u64,
    ) -> u32;
    fn cudaMemcpy2D(
        to: u64,
        to_pitch: usize,
        from: u64,
        from_pitch: usize,
        width: usize,
        height: usize,
        kind: c_int,
    ) -> u32;
    safe fn cudaHostRegister(host: u64, bytes: usize, flags: c_uint) -> u32;
    safe fn cudaHostUnregister(host: u64) -> u32;
    fn cudaHostGetDevicePointer(to: *mut u64, host: u64, flags: c_uint) -> u32;
    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> u32;
    fn cudaPointerGetAttributes(to: *mut [u64; 11], pointer: u64) -> u32;
}

/// The code that an allocation function returns, and the address that it stores.
fn allocated(by: impl FnOnce(*mut u64) -> u32) -> (u32, u64) {
    let mut address = 99;
    let code = by(&raw mut address);
    (code, address)
}

fn copy(to: u64, from: u64, bytes: usize, kind: c_int) -> u32 {
    // SAFETY: the tests give places with room for so many bytes, or places where nothing is copied.
    unsafe { cudaMemcpy(to, from, bytes, kind) }
}

#[test]
fn allocations() {
    let _program = Program::new();
    // SAFETY: null, or the address of a variable.
    unsafe {
        assert_eq!(allocated(|to| cudaMalloc(to, 0)), (SUCCESS, 0));
        assert_eq!(cudaMalloc(std::ptr::null_mut(), 4), INVALID_VALUE);
        assert_eq!(allocated(|to| cudaMalloc(to, 1 << 50)), (MEMORY_ALLOCATION, 99));
        assert_eq!(allocated(|to| cudaMalloc(to, usize::MAX)), (MEMORY_ALLOCATION, 99));
        // Success: measured on an H200.
        assert_eq!(allocated(|to| cudaMallocManaged(to, 0, 1)), (SUCCESS, 0));
        for flags in [0, 3, 4] {
            assert_eq!(allocated(|to| cudaMallocManaged(to, 8, flags)), (INVALID_VALUE, 99));
        }
        assert_eq!(allocated(|to| cudaMallocManaged(to, 1 << 50, 1)), (MEMORY_ALLOCATION, 99));
        assert_eq!(allocated(|to| cudaMallocHost(to, 0)), (SUCCESS, 0));
        assert_eq!(allocated(|to| cudaHostAlloc(to, 8, 8)), (INVALID_VALUE, 99));
        let (mut address, mut pitch) = (99, 0);
        assert_eq!(cudaMallocPitch(&raw mut address, &raw mut pitch, 100, 3), SUCCESS);
        assert_eq!((pitch % 256, pitch >= 100), (0, true));
        let none = std::ptr::null_mut();
        assert_eq!(cudaMallocPitch(none, &raw mut pitch, 100, 3), INVALID_VALUE);
        assert_eq!(cudaMallocPitch(&raw mut address, none.cast(), 100, 3), INVALID_VALUE);
        assert_eq!(
            cudaMallocPitch(&raw mut address, &raw mut pitch, usize::MAX, 2),
            MEMORY_ALLOCATION
        );
    }
    // None of it is sticky.
    assert_eq!((cudaGetLastError(), cudaDeviceSynchronize()), (MEMORY_ALLOCATION, SUCCESS));
}

#[test]
fn frees() {
    let program = Program::new();
    let x = program.memory(64);
    assert_eq!((cudaFree(0), cudaFreeHost(0)), (SUCCESS, SUCCESS));
    assert_eq!(cudaFree(x + 4), INVALID_VALUE, "not its beginning");
    assert_eq!(cudaFreeHost(x), INVALID_VALUE, "not the host's");
    assert_eq!((cudaFree(x), cudaFree(x)), (SUCCESS, INVALID_VALUE), "twice");
    assert_eq!(copy(x, (&raw const x) as u64, 4, HOST_TO_DEVICE), INVALID_VALUE, "freed");
    // SAFETY: the address of a variable.
    let (code, pinned) = allocated(|to| unsafe { cudaMallocHost(to, 64) });
    assert_eq!((code, cudaFree(pinned)), (SUCCESS, INVALID_VALUE));
    assert_eq!((cudaFreeHost(pinned), cudaFreeHost(pinned)), (SUCCESS, INVALID_VALUE));
    // SAFETY: the address of a variable.
    let (code, managed) = allocated(|to| unsafe { cudaMallocManaged(to, 64, 1) });
    assert_eq!((code, cudaFreeHost(managed)), (SUCCESS, INVALID_VALUE));
    assert_eq!((cudaFree(managed), cudaFree(managed)), (SUCCESS, INVALID_VALUE));
    let (mut free, mut total) = (0, 1);
    // SAFETY: addresses of variables.
    assert_eq!(unsafe { cudaMemGetInfo(&raw mut free, &raw mut total) }, SUCCESS);
    assert_eq!(free, total, "nothing is left behind");
    // As on an H100, either may be null.
    let null = std::ptr::null_mut();
    let mut alone = 0;
    // SAFETY: the same, or null.
    let codes = unsafe {
        [
            cudaMemGetInfo(&raw mut alone, null),
            cudaMemGetInfo(null, &raw mut total),
            cudaMemGetInfo(null, null),
        ]
    };
    assert_eq!((codes, alone), ([SUCCESS; 3], free));
}

#[test]
fn copies() {
    let program = Program::new();
    let (x, y) = (program.memory(16), program.memory(16));
    let mut values = [1, 2, 3, 4];
    let here = (&raw mut values) as u64;
    for (name, code, expected) in [
        ("to", copy(x, here, 16, HOST_TO_DEVICE), SUCCESS),
        ("on", copy(y, x, 16, DEVICE_TO_DEVICE), SUCCESS),
        ("nothing", copy(x, here, 0, HOST_TO_DEVICE), SUCCESS),
        ("past the end", copy(x, here, 20, HOST_TO_DEVICE), INVALID_VALUE),
        ("past the end from its middle", copy(x + 8, here, 12, HOST_TO_DEVICE), INVALID_VALUE),
        ("back from past the end", copy(here, x + 4, 16, DEVICE_TO_HOST), INVALID_VALUE),
        ("more than there is", copy(here, x, usize::MAX, DEVICE_TO_HOST), INVALID_VALUE),
        ("between, past the end", copy(y, x, 17, DEVICE_TO_DEVICE), INVALID_VALUE),
        ("no such kind", copy(x, here, 16, 5), INVALID_MEMCPY_DIRECTION),
        ("no such kind either", copy(x, here, 16, -1), INVALID_MEMCPY_DIRECTION),
        ("the other way round", copy(x, here, 16, DEVICE_TO_HOST), INVALID_VALUE),
        // Measured on an H200, as the next two.
        ("nothing the other way round", copy(x, here, 0, DEVICE_TO_HOST), SUCCESS),
        ("nothing of no kind", copy(x, here, 0, 9), SUCCESS),
        ("host to host", copy(here, x, 16, HOST_TO_HOST), SUCCESS),
        ("device to device", copy(x, here, 16, DEVICE_TO_DEVICE), INVALID_VALUE),
        ("to null", copy(0, here, 16, HOST_TO_HOST), INVALID_VALUE),
        ("to null on the device", copy(0, here, 16, HOST_TO_DEVICE), INVALID_VALUE),
        ("from null", copy(x, 0, 16, HOST_TO_DEVICE), INVALID_VALUE),
        ("from null by default", copy(here, 0, 16, DEFAULT), INVALID_VALUE),
        ("back", copy(here, y, 16, DEFAULT), SUCCESS),
    ] {
        assert_eq!(code, expected, "{name}");
    }
    assert_eq!(values, [1, 2, 3, 4]);
    assert_eq!(program.read(y), [1, 2, 3, 4]);
}

#[test]
fn long_copies_go_in_pieces() {
    let program = Program::new();
    let x = program.memory(5000);
    let values: Vec<u8> = (0..5000).map(|i| (i % 251) as u8).collect();
    assert_eq!(copy(x, values.as_ptr() as u64, 5000, HOST_TO_DEVICE), SUCCESS);
    let mut back = vec![0u8; 5000];
    assert_eq!(copy(back.as_mut_ptr() as u64, x, 5000, DEVICE_TO_HOST), SUCCESS);
    assert!(back == values);
    assert_eq!(copy(x, values.as_ptr() as u64, 5000 - 1, DEFAULT), SUCCESS);
    assert_eq!(copy(back.as_mut_ptr() as u64, x + 1, 5000, DEVICE_TO_HOST), INVALID_VALUE);
}

#[test]
fn fills_and_rows() {
    let program = Program::new();
    let x = program.memory(64);
    let mut values = [0u8; 64];
    let here = (&raw mut values) as u64;
    // SAFETY: where these write, there is room.
    unsafe {
        assert_eq!(cudaMemset(x, 0x101, 64), SUCCESS);
        assert_eq!(cudaMemset(x, 1, 65), INVALID_VALUE);
        assert_eq!(cudaMemset(x, 1, usize::MAX), INVALID_VALUE);
        assert_eq!(cudaMemset(here, 1, 4), INVALID_VALUE);
        assert_eq!(cudaMemset(0, 1, 4), INVALID_VALUE);
        assert_eq!(cudaMemset(0, 1, 0), SUCCESS);
        // One row: measured on an H200.
        assert_eq!(cudaMemset2D(x, 16, 1, 17, 1), SUCCESS);
        assert_eq!(cudaMemset2D(x, 16, 2, 17, 2), INVALID_VALUE);
        assert_eq!(cudaMemset2D(x, 16, 2, 4, 4), SUCCESS);
        assert_eq!(cudaMemset2D(x, 16, 2, 4, 5), INVALID_VALUE);
        let rows = |to_pitch, from_pitch, width, height, kind| {
            cudaMemcpy2D(here, to_pitch, x, from_pitch, width, height, kind)
        };
        assert_eq!(rows(8, 16, 8, 4, DEVICE_TO_HOST), SUCCESS);
        assert_eq!(rows(7, 16, 8, 4, DEVICE_TO_HOST), INVALID_PITCH_VALUE);
        // Measured on an H200, this and that for a single row.
        assert_eq!(rows(8, 7, 8, 4, DEVICE_TO_HOST), INVALID_PITCH_VALUE);
        assert_eq!(rows(7, 7, 8, 1, DEVICE_TO_HOST), INVALID_VALUE);
        assert_eq!(rows(7, 7, 8, 1, 9), INVALID_MEMCPY_DIRECTION);
        assert_eq!(rows(7, 7, 8, 0, DEVICE_TO_HOST), SUCCESS);
        assert_eq!(rows(0, 0, 0, usize::MAX, DEVICE_TO_HOST), SUCCESS);
        assert_eq!(cudaMemset2D(x, 16, 0, 17, 0), SUCCESS);
        assert_eq!(cudaMemset2D(x, 16, 0, 0, usize::MAX), SUCCESS);
        assert_eq!(cudaMemset2DAsync(x, 16, 0, 0, usize::MAX, 0), SUCCESS);
        assert_eq!(cudaMemset2DAsync(x, usize::MAX, 2, usize::MAX, 1, 0), INVALID_VALUE);
        assert_eq!(cudaMemset2DAsync(x, 16, 2, 1, usize::MAX, 0), INVALID_VALUE);
        assert_eq!(rows(8, 16, 8, 5, DEVICE_TO_HOST), INVALID_VALUE);
        assert_eq!(rows(8, 16, 8, 4, HOST_TO_DEVICE), INVALID_VALUE);
        assert_eq!(rows(8, 16, 8, 4, 9), INVALID_MEMCPY_DIRECTION);
    }
    assert_eq!(values[..16], [2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1]);
}

#[test]
fn pointers_tell_what_they_are() {
    let program = Program::new();
    let x = program.memory(64);
    // SAFETY: addresses of variables.
    let (_, pinned) = allocated(|to| unsafe { cudaMallocHost(to, 64) });
    // SAFETY: addresses of variables.
    let (_, managed) = allocated(|to| unsafe { cudaMallocManaged(to, 64, 1) });
    let here = (&raw const x) as u64;
    for (pointer, kind) in [(here, 0), (pinned + 8, 1), (x + 4, 2), (managed, 3)] {
        let mut attributes = [0u64; 11];
        // SAFETY: the structure is smaller.
        assert_eq!(unsafe { cudaPointerGetAttributes(&raw mut attributes, pointer) }, SUCCESS);
        assert_eq!(attributes[0] as u32, kind, "{pointer:x}");
    }
    assert_eq!((cudaFreeHost(pinned), cudaFree(managed)), (SUCCESS, SUCCESS));
}

#[test]
fn kernels_use_registered_memory_where_the_device_has_it() {
    const MAPPED: c_uint = 2;
    for flags in [0, MAPPED] {
        let program = Program::new();
        let mut own = [1i32; 8];
        let here = own.as_mut_ptr() as u64;
        let on_device = |host: u64| {
            // SAFETY: the address of a variable.
            allocated(|to| unsafe { cudaHostGetDevicePointer(to, host, 0) })
        };
        assert_eq!((on_device(here).0, cudaHostUnregister(here)), (INVALID_VALUE, NOT_REGISTERED));
        assert_eq!(cudaHostRegister(0, 32, flags), INVALID_VALUE);
        assert_eq!(cudaHostRegister(here, 0, flags), INVALID_VALUE);
        assert_eq!(cudaHostRegister(here, 32, flags), SUCCESS);
        assert_eq!(cudaHostRegister(here + 8, 4, flags), ALREADY_REGISTERED);
        let (code, second) = on_device(here + 4);
        assert_eq!(code, SUCCESS);
        assert_eq!(program.launch(FILL, [1; 3], [2, 1, 1], 0, second), SUCCESS);
        assert_eq!(cudaDeviceSynchronize(), SUCCESS);
        // SAFETY: the array; the kernel has changed it, which the compiler cannot know.
        let seen = unsafe { (here as *const [i32; 8]).read_volatile() };
        assert_eq!(seen, [1, 7, 7, 1, 1, 1, 1, 1]);
        assert_eq!(cudaHostUnregister(here + 4), NOT_REGISTERED);
        assert_eq!((cudaHostUnregister(here), on_device(here).0), (SUCCESS, INVALID_VALUE));
        assert_eq!(cudaHostRegister(here, 32, flags), SUCCESS);
        assert_eq!(cudaDeviceReset(), SUCCESS);
    }
}

#[test]
fn a_copy_that_does_not_fit_moves_nothing() {
    let program = Program::new();
    // More than one piece, the first of which would fit.
    let room = 3 * MAX_PIECE as usize / 2;
    let mut here = vec![7u8; 2 * room];
    let x = program.memory(room);
    let mut managed = 0;
    // SAFETY: addresses of variables, and of so many bytes.
    unsafe {
        assert_eq!(cudaMemset(x, 1, room), SUCCESS);
        assert_eq!(cudaMallocManaged(&raw mut managed, room, 1), SUCCESS);
    }
    let there = here.as_mut_ptr() as u64;
    assert_eq!(copy(x, there, 2 * room, HOST_TO_DEVICE), INVALID_VALUE);
    assert_eq!(program.read::<1>(x), [0x0101_0101]);
    assert_eq!(copy(there, x, 2 * room, DEVICE_TO_HOST), INVALID_VALUE);
    assert_eq!(here, vec![7; 2 * room]);
    assert_eq!(copy(managed, there, room + 1, DEFAULT), INVALID_VALUE);
    assert_eq!(copy(managed, there, room, DEFAULT), SUCCESS);
    assert_eq!(cudaFree(managed), SUCCESS);
}
