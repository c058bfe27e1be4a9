use super::*;

unsafe extern "C" {
    fn cudaMallocAsync(to: *mut u64, bytes: usize, stream: u64) -> u32;
    fn cudaMallocFromPoolAsync(to: *mut u64, bytes: usize, pool: u64, stream: u64) -> u32;
    safe fn cudaFreeAsync(address: u64, stream: u64) -> u32;
    fn cudaMemPoolCreate(to: *mut u64, properties: *const [u64; 11]) -> u32;
    safe fn cudaMemPoolDestroy(pool: u64) -> u32;
    safe fn cudaMemPoolTrimTo(pool: u64, bytes: usize) -> u32;
    fn cudaMemPoolSetAttribute(pool: u64, attribute: c_int, value: *const u64) -> u32;
    fn cudaMemPoolGetAttribute(pool: u64, attribute: c_int, to: *mut u64) -> u32;
    fn cudaMemPoolSetAccess(pool: u64, list: *const [c_int; 3], count: usize) -> u32;
    fn cudaMemPoolGetAccess(to: *mut c_int, pool: u64, location: *const [c_int; 2]) -> u32;
    fn cudaDeviceGetDefaultMemPool(to: *mut u64, device: c_int) -> u32;
    fn cudaDeviceGetMemPool(to: *mut u64, device: c_int) -> u32;
    safe fn cudaDeviceSetMemPool(device: c_int, pool: u64) -> u32;
}

/// `cudaMemPoolAttrReleaseThreshold`, `cudaMemPoolAttrUsedMemCurrent` and `cudaMemPoolAttrUsedMemHigh`.
const THRESHOLD: c_int = 4;
const USED: c_int = 7;
const USED_MOST: c_int = 8;

fn made(make: impl FnOnce(*mut u64) -> u32) -> u64 {
    let mut value = 0;
    assert_eq!(make(&raw mut value), SUCCESS);
    value
}

fn attribute(pool: u64, which: c_int) -> u64 {
    // SAFETY: the address of a variable.
    made(|to| unsafe { cudaMemPoolGetAttribute(pool, which, to) })
}

fn set(pool: u64, which: c_int, value: u64) -> u32 {
    // SAFETY: the address of a variable.
    unsafe { cudaMemPoolSetAttribute(pool, which, &raw const value) }
}

#[test]
fn pools_count_what_is_allocated_from_them() {
    let program = Program::new();
    // SAFETY: of the whole test: null, or addresses of variables.
    unsafe {
        let own = made(|to| cudaDeviceGetDefaultMemPool(to, 0));
        assert_eq!(made(|to| cudaDeviceGetMemPool(to, 0)), own);
        let mut pool = 7;
        assert_eq!(cudaDeviceGetMemPool(&raw mut pool, 1), INVALID_DEVICE);
        assert_eq!(cudaMemPoolCreate(&raw mut pool, std::ptr::null()), INVALID_VALUE);
        let pool = made(|to| cudaMemPoolCreate(to, &[0; 11]));
        let first = made(|to| cudaMallocAsync(to, 64, 0));
        let second = made(|to| cudaMallocFromPoolAsync(to, 256, pool, 0));
        assert_eq!((attribute(own, USED), attribute(pool, USED)), (64, 256));
        let mut none = 7;
        assert_eq!(cudaMallocFromPoolAsync(&raw mut none, 4, 7, 0), INVALID_VALUE, "no pool");
        assert_eq!(none, 7);
        // It is memory like any other, from the default pool of the device or from the one that it uses now.
        assert_eq!(program.launch(FILL, [1; 3], [2, 1, 1], 0, second), SUCCESS);
        assert_eq!(program.read(second), [7, 7]);
        assert_eq!(cudaDeviceSetMemPool(0, pool), SUCCESS);
        let third = made(|to| cudaMallocAsync(to, 16, 0));
        assert_eq!(attribute(pool, USED), 272);
        assert_eq!((cudaFreeAsync(second, 0), cudaFree(third)), (SUCCESS, SUCCESS));
        assert_eq!((attribute(pool, USED), attribute(pool, USED_MOST)), (0, 272));
        assert_eq!(set(pool, USED_MOST, 5), INVALID_VALUE);
        assert_eq!((set(pool, USED_MOST, 0), attribute(pool, USED_MOST)), (SUCCESS, 0));
        assert_eq!((set(pool, THRESHOLD, 1 << 40), attribute(pool, THRESHOLD)), (SUCCESS, 1 << 40));
        assert_eq!((cudaMemPoolTrimTo(pool, 0), cudaMemPoolTrimTo(7, 0)), (SUCCESS, INVALID_VALUE));
        assert_eq!(cudaFreeAsync(second, 0), INVALID_VALUE, "twice");
        assert_eq!(cudaFreeAsync(first, 0), SUCCESS);
        // Without it the device uses its own again.
        assert_eq!((cudaMemPoolDestroy(pool), cudaMemPoolDestroy(own)), (SUCCESS, INVALID_VALUE));
        assert_eq!(made(|to| cudaDeviceGetMemPool(to, 0)), own);
    }
}

#[test]
fn the_device_has_access_to_its_pools() {
    let _program = Program::new();
    // SAFETY: of the whole test: null, or addresses of variables.
    unsafe {
        let pool = made(|to| cudaMemPoolCreate(to, &[0; 11]));
        let access = |pool, location: [c_int; 2]| {
            let mut flags = 9;
            (cudaMemPoolGetAccess(&raw mut flags, pool, &raw const location), flags)
        };
        // Reads and writes by the device 0, which is a location of kind 1.
        assert_eq!(access(pool, [1, 0]), (SUCCESS, 3));
        assert_eq!(
            (access(pool, [1, 1]), access(7, [1, 0])),
            ((INVALID_DEVICE, 9), (INVALID_VALUE, 9))
        );
        let set = |list: &[[c_int; 3]]| cudaMemPoolSetAccess(pool, list.as_ptr(), list.len());
        assert_eq!((set(&[]), set(&[[1, 0, 3]])), (SUCCESS, SUCCESS));
        assert_eq!((set(&[[1, 0, 0]]), set(&[[1, 1, 3]])), (INVALID_DEVICE, INVALID_DEVICE));
        assert_eq!(cudaMemPoolSetAccess(pool, std::ptr::null(), 1), INVALID_VALUE);
    }
}
