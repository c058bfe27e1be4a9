//! What programs take from the driver beside the runtime.

use super::*;

type Map = [u8; 128];

unsafe extern "C" {
    fn cudaGetDriverEntryPointByVersion(
        name: *const c_char,
        function: *mut usize,
        version: c_uint,
        flags: u64,
        status: *mut c_int,
    ) -> u32;
    fn cuGetErrorName(code: u32, to: *mut *const c_char) -> u32;
    fn cuGetErrorString(code: u32, to: *mut *const c_char) -> u32;
    fn cuTensorMapEncodeTiled(
        to: *mut Map,
        element: c_uint,
        rank: u32,
        address: u64,
        size: *const u64,
        stride: *const u64,
        extent: *const u32,
        element_stride: *const u32,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) -> u32;
    fn cuTensorMapReplaceAddress(map: *mut Map, address: u64) -> u32;
}

/// Arguments for a tensor of two dimensions.
struct Given {
    address: u64,
    size: [u64; 2],
    stride: u64,
    extent: [u32; 2],
    element: c_uint,
}

/// A map where programs have one.
#[repr(align(64))]
struct Aligned(Map);

#[test]
fn functions_are_found_by_name() {
    let _program = Program::new();
    let find = |name: &CStr, status: Option<&mut c_int>| {
        let mut function = 1;
        let status = status.map_or(std::ptr::null_mut(), |status| &raw mut *status);
        // SAFETY: a C string, and addresses of variables or null.
        let code = unsafe {
            cudaGetDriverEntryPointByVersion(name.as_ptr(), &raw mut function, 12_000, 0, status)
        };
        (code, function)
    };
    let mut status = 7;
    let own = cuTensorMapEncodeTiled as *const () as usize;
    assert_eq!(find(c"cuTensorMapEncodeTiled", Some(&mut status)), (SUCCESS, own));
    assert_eq!(status, 0);
    assert_eq!(find(c"cuMemImportFromShareableHandle", Some(&mut status)), (SUCCESS, 0));
    assert_eq!(status, 1);
    assert_eq!(find(c"cuMemImportFromShareableHandle", None), (500, 0));
}

#[test]
fn maps_are_encoded_or_refused() {
    let tensor = Program::new().memory(4096);
    let mut map = Aligned([0; 128]);
    let mut encode = |change: fn(&mut Given)| {
        let mut given =
            Given { address: tensor, size: [32, 32], stride: 128, extent: [8, 8], element: 7 };
        change(&mut given);
        let Given { address, size, stride, extent, element } = given;
        let (to, ones) = (&raw mut map.0, [1u32; 2]);
        // SAFETY: each array has as many values as there are dimensions, or one less.
        unsafe {
            let (size, stride, extent) = (size.as_ptr(), &raw const stride, extent.as_ptr());
            let ones = ones.as_ptr();
            cuTensorMapEncodeTiled(to, element, 2, address, size, stride, extent, ones, 0, 0, 0, 0)
        }
    };
    assert_eq!(encode(|_| ()), SUCCESS);
    assert_eq!(encode(|given| given.element = 9), SUCCESS, "bf16");
    for (name, code) in [
        ("address", encode(|given| given.address += 8)),
        ("size", encode(|given| given.size[1] = 0)),
        ("large size", encode(|given| given.size[1] = (1 << 32) + 1)),
        ("stride", encode(|given| given.stride = 132)),
        ("large stride", encode(|given| given.stride = 1 << 40)),
        ("box", encode(|given| given.extent[0] = 3)),
        ("element", encode(|given| given.element = 20)),
    ] {
        assert_eq!(code, INVALID_VALUE, "{name}");
    }
    let before = map.0;
    // SAFETY: a map.
    assert_eq!(unsafe { cuTensorMapReplaceAddress(&raw mut map.0, tensor + 16) }, SUCCESS);
    assert_ne!(map.0, before);
    // SAFETY: a map.
    assert_eq!(unsafe { cuTensorMapReplaceAddress(&raw mut map.0, tensor + 8) }, INVALID_VALUE);
}

#[test]
fn codes_have_the_names_of_the_driver() {
    let name = |code| {
        let mut name = std::ptr::null();
        // SAFETY: the address of a variable.
        (unsafe { cuGetErrorName(code, &raw mut name) }, name)
    };
    assert_eq!(text(name(INVALID_VALUE).1), "CUDA_ERROR_INVALID_VALUE");
    assert_eq!(text(name(2).1), "CUDA_ERROR_OUT_OF_MEMORY");
    assert_eq!(text(name(500).1), "CUDA_ERROR_NOT_FOUND");
    assert_eq!(text(name(SUCCESS).1), "CUDA_SUCCESS");
    let (code, none) = name(12_345);
    assert!(code == INVALID_VALUE && none.is_null());
    let mut words = std::ptr::null();
    // SAFETY: the address of a variable.
    assert_eq!(unsafe { cuGetErrorString(INVALID_VALUE, &raw mut words) }, SUCCESS);
    assert_eq!(text(words), "invalid argument");
}
