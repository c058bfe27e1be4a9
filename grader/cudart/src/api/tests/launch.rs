use super::*;

unsafe extern "C" {
    safe fn cudaFuncSetAttribute(host: *const c_void, attribute: c_int, value: c_int) -> u32;
    fn cudaFuncGetAttributes(to: *mut [u64; 18], host: *const c_void) -> u32;
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        to: *mut c_int,
        host: *const c_void,
        block: c_int,
        shared: usize,
    ) -> u32;
    fn cudaLaunchCooperativeKernel(
        host: *const c_void,
        grid: Dim3,
        block: Dim3,
        args: *const *const c_void,
        shared: usize,
        stream: u64,
    ) -> u32;
    fn cudaLaunchKernelExC(
        config: *const c_void,
        host: *const c_void,
        args: *const *const c_void,
    ) -> u32;
}

/// The attribute `cudaFuncAttributeMaxDynamicSharedMemorySize`.
const MAX_DYNAMIC: c_int = 8;

#[test]
fn configurations() {
    let program = Program::new();
    let x = program.memory(4096);
    let launch = |grid, block| program.launch(FILL, grid, block, 0, x);
    for (grid, block) in [
        ([1; 3], [0, 1, 1]),
        ([0, 1, 1], [1; 3]),
        ([1, 0, 1], [1; 3]),
        ([1; 3], [1, 1, 0]),
        ([1; 3], [1025, 1, 1]),
        ([1; 3], [32, 33, 1]),
        ([1; 3], [1, 1, 65]),
        ([1, 65_536, 1], [1; 3]),
        ([1, 1, 65_536], [1; 3]),
        ([1 << 31, 1, 1], [1; 3]),
        ([1; 3], [u32::MAX; 3]),
    ] {
        // Measured on an H200, for one with too much and one with nothing on either side, and for 65 in z.
        assert_eq!(launch(grid, block), INVALID_VALUE, "{grid:?} {block:?}");
        assert_eq!(cudaGetLastError(), INVALID_VALUE);
    }
    // The device is as well as before.
    assert_eq!(launch([1; 3], [1024, 1, 1]), SUCCESS);
    assert_eq!((cudaDeviceSynchronize(), cudaGetLastError()), (SUCCESS, SUCCESS));
    assert_eq!(program.read(x), [7; 1024]);
}

#[test]
fn kernels_that_are_none() {
    let program = Program::new();
    let x = program.memory(4096);
    for (which, expected) in [
        (MISSING, INVALID_DEVICE_FUNCTION),
        // Measured on an H200, for an address of the stack.
        (UNKNOWN, INVALID_RESOURCE_HANDLE),
        (COUNTER, INVALID_RESOURCE_HANDLE),
    ] {
        assert_eq!(program.launch(which, [1; 3], [1; 3], 0, x), expected);
        assert_eq!(cudaFuncSetAttribute(host(which), MAX_DYNAMIC, 4), expected);
        let mut attributes = [0; 18];
        // SAFETY: the structure has this size.
        let code = unsafe { cudaFuncGetAttributes(&raw mut attributes, host(which)) };
        assert_eq!((code, attributes), (expected, [0; 18]));
    }
    // SAFETY: null is refused.
    unsafe {
        assert_eq!(cudaFuncGetAttributes(std::ptr::null_mut(), host(FILL)), INVALID_VALUE);
        let null = std::ptr::null();
        assert_eq!(
            cudaFuncSetAttribute(null, 8, 4),
            INVALID_DEVICE_FUNCTION,
            "measured on an H200"
        );
        assert_eq!(cudaLaunchKernelExC(null, host(FILL), null.cast()), INVALID_VALUE);
    }
}

#[test]
fn shared_memory() {
    let program = Program::new();
    let x = program.memory(4096);
    let launch = |dynamic| program.launch(SHARED, [1; 3], [32, 1, 1], dynamic, x);
    let kib = 1 << 10;
    // The kernel has 40 KiB of its own.
    assert_eq!(launch(8 * kib), SUCCESS);
    assert_eq!(program.read(x), [6, 7, 8, 9]);
    for dynamic in [8 * kib + 1, 300 * kib, usize::MAX] {
        assert_eq!(launch(dynamic), INVALID_VALUE, "{dynamic}");
    }
    for (attribute, value, code) in [
        (MAX_DYNAMIC, -1, INVALID_VALUE),
        (MAX_DYNAMIC, 187 * 1024 + 1, INVALID_VALUE),
        (MAX_DYNAMIC, 187 * 1024, SUCCESS),
        (0, 1, INVALID_VALUE),
        (99, 1, INVALID_VALUE),
        (9, 50, SUCCESS),
        (9, 101, INVALID_VALUE),
    ] {
        assert_eq!(
            cudaFuncSetAttribute(host(SHARED), attribute, value),
            code,
            "{attribute} {value}"
        );
    }
    assert_eq!(launch(187 * kib), SUCCESS);
    assert_eq!(launch(187 * kib + 1), INVALID_VALUE);
    assert_eq!(cudaDeviceSynchronize(), SUCCESS);
    // What a launch could not have does not fit on a multiprocessor either.
    let fits = |which, shared| {
        let mut blocks = -1;
        // SAFETY: the address of a variable.
        let code = unsafe {
            let to = &raw mut blocks;
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(to, host(which), 32, shared)
        };
        (code, blocks)
    };
    assert_eq!([fits(SHARED, 187 * kib), fits(FILL, 48 * kib)], [(SUCCESS, 1), (SUCCESS, 4)]);
    assert_eq!([fits(SHARED, 187 * kib + 1), fits(FILL, 48 * kib + 1)], [(SUCCESS, 0); 2]);
    let mut attributes = [0; 18];
    // SAFETY: the structure has this size.
    let code = unsafe { cudaFuncGetAttributes(&raw mut attributes, host(FILL)) };
    assert_eq!((code, attributes[1]), (SUCCESS, 16), "the constants of its module");
}

#[test]
fn an_older_device_grants_less() {
    let mut device = VmDevice::default();
    device.claim((7, 5));
    let _program = Program::on(device);
    for (value, code) in [(64 << 10, SUCCESS), ((64 << 10) + 1, INVALID_VALUE)] {
        assert_eq!(cudaFuncSetAttribute(host(FILL), MAX_DYNAMIC, value), code);
    }
    let blocks = |threads, shared| {
        let mut blocks = 0;
        // SAFETY: the address of a variable.
        let code = unsafe {
            let to = &raw mut blocks;
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(to, host(FILL), threads, shared)
        };
        (code, blocks)
    };
    assert_eq!(blocks(256, 0), (SUCCESS, 4));
    assert_eq!(blocks(256, 32 << 10), (SUCCESS, 2));
    assert_eq!(blocks(1025, 0), (SUCCESS, 0));
    assert_eq!(blocks(0, 0), (INVALID_VALUE, 0));
    assert_eq!(blocks(-1, 0), (INVALID_VALUE, 0));
}

#[test]
fn a_cooperative_launch_needs_room() {
    let program = Program::new();
    let x = program.memory(4096);
    let value = 7i32;
    let args = [(&raw const x).cast(), (&raw const value).cast()];
    let launch = |blocks| {
        let (grid, block) = (Dim3 { x: blocks, y: 1, z: 1 }, Dim3 { x: 1024, y: 1, z: 1 });
        // SAFETY: the kernel has these two parameters.
        unsafe { cudaLaunchCooperativeKernel(host(FILL), grid, block, args.as_ptr(), 0, 0) }
    };
    assert_eq!(launch(2), SUCCESS);
    // `cudaErrorCooperativeLaunchTooLarge`.
    assert_eq!(launch(10_000), 720);
    assert_eq!(cudaDeviceSynchronize(), SUCCESS);
}

#[test]
fn the_grid_consists_of_clusters() {
    /// The C type `cudaLaunchConfig_t`, and the only attribute that it points to.
    #[repr(C)]
    struct Configuration {
        grid: Dim3,
        block: Dim3,
        shared: usize,
        stream: u64,
        attributes: *const Cluster,
        count: u64,
    }
    /// `cudaLaunchAttribute` with `cudaLaunchAttributeClusterDimension`.
    #[repr(C)]
    struct Cluster {
        id: u64,
        size: [u32; 16],
    }
    let program = Program::new();
    let x = program.memory(4096);
    let value = 7i32;
    let args = [(&raw const x).cast(), (&raw const value).cast()];
    let launch = |blocks| {
        let mut size = [0; 16];
        size[..3].copy_from_slice(&[blocks, 1, 1]);
        let cluster = Cluster { id: 4, size };
        let configuration = Configuration {
            grid: Dim3 { x: 16, y: 1, z: 1 },
            block: Dim3 { x: 1, y: 1, z: 1 },
            shared: 0,
            stream: 0,
            attributes: &raw const cluster,
            count: 1,
        };
        // SAFETY: the kernel has these two parameters.
        unsafe { cudaLaunchKernelExC((&raw const configuration).cast(), host(FILL), args.as_ptr()) }
    };
    // `cudaErrorInvalidClusterSize`.
    for (blocks, code) in [(8, SUCCESS), (1, SUCCESS), (0, 912), (3, 912), (16, 912)] {
        assert_eq!(launch(blocks), code, "{blocks}");
    }
    // `cudaFuncAttributeNonPortableClusterSizeAllowed`.
    assert_eq!(cudaFuncSetAttribute(host(FILL), 14, 1), SUCCESS);
    assert_eq!(launch(16), SUCCESS);
    assert_eq!(cudaDeviceSynchronize(), SUCCESS);
}
