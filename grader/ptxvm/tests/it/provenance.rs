//! The symbolic provenance on whole kernels: what each element is made of.

use std::collections::BTreeMap;

use crate::support::{Device, Plain, integers};
use ptxvm::{
    BufferId, ElementOrigin, Expansion, Factor, Launch, Number, Options, Origin, Provenance,
    StoredElement, launch_with_provenance,
};

const CONV: &str = "fixtures/conv.ptx";
const TILED: &str = "fixtures/tiled.ptx";
const ATOMICS: &str = "fixtures/atomics.ptx";
const CONTROL: &str = "fixtures/control.ptx";
const ARITHMETIC: &str = "fixtures/arithmetic.ptx";
const HALF: &str = "fixtures/half.ptx";

/// How often each product of elements (buffer, index) occurs.
type Sum = BTreeMap<Vec<(usize, i64)>, f64>;

/// A device whose buffers hold numbers of one type.
struct Followed {
    device: Device,
    provenance: Provenance,
    size: u32,
}

impl Followed {
    fn new(device: Device, buffers: &[BufferId], number: Number) -> Self {
        let size = match number {
            Number::F16 | Number::Bf16 => 2,
            Number::F32 => 4,
            Number::F64 => 8,
        };
        Self { device, provenance: Provenance::new(buffers.iter().map(|&id| (id, number))), size }
    }

    fn run(
        &mut self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        params: Vec<Vec<u8>>,
    ) {
        let Device { module, memory, options } = &mut self.device;
        let kernel =
            module.kernels().find(|kernel| kernel.name().contains(name)).expect("the kernel");
        let launch = Launch { grid, block, dynamic_shared, params };
        launch_with_provenance(module, kernel, &launch, memory, options, &mut self.provenance)
            .expect("it starts");
        assert!(self.provenance.is_complete());
    }

    fn written(&self, buffer: BufferId, index: usize) -> ElementOrigin {
        let byte = u64::from(self.size) * index as u64;
        self.provenance.element(&self.device.memory, buffer, byte, 10_000).expect("it was written")
    }

    fn sum(&self, buffer: BufferId, index: usize) -> Sum {
        let Expansion::Products(products) = self.written(buffer, index).value else {
            panic!("element {index} is too large")
        };
        let mut sum = Sum::new();
        for product in products {
            let elements = product.factors.iter().map(|factor| match factor {
                Factor::Element { buffer, byte, .. } => (buffer.0, byte / i64::from(self.size)),
                Factor::Function { .. } => panic!("element {index} has {factor:?}"),
            });
            let mut elements: Vec<_> = elements.collect();
            elements.sort_unstable();
            *sum.entry(elements).or_default() += product.coefficient;
        }
        sum
    }
}

/// The element of `buffer` at this byte, which should be `value`; `start` gives what the elements of tensors were before.
fn stored(
    buffer: BufferId,
    byte: u64,
    value: f64,
    start: &dyn Fn(BufferId, i64) -> Option<f64>,
) -> StoredElement<'_> {
    StoredElement { buffer, byte, value, start }
}

fn params(device: &Device, buffers: &[BufferId], sizes: &[usize]) -> Vec<Vec<u8>> {
    let pointers = buffers.iter().map(|&id| device.pointer(id));
    pointers.chain(sizes.iter().map(|&size| (size as i32).bytes())).collect()
}

#[test]
fn a_gather_with_conditions() {
    let (batch, c_in, h, w, c_out, f) = (2, 2, 5, 4, 3, 3);
    let (h_out, w_out) = (h - f + 1, w - f + 1);
    let mut device = Device::of(CONV);
    let grad = device.input(&integers(batch * c_out * h_out * w_out, 1));
    let filters = device.input(&integers(c_out * c_in * f * f, 2));
    let count = batch * c_in * h * w;
    let out = device.output::<f32>(count);
    let all = [grad, filters, out];
    let params = params(&device, &all, &[batch, c_in, h, w, c_out, f]);
    let mut followed = Followed::new(device, &all, Number::F32);
    followed.run("conv2d_backward_input", [2, 1, 1], [64, 1, 1], 0, params);
    assert!(!followed.provenance.depends_on_values());
    for index in 0..count {
        let (x, y) = (index % w, index / w % h);
        let (c, b) = (index / (w * h) % c_in, index / (w * h * c_in));
        let mut sum = Sum::new();
        for k in 0..c_out {
            for (fh, fw) in (0..f).flat_map(|fh| (0..f).map(move |fw| (fh, fw))) {
                if y >= fh && x >= fw && y - fh < h_out && x - fw < w_out {
                    let g = ((b * c_out + k) * h_out + y - fh) * w_out + x - fw;
                    let w = ((k * c_in + c) * f + fh) * f + fw;
                    sum.insert(vec![(grad.0, g as i64), (filters.0, w as i64)], 1.0);
                }
            }
        }
        assert_eq!(followed.sum(out, index), sum, "element {index}");
        let written = followed.written(out, index);
        assert_eq!(
            (written.block, written.thread),
            ([index as u32 / 64, 0, 0], [index as u32 % 64, 0, 0])
        );
        assert_eq!(written.loc.map(|loc| loc.line), Some(17), "the store");
        let Expansion::Products(products) = written.value else { unreachable!() };
        for product in products {
            assert_eq!(product.loc.map(|loc| loc.line), Some(15), "the sum");
        }
    }
}

#[test]
fn tiles_in_shared_memory() {
    let (m, n, k) = (17, 18, 20);
    let mut device = Device::of(TILED);
    let a = device.input(&integers(m * k, 3));
    let b = device.input(&integers(k * n, 4));
    let c = device.output::<f32>(m * n);
    let params = params(&device, &[a, b, c], &[m, n, k]);
    let mut followed = Followed::new(device, &[a, b, c], Number::F32);
    followed.run("matmul_tiled", [2, 2, 1], [16, 16, 1], 0, params);
    assert!(!followed.provenance.depends_on_values());
    for index in 0..m * n {
        let (row, column) = (index / n, index % n);
        let term = |i| (vec![(a.0, (row * k + i) as i64), (b.0, (i * n + column) as i64)], 1.0);
        assert_eq!(followed.sum(c, index), (0..k).map(term).collect(), "element {index}");
    }
    let Expansion::Products(products) = followed.written(c, 0).value else { unreachable!() };
    let lines = |factor: &Factor| match factor {
        Factor::Element { loc, .. } => loc.as_ref().map(|loc| loc.line),
        Factor::Function { .. } => None,
    };
    assert_eq!(products[0].factors.iter().map(lines).collect::<Vec<_>>(), [Some(10), Some(11)]);
    assert_eq!(products[0].loc.as_ref().map(|loc| loc.line), Some(13));
}

#[test]
fn shuffles_and_atomics() {
    let n = 100;
    let all = |input: BufferId| (0..n as i64).map(|i| (vec![(input.0, i)], 1.0)).collect::<Sum>();

    let mut device = Device::of(TILED);
    let input = device.input(&integers(n, 5));
    let out = device.output::<f32>(1);
    let given = params(&device, &[input, out], &[n]);
    let mut followed = Followed::new(device, &[input, out], Number::F32);
    followed.run("block_sum", [1; 3], [128, 1, 1], 0, given);
    assert_eq!(followed.sum(out, 0), all(input));
    assert!(!followed.provenance.depends_on_values());

    let mut device = Device::of(ATOMICS);
    let input = device.input(&integers(n, 5));
    let out = device.in_out(&[2.5f32]);
    let given = params(&device, &[input, out], &[n]);
    let mut followed = Followed::new(device, &[input, out], Number::F32);
    followed.run("float_sum", [4, 1, 1], [32, 1, 1], 0, given);
    let mut sum = all(input);
    sum.insert(vec![(out.0, 0)], 1.0);
    assert_eq!(followed.sum(out, 0), sum, "and what was there before");
}

#[test]
fn doubles_in_dynamic_shared_memory() {
    let n = 64;
    let mut device = Device::of(TILED);
    let values: Vec<f64> = (0..n).map(f64::from).collect();
    let input = device.input(&values);
    let out = device.output::<f64>(1);
    let given = params(&device, &[input, out], &[n as usize]);
    let mut followed = Followed::new(device, &[input, out], Number::F64);
    followed.run("tree_sum_f64", [1; 3], [64, 1, 1], 512, given);
    let all: Sum = (0..i64::from(n)).map(|i| (vec![(input.0, i)], 1.0)).collect();
    assert_eq!(followed.sum(out, 0), all);
}

#[test]
fn several_launches_share_a_provenance() {
    let n = 8;
    let mut device = Device::of(CONTROL);
    let x = device.input(&integers(n, 1));
    let y = device.in_out(&integers(n, 2));
    let given = [device.pointer(y), device.pointer(x), 3f32.bytes(), (n as i32).bytes()];
    let mut followed = Followed::new(device, &[x, y], Number::F32);
    for _ in 0..2 {
        followed.run("saxpy_grid_stride", [1; 3], [4, 1, 1], 0, given.to_vec());
    }
    for i in 0..n {
        let sum = Sum::from([(vec![(x.0, i as i64)], 6.0), (vec![(y.0, i as i64)], 1.0)]);
        assert_eq!(followed.sum(y, i), sum);
    }
}

#[test]
fn a_function_is_a_factor_of_its_own() {
    let mut device = Device::of(ARITHMETIC);
    let input = device.input(&[1f32, 2.0, 3.0, 4.0]);
    let out = device.output::<f32>(4);
    let given = params(&device, &[input, out], &[1, 4]);
    let mut followed = Followed::new(device, &[input, out], Number::F32);
    followed.run("softmax", [1; 3], [32, 1, 1], 0, given);
    assert!(followed.provenance.depends_on_values(), "the maximum");
    let Expansion::Products(products) = followed.written(out, 2).value else { panic!() };
    assert!(products.iter().flat_map(|p| &p.factors).any(|f| matches!(f, Factor::Function { .. })));
}

#[test]
fn a_value_that_decides_the_result_is_found_by_putting_another_in_its_place() {
    let x = [1f32, 2.0, 3.0, 4.0];
    let mut device = Device::of(ARITHMETIC);
    let input = device.input(&x);
    let out = device.output::<f32>(4);
    let given = params(&device, &[input, out], &[1, 4]);
    let mut followed = Followed::new(device, &[input, out], Number::F32);
    followed.run("softmax", [1; 3], [32, 1, 1], 0, given);
    let start = |_, byte: i64| x.get(byte as usize / 4).map(|&x| f64::from(x));
    let total: f64 = x.iter().map(|&x| f64::from(x - 4.0).exp()).sum();
    let got = (-1f64).exp() / total;
    let found = |instead: f64, wanted: f64| {
        let is_right = |value: f64| (value - wanted).abs() < 1e-6;
        // The other number, which is tried beside it, decides nothing here.
        let tried = [instead, 1e30];
        let [found, other] =
            &followed.provenance.replaceable(stored(out, 8, got, &start), &tried, &is_right)[..]
        else {
            panic!()
        };
        assert_eq!(*other, []);
        found.clone()
    };
    // Twice the sum of all exponentials gives half of the result, whatever made them.
    let [sum] = &found(2.0 * total, got / 2.0)[..] else { panic!() };
    assert!((sum.value - total).abs() < 1e-5, "{sum:?}");
    assert_eq!(found(2.0 * total, got / 3.0), []);
}

#[test]
fn the_elements_that_an_element_is_computed_from_are_its_origins() {
    // y[0] = exp2(x[0]) + 0 * x[1], y[1] = 7
    let ptx = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y) {
        .reg .b64 %rd<3>; .reg .f32 %f<6>;
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
        .loc 1 7 1
        ld.global.f32 %f1, [%rd1];
        .loc 1 8 1
        ld.global.f32 %f2, [%rd1+4];
        ex2.approx.f32 %f3, %f1;
        mov.f32 %f4, 0f00000000; fma.rn.f32 %f5, %f2, %f4, %f3;
        st.global.f32 [%rd2], %f5;
        mov.f32 %f4, 0f40E00000; st.global.f32 [%rd2+4], %f4;
        ret; }\n.file 1 \"k.cu\"";
    let x = [3f32, 5.0];
    let mut device = Device::new(ptx);
    let input = device.input(&x);
    let out = device.output::<f32>(2);
    let given = params(&device, &[input, out], &[]);
    let mut followed = Followed::new(device, &[input, out], Number::F32);
    followed.run("k", [1; 3], [1; 3], 0, given);
    let start = |_, byte: i64| x.get(byte as usize / 4).map(|&x| f64::from(x));
    let of = |byte: u64, got: f64| {
        let found = followed.provenance.origins(stored(out, byte, got, &start))?;
        let brief = |o: &Origin| (o.place.1, o.slope, o.loc.as_ref().map(|loc| loc.line));
        Some(found.iter().map(brief).collect::<Vec<_>>())
    };
    let found = of(0, 8.0).unwrap();
    let [(0, slope, Some(7)), rest @ ..] = &found[..] else { panic!("{found:?}") };
    assert!((slope - 8.0 * 2f64.ln()).abs() < 1e-9, "2^x and its derivative: {slope}");
    assert!(rest.iter().all(|&(byte, slope, _)| byte == 4 && slope == 0.0), "{found:?}");
    assert_eq!(of(4, 7.0), Some(Vec::new()), "a constant depends on nothing");
    assert_eq!(of(0, 9.0), None, "what was followed is not what the kernel stored");
}

#[test]
fn a_rounding_that_makes_an_element_wrong_is_found() {
    // y = half(x + 1) * 3, and the same without the rounding.
    let ptx = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y) {
        .reg .b64 %rd<3>; .reg .f32 %f<6>; .reg .b16 %h<2>; .reg .b32 %r<2>; .reg .f32 %g<4>; .reg .f32 %i<4>;
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
        ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, 0f3F800000;
        .loc 1 7 1
        cvt.rn.f16.f32 %h1, %f2; cvt.f32.f16 %f3, %h1;
        .loc 1 8 1
        mul.f32 %f4, %f3, 0f40400000; st.global.f32 [%rd2], %f4;
        mul.f32 %f5, %f2, 0f40400000; st.global.f32 [%rd2+4], %f5;
        .loc 1 9 1
        mul.f32 %g1, %f1, 0f42C80000; cvt.rzi.s32.f32 %r1, %g1; cvt.rn.f32.s32 %g2, %r1; fma.rn.f32 %g3, %f1, %f1, %g2;
        cvt.rzi.s32.f32 %r1, %g3; cvt.rn.f32.s32 %g2, %r1; st.global.f32 [%rd2+8], %g2;
        .loc 1 10 1
        mul.f32 %i1, %f1, 0f49742400; cvt.rn.f16.f32 %h1, %i1; cvt.f32.f16 %i2, %h1;
        .loc 1 11 1
        cvt.rn.f16.f32 %h1, %i2; cvt.f32.f16 %i3, %h1; st.global.f32 [%rd2+12], %i3;
        ret; }\n.file 1 \"k.cu\"\n";
    let x = 0.159f32;
    let mut device = Device::new(ptx);
    let input = device.input(&[x]);
    let out = device.output::<f32>(4);
    let given = params(&device, &[input, out], &[]);
    let mut followed = Followed::new(device, &[input, out], Number::F32);
    followed.run("k", [1; 3], [1; 3], 0, given);
    // In a sum of products it is no change.
    assert_eq!(followed.sum(out, 0), followed.sum(out, 1));
    let right = 3.0 * f64::from(x + 1.0);
    let start = |_, _| Some(f64::from(x));
    let found = |byte: u64, got: f64, right: f64| {
        let is_right = |value: f64| (value - right).abs() < 1e-5;
        followed.provenance.roundings(stored(out, byte, got, &start), &is_right)
    };
    let half = half::f16::from_f32(x + 1.0).to_f64();
    let [rounding] = &found(0, 3.0 * half, right)[..] else { panic!() };
    assert_eq!((rounding.to, rounding.values), ("f16", (f64::from(x + 1.0), half)));
    assert_eq!(rounding.loc.as_ref().map(|loc| loc.line), Some(7));
    assert_eq!(found(0, 3.0 * half, right + 1e-3), [], "not right without it either");
    assert_eq!(found(4, right, right + 1e-3), [], "there is none");
    // An integer that grows: 15.9 and 0.025 more.
    let x = f64::from(x);
    let [integer] = &found(8, (100.0 * x).trunc(), 100.0 * x + x * x)[..] else { panic!() };
    assert_eq!((integer.to, integer.values.1), ("trunc", (100.0 * x).trunc()));
    // Too large for a half: the next rounding finds nothing to change, and would do the same.
    let [overflow] = &found(12, f64::INFINITY, f64::from(1e6f32 * x as f32))[..] else { panic!() };
    assert_eq!((overflow.to, overflow.values.1), ("f16", f64::INFINITY));
    assert_eq!(overflow.loc.as_ref().map(|loc| loc.line), Some(10));
    assert_eq!(found(12, f64::NEG_INFINITY, 1e6 * x), [], "another infinity");
}

#[test]
fn the_step_that_loses_digits_or_is_the_first_infinity_is_found() {
    // y[0] = 2 (x^2 - 10020), y[1] = 2^(10 x) * 0, y[2] = 2^(10 x).
    let ptx = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y) {
        .reg .b64 %rd<3>; .reg .f32 %f<8>;
        ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
        ld.global.f32 %f1, [%rd1];
        .loc 1 6 1
        mul.rn.f32 %f2, %f1, %f1;
        .loc 1 7 1
        add.f32 %f3, %f2, 0fC61C9000;
        .loc 1 8 1
        add.f32 %f4, %f3, %f3; st.global.f32 [%rd2], %f4;
        .loc 1 9 1
        mul.f32 %f5, %f1, 0f41200000;
        .loc 1 10 1
        ex2.approx.f32 %f6, %f5;
        .loc 1 11 1
        mul.f32 %f7, %f6, 0f00000000; st.global.f32 [%rd2+4], %f7; st.global.f32 [%rd2+8], %f6;
        ret; }\n.file 1 \"k.cu\"\n";
    let x = 100.1f32;
    let mut device = Device::new(ptx);
    let input = device.input(&[x]);
    let out = device.output::<f32>(3);
    let given = params(&device, &[input, out], &[]);
    let mut followed = Followed::new(device, &[input, out], Number::F32);
    followed.run("k", [1; 3], [1; 3], 0, given);
    let start = |_, _| Some(f64::from(x));
    let got = f64::from(2.0 * (x * x - 10020.0));
    let exact = f64::from(x) * f64::from(x) - 10020.0;
    let found = |right: f64| {
        let is_right = |value: f64| (value - right).abs() < 1e-6;
        followed.provenance.loses_digits(stored(out, 0, got, &start), &is_right)
    };
    let step = found(2.0 * exact).unwrap();
    assert_eq!((step.operation, step.operands), ("+", [f64::from(x * x), -10020.0]));
    assert_eq!((step.value, step.exact), (f64::from(x * x - 10020.0), exact));
    assert_eq!(step.loc.map(|loc| loc.line), Some(7));
    assert_eq!(found(2.0 * exact + 0.1), None, "wrong without rounding, too");
    let first =
        |byte, got, holds| followed.provenance.first_without(stored(out, byte, got, &start), holds);
    for (byte, got) in [(4, f64::NAN), (8, f64::INFINITY)] {
        let step = first(byte, got, f64::is_finite).unwrap();
        assert_eq!((step.operation, step.value), ("exp2", f64::INFINITY));
        assert_eq!(step.operands, [f64::from(10.0 * x); 2]);
        assert_eq!(step.loc.map(|loc| loc.line), Some(10));
    }
    assert_eq!(first(0, got, f64::is_finite), None);
    let nan = first(4, f64::NAN, |value| !value.is_nan()).unwrap();
    assert_eq!((nan.operation, nan.loc.map(|loc| loc.line)), ("*", Some(11)), "the product with 0");
    assert_eq!(nan.operands.map(f64::is_finite), [false, true]);
}

#[test]
fn limits_end_it_cleanly() {
    let n = 100;
    let mut device = Device::of(TILED);
    let input = device.input(&integers(n, 5));
    let out = device.output::<f32>(1);
    let given = params(&device, &[input, out], &[n]);
    let kernel = device.module.kernel("block_sum").expect("the kernel");
    let launch = Launch { grid: [1; 3], block: [128, 1, 1], dynamic_shared: 0, params: given };
    let tensors = [(input, Number::F32), (out, Number::F32)];
    for mut provenance in [
        Provenance::new(tensors).with_limits(150, 1 << 20),
        Provenance::new(tensors).with_limits(1 << 20, 50),
    ] {
        let (memory, options) = (&mut device.memory, Options::default());
        launch_with_provenance(&device.module, kernel, &launch, memory, &options, &mut provenance)
            .expect("it starts");
        assert!(!provenance.is_complete());
        let written = provenance.element(&device.memory, out, 0, 1000);
        assert!(written.is_none_or(|written| written.value == Expansion::TooLarge));
    }
    let mut provenance = Provenance::new(tensors);
    launch_with_provenance(
        &device.module,
        kernel,
        &launch,
        &mut device.memory,
        &Options::default(),
        &mut provenance,
    )
    .expect("it starts");
    let written = provenance.element(&device.memory, out, 0, 99).expect("it was written");
    assert_eq!(written.value, Expansion::TooLarge, "one product too many");
}

#[test]
fn one_block_can_be_run_alone() {
    let n = 256;
    let mut device = Device::of(TILED);
    let input = device.input(&integers(n, 5));
    let out = device.output::<f32>(2);
    let given = params(&device, &[input, out], &[n]);
    let mut followed = Followed::new(device, &[input, out], Number::F32);
    followed.provenance =
        Provenance::new([(input, Number::F32), (out, Number::F32)]).with_block([1, 0, 0]);
    followed.run("block_sum", [2, 1, 1], [128, 1, 1], 0, given);
    assert_eq!(followed.provenance.element(&followed.device.memory, out, 0, 1000), None);
    let half: Sum = (128..256).map(|i| (vec![(input.0, i)], 1.0)).collect();
    assert_eq!(followed.sum(out, 1), half);
}

#[test]
fn arithmetic_on_sixteen_bits_is_followed_one_by_one() {
    let mut device = Device::of(HALF);
    let halves = |values: &[f32]| {
        values.iter().map(|&v| half::f16::from_f32(v).to_bits()).collect::<Vec<u16>>()
    };
    let a = device.input(&halves(&[1.0]));
    let b = device.input(&halves(&[3.0]));
    let out = device.output::<u16>(5);
    let given = params(&device, &[a, b, out], &[1]);
    let mut followed = Followed::new(device, &[a, b, out], Number::F16);
    followed.run("halves", [1; 3], [32, 1, 1], 0, given);
    let (x, y) = ((a.0, 0), (b.0, 0));
    assert_eq!(followed.sum(out, 0), Sum::from([(vec![x], 1.0), (vec![y], 1.0)]));
    assert_eq!(followed.sum(out, 1), Sum::from([(vec![x, y], 1.0)]));
    assert_eq!(followed.sum(out, 2), Sum::from([(vec![x, y], 1.0), (vec![x], 1.0)]));
    // Two at once are not followed, and must not pass for plain bits.
    let Expansion::Products(products) = followed.written(out, 3).value else { panic!() };
    assert!(products.iter().flat_map(|p| &p.factors).all(|f| matches!(f, Factor::Function { .. })));
    // Computed in f32, and stored as f16.
    assert_eq!(followed.sum(out, 4), Sum::from([(vec![(a.0, 0)], f64::from(0.1f32))]));
}

#[test]
fn calls_and_vectors() {
    let mut device = Device::of(CONTROL);
    let x = device.input(&[1f32, -2.0, 3.0, 4.0]);
    let out = device.output::<f32>(4);
    let given = params(&device, &[x, out], &[4]);
    let mut followed = Followed::new(device, &[x, out], Number::F32);
    followed.run("calls", [1; 3], [4, 1, 1], 0, given);
    assert!(followed.provenance.depends_on_values(), "x < 0");
    // weigh(make(i), x[i]) = i/2 + x[i] * (3 i + 3), weigh(make(i + 1), 1) = (i + 1)/2 + 3 i + 6; -1 where x < 0.
    for (i, factor, constant) in [(0, 3.0, 6.5), (2, 9.0, 14.5), (3, 12.0, 18.5)] {
        let sum = Sum::from([(vec![(x.0, i)], factor), (vec![], constant)]);
        assert_eq!(followed.sum(out, i as usize), sum, "thread {i}");
    }
    assert_eq!(followed.sum(out, 1), Sum::from([(vec![], 9.0)]));

    let mut device = Device::of(CONTROL);
    let input = device.input(&[1f32, 2.0, 3.0, 4.0]);
    let out = device.output::<f32>(4);
    let rest = [device.output::<f64>(2), device.output::<u8>(4), device.output::<u16>(2)];
    let given = params(&device, &[input, out, rest[0], rest[1], rest[2]], &[]);
    let mut followed = Followed::new(device, &[input, out], Number::F32);
    followed.run("vectors", [1; 3], [1; 3], 0, given);
    for i in 0..4 {
        assert_eq!(followed.sum(out, i), Sum::from([(vec![(input.0, 3 - i as i64)], 1.0)]));
    }
}

/// Products that flush, atomics on vectors and what instructions do to a pair of halves before a comparison.
#[test]
fn rare_forms_are_followed_too() {
    let text = ".version 9.0\n.target sm_90\n.address_size 64\n\
        .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out){\n\
        .reg .b32 %r<9>;.reg .b64 %rd<9>;.reg .f32 %f<9>;.reg .pred %p<9>;\n\
        ld.param.u64 %rd1,[a];ld.param.u64 %rd2,[b];ld.param.u64 %rd3,[out];\n\
        ld.global.v2.f32 {%f1,%f2},[%rd1];ld.global.v2.f32 {%f3,%f4},[%rd2];\n\
        mul.rn.ftz.f32 %f5,%f1,%f3;fma.rn.ftz.f32 %f6,%f2,%f4,%f5;\n\
        mov.b32 %r1,%f1;setp.lt.f16x2 %p1|%p2,%r1,%r1;@%p1 add.f32 %f6,%f6,%f6;\n\
        max.f32 %f5,%f5,%f1,%f2;\n\
        red.global.add.v2.f32 [%rd3],{%f6,%f5};ret;\n}\n";
    let mut device = Device::new(text);
    let (a, b) = (device.input(&[2f32, 3.0]), device.input(&[5f32, 7.0]));
    let out = device.in_out(&[0f32, 0.0]);
    let params = params(&device, &[a, b, out], &[]);
    let mut followed = Followed::new(device, &[a, b, out], Number::F32);
    followed.run("k", [1; 3], [1; 3], 0, params);
    assert_eq!(followed.device.read::<f32>(out), [31.0, 10.0]);
    let of = |element: i64| vec![(a.0, element), (b.0, element)];
    let initial = |element: i64| (vec![(out.0, element)], 1.0);
    assert_eq!(followed.sum(out, 0), Sum::from([(of(0), 1.0), (of(1), 1.0), initial(0)]));
    assert_eq!(followed.sum(out, 1), Sum::from([(of(0), 1.0), initial(1)]));
}
