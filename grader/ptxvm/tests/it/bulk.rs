//! Bulk copies, and boxes of tensors.

use ptxvm::finding::TensorMapMisuse;
use ptxvm::tensor_map::{BoxShape, TensorMapFields};
use ptxvm::{FindingKind, Launch, Options};

use crate::support::{Device, Plain};

/// A tensor of 48 x 20 words, whose boxes are 8 x 4.
const MAP: &str = "setp.eq.u32 %p2, %r2, 0; mov.u32 %r4, map; st.shared.u32 [%r4], 0; \
    shl.b32 %r5, %r2, 2; add.s32 %r6, %r4, %r5; st.shared.u32 [%r6], 0; bar.warp.sync -1; @!%p2 bra built;\n\
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r4], %rd1;\n\
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r4], 1;\n\
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r4], 0, 48;\n\
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r4], 1, 20;\n\
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r4], 0, 8;\n\
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r4], 1, 4;\n\
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r4], 0, 1;\n\
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r4], 1, 1;\n\
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r4], 0, 192;\n\
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r4], 2;\n\
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r4], SWIZZLE;\n\
    built: bar.warp.sync -1;\n\
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd3], [%r4], 128;\n\
    fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;\n";

const OBJECT: &str = "mov.u32 %r7, room; mov.u32 %r8, object; @%p2 mbarrier.init.shared.b64 [%r8], 1; bar.warp.sync -1;";

const WAIT: &str = "again: mbarrier.try_wait.parity.shared.b64 %p3, [%r8], 0; @!%p3 bra again;";

/// A kernel of one warp with `in`, `out` and room for a map in `%rd1` to `%rd3`, and the thread in `%r2`.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q, .param .u64 m) {{\n\
         .reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .shared .align 128 .b8 map[128];\n\
         .shared .align 256 .b8 room[512]; .shared .align 8 .b64 object;\n\
         ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; ld.param.u64 %rd3, [m]; mov.u32 %r2, %tid.x;\n\
         setp.eq.u32 %p2, %r2, 0;\n{body}\nret;\n}}\n"
    )
}

/// What a kernel finds, and leaves in the tensor and in `out`.
fn run(body: &str) -> (Vec<FindingKind>, Vec<u32>, Vec<u32>) {
    let mut device = Device::new(&kernel(body));
    let tensor = device.in_out(&(0..960u32).collect::<Vec<_>>());
    let (out, map) = (device.in_out(&[0u32; 128]), device.in_out(&[0u32; 32]));
    let params = [tensor, out, map].map(|buffer| device.pointer(buffer)).to_vec();
    let outcome = device.launch("k", [1, 1, 1], [32, 1, 1], 0, params);
    let kinds = outcome.findings.into_iter().map(|finding| finding.kind).collect();
    (kinds, device.read(tensor), device.read(out))
}

/// Loads the box at these coordinates, and stores it to `out` word by word.
fn load_box(swizzle: u32, x: i32, y: i32, wait: &str) -> String {
    let map = MAP.replace("SWIZZLE", &swizzle.to_string());
    let box_of = format!(
        "@%p2 mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r8], 128;\n\
         @%p2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r7], [%rd3, {{{x}, {y}}}], [%r8];"
    );
    format!(
        "{map} {OBJECT} {box_of} {wait} shl.b32 %r9, %r2, 2; add.s32 %r10, %r7, %r9; ld.shared.u32 %r11, [%r10];\n\
         mul.wide.u32 %rd5, %r2, 4; add.s64 %rd6, %rd2, %rd5; st.global.u32 [%rd6], %r11;"
    )
}

/// Element of the box at these coordinates, and zero outside of the tensor.
fn element(x: i32, y: i32) -> u32 {
    if (0..48).contains(&x) && (0..20).contains(&y) { (y * 48 + x) as u32 } else { 0 }
}

#[test]
fn a_box_comes_with_zeros_outside_of_the_tensor() {
    for (x, y) in [(0, 0), (8, 3), (-4, 18), (44, -2), (-100, 5)] {
        let (findings, _, out) = run(&load_box(0, x, y, WAIT));
        assert_eq!(findings, [], "{x} {y}");
        let expected: Vec<u32> = (0..32).map(|i| element(x + i % 8, y + i / 8)).collect();
        assert_eq!(out[..32], expected, "{x} {y}");
    }
    // Rows of 32 bytes: from byte 128 on, 16 bytes change places with the next; here is only one pattern.
    let (findings, _, out) = run(&load_box(1, 0, 0, WAIT)
        .replace("[%r7], [%rd3", "[%r12], [%rd3")
        .replace("setp.eq.u32 %p2", "mov.u32 %r12, room; add.s32 %r12, %r12, 128; setp.eq.u32 %p2")
        .replace("add.s32 %r10, %r7, %r9;", "add.s32 %r10, %r12, %r9;"));
    assert_eq!(findings, []);
    let expected: Vec<u32> = (0..32).map(|i| element((i % 8) ^ 4, i / 8)).collect();
    assert_eq!(out[..32], expected);
}

#[test]
fn a_box_is_there_when_its_phase_is_over() {
    let (findings, ..) = run(&load_box(0, 0, 0, ""));
    let early =
        |kind: &FindingKind| matches!(kind, FindingKind::InFlight(_) | FindingKind::SharedRace(_));
    assert!(!findings.is_empty() && findings.iter().all(early), "{findings:?}");
}

#[test]
fn boxes_go_out_and_are_added() {
    let store = |operation: &str| {
        let map = MAP.replace("SWIZZLE", "0");
        format!(
            "{map} mov.u32 %r7, room; shl.b32 %r9, %r2, 2; add.s32 %r10, %r7, %r9; st.shared.u32 [%r10], 1000; bar.warp.sync -1;\n\
             @%p2 {operation} [%rd3, {{44, 2}}], [%r7]; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"
        )
    };
    let inside = |i: i32| (44..48).contains(&(i % 48)) && (2..6).contains(&(i / 48));
    let (findings, tensor, _) =
        run(&store("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group"));
    assert_eq!(findings, []);
    let expected: Vec<u32> = (0..960).map(|i| if inside(i) { 1000 } else { i as u32 }).collect();
    assert_eq!(tensor, expected);
    let (findings, tensor, _) =
        run(&store("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"));
    assert_eq!(findings, []);
    let expected: Vec<u32> =
        (0..960).map(|i| i as u32 + if inside(i) { 1000 } else { 0 }).collect();
    assert_eq!(tensor, expected);
}

#[test]
fn bytes_go_both_ways() {
    let there = "@%p2 mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r8], 512;\n\
        @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd1], 512, [%r8];";
    let back = "@%p2 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r7], 256; add.s64 %rd7, %rd2, 256;\n\
        @%p2 cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%rd7], [%r7], 256;\n\
        @%p2 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd7], [%r7], 256; cp.async.bulk.commit_group;\n\
        cp.async.bulk.wait_group 0;";
    let (findings, _, out) = run(&format!("{OBJECT} {there} {WAIT} {back}"));
    assert_eq!(findings, []);
    let expected: Vec<u32> = (0..128).map(|i| if i < 64 { i } else { 2 * (i - 64) }).collect();
    assert_eq!(out, expected);
    let beyond = back.replace("[%rd2], [%r7], 256", "[%rd2], [%r7], 528");
    let (findings, ..) = run(&format!("{OBJECT} {there} {WAIT} {beyond}"));
    assert!(matches!(findings[..], [FindingKind::OutOfBounds(_), ..]), "{findings:?}");
    let askew = back.replace("[%rd2], [%r7], 256", "[%rd2+8], [%r7], 256");
    let (findings, ..) = run(&format!("{OBJECT} {there} {WAIT} {askew}"));
    assert!(matches!(findings[..], [FindingKind::Misaligned(_), ..]), "{findings:?}");
}

#[test]
fn maps_and_places_must_fit() {
    let problem = |from: &str, to: &str| {
        let body = load_box(0, 0, 0, "").replace(from, to);
        match &run(&body).0[..] {
            [FindingKind::TensorMapMisuse(TensorMapMisuse { problem }), ..] => {
                (*problem).to_owned()
            }
            [FindingKind::Misaligned(_), ..] => "misaligned".to_owned(),
            other => panic!("{other:?}"),
        }
    };
    assert!(problem("b32 [%r4], 1;", "b32 [%r4], 0;").contains("dimensions"));
    assert!(problem("[%r4], 0, 192;", "[%r4], 0, 200;").contains("16"));
    assert!(problem("b64 [%r4], %rd1;", "b64 [%r4], 8;").contains("16"));
    assert!(problem("{0, 0}", "{1, 0}").contains("coordinate"));
    assert_eq!(problem("bytes [%r7], ", "bytes [%r7+64], "), "misaligned");
    // A map of more rows than the buffer has.
    let beyond = load_box(0, 0, 30, WAIT).replace("b32 [%r4], 1, 20;", "b32 [%r4], 1, 40;");
    assert!(matches!(run(&beyond).0[..], [FindingKind::OutOfBounds(_), ..]));
}

/// Each block brings half of what both get.
#[test]
fn a_copy_reaches_several_blocks() {
    let body = "mov.u32 %r7, room; mov.u32 %r8, object; @%p2 mbarrier.init.shared.b64 [%r8], 1; bar.warp.sync -1;\n\
        @%p2 mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r8], 512; mov.u32 %r1, %cluster_ctarank;\n\
        barrier.cluster.arrive; barrier.cluster.wait; shl.b32 %r3, %r1, 8; add.s32 %r4, %r7, %r3;\n\
        mul.wide.u32 %rd5, %r1, 256; add.s64 %rd6, %rd1, %rd5; mov.b16 %rs1, 3;\n\
        @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r4], [%rd6], 256, [%r8], %rs1;\n\
        again: mbarrier.try_wait.parity.shared.b64 %p3, [%r8], 0; @!%p3 bra again;\n\
        mul.wide.u32 %rd7, %r1, 256; add.s64 %rd8, %rd2, %rd7; shl.b32 %r9, %r2, 3; add.s32 %r10, %r7, %r9; add.s32 %r10, %r10, %r3;\n\
        ld.shared.v2.u32 {%r11, %r12}, [%r10]; mul.wide.u32 %rd9, %r2, 8; add.s64 %rd10, %rd8, %rd9; st.global.v2.u32 [%rd10], {%r11, %r12};\n\
        barrier.cluster.arrive; barrier.cluster.wait;";
    // The block of rank 1 reads what the other one brought, and the other way round.
    let body = body
        .replace("add.s32 %r10, %r10, %r3;", "xor.b32 %r13, %r3, 256; add.s32 %r10, %r10, %r13;");
    let ptx = kernel(&body).replace(".reg .pred", ".reg .b16 %rs<3>; .reg .pred");
    let mut device = Device::new(&ptx);
    let (input, out) =
        (device.input(&(0..128u32).collect::<Vec<_>>()), device.in_out(&[0u32; 128]));
    let params = vec![device.pointer(input), device.pointer(out), 0u64.bytes()];
    let launch = Launch { grid: [2, 1, 1], block: [32, 1, 1], dynamic_shared: 0, params };
    let options = Options { cluster: Some([2, 1, 1]), ..Options::default() };
    let kernel = device.module.kernel("k").unwrap();
    let outcome =
        ptxvm::launch(&device.module, kernel, &launch, &mut device.memory, &options).unwrap();
    assert_eq!(outcome.findings, []);
    let expected: Vec<u32> = (0..128).map(|i| i ^ 64).collect();
    assert_eq!(device.read::<u32>(out), expected);
}

/// Columns of eight pixels of two images of 5 x 4 pixels with four channels of words; `move_it` copies one at `{0, x, y, image}`, and may add
/// `{%rs1, %rs2}`. The map is a parameter, and both its corners are so far from those of the tensor.
fn run_columns(
    move_it: &str,
    corner: i16,
    [x, y, image]: [i32; 3],
    by: [u16; 2],
) -> (Vec<FindingKind>, Vec<u32>, Vec<u32>) {
    let ptx = format!(
        ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .align 64 .b8 map[128]) {{\n\
         .reg .pred %p<9>; .reg .b16 %rs<3>; .reg .b32 %r<40>; .reg .b64 %rd<40>;\n\
         .shared .align 256 .b8 room[512]; .shared .align 8 .b64 object;\n\
         ld.param.u64 %rd2, [p]; mov.b64 %rd1, map; cvta.param.u64 %rd3, %rd1; mov.u32 %r2, %tid.x; setp.eq.u32 %p2, %r2, 0;\n\
         mov.b16 %rs1, {}; mov.b16 %rs2, {}; {OBJECT} shl.b32 %r9, %r2, 2; add.s32 %r10, %r7, %r9; mul.wide.u32 %rd5, %r2, 4;\n\
         add.s64 %rd6, %rd2, %rd5;\n{}\nret;\n}}\n",
        by[0],
        by[1],
        move_it.replace("PLACE", &format!("[%rd3, {{0, {x}, {y}, {image}}}]")),
    );
    let mut device = Device::new(&ptx);
    let tensor = device.in_out(&(1..=160u32).collect::<Vec<_>>());
    let out = device.in_out(&[0u32; 32]);
    let address = u64::from_ne_bytes(device.pointer(tensor).try_into().unwrap());
    let corner = [corner, corner, 0];
    let map = TensorMapFields {
        address,
        rank: 4,
        element: 2,
        interleave: 0,
        swizzle: 0,
        fill: 0,
        size: [4, 5, 4, 2, 1],
        stride: [16, 80, 320, 0],
        element_stride: [1; 5],
        shape: BoxShape::Im2col { lower: corner, upper: corner, channels: 4, pixels: 8 },
    };
    let params = vec![device.pointer(out), map.encode().unwrap().to_vec()];
    let outcome = device.launch("k", [1, 1, 1], [32, 1, 1], 0, params);
    let kinds = outcome.findings.into_iter().map(|finding| finding.kind).collect();
    (kinds, device.read(tensor), device.read(out))
}

#[test]
fn columns_of_pixels_come_and_go() {
    let load = format!(
        "@%p2 mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r8], 128;\n\
         @%p2 cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r7], PLACE, [%r8], {{%rs1, %rs2}};\n\
         {WAIT} ld.shared.u32 %r11, [%r10]; st.global.u32 [%rd6], %r11;"
    );
    for (at, by) in [([-1, -1, 0], [1, 1]), ([-1, 0, 1], [0, 0]), ([2, 2, 0], [2, 2])] {
        let (findings, _, out) = run_columns(&load, -1, at, by);
        assert_eq!(findings, [], "{at:?}");
        // The first element of each filter moves over 5 x 4 places, from one pixel before the image on.
        let place = |number: i32| {
            let number = number + (at[2] * 4 + at[1] + 1) * 5 + at[0] + 1;
            let (x, y) = (number % 5 - 1 + i32::from(by[0]), number / 5 % 4 - 1 + i32::from(by[1]));
            let inside = (0..5).contains(&x) && (0..4).contains(&y) && number < 40;
            inside.then_some(((number / 20 * 4 + y) * 5 + x) as u32)
        };
        let element = |i: u32| place((i / 4) as i32).map_or(0, |pixel| pixel * 4 + i % 4 + 1);
        assert_eq!(out, (0..32).map(element).collect::<Vec<_>>(), "{at:?} {by:?}");
    }
    let store = "st.shared.u32 [%r10], 1000; bar.warp.sync -1;\n\
        @%p2 cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group PLACE, [%r7];\n\
        cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;";
    let (findings, tensor, _) = run_columns(store, 0, [1, 0, 0], [0, 0]);
    assert_eq!(findings, []);
    let expected = (0..160).map(|i| if (1..9).contains(&(i / 4)) { 1000 } else { i + 1 });
    assert_eq!(tensor, expected.collect::<Vec<u32>>());
    let misuse = |findings: &[FindingKind], word: &str| match findings {
        [FindingKind::TensorMapMisuse(TensorMapMisuse { problem }), ..] => {
            assert!(problem.contains(word), "{problem}");
        }
        other => panic!("{other:?}"),
    };
    misuse(&run_columns(store, -1, [1, 0, 0], [0, 0]).0, "stored");
    misuse(&run_columns(&load, -1, [4, 0, 0], [0, 0]).0, "first pixel");
    // A tile of a map for columns.
    let tile = load.replace(".im2col.", ".tile.").replace(", {%rs1, %rs2}", "");
    let (findings, ..) = run_columns(&tile, -1, [0, 0, 0], [0, 0]);
    misuse(&findings, "im2col");
}

/// What a tensor of floats, of the type with this number, makes of words on the way to `out`; and what becomes of other words in it if
/// the first ones are added.
fn floats(number: u32, words: [u32; 8]) -> ([u32; 8], [u32; 8]) {
    let body = "mov.u32 %r7,room; mov.u32 %r8,object; @%p2 mbarrier.init.shared.b64 [%r8],1; bar.warp.sync -1;\n\
        @%p2 mbarrier.arrive.expect_tx.shared.b64 %rd4,[%r8],32;\n\
        @%p2 cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r7],[%rd3,{0}],[%r8];\n\
        again: mbarrier.try_wait.parity.shared.b64 %p3,[%r8],0; @!%p3 bra again;\n\
        setp.lt.u32 %p1,%r2,8; mul.wide.u32 %rd5,%r2,4; add.u64 %rd6,%rd2,%rd5; add.u64 %rd7,%rd1,%rd5; shl.b32 %r9,%r2,2;\n\
        add.u32 %r9,%r9,%r7; @%p1 ld.shared.u32 %r10,[%r9]; @%p1 st.global.u32 [%rd6],%r10; @%p1 ld.global.u32 %r10,[%rd7];\n\
        @%p1 st.shared.u32 [%r9],%r10; @%p1 st.global.u32 [%rd7],3; bar.warp.sync -1; fence.proxy.async;\n\
        @%p2 cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd3,{0}],[%r7];\n\
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    let mut device = Device::new(&kernel(body));
    let tensor = device.in_out(&words);
    let fields = TensorMapFields {
        address: u64::from_bytes(&device.pointer(tensor)),
        rank: 1,
        element: number,
        interleave: 0,
        swizzle: 0,
        fill: 0,
        size: [8, 1, 1, 1, 1],
        stride: [0; 4],
        element_stride: [1; 5],
        shape: BoxShape::Tile([8, 1, 1, 1, 1]),
    };
    let map = device.input(&fields.encode().expect("a map"));
    let out = device.in_out(&[0u32; 8]);
    let params = [tensor, out, map].map(|buffer| device.pointer(buffer)).to_vec();
    device.run("k", 1, 32, params);
    let eight = |buffer| device.read::<u32>(buffer).try_into().expect("eight words");
    (eight(out), eight(tensor))
}

/// As an H200 with CUDA 13.0 does for each of the four types.
#[test]
fn floats_of_tensors_are_rounded_by_loads_and_flushed_by_sums() {
    let words = [
        1,
        0x8000_0001,
        0x7F_FFFF,
        0x3F80_1000,
        0x3F80_3000,
        0x7F7F_FFFF,
        0xFFC0_1234,
        0x80B8_4105,
    ];
    let rounded = [
        0,
        0x8000_0000,
        0x80_0000,
        0x3F80_0000,
        0x3F80_4000,
        0x7F80_0000,
        0x7FFF_E000,
        0x80B8_4000,
    ];
    let added = [4, 2, 0x80_0002, 0x3F80_1000, 0x3F80_3000, 0x7F7F_FFFF, 0x7FFF_FFFF, 0x80B8_4102];
    let flushed = [0, 0, 0, 0x3F80_1000, 0x3F80_3000, 0x7F7F_FFFF, 0x7FFF_FFFF, 0x80B8_4105];
    assert_eq!(floats(7, words), (words, added));
    assert_eq!(floats(8, words), (words, flushed));
    assert_eq!(floats(11, words), (rounded, added));
    assert_eq!(floats(12, words), (rounded, flushed));
}
