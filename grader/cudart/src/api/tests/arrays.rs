use super::*;
use crate::images::{ArrayShape, ChannelFormat, GATHER, LAYERED, SURFACE, TextureDesc};

/// `cudaPitchedPtr`: address, pitch, width and height.
type PitchedPtr = [u64; 4];
/// `cudaExtent` or `cudaPos`.
type Extent = [u64; 3];

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Copy3D {
    from_array: u64,
    from_position: Extent,
    from: PitchedPtr,
    to_array: u64,
    to_position: Extent,
    to: PitchedPtr,
    extent: Extent,
    kind: c_int,
}

/// By value, as C passes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct ByValue<T>(T);

unsafe extern "C" {
    safe fn cudaCreateChannelDesc(
        x: c_int,
        y: c_int,
        z: c_int,
        w: c_int,
        kind: c_uint,
    ) -> ChannelFormat;
    fn cudaMalloc3DArray(
        to: *mut u64,
        format: *const ChannelFormat,
        extent: ByValue<Extent>,
        flags: c_uint,
    ) -> u32;
    fn cudaMallocArray(
        to: *mut u64,
        format: *const ChannelFormat,
        width: usize,
        height: usize,
        flags: c_uint,
    ) -> u32;
    fn cudaMallocMipmappedArray(
        to: *mut u64,
        format: *const ChannelFormat,
        extent: ByValue<Extent>,
        levels: c_uint,
        flags: c_uint,
    ) -> u32;
    fn cudaGetMipmappedArrayLevel(to: *mut u64, array: u64, level: c_uint) -> u32;
    safe fn cudaFreeArray(array: u64) -> u32;
    safe fn cudaFreeMipmappedArray(array: u64) -> u32;
    fn cudaArrayGetInfo(
        format: *mut ChannelFormat,
        extent: *mut Extent,
        flags: *mut c_uint,
        array: u64,
    ) -> u32;
    fn cudaMemcpy3D(copy: *const Copy3D) -> u32;
    fn cudaMemcpyToArray(
        array: u64,
        x: usize,
        y: usize,
        from: u64,
        bytes: usize,
        kind: c_int,
    ) -> u32;
    fn cudaMemcpyFromArray(
        to: u64,
        array: u64,
        x: usize,
        y: usize,
        bytes: usize,
        kind: c_int,
    ) -> u32;
    fn cudaMemcpy2DFromArray(
        to: u64,
        pitch: usize,
        array: u64,
        x: usize,
        y: usize,
        width: usize,
        height: usize,
        kind: c_int,
    ) -> u32;
    fn cudaMalloc3D(to: *mut PitchedPtr, extent: ByValue<Extent>) -> u32;
    fn cudaCreateTextureObject(
        to: *mut u64,
        resource: *const [u64; 18],
        texture: *const TextureDesc,
        view: *const c_void,
    ) -> u32;
    safe fn cudaDestroyTextureObject(handle: u64) -> u32;
    fn cudaGetTextureObjectTextureDesc(to: *mut TextureDesc, handle: u64) -> u32;
    fn cudaCreateSurfaceObject(to: *mut u64, resource: *const [u64; 18]) -> u32;
    safe fn cudaDestroySurfaceObject(handle: u64) -> u32;
}

const FLOAT: ChannelFormat = ChannelFormat { bits: [32, 0, 0, 0], kind: 2 };
const BYTES: ChannelFormat = ChannelFormat { bits: [8, 8, 0, 0], kind: 1 };

/// Makes an array of this shape.
fn array(format: ChannelFormat, extent: Extent, flags: u32) -> (u32, u64) {
    let mut array = 0;
    // SAFETY: the addresses of variables.
    let code =
        unsafe { cudaMalloc3DArray(&raw mut array, &raw const format, ByValue(extent), flags) };
    (code, array)
}

fn address<T>(of: &[T]) -> u64 {
    of.as_ptr() as u64
}

/// A `cudaResourceDesc` of an array.
fn resource(array: u64) -> [u64; 18] {
    let mut resource = [0; 18];
    resource[1] = array;
    resource
}

#[test]
fn arrays_say_what_they_were_made_from() {
    let _program = Program::new();
    assert_eq!(cudaCreateChannelDesc(8, 8, 0, 0, 1), BYTES);
    let (code, made) = array(FLOAT, [16, 8, 3], LAYERED | SURFACE);
    assert_eq!(code, SUCCESS);
    let (mut format, mut extent, mut flags) = (ChannelFormat::default(), [0; 3], 0);
    // SAFETY: the addresses of variables, or null.
    unsafe {
        let (none, info) = (std::ptr::null_mut(), &raw mut format);
        assert_eq!(cudaArrayGetInfo(info, &raw mut extent, &raw mut flags, made), SUCCESS);
        assert_eq!(
            cudaArrayGetInfo(none, std::ptr::null_mut(), std::ptr::null_mut(), made),
            SUCCESS
        );
    }
    assert_eq!((format, extent, flags), (FLOAT, [16, 8, 3], LAYERED | SURFACE));
    let shape = ArrayShape { format, extent, levels: 1, flags };
    assert_eq!(shape.bytes(), Some(16 * 8 * 3 * 4));
    assert_eq!((cudaFreeArray(made), cudaFreeArray(0)), (SUCCESS, SUCCESS));
    assert_ne!(cudaFreeArray(made), SUCCESS, "twice");
    assert_eq!(array(FLOAT, [0; 3], 0).0, INVALID_VALUE);
    assert_eq!(array(FLOAT, [8, 4, 6], crate::images::CUBEMAP).0, INVALID_VALUE);
    assert_eq!(array(FLOAT, [1 << 20, 1 << 20, 0], GATHER).0, INVALID_VALUE);
    assert_eq!(array(FLOAT, [1 << 16, 1 << 16, 0], 0).0, MEMORY_ALLOCATION);
    assert_eq!(
        array(ChannelFormat { bits: [32, 32, 32, 0], kind: 2 }, [4, 4, 0], 0).0,
        INVALID_CHANNEL_DESCRIPTOR
    );
}

#[test]
fn boxes_are_copied_between_host_arrays_and_memory() {
    let program = Program::new();
    let (_, whole) = array(BYTES, [5, 4, 3], 0);
    let values: Vec<u8> = (0..120).collect();
    let host = |bytes: &[u8]| [address(bytes), 10, 5, 4];
    let in_array = Copy3D {
        from: host(&values),
        to_array: whole,
        extent: [5, 4, 3],
        kind: HOST_TO_DEVICE,
        ..Copy3D::default()
    };
    // SAFETY: the structures are valid, and so is what they point to.
    let run = |copy: Copy3D| unsafe { cudaMemcpy3D(&raw const copy) };
    assert_eq!(run(in_array), SUCCESS);
    // A part of it by way of pitched memory: texels 2 and 3 of rows 1 and 2 of both last slices.
    let mut pitched = [0; 4];
    // SAFETY: the address of a variable.
    assert_eq!(unsafe { cudaMalloc3D(&raw mut pitched, ByValue([4, 2, 2])) }, SUCCESS);
    let part = Copy3D {
        from_array: whole,
        from_position: [2, 1, 1],
        to: pitched,
        extent: [2, 2, 2],
        kind: DEVICE_TO_DEVICE,
        ..Copy3D::default()
    };
    assert_eq!(run(part), SUCCESS);
    let mut got = [0u8; 16];
    let back = Copy3D {
        from: pitched,
        to: [(&raw mut got) as u64, 4, 4, 2],
        extent: [4, 2, 2],
        kind: DEVICE_TO_HOST,
        ..Copy3D::default()
    };
    assert_eq!(run(back), SUCCESS);
    let expected: Vec<u8> =
        [54, 64, 94, 104].into_iter().flat_map(|first| first..first + 4).collect();
    assert_eq!(got[..], expected);
    // Beside an array, positions in memory count texels too: texels 1 and 2 of row 1.
    let from_texel = Copy3D { from_position: [1, 1, 0], extent: [2, 1, 1], ..in_array };
    assert_eq!(run(from_texel), SUCCESS);
    let mut texels = [0u8; 8];
    let to_texel = Copy3D {
        from_array: whole,
        to: [(&raw mut texels) as u64, 8, 8, 1],
        to_position: [2, 0, 0],
        extent: [2, 1, 1],
        kind: DEVICE_TO_HOST,
        ..Copy3D::default()
    };
    assert_eq!(run(to_texel), SUCCESS);
    assert_eq!(texels, [0, 0, 0, 0, 12, 13, 14, 15]);
    for wrong in [
        Copy3D { to_position: [1, 0, 0], ..in_array },
        Copy3D { to_position: [0, 0, 1], ..in_array },
        Copy3D { kind: DEVICE_TO_HOST, ..in_array },
        Copy3D { from_array: whole, ..in_array },
        Copy3D { to_array: 0, ..in_array },
    ] {
        assert_eq!(run(wrong), INVALID_VALUE);
    }
    assert_eq!(run(Copy3D { extent: [0, 4, 3], ..in_array }), SUCCESS);
    drop(program);
}

#[test]
fn flat_copies_go_from_row_to_row() {
    let _program = Program::new();
    let mut flat = 0;
    // SAFETY: the addresses of variables, and room for what is copied.
    unsafe {
        assert_eq!(cudaMallocArray(&raw mut flat, &BYTES, 3, 3, 0), SUCCESS);
        let values: Vec<u8> = (1..=12).collect();
        assert_eq!(cudaMemcpyToArray(flat, 0, 0, address(&[0u8; 18]), 18, HOST_TO_DEVICE), SUCCESS);
        assert_eq!(cudaMemcpyToArray(flat, 4, 0, address(&values), 10, HOST_TO_DEVICE), SUCCESS);
        let mut rows = [0u8; 18];
        let to = (&raw mut rows) as u64;
        assert_eq!(cudaMemcpy2DFromArray(to, 6, flat, 0, 0, 6, 3, DEVICE_TO_HOST), SUCCESS);
        assert_eq!(rows, [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 0, 0]);
        let mut some = [0u8; 5];
        let to = (&raw mut some) as u64;
        assert_eq!(cudaMemcpyFromArray(to, flat, 5, 0, 5, DEVICE_TO_HOST), SUCCESS);
        assert_eq!(some, [2, 3, 4, 5, 6]);
        assert_eq!(
            cudaMemcpyToArray(flat, 4, 2, address(&values), 3, HOST_TO_DEVICE),
            INVALID_VALUE
        );
    }
}

#[test]
fn objects_are_made_from_arrays() {
    let _program = Program::new();
    let (_, plain) = array(FLOAT, [16, 8, 0], 0);
    let (_, integers) = array(BYTES, [16, 8, 0], SURFACE);
    let texture = TextureDesc { filter_mode: 1, address_mode: [3, 0, 0], ..TextureDesc::default() };
    let mut handle = 0;
    let mut create = |array: u64, texture: TextureDesc| {
        let resource = resource(array);
        // SAFETY: the addresses of variables.
        unsafe {
            cudaCreateTextureObject(
                &raw mut handle,
                &raw const resource,
                &raw const texture,
                std::ptr::null(),
            )
        }
    };
    assert_eq!(
        create(integers, texture),
        INVALID_FILTER_SETTING,
        "integers cannot be interpolated"
    );
    assert_eq!(create(0, texture), INVALID_RESOURCE_HANDLE);
    assert_eq!(create(integers, TextureDesc { read_mode: 1, ..texture }), SUCCESS);
    assert_eq!(create(plain, texture), SUCCESS);
    let mut got = TextureDesc::default();
    // SAFETY: the address of a variable.
    assert_eq!(unsafe { cudaGetTextureObjectTextureDesc(&raw mut got, handle) }, SUCCESS);
    assert_eq!(got, texture);
    assert_eq!((cudaDestroyTextureObject(handle), cudaDestroyTextureObject(0)), (SUCCESS, SUCCESS));
    assert_eq!(cudaDestroyTextureObject(handle), SUCCESS, "twice");
    // SAFETY: the address of a variable.
    assert_eq!(unsafe { cudaGetTextureObjectTextureDesc(&raw mut got, handle) }, INVALID_VALUE);
    let mut surface = 0;
    for (array, code) in [(plain, SUCCESS), (integers, SUCCESS), (1, INVALID_RESOURCE_HANDLE)] {
        let resource = resource(array);
        // SAFETY: the addresses of variables.
        assert_eq!(unsafe { cudaCreateSurfaceObject(&raw mut surface, &raw const resource) }, code);
    }
    assert_eq!(cudaDestroySurfaceObject(surface), SUCCESS);
}

#[test]
fn levels_are_arrays_of_a_mipmapped_one() {
    let _program = Program::new();
    let (mut levels, mut level, mut extent, mut flags) = (0, 0, [0; 3], 0);
    // SAFETY: the addresses of variables.
    unsafe {
        let made = cudaMallocMipmappedArray(&raw mut levels, &FLOAT, ByValue([16, 6, 0]), 9, 0);
        assert_eq!(made, SUCCESS);
        assert_eq!(cudaGetMipmappedArrayLevel(&raw mut level, levels, 2), SUCCESS);
        let none = std::ptr::null_mut();
        assert_eq!(cudaArrayGetInfo(none, &raw mut extent, &raw mut flags, level), SUCCESS);
        assert_eq!(extent, [4, 1, 0]);
        assert_eq!(cudaGetMipmappedArrayLevel(&raw mut level, levels, 5), INVALID_VALUE);
    }
    assert_eq!(cudaFreeMipmappedArray(levels), SUCCESS);
}
