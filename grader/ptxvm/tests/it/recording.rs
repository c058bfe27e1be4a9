//! What a recording has of a block: its steps, registers and accesses.

use ptxvm::{
    Access, AccessKind, Init, Launch, Memory, Module, Options, Place, RecordingRequest,
    launch_recorded,
};

const TWICE: &str = "
    .version 9.0
    .target sm_75, debug
    .address_size 64
    .visible .entry twice(.param .u64 x, .param .u64 y) {
        .reg .b32 %r<3>; .reg .b64 %rd<6>; .reg .f32 %f<3>;
        .shared .align 4 .b8 box[256];
        .loc 1 1 0
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [y];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd4, %rd1, %rd3;
        add.s64 %rd5, %rd2, %rd3;
    $L__tmp0:
        .loc 1 2 0
        ld.global.f32 %f1, [%rd4];
        add.f32 %f2, %f1, %f1;
        .loc 1 3 0
        st.global.f32 [%rd5], %f2;
        ret;
    }
    .file 1 \"twice.cu\"";

#[test]
fn steps_registers_and_memory_of_one_block() {
    let module = Module::load(TWICE).unwrap();
    let kernel = module.kernel("twice").unwrap();
    let symbols = kernel.symbols().unwrap();
    assert_eq!(symbols.shared("box"), Some((0, 256)));
    let mut memory = Memory::default();
    let values = [1.5f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let x = memory.alloc(Init::Bytes(values), Access::ReadOnly);
    let y = memory.alloc(Init::Undefined { len: 8 }, Access::ReadWrite);
    let pointer = |id| u64::to_le_bytes(memory.address(id)).to_vec();
    let params = vec![pointer(x), pointer(y)];
    let config = Launch { grid: [2, 1, 1], block: [2, 1, 1], dynamic_shared: 0, params };
    let request = RecordingRequest {
        block: [1, 0, 0],
        registers: vec![symbols.register("twice", "%f2").unwrap()],
        steps: 100,
    };
    let options = Options::default();
    let recording =
        launch_recorded(&module, kernel, &config, &mut memory, &options, request).unwrap();
    // Only the second block, all of it.
    assert!(!recording.cut);
    assert!(recording.steps.iter().all(|step| step.lanes == 0b11 && step.warp == 0));
    let line = |step: u32| {
        let pc = recording.steps[step as usize].pc;
        kernel.source_line(pc).unwrap().line
    };
    let [read, write] = &recording.accesses[..] else { panic!("{:?}", recording.accesses) };
    assert_eq!((read.kind, line(read.step)), (AccessKind::Read, 2));
    assert_eq!((write.kind, line(write.step)), (AccessKind::Write, 3));
    let stored = |lane: usize| f32::from_le_bytes(write.lanes[lane].bytes[..4].try_into().unwrap());
    assert_eq!(write.lanes[1].place, Place::Global(y, 4));
    assert_eq!((stored(0), stored(1)), (3.0, 4.0));
    // The sum is known after its step.
    let sums = &recording.writes[0];
    assert_eq!(line(sums.step), 2);
    assert_eq!(sums.values, [(0, u64::from(3f32.to_bits())), (1, u64::from(4f32.to_bits()))]);
    assert_eq!(symbols.label("$L__tmp0"), Some(recording.steps[read.step as usize].pc));
    assert_eq!(f32::from_le_bytes(memory.bytes(y)[..4].try_into().unwrap()), 3.0);
}

#[test]
fn a_recording_ends_at_its_limit() {
    let module = Module::load(TWICE).unwrap();
    let kernel = module.kernel("twice").unwrap();
    let mut memory = Memory::default();
    let y = memory.alloc(Init::Bytes(vec![0; 8]), Access::ReadWrite);
    let params = vec![u64::to_le_bytes(memory.address(y)).to_vec(); 2];
    let config = Launch { grid: [1, 1, 1], block: [2, 1, 1], dynamic_shared: 0, params };
    let request = RecordingRequest { block: [0; 3], registers: Vec::new(), steps: 3 };
    let options = Options::default();
    let recording =
        launch_recorded(&module, kernel, &config, &mut memory, &options, request).unwrap();
    assert_eq!((recording.steps.len(), recording.cut), (3, true));
}
