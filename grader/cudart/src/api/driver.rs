//! The part of CUDA's driver API that programs use beside the runtime: tensor maps, what names errors, and how functions are found.

use super::c::{put, string};
use super::errors::{cudaGetErrorString, lasting};
use super::table::table;
use super::virtual_memory;
use super::{driver_calls, driver_images, driver_links};
use crate::client::{complain, enter};
use crate::error::{CudaError, SUCCESS};
use ptxvm::tensor_map::{BoxShape, MAP_BYTES, MAX_RANK, SPACE, TensorMapFields};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Defines `TABLE`, as [`table!`] does, and the addresses by name.
macro_rules! functions {
    ($($name:ident),* $(,)?) => {
        table![$($name,)* cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPointByVersion,
            cudaGetDriverEntryPointByVersion_ptsz];

        /// The functions of the driver API that there are, by name.
        const FUNCTIONS: &[(&str, *const ())] = &[$((stringify!($name), $name as *const ())),*];
    };
}

functions![
    cuInit,
    cuDriverGetVersion,
    cuGetErrorName,
    cuGetErrorString,
    cuTensorMapEncodeIm2col,
    cuTensorMapEncodeTiled,
    cuTensorMapReplaceAddress,
];

/// The address of a function of the driver API, if there is one.
fn named(name: &str) -> Option<*const ()> {
    let all = FUNCTIONS
        .iter()
        .chain(driver_calls::FUNCTIONS)
        .chain(driver_images::FUNCTIONS)
        .chain(driver_links::FUNCTIONS)
        .chain(virtual_memory::FUNCTIONS);
    all.copied().find(|&(known, _)| known == name).map(|(_, function)| function)
}

/// Whether this library has a function of the driver API.
pub fn is_driver_function(name: &str) -> bool {
    named(name).is_some()
}

/// Values of `cudaDriverEntryPointQueryResult`.
const FOUND: c_int = 0;
const NOT_FOUND: c_int = 1;
/// `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`, the last value of its type.
const WIDEST_PROMOTION: c_uint = 3;

/// Finds a function of the driver. A name that it does not have is no error, but an answer.
///
/// # Safety
/// `name` is a C string, `function` may be written, `status` is null or may be written.
unsafe fn find(name: *const c_char, function: *mut *const (), status: *mut c_int) -> u32 {
    enter(|_| {
        // SAFETY: the same contract.
        let name = unsafe { string(name) };
        // The versions that cuda.h means by a plain name.
        let known =
            ["", "_v2", "_v4"].iter().find_map(|version| named(&format!("{name}{version}")));
        if known.is_none() {
            complain(&format!("the virtual device has no function {name} of the driver"));
        }
        // SAFETY: the same contract.
        unsafe { put(function, known.unwrap_or(std::ptr::null()))? };
        if !status.is_null() {
            // SAFETY: not null.
            unsafe { put(status, if known.is_some() { FOUND } else { NOT_FOUND })? };
        } else if known.is_none() {
            return Err(CudaError::SYMBOL_NOT_FOUND);
        }
        Ok(())
    })
}

/// Each entry: a function that finds others, with those of its parameters that say nothing here.
macro_rules! entry_points {
    ($($point:ident($($ignored:ident: $type:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $point(
            name: *const c_char,
            function: *mut *const (),
            $($ignored: $type,)*
            status: *mut c_int,
        ) -> u32 {
            // SAFETY: as the runtime asks of the program.
            unsafe { find(name, function, status) }
        }
    )*};
}

entry_points! {
    cudaGetDriverEntryPoint(_flags: u64);
    cudaGetDriverEntryPoint_ptsz(_flags: u64);
    cudaGetDriverEntryPointByVersion(_version: c_uint, _flags: u64);
    cudaGetDriverEntryPointByVersion_ptsz(_version: c_uint, _flags: u64);
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: c_uint) -> u32 {
    if flags == 0 { SUCCESS } else { CudaError::INVALID_VALUE.0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(to: *mut c_int) -> u32 {
    // SAFETY: the program passes null or the place of an int.
    unsafe { super::device::cudaDriverGetVersion(to) }
}

/// The driver's codes are those of the runtime as far as both have them, and so are the texts.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(code: u32, to: *mut *const c_char) -> u32 {
    // SAFETY: the program passes null or the place of a pointer.
    unsafe { tell(code, to, cudaGetErrorString(code)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(code: u32, to: *mut *const c_char) -> u32 {
    let own = OWN_NAMES.iter().find(|(other, _)| *other == code);
    let name = own.map_or_else(
        || name_of_driver(CudaError(code).name().unwrap_or("cudaSuccess")),
        |(_, name)| format!("CUDA_ERROR_{name}"),
    );
    // SAFETY: the program passes null or the place of a pointer.
    unsafe { tell(code, to, lasting(&name)) }
}

/// What the driver calls otherwise than the runtime.
const OWN_NAMES: [(u32, &str); 9] = [
    (CudaError::MEMORY_ALLOCATION.0, "OUT_OF_MEMORY"),
    (CudaError::INITIALIZATION.0, "NOT_INITIALIZED"),
    (CudaError::CUDART_UNLOADING.0, "DEINITIALIZED"),
    (CudaError::DEVICES_UNAVAILABLE.0, "DEVICE_UNAVAILABLE"),
    (CudaError::INVALID_KERNEL_IMAGE.0, "INVALID_IMAGE"),
    (CudaError::NO_KERNEL_IMAGE.0, "NO_BINARY_FOR_GPU"),
    (CudaError::INVALID_RESOURCE_HANDLE.0, "INVALID_HANDLE"),
    (CudaError::SYMBOL_NOT_FOUND.0, "NOT_FOUND"),
    (CudaError::LAUNCH_FAILURE.0, "LAUNCH_FAILED"),
];

/// `CUDA_ERROR_INVALID_VALUE` for `cudaErrorInvalidValue`.
fn name_of_driver(name: &str) -> String {
    let words = name.char_indices().map(|(at, letter)| {
        let begins = at > 0 && letter.is_ascii_uppercase();
        format!("{}{}", if begins { "_" } else { "" }, letter.to_ascii_uppercase())
    });
    words.collect()
}

/// Hands out a text for a code; none for a code that there is not.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn tell(code: u32, to: *mut *const c_char, text: *const c_char) -> u32 {
    let known = code == SUCCESS || CudaError(code).name().is_some();
    // SAFETY: the same contract.
    let put = unsafe { put(to, if known { text } else { std::ptr::null() }) };
    if known && put.is_ok() { SUCCESS } else { CudaError::INVALID_VALUE.0 }
}

/// What maps of both modes have in common.
struct TensorArguments {
    element: c_uint,
    rank: u32,
    address: u64,
    size: *const u64,
    stride: *const u64,
    element_stride: *const u32,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
}

/// The first values of an array of the program's; the others are 0.
///
/// # Safety
/// `from` is null, or points to `count` values.
unsafe fn first<T: Copy + Default, const N: usize>(from: *const T, count: usize) -> [T; N] {
    let mut all = [T::default(); N];
    if !from.is_null() {
        let count = count.min(N);
        // SAFETY: not null, and the program says that there are so many.
        unsafe { std::ptr::copy_nonoverlapping(from, all.as_mut_ptr(), count) };
    }
    all
}

/// Writes a tensor map. The errors are those of the driver; what is wrong with a map, it does not say, but this library does.
///
/// # Safety
/// `to` is null or the place of a map, and the arrays hold what the driver reads of them.
unsafe fn encode(
    function: &str,
    to: *mut [u8; MAP_BYTES],
    arguments: &TensorArguments,
    shape: impl FnOnce(usize) -> Result<BoxShape, &'static str>,
) -> u32 {
    let rank = arguments.rank as usize;
    let refuse = |why: &str| {
        complain(&format!("{function}: {why}"));
        CudaError::INVALID_VALUE.0
    };
    if to.is_null() {
        return refuse("there is no place for the map");
    }
    if arguments.promotion > WIDEST_PROMOTION {
        return refuse("the mode of its promotion in the L2 cache does not exist");
    }
    if !(1..=MAX_RANK).contains(&rank) {
        return refuse("a tensor has 1 to 5 dimensions");
    }
    // SAFETY: the same contract.
    let (size, stride, element_stride) = unsafe {
        (
            first::<u64, MAX_RANK>(arguments.size, rank),
            first::<u64, { MAX_RANK - 1 }>(arguments.stride, rank - 1),
            first::<u32, MAX_RANK>(arguments.element_stride, rank),
        )
    };
    if size.iter().any(|&size| size > 1 << 32) || stride.iter().any(|&stride| stride >= 1 << 40) {
        return refuse("a size is above 2^32, or a stride is not below 2^40");
    }
    let fields = shape(rank).map(|shape| TensorMapFields {
        address: arguments.address,
        rank: arguments.rank,
        // The driver numbers the types from f64 on otherwise than the PTX ISA.
        element: match arguments.element {
            8 => 9,
            9 => 10,
            10 => 8,
            other => other,
        },
        interleave: arguments.interleave,
        swizzle: arguments.swizzle,
        fill: arguments.fill,
        // No coordinate is as large as 2^32.
        size: size.map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
        stride,
        element_stride,
        shape,
    });
    match fields.and_then(|fields| fields.encode()) {
        Ok(map) => {
            // SAFETY: not null, and the program says that it is a map.
            unsafe { to.write(map) };
            SUCCESS
        }
        Err(why) => refuse(why),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuTensorMapEncodeTiled(
    to: *mut [u8; MAP_BYTES],
    element: c_uint,
    rank: u32,
    address: *mut c_void,
    size: *const u64,
    stride: *const u64,
    extent: *const u32,
    element_stride: *const u32,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
) -> u32 {
    let address = address as u64;
    let arguments = TensorArguments {
        element,
        rank,
        address,
        size,
        stride,
        element_stride,
        interleave,
        swizzle,
        promotion,
        fill,
    };
    // SAFETY: as the driver asks of the program.
    unsafe {
        encode("cuTensorMapEncodeTiled", to, &arguments, |rank| {
            Ok(BoxShape::Tile(first(extent, rank)))
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuTensorMapEncodeIm2col(
    to: *mut [u8; MAP_BYTES],
    element: c_uint,
    rank: u32,
    address: *mut c_void,
    size: *const u64,
    stride: *const u64,
    lower: *const c_int,
    upper: *const c_int,
    channels: u32,
    pixels: u32,
    element_stride: *const u32,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
) -> u32 {
    let address = address as u64;
    let arguments = TensorArguments {
        element,
        rank,
        address,
        size,
        stride,
        element_stride,
        interleave,
        swizzle,
        promotion,
        fill,
    };
    let corner = |of: [c_int; SPACE]| -> Result<[i16; SPACE], &'static str> {
        let mut corner = [0; SPACE];
        for (short, wide) in corner.iter_mut().zip(of) {
            *short = i16::try_from(wide).map_err(|_| "a corner is beyond 16 bits")?;
        }
        Ok(corner)
    };
    // SAFETY: as the driver asks of the program.
    unsafe {
        encode("cuTensorMapEncodeIm2col", to, &arguments, |rank| {
            let space = rank.saturating_sub(2);
            let (lower, upper) = (corner(first(lower, space))?, corner(first(upper, space))?);
            Ok(BoxShape::Im2col { lower, upper, channels, pixels })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuTensorMapReplaceAddress(
    map: *mut [u8; MAP_BYTES],
    address: *mut c_void,
) -> u32 {
    if map.is_null() {
        return CudaError::INVALID_VALUE.0;
    }
    // SAFETY: not null, and the program says that it is a map.
    match unsafe { TensorMapFields::with_address(&*map, address as u64) } {
        Ok(changed) => {
            // SAFETY: as above.
            unsafe { map.write(changed) };
            SUCCESS
        }
        Err(why) => {
            complain(&format!("cuTensorMapReplaceAddress: {why}"));
            CudaError::INVALID_VALUE.0
        }
    }
}
