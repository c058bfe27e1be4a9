//! The driver's linker.

use super::libraries::{cuLaunchKernel, cuModuleGetFunction};
use super::*;

unsafe extern "C" {
    fn cuLinkCreate_v2(
        count: c_uint,
        options: *const c_int,
        values: *const *mut c_void,
        to: *mut u64,
    ) -> u32;
    fn cuLinkAddData_v2(
        link: u64,
        kind: c_int,
        data: *const c_char,
        bytes: usize,
        name: *const c_char,
        count: c_uint,
        options: *const c_int,
        values: *const *mut c_void,
    ) -> u32;
    fn cuLinkComplete(link: u64, to: *mut *const c_char, bytes: *mut usize) -> u32;
    fn cuLinkDestroy(link: u64) -> u32;
    fn cuModuleLoadData(to: *mut u64, code: *const c_char) -> u32;
}

/// A kernel that stores twice 21, by a function that it does not have.
const KERNEL: &CStr = c".version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) twice(.param .b32 x);
.visible .entry k(.param .u64 o)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [o]; mov.u32 %r1, 21;
{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call.uni (q), twice, (p); ld.param.b32 %r2, [q]; }
st.global.u32 [%rd1], %r2; ret;
}
";

const FUNCTION: &CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 r) twice(.param .b32 x)
{
.reg .b32 %r<3>;
ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret;
}
";

/// Links parts, with a log of so many bytes; the codes, the link, and the result.
fn link(parts: &[&CStr], log: &mut [u8]) -> (Vec<u32>, u64, *const c_char) {
    let (mut handle, mut linked, mut bytes) = (0, std::ptr::null(), 0);
    let null = std::ptr::null::<c_void>();
    let values = [log.as_mut_ptr().cast(), log.len() as *mut c_void];
    let mut codes = Vec::new();
    // SAFETY: the addresses of variables, PTX that ends with zero, and a buffer of so many bytes.
    unsafe {
        codes.push(cuLinkCreate_v2(2, [5, 6].as_ptr(), values.as_ptr(), &raw mut handle));
        for part in parts {
            let bytes = part.count_bytes() + 1;
            let name = c"part".as_ptr();
            codes.push(cuLinkAddData_v2(
                handle,
                1,
                part.as_ptr(),
                bytes,
                name,
                0,
                null.cast(),
                null.cast(),
            ));
        }
        codes.push(cuLinkComplete(handle, &raw mut linked, &raw mut bytes));
        if !linked.is_null() {
            assert_eq!(CStr::from_ptr(linked).count_bytes() + 1, bytes);
        }
    }
    (codes, handle, linked)
}

#[test]
fn a_kernel_calls_a_function_of_another_file() {
    for parts in [[KERNEL, FUNCTION], [FUNCTION, KERNEL]] {
        let program = Program::new();
        let (codes, handle, linked) = link(&parts, &mut [0; 100]);
        assert_eq!(codes, [SUCCESS; 4]);
        let (mut module, mut kernel, to) = (0, 0, program.memory(4));
        let args = [(&raw const to).cast::<c_void>()];
        // SAFETY: the addresses of variables, the result of the link, and an argument for the parameter.
        unsafe {
            assert_eq!(cuModuleLoadData(&raw mut module, linked), SUCCESS);
            assert_eq!(cuLinkDestroy(handle), SUCCESS);
            assert_eq!(cuModuleGetFunction(&raw mut kernel, module, c"k".as_ptr()), SUCCESS);
            let null = std::ptr::null();
            let launched = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, args.as_ptr(), null);
            assert_eq!(launched, SUCCESS);
        }
        assert_eq!(program.read(to), [42]);
    }
}

#[test]
fn what_is_wrong_is_said_in_the_log() {
    let _program = Program::new();
    let broken = c".version 8.0\n.target sm_75\n.address_size 64\nnonsense\n";
    let mut log = [1; 40];
    let (codes, handle, linked) = link(&[KERNEL, broken], &mut log);
    assert_eq!(codes, [SUCCESS, SUCCESS, SUCCESS, 218]);
    assert!(linked.is_null());
    let text = CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
    assert!(text.contains("found `nonsense`"), "{text}");
    // SAFETY: a handle.
    assert_eq!(unsafe { cuLinkDestroy(handle) }, SUCCESS);
    // As on an H100.
    assert_eq!(link(&[c"no PTX"], &mut [0; 9]).0[1], 200);
}
