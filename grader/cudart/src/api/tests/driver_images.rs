//! Arrays and textures by the driver's structures.

use super::*;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ArrayDesc {
    width: usize,
    height: usize,
    format: c_uint,
    channels: c_uint,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Default)]
struct Copy2D {
    from: Side,
    to: Side,
    bytes: usize,
    height: usize,
}

#[repr(C)]
#[derive(Default)]
struct Side {
    x: usize,
    y: usize,
    kind: c_uint,
    host: u64,
    device: u64,
    array: u64,
    pitch: usize,
}

unsafe extern "C" {
    fn cuArrayCreate_v2(to: *mut u64, of: *const ArrayDesc) -> u32;
    fn cuArrayGetDescriptor_v2(to: *mut ArrayDesc, array: u64) -> u32;
    safe fn cuArrayDestroy(array: u64) -> u32;
    fn cuMemcpy2D_v2(of: *const Copy2D) -> u32;
    fn cuMemcpyAtoH_v2(to: u64, array: u64, offset: usize, bytes: usize) -> u32;
    fn cuTexObjectCreate(
        to: *mut u64,
        of: *const [u64; 18],
        texture: *const [u32; 26],
        view: *const c_void,
    ) -> u32;
    safe fn cuTexObjectDestroy(handle: u64) -> u32;
    fn cudaGetTextureObjectTextureDesc(to: *mut [u32; 18], handle: u64) -> u32;
}

fn array(of: ArrayDesc) -> (u32, u64) {
    let mut handle = 0;
    // SAFETY: the addresses of a variable and a description.
    (unsafe { cuArrayCreate_v2(&raw mut handle, &raw const of) }, handle)
}

#[test]
fn boxes_are_copied_into_arrays_and_back() {
    let _program = Program::new();
    let bytes = ArrayDesc { width: 4, height: 3, format: 1, channels: 1 };
    let (code, array) = array(bytes);
    assert_eq!(code, SUCCESS);
    let mut told = ArrayDesc::default();
    // SAFETY: the address of a variable.
    assert_eq!(unsafe { cuArrayGetDescriptor_v2(&raw mut told, array) }, SUCCESS);
    assert_eq!(told, bytes);
    let from: [u8; 20] = std::array::from_fn(|at| at as u8);
    let into = |x, y, host: &[u8], pitch, bytes, height| {
        let from = Side { kind: 1, host: host.as_ptr() as u64, pitch, ..Side::default() };
        let to = Side { x, y, kind: 3, array, ..Side::default() };
        let copy = Copy2D { from, to, bytes, height };
        // SAFETY: the address of such a structure; the host's memory is valid for what is copied.
        unsafe { cuMemcpy2D_v2(&raw const copy) }
    };
    assert_eq!(into(0, 0, &from, 4, 4, 3), SUCCESS);
    // Two rows of two bytes, each five after the one before, to the last corner.
    assert_eq!(into(2, 1, &from[10..], 5, 2, 2), SUCCESS);
    let mut row = [0u8; 4];
    // SAFETY: an array of so many bytes.
    let read = unsafe { cuMemcpyAtoH_v2(row.as_mut_ptr() as u64, array, 0, 4) };
    assert_eq!((read, row), (SUCCESS, [0, 1, 2, 3]));
    let mut back = [0u8; 12];
    let copy = Copy2D {
        from: Side { kind: 3, array, ..Side::default() },
        to: Side { kind: 1, host: back.as_mut_ptr() as u64, ..Side::default() },
        bytes: 4,
        height: 3,
    };
    // SAFETY: the address of such a structure; without a pitch the rows follow each other.
    assert_eq!(unsafe { cuMemcpy2D_v2(&raw const copy) }, SUCCESS);
    assert_eq!(back, [0, 1, 2, 3, 4, 5, 10, 11, 8, 9, 15, 16]);
    assert_eq!(into(3, 0, &from, 4, 2, 1), INVALID_VALUE);
    assert_eq!(into(0, 0, &from, 2, 4, 3), INVALID_PITCH_VALUE);
    assert_eq!(cuArrayDestroy(array), SUCCESS);
    assert_eq!(self::array(ArrayDesc { format: 4, ..bytes }).0, INVALID_VALUE);
    assert_eq!(self::array(ArrayDesc { channels: 3, ..bytes }).0, INVALID_VALUE);
}

#[test]
fn flags_of_textures_become_those_of_the_runtime() {
    let _program = Program::new();
    let texture = |format: c_uint, flags: u32| {
        let (_, array) = array(ArrayDesc { width: 8, height: 8, format, channels: 1 });
        let (mut handle, mut resource, mut desc, mut told) = (0, [0; 18], [0; 26], [0; 18]);
        resource[1] = array;
        desc[..5].copy_from_slice(&[1, 1, 1, 0, flags]);
        // SAFETY: the addresses of variables and such structures.
        unsafe {
            let null = std::ptr::null();
            let (to, of) = (&raw mut handle, &raw const resource);
            assert_eq!(cuTexObjectCreate(to, of, &raw const desc, null), SUCCESS);
            assert_eq!(cudaGetTextureObjectTextureDesc(&raw mut told, handle), SUCCESS);
        }
        assert_eq!(cuTexObjectDestroy(handle), SUCCESS);
        // The address mode, the read mode, sRGB, and whether coordinates are normalised.
        (told[0], told[4], told[5], told[10])
    };
    // Bytes become floats unless the program wants integers; ints and floats stay as they are.
    assert_eq!(texture(1, 0), (1, 1, 0, 0));
    assert_eq!(texture(1, 1), (1, 0, 0, 0));
    assert_eq!(texture(1, 2), (1, 1, 0, 1));
    assert_eq!(texture(3, 0), (1, 0, 0, 0));
    assert_eq!(texture(0x20, 2), (1, 0, 0, 1));
}
