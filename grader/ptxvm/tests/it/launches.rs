//! Launches from kernels.

use crate::support::Device;
use ptxvm::{ChildLaunch, Module};

/// A kernel whose threads each launch another one, with a word and an address, in the order of their numbers; the even ones behind all
/// others.
const PARENT: &str = ".version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b64 buffer) __cudaCDP2GetParameterBufferV2
(.param .b64 kernel, .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared);
.extern .func (.param .b32 error) __cudaCDP2LaunchDeviceV2(.param .b64 buffer, .param .b64 stream);
.visible .entry child(.param .u32 word, .param .u64 address) { ret; }
.visible .entry parent(.param .u64 data) {
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;
ld.param.u64 %rd1,[data];
mov.u32 %r1,%tid.x;
mov.u64 %rd2,child;
{ .param .b64 p0; st.param.b64 [p0],%rd2;
.param .align 4 .b8 p1[12]; st.param.b32 [p1],3; st.param.b32 [p1+4],2; st.param.b32 [p1+8],1;
.param .align 4 .b8 p2[12]; st.param.b32 [p2],BLOCK; st.param.b32 [p2+4],1; st.param.b32 [p2+8],1;
.param .b32 p3; st.param.b32 [p3],48;
.param .b64 q;
call.uni (q), __cudaCDP2GetParameterBufferV2, (p0, p1, p2, p3);
ld.param.b64 %rd3,[q]; }
setp.eq.u64 %p,%rd3,0;
@%p bra END;
st.u32 [%rd3],%r1;
st.u64 [%rd3+8],%rd1;
and.b32 %r2,%r1,1;
setp.eq.u32 %p,%r2,0;
selp.u64 %rd4,3,0,%p;
{ .param .b64 p0; st.param.b64 [p0],%rd3;
.param .b64 p1; st.param.b64 [p1],%rd4;
.param .b32 q;
call.uni (q), __cudaCDP2LaunchDeviceV2, (p0, p1);
ld.param.b32 %r3,[q]; }
mad.wide.u32 %rd5,%r1,4,%rd1;
st.global.u32 [%rd5],%r3;
END: ret;
}
";

#[test]
fn launches_come_back_in_order_with_their_parameters() {
    let mut device = Device::new(&PARENT.replace("BLOCK", "64"));
    let data = device.in_out(&[9u32; 4]);
    let params = vec![device.pointer(data)];
    let outcome = device.launch("parent", [1, 1, 1], [4, 1, 1], 0, params.clone());
    assert_eq!(outcome.findings, []);
    assert_eq!(device.read::<u32>(data), [0; 4], "no errors");
    let child = |word: u32| ChildLaunch {
        kernel: "child".to_owned(),
        grid: [3, 2, 1],
        block: [64, 1, 1],
        shared: 48,
        params: vec![word.to_le_bytes().to_vec(), params[0].clone()],
        last: word.is_multiple_of(2),
    };
    assert_eq!(outcome.children, [1, 3, 0, 2].map(child));
    assert_eq!(device.memory.heap_use(), ptxvm::HeapUse::default(), "the parameters are freed");
}

#[test]
fn what_cannot_start_gets_no_buffer() {
    let mut device = Device::new(&PARENT.replace("BLOCK", "2048"));
    let data = device.in_out(&[9u32; 4]);
    let params = vec![device.pointer(data)];
    let outcome = device.launch("parent", [1, 1, 1], [4, 1, 1], 0, params);
    assert_eq!((outcome.findings, outcome.children), (vec![], vec![]));
    assert_eq!(device.read::<u32>(data), [9; 4]);
}

#[test]
fn launch_bounds_are_known() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry a() .maxntid 32, 4 { ret; }\n\
                .visible .entry b() .reqntid 96 { ret; }\n.visible .entry c() { ret; }\n";
    let module = Module::load(text).unwrap();
    let bounds: Vec<u32> = module.kernels().map(ptxvm::Kernel::max_threads).collect();
    assert_eq!(bounds, [128, 96, 1024]);
}
