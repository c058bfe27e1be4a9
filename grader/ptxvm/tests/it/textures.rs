//! Textures and surfaces: what fetches give, and what the checks find. `grader/tests/programs/textures.cu` compares thousands of fetches with
//! those of a GPU.

use crate::support::{Device, Plain, bytes_of, kind_name};
use ptxvm::image::format::{ChannelKind, Format};
use ptxvm::image::layout::{Image, Level};
use ptxvm::image::object::ImageObject;
use ptxvm::image::sampler::{AddressMode, Sampler};
use ptxvm::{Access, Init, Outcome};

/// One thread runs `body` with a texture or surface in `%rd1`, another pointer in `%rd2` and an output in `%rd3`.
fn kernel(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)\n{{\n\
         .reg .b16 %rs<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\n.reg .pred %p<2>;\n\
         ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nld.param.u64 %rd3, [c];\nmov.u32 %r0, %tid.x;\n{body}\nret;\n}}"
    )
}

const SAMPLER: Sampler = Sampler {
    address: [AddressMode::Clamp; 3],
    is_linear: true,
    is_normalized: false,
    reads_normalized: false,
    border: [0.0; 4],
    interpolates_levels: false,
    level_bias: 0.0,
    level_range: [0.0, 0.0],
};

/// An image of floats of one channel in a buffer at this address.
fn image(address: u64, extent: [u32; 3]) -> Image {
    let row_bytes = u64::from(extent[0]) * 4;
    let slice_bytes = row_bytes * u64::from(extent[1]);
    Image {
        format: Format::new(ChannelKind::Float, 32, 1).unwrap(),
        levels: vec![Level { address, extent, row_bytes, slice_bytes }],
        dimensions: 2,
        is_layered: false,
        is_cube: false,
        is_linear: false,
    }
}

/// Runs a body on a 4 x 2 image of 0, 1, ... with two threads, and returns the outcome and what the threads wrote.
fn run(body: &str, object: impl FnOnce(Image) -> ImageObject, init: Init) -> (Outcome, Vec<u32>) {
    let mut device = Device::new(&kernel(body));
    let texels = device.memory.alloc(init, Access::ReadWrite);
    let output = device.in_out(&[0u32; 8]);
    let image = image(device.memory.address(texels), [4, 2, 1]);
    let handle = device.memory.create_image_object(object(image));
    let params = vec![handle.bytes(), device.pointer(texels), device.pointer(output)];
    let outcome = device.launch("k", [1, 1, 1], [2, 1, 1], 0, params);
    (outcome, device.read(output))
}

fn ramp() -> Init {
    Init::Bytes(bytes_of(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))
}

fn texture(image: Image) -> ImageObject {
    ImageObject { image, sampler: Some(SAMPLER) }
}

fn surface(image: Image) -> ImageObject {
    ImageObject { image, sampler: None }
}

fn kinds(outcome: &Outcome) -> Vec<String> {
    outcome.findings.iter().map(|finding| kind_name(&finding.kind)).collect()
}

const STORE: &str =
    "mul.wide.u32 %rd4, %r0, 4; add.s64 %rd4, %rd3, %rd4; st.global.f32 [%rd4], %f1;";

#[test]
fn a_linear_filter_interpolates_between_centres() {
    // Half a texel to the right of the centre of the first one, and half a row down.
    let body = format!(
        "tex.2d.v4.f32.f32 {{%f1,%f2,%f3,%f4}}, [%rd1, {{0f3F800000, 0f3F800000}}];\n{STORE}"
    );
    let (outcome, output) = run(&body, texture, ramp());
    assert_eq!(kinds(&outcome), [""; 0]);
    assert_eq!(f32::from_bits(output[0]), 2.5);
}

#[test]
fn a_texture_sees_what_was_never_written_and_what_the_kernel_wrote() {
    let fetch = "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {0f3F000000, 0f3F000000}];";
    let (outcome, _) = run(&format!("{fetch}\n{STORE}"), texture, Init::Undefined { len: 32 });
    assert_eq!(kinds(&outcome), ["Uninitialised"]);
    // The same thread writes first: the texture's cache does not see it.
    let written = "setp.ne.u32 %p1, %r0, 0; @%p1 exit; st.global.u32 [%rd2], 1065353216;";
    let (outcome, _) = run(&format!("{written}\n{fetch}\n{STORE}"), texture, ramp());
    assert_eq!(kinds(&outcome), ["ReadOnlyLoad"]);
    // Reading first is allowed.
    let (outcome, _) = run(
        &format!("setp.ne.u32 %p1, %r0, 0; @%p1 exit; {fetch}\nst.global.f32 [%rd2], %f1;"),
        texture,
        ramp(),
    );
    assert_eq!(kinds(&outcome), [""; 0]);
}

#[test]
fn threads_race_through_surfaces_and_pointers() {
    let body = "setp.ne.u32 %p1, %r0, 0;\n@%p1 sust.b.2d.b32.trap [%rd1, {8, 1}], {%r0};\n@!%p1 st.global.u32 [%rd2+24], %r0;";
    let (outcome, _) = run(body, surface, ramp());
    assert_eq!(kinds(&outcome), ["GlobalRace"]);
    let apart = "shl.b32 %r1, %r0, 2;\nsust.b.2d.b32.trap [%rd1, {%r1, 1}], {%r0};";
    let (outcome, _) = run(apart, surface, ramp());
    assert_eq!(kinds(&outcome), [""; 0]);
}

#[test]
fn outside_a_surface_is_what_its_mode_says() {
    for (mode, kind, value) in
        [("trap", Some("OutsideImage"), 0), ("zero", None, 0), ("clamp", None, 7)]
    {
        let body =
            format!("suld.b.2d.b32.{mode} {{%r1}}, [%rd1, {{12, 5}}];\nmov.b32 %f1, %r1;\n{STORE}");
        let (outcome, output) = run(&body, surface, ramp());
        assert_eq!(kinds(&outcome), Vec::from_iter(kind), "{mode}");
        assert_eq!(f32::from_bits(output[0]) as u32, value, "{mode}");
    }
}

#[test]
fn handles_must_be_objects_of_their_kind() {
    let fetch = format!("tex.1d.v4.f32.s32 {{%f1,%f2,%f3,%f4}}, [%rd1, {{%r0}}];\n{STORE}");
    let (outcome, output) = run(&fetch, surface, ramp());
    assert_eq!((kinds(&outcome), output[0]), (vec!["InvalidImage".to_owned()], 0));
    let (outcome, _) =
        run("add.s64 %rd1, %rd1, 77; suld.b.1d.b32.trap {%r1}, [%rd1, {0}];", surface, ramp());
    assert_eq!(kinds(&outcome), ["InvalidImage"]);
    // A name leads nowhere: nothing binds a texture to it.
    let module =
        ptxvm::Module::load(&kernel("tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [somewhere, {%r0}];"))
            .unwrap();
    let refusal = module.kernel("k").unwrap().refusal().unwrap().message.clone();
    assert!(refusal.contains("cudaTextureObject_t"), "{refusal}");
}

#[test]
fn linear_memory_has_an_end() {
    let fetch = format!(
        "add.u32 %r1, %r0, 3;\ntex.1d.v4.f32.s32 {{%f1,%f2,%f3,%f4}}, [%rd1, {{%r1}}];\n{STORE}"
    );
    let linear = |image| {
        let mut object = texture(Image { is_linear: true, ..image });
        object.image.levels[0].extent = [4, 1, 1];
        object
    };
    let (outcome, output) = run(&fetch, linear, ramp());
    assert_eq!(kinds(&outcome), ["OutsideImage"]);
    assert_eq!([output[0], output[1]], [3.0f32.to_bits(), 0]);
}

#[test]
fn reductions_and_formatted_stores() {
    let body = "sured.b.add.2d.u32.zero [%rd1, {4, 0}], %r0;\nadd.u32 %r2, %r0, 2;\nsust.p.2d.v4.b32.zero [%rd1, {%r2, 1}], {%f1, %f1, %f1, %f1};\n\
                bar.sync 0;\nld.global.u32 %r1, [%rd2+4]; st.global.u32 [%rd3], %r1;";
    let (_, output) = run(&format!("mov.f32 %f1, 0f40400000;\n{body}"), surface, ramp());
    assert_eq!(output[0], 1.0f32.to_bits() + 1);
}
