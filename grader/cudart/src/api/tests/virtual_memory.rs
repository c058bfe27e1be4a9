//! Memory that programs map themselves.

use super::*;

unsafe extern "C" {
    fn cuMemAddressReserve(
        to: *mut u64,
        bytes: usize,
        alignment: usize,
        wish: u64,
        flags: u64,
    ) -> u32;
    safe fn cuMemAddressFree(address: u64, bytes: usize) -> u32;
    fn cuMemCreate(to: *mut u64, bytes: usize, of: *const [u32; 8], flags: u64) -> u32;
    safe fn cuMemRelease(handle: u64) -> u32;
    safe fn cuMemMap(address: u64, bytes: usize, offset: usize, handle: u64, flags: u64) -> u32;
    safe fn cuMemUnmap(address: u64, bytes: usize) -> u32;
    fn cuMemSetAccess(address: u64, bytes: usize, list: *const [u32; 4], count: usize) -> u32;
    fn cuMemGetAccess(to: *mut u64, location: *const [u32; 2], address: u64) -> u32;
    fn cuMemRetainAllocationHandle(to: *mut u64, address: u64) -> u32;
    fn cuMemGetAddressRange_v2(start: *mut u64, bytes: *mut usize, address: u64) -> u32;
    safe fn cuMemsetD32_v2(address: u64, value: c_uint, count: usize) -> u32;
}

/// The granularity of sizes.
const G: usize = 2 << 20;
/// Memory of the device, and the right to read and write it there.
static PROPERTIES: [u32; 8] = [1, 0, 1, 0, 0, 0, 0, 0];
static ACCESS: [u32; 4] = [1, 0, 3, 0];

fn reserve(bytes: usize) -> (u32, u64) {
    let mut address = 0;
    // SAFETY: the address of a variable.
    (unsafe { cuMemAddressReserve(&raw mut address, bytes, 0, 0, 0) }, address)
}

fn create(bytes: usize) -> (u32, u64) {
    let mut handle = 0;
    // SAFETY: the addresses of a variable and of properties.
    (unsafe { cuMemCreate(&raw mut handle, bytes, &raw const PROPERTIES, 0) }, handle)
}

fn allow(address: u64, bytes: usize) -> u32 {
    // SAFETY: the address of one description.
    unsafe { cuMemSetAccess(address, bytes, &raw const ACCESS, 1) }
}

/// The first int at an address, or the code of the copy.
fn first(address: u64) -> Result<u32, u32> {
    let mut value = 0u32;
    // SAFETY: the address of a variable of so many bytes.
    let code = unsafe { cudaMemcpy((&raw mut value) as u64, address, 4, DEVICE_TO_HOST) };
    if code == SUCCESS { Ok(value) } else { Err(code) }
}

#[test]
fn memory_is_mapped_side_by_side() {
    let program = Program::new();
    let (code, start) = reserve(4 * G);
    assert_eq!(code, SUCCESS);
    let ((_, one), (_, two)) = (create(G), create(2 * G));
    let middle = start + G as u64;
    assert_eq!(cuMemMap(start, G, 0, one, 0), SUCCESS);
    assert_eq!(cuMemMap(middle, 2 * G, 0, two, 0), SUCCESS);
    // Nobody may access it yet.
    assert_eq!(first(start), Err(INVALID_VALUE));
    assert_eq!(allow(start, 4 * G), INVALID_VALUE, "the last quarter is not mapped");
    assert_eq!(allow(start, 3 * G), SUCCESS);
    assert_eq!(cuMemsetD32_v2(middle - 8, 5, 4), SUCCESS);
    assert_eq!((first(middle - 4), first(middle)), (Ok(5), Ok(5)));
    // A kernel writes across the border.
    assert_eq!(program.launch(FILL, [1, 1, 1], [4, 1, 1], 0, middle - 8), SUCCESS);
    assert_eq!(cudaDeviceSynchronize(), SUCCESS);
    assert_eq!((first(middle - 4), first(middle)), (Ok(7), Ok(7)));
    assert_eq!(first(start + 3 * G as u64), Err(INVALID_VALUE));
    let (mut flags, mut at, mut bytes, mut handle) = (0, 0, 0, 0);
    // SAFETY: the addresses of variables.
    unsafe {
        assert_eq!(cuMemGetAccess(&raw mut flags, [1, 0].as_ptr().cast(), middle), SUCCESS);
        let range = cuMemGetAddressRange_v2(&raw mut at, &raw mut bytes, middle + 5);
        assert_eq!((range, at, bytes), (SUCCESS, middle, 2 * G));
        assert_eq!(cuMemRetainAllocationHandle(&raw mut handle, middle), SUCCESS);
    }
    assert_eq!((flags, handle), (3, two));
    assert_eq!(cudaFree(start), INVALID_VALUE, "it is not from cudaMalloc");
    assert_eq!(cuMemAddressFree(start, 4 * G), INVALID_VALUE, "something is mapped");
    assert_eq!(cuMemUnmap(start, 3 * G), SUCCESS);
    assert_eq!(first(start), Err(INVALID_VALUE));
    assert_eq!(cuMemAddressFree(start, 4 * G), SUCCESS);
    assert_eq!(cuMemRelease(one), SUCCESS);
    assert_eq!(cuMemRelease(one), INVALID_VALUE);
    assert_eq!((cuMemRelease(two), cuMemRelease(two)), (SUCCESS, SUCCESS));
}

#[test]
fn contents_stay_with_their_handle() {
    let _program = Program::new();
    let ((_, from), (_, to)) = (reserve(2 * G), reserve(4 * G));
    let ((_, one), (_, two)) = (create(G), create(G));
    assert_eq!(cuMemMap(from, G, 0, one, 0), SUCCESS);
    assert_eq!(cuMemMap(from + G as u64, G, 0, two, 0), SUCCESS);
    assert_eq!(allow(from, 2 * G), SUCCESS);
    assert_eq!(cuMemsetD32_v2(from, 1, G / 4), SUCCESS);
    assert_eq!(cuMemsetD32_v2(from + G as u64, 2, G / 4), SUCCESS);
    // The first goes before the last.
    assert_eq!(cuMemUnmap(from, G), SUCCESS);
    assert_eq!(first(from + G as u64), Ok(2));
    assert_eq!(cuMemUnmap(from + G as u64, G), SUCCESS);
    // They come back elsewhere, in the other order, and the last before the first.
    assert_eq!(cuMemMap(to + G as u64, G, 0, one, 0), SUCCESS);
    assert_eq!(allow(to + G as u64, G), SUCCESS);
    assert_eq!(cuMemMap(to, G, 0, two, 0), SUCCESS);
    assert_eq!(allow(to, G), SUCCESS);
    assert_eq!((first(to), first(to + G as u64)), (Ok(2), Ok(1)));
    // A handle that is released keeps its memory as long as that is mapped.
    assert_eq!((cuMemRelease(one), cuMemRelease(two)), (SUCCESS, SUCCESS));
    assert_eq!(first(to + G as u64), Ok(1));
    assert_eq!(cuMemUnmap(to, 2 * G), SUCCESS);
    assert_eq!(cuMemMap(to, G, 0, one, 0), INVALID_VALUE);
    cudaDeviceReset();
}

#[test]
fn wrong_sizes_and_places_are_refused() {
    let _program = Program::new();
    assert_eq!(reserve(G + 1).0, INVALID_VALUE);
    assert_eq!(reserve(0).0, INVALID_VALUE);
    assert_eq!(create(G - 4).0, INVALID_VALUE);
    let mut handle = 0;
    let elsewhere = [1, 0, 1, 7, 0, 0, 0, 0];
    // SAFETY: the addresses of a variable and of properties.
    let code = unsafe { cuMemCreate(&raw mut handle, G, &raw const elsewhere, 0) };
    assert_eq!(code, INVALID_DEVICE);
    assert_eq!(create(1 << 50).0, MEMORY_ALLOCATION);
    let ((_, start), (_, one)) = (reserve(2 * G), create(G));
    assert_eq!(cuMemMap(start + 4, G, 0, one, 0), INVALID_VALUE);
    assert_eq!(cuMemMap(start + 2 * G as u64, G, 0, one, 0), INVALID_VALUE);
    // As on an H100.
    assert_eq!(cuMemMap(start, 2 * G, 0, one, 0), NOT_SUPPORTED);
    assert_eq!(cuMemMap(start, G, G, one, 0), NOT_SUPPORTED);
    assert_eq!(cuMemMap(start, G, 0, one, 0), SUCCESS);
    assert_eq!(cuMemMap(start, G, 0, create(G).1, 0), INVALID_VALUE, "something is there");
    assert_eq!(cuMemMap(start + G as u64, G, 0, one, 0), NOT_SUPPORTED, "one memory in two places");
    assert_eq!(cuMemUnmap(start, 4 * G), INVALID_VALUE);
    let large = create(2 * G).1;
    let (_, other) = reserve(2 * G);
    assert_eq!(cuMemMap(other, 2 * G, 0, large, 0), SUCCESS);
    assert_eq!(cuMemUnmap(other + G as u64, G), INVALID_VALUE, "a part of a mapping");
    // What is not mapped is unmapped already, as on an H100.
    assert_eq!(cuMemUnmap(start + G as u64, G), SUCCESS);
    assert_eq!((cuMemUnmap(start, 2 * G), cuMemUnmap(start, G)), (SUCCESS, SUCCESS));
    assert_eq!(cuMemAddressFree(start, G), INVALID_VALUE);
    assert_eq!(cuMemAddressFree(start, 2 * G), SUCCESS);
    cudaDeviceReset();
}
