//! Tensor cores and asynchronous copies: fragments, whole products of matrices, and what may go wrong.

use ptxvm::{BufferId, Module};

use crate::support::{Device, Plain, fixture, integers};

const MMA: [(&str, &str); 2] =
    [("sm_80", "fixtures/mma_sm80.ptx"), ("sm_90", "fixtures/mma_sm90.ptx")];

/// `wmma.cu` for each architecture.
fn wmma() -> [(&'static str, String); 3] {
    let (sm75, sm90) = (fixture("fixtures/wmma_sm75.ptx"), fixture("fixtures/wmma_sm90.ptx"));
    // From sm_80 to sm_90 nvcc changes nothing but the name of the target.
    let sm80 = sm90.replace(".target sm_90", ".target sm_80");
    [("sm_75", sm75), ("sm_80", sm80), ("sm_90", sm90)]
}

/// A type of elements, as bytes.
#[derive(Clone, Copy, PartialEq)]
enum Element {
    F16,
    Bf16,
    F32,
    F64,
    S8,
    U8,
    S32,
}

impl Element {
    fn parse(name: &str) -> Self {
        match name {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "f32" | "tf32" => Self::F32,
            "f64" => Self::F64,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "s32" => Self::S32,
            other => panic!("no type {other}"),
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::S8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 | Self::S32 => 4,
            Self::F64 => 8,
        }
    }

    /// Small integers, of which every type has all.
    fn encode(self, values: &[f32]) -> Vec<u8> {
        let one = |&value: &f32| match self {
            Self::F16 => half::f16::from_f32(value).to_bits().bytes(),
            Self::Bf16 => half::bf16::from_f32(value).to_bits().bytes(),
            Self::F32 => value.bytes(),
            Self::F64 => f64::from(value).bytes(),
            Self::S8 => (value as i8).bytes(),
            Self::U8 => (value as i32 as u8).bytes(),
            Self::S32 => (value as i32).bytes(),
        };
        values.iter().flat_map(one).collect()
    }

    fn decode(self, bytes: &[u8]) -> Vec<f32> {
        let one = |bytes: &[u8]| match self {
            Self::F16 => half::f16::from_bits(u16::from_bytes(bytes)).to_f32(),
            Self::Bf16 => half::bf16::from_bits(u16::from_bytes(bytes)).to_f32(),
            Self::F32 => f32::from_bytes(bytes),
            Self::F64 => f64::from_bytes(bytes) as f32,
            Self::S8 => f32::from(i8::from_bytes(bytes)),
            Self::U8 => f32::from(u8::from_bytes(bytes)),
            Self::S32 => i32::from_bytes(bytes) as f32,
        };
        bytes.chunks_exact(self.bytes()).map(one).collect()
    }
}

fn pointers(device: &Device, buffers: &[BufferId]) -> Vec<Vec<u8>> {
    buffers.iter().map(|&id| device.pointer(id)).collect()
}

/// A (m, k) times B (k, n) plus C (m, n), all row by row.
fn product(a: &[f32], b: &[f32], c: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let element = |at: usize| {
        let (row, col) = (at / n, at % n);
        c[at] + (0..k).map(|i| a[row * k + i] * b[i * n + col]).sum::<f32>()
    };
    (0..m * n).map(element).collect()
}

/// A matrix with its columns in one piece, if it is so by its layout.
fn laid_out(values: &[f32], rows: usize, cols: usize, layout: &str) -> Vec<f32> {
    if layout == "row" {
        return values.to_vec();
    }
    (0..values.len()).map(|at| values[at % rows * cols + at / rows]).collect()
}

/// The three numbers of `m16n8k16`.
fn shape(name: &str) -> [usize; 3] {
    let numbers = name.split(['m', 'n', 'k']).skip(1);
    let numbers: Vec<usize> = numbers.map(|n| n.parse().expect("a number")).collect();
    numbers.try_into().expect("three numbers")
}

#[test]
fn every_wmma_is_a_product_of_matrices() {
    let mut count = 0;
    for (arch, ptx) in wmma() {
        let names: Vec<String> =
            Device::new(&ptx).module.kernels().map(|kernel| kernel.name().to_owned()).collect();
        for name in names.iter().filter(|name| name.starts_with("wmma_m")) {
            let parts: Vec<&str> = name.split('_').collect();
            let [_, dims, input, sum, la, lb, lc] = parts[..] else { panic!("{name}") };
            let [m, n, k] = shape(dims);
            let (before, after) = sum.split_once("to").unwrap_or((sum, sum));
            let [input, before, after] = [input, before, after].map(Element::parse);
            let blocks = 3;
            let mut inputs = [(m * k, 1), (k * n, 2), (m * n, 3)]
                .map(|(size, seed)| integers(size * blocks, seed));
            if input == Element::U8 {
                inputs[..2].iter_mut().flatten().for_each(|x| *x += 8.0);
            }
            let [a, b, c] = &inputs;
            let tiles = |values: &[f32], rows: usize, cols: usize, layout: &str| -> Vec<f32> {
                values
                    .chunks(rows * cols)
                    .flat_map(|tile| laid_out(tile, rows, cols, layout))
                    .collect()
            };
            let mut device = Device::new(&ptx);
            let buffers = [
                device.input(&input.encode(&tiles(a, m, k, la))),
                device.input(&input.encode(&tiles(b, k, n, lb))),
                device.input(&before.encode(&tiles(c, m, n, lc))),
                device.output::<u8>(m * n * blocks * after.bytes()),
            ];
            let params = pointers(&device, &buffers);
            device.run(name, blocks as u32, 32, params);
            let got = after.decode(&device.memory.bytes(buffers[3]));
            for block in 0..blocks {
                let of = |values: &[f32], size: usize| values[block * size..][..size].to_vec();
                let expected = product(&of(a, m * k), &of(b, k * n), &of(c, m * n), [m, n, k]);
                assert_eq!(of(&got, m * n), laid_out(&expected, m, n, lc), "{arch} {name}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 18 + 2 * 25);
}

#[test]
fn wmma_gemm_with_factors() {
    for (arch, ptx) in wmma() {
        for [m, n, k] in [[32, 32, 16], [64, 96, 48]] {
            let (a, b, c) = (integers(m * k, 1), integers(k * n, 2), integers(m * n, 3));
            let mut device = Device::new(&ptx);
            let a_buffer = device.input(&Element::F16.encode(&a));
            let b_buffer = device.input(&Element::F16.encode(&b));
            let c_buffer = device.in_out(&c);
            let mut params = pointers(&device, &[a_buffer, b_buffer, c_buffer]);
            params.extend([m, n, k].map(|dim| (dim as i32).bytes()));
            params.extend([0.5f32, -2.0].map(Plain::bytes));
            let grid = [n as u32 / 32, m as u32 / 32, 1];
            let outcome = device.launch("wmma_gemm", grid, [128, 1, 1], 0, params);
            assert_eq!(outcome.findings, [], "{arch}");
            let sums = product(&a, &b, &vec![0.0; m * n], [m, n, k]);
            let expected: Vec<f32> =
                sums.iter().zip(&c).map(|(sum, c)| 0.5 * sum - 2.0 * c).collect();
            assert_eq!(device.read::<f32>(c_buffer), expected, "{arch} {m} {n} {k}");
        }
    }
}

#[test]
fn elements_of_fragments_can_be_used() {
    for (arch, ptx) in wmma() {
        let (a, b) = (integers(256, 1), integers(256, 2));
        let mut device = Device::new(&ptx);
        let a_buffer = device.input(&Element::F16.encode(&a));
        let b_buffer = device.input(&Element::F16.encode(&laid_out(&b, 16, 16, "col")));
        let out = device.output::<u16>(256);
        let params = pointers(&device, &[a_buffer, b_buffer, out]);
        device.run("wmma_elements", 1, 32, params);
        let twice: Vec<f32> = a.iter().map(|x| 2.0 * x).collect();
        let expected = product(&twice, &b, &[1.0; 256], [16; 3]);
        assert_eq!(Element::F16.decode(&device.memory.bytes(out)), expected, "{arch}");
    }
}

#[test]
fn mma_gemm_with_copies_on_their_way() {
    for (arch, ptx) in MMA {
        for [m, n, k] in [[64, 32, 32], [128, 96, 160]] {
            let (a, b) = (integers(m * k, 1), integers(k * n, 2));
            let mut device = Device::new(&fixture(ptx));
            let a_buffer = device.input(&Element::F16.encode(&a));
            let b_buffer = device.input(&Element::F16.encode(&b));
            let out = device.output::<f32>(m * n);
            let mut params = pointers(&device, &[a_buffer, b_buffer, out]);
            params.extend([m, n, k].map(|dim| (dim as i32).bytes()));
            let grid = [n as u32 / 32, m as u32 / 64, 1];
            let outcome = device.launch("mma_gemm", grid, [128, 1, 1], 0, params);
            assert_eq!(outcome.findings, [], "{arch}");
            let expected = product(&a, &b, &vec![0.0; m * n], [m, n, k]);
            assert_eq!(device.read::<f32>(out), expected, "{arch} {m} {n} {k}");
        }
    }
}

#[test]
fn lanes_get_rows_and_columns_of_8x8() {
    let halves: Vec<u16> = (0..256).collect();
    for (arch, ptx) in MMA {
        let mut device = Device::new(&fixture(ptx));
        let buffers = [device.input(&halves), device.output::<u32>(32 * 12)];
        let params = pointers(&device, &buffers);
        device.run("matrices", 1, 32, params);
        let got = device.read::<u32>(buffers[1]);
        for lane in 0..32u32 {
            let (row, col) = (lane / 4, lane % 4 * 2);
            let plain = |matrix: u32| {
                let first = matrix * 64 + row * 8 + col;
                first | (first + 1) << 16
            };
            let turned = |matrix: u32| {
                let first = matrix * 64 + col * 8 + row;
                first | (first + 8) << 16
            };
            let expected = [
                plain(0),
                turned(0),
                turned(1),
                plain(0),
                plain(1),
                plain(2),
                plain(3),
                turned(0),
                turned(1),
                turned(2),
                turned(3),
                turned(0),
            ];
            assert_eq!(got[lane as usize * 12..][..12], expected, "{arch} lane {lane}");
        }
    }
    let mut device = Device::new(&fixture(MMA[1].1));
    let buffers = [device.input(&halves), device.output::<u16>(256)];
    let params = pointers(&device, &buffers);
    device.run("transposed_matrices", 1, 32, params);
    let expected: Vec<u16> = (0..256).map(|at| at / 64 * 64 + at % 8 * 8 + at / 8 % 8).collect();
    assert_eq!(device.read::<u16>(buffers[1]), expected);
}

#[test]
fn copies_bring_what_they_should() {
    let words: Vec<u32> = (1..=128).collect();
    for (arch, ptx) in MMA {
        let mut device = Device::new(&fixture(ptx));
        let buffers = [device.input(&words), device.output::<u32>(352)];
        let params = pointers(&device, &buffers);
        device.run("copies", 1, 32, params);
        let got = device.read::<u32>(buffers[1]);
        for t in 0..32 {
            assert_eq!(got[t], words[31 - t], "{arch}");
            assert_eq!(
                [got[32 + t], got[64 + t]],
                [words[62 - 2 * t], words[63 - 2 * t]],
                "{arch}"
            );
        }
        for at in 0..128 {
            let (thread, word) = (at / 4, at % 4);
            // Of a copy with `zfill`, the last words are zero.
            let kept = if word < 4 - thread % 4 { words[at] } else { 0 };
            assert_eq!(got[96 + at], kept, "{arch} word {at}");
            let ignored = thread % 2 == 1;
            assert_eq!(got[224 + at], if ignored { 0 } else { words[at] }, "{arch} word {at}");
        }
    }
}

/// Counts of a launch.
fn counted(
    ptx: &str,
    kernel: &str,
    grid: [u32; 3],
    block: u32,
    halves: [usize; 2],
    out: usize,
) -> ptxvm::Counts {
    let mut device = Device::new(ptx);
    let inputs = halves.map(|count| device.input(&Element::F16.encode(&integers(count, 1))));
    let output = device.in_out(&vec![0.0f32; out]);
    let mut params = pointers(&device, &[inputs[0], inputs[1], output]);
    let numbers: &[Vec<u8>] =
        &[64i32.bytes(), 32i32.bytes(), 32i32.bytes(), 1.0f32.bytes(), 0.0f32.bytes()];
    let module = Module::load(ptx).expect("it loads");
    let found = module.kernel(kernel).expect("the kernel");
    params.extend(numbers[..found.params().len() - 3].iter().cloned());
    let launch = ptxvm::Launch { grid, block: [block, 1, 1], dynamic_shared: 0, params };
    let Device { memory, options, .. } = &mut device;
    ptxvm::launch_counted(&module, found, &launch, memory, options).expect("it runs").total
}

#[test]
fn accesses_of_whole_warps_are_counted() {
    // 64 x 32 by 32 x 32, one block of four warps.
    let counts =
        counted(&fixture(MMA[0].1), "mma_gemm", [1, 1, 1], 128, [64 * 32, 32 * 32], 64 * 32);
    assert_eq!(counts.of(ptxvm::Class::Matrix), 4 * 2 * 4);
    // Copies of 16 bytes: a row of a tile is four of them, two sectors.
    assert_eq!(counts.load_requests, 8 + 4);
    assert_eq!(counts.load_sectors, 64 * 2 + 32 * 2);
    assert_eq!(counts.load_bytes, 2 * (64 * 32 + 32 * 32));
    // Their other end, then for each warp and step one ldmatrix of A and four of B, all in eight different rows.
    assert_eq!(counts.shared_requests, 12 + 4 * 2 * (1 + 4));
    // Eight lanes copy 64 bytes to each of two rows 80 bytes apart: the end of the second meets the banks of the first.
    assert_eq!(counts.shared_wavefronts, 12 * 4 * 2 + 4 * 2 * (4 + 4 * 2));
    assert_eq!(counts.bank_conflicts, 12 * 4);
    let counts = counted(&wmma()[0].1, "wmma_gemm", [1, 2, 1], 128, [64 * 32, 32 * 32], 64 * 32);
    assert_eq!(counts.of(ptxvm::Class::Matrix), 2 * 2 * 4);
    // A tile of C: 16 rows of 64 bytes, in two requests, once in and once out.
    assert_eq!([counts.store_requests, counts.store_sectors, counts.store_bytes], [16, 256, 8192]);
}

/// What an element of the last buffer is made of after a run: how often each number of factors occurs with each coefficient. `None`
/// where it was not followed.
fn followed(
    mut device: Device,
    name: &str,
    threads: u32,
    buffers: &[(BufferId, ptxvm::Number)],
    params: Vec<Vec<u8>>,
    byte: u64,
) -> Option<Vec<(usize, f64, Vec<i64>)>> {
    let launch = ptxvm::Launch { grid: [1; 3], block: [threads, 1, 1], dynamic_shared: 0, params };
    let mut provenance = ptxvm::Provenance::new(buffers.iter().copied());
    let Device { module, memory, options } = &mut device;
    let kernel = module.kernel(name).expect("the kernel");
    ptxvm::launch_with_provenance(module, kernel, &launch, memory, options, &mut provenance)
        .expect("it runs");
    let (last, _) = buffers[buffers.len() - 1];
    let written =
        provenance.element(memory, last, byte, 100).filter(|_| provenance.is_complete())?;
    let ptxvm::Expansion::Products(products) = written.value else { return None };
    let place = |factor: &ptxvm::Factor| match factor {
        ptxvm::Factor::Element { byte, .. } => *byte,
        ptxvm::Factor::Function { .. } => -1,
    };
    let of = |product: &ptxvm::Product| {
        let places: Vec<i64> = product.factors.iter().map(place).collect();
        (places.len(), product.coefficient, places)
    };
    Some(products.iter().map(of).collect())
}

#[test]
fn values_are_followed_through_products_of_matrices() {
    use ptxvm::Number::{F16, F32};
    for (arch, ptx) in wmma() {
        let (m, n, k) = (32, 32, 16);
        let mut device = Device::new(&ptx);
        let a = device.input(&Element::F16.encode(&integers(m * k, 1)));
        let b = device.input(&Element::F16.encode(&integers(k * n, 2)));
        let c = device.in_out(&integers(m * n, 3));
        let mut params = pointers(&device, &[a, b, c]);
        params.extend([m, n, k].map(|dim| (dim as i32).bytes()));
        params.extend([0.5f32, -2.0].map(Plain::bytes));
        let buffers = [(a, F16), (b, F16), (c, F32)];
        let (row, col) = (21, 18);
        let byte = 4 * (row * n + col);
        let found = followed(device, "wmma_gemm", 128, &buffers, params, byte as u64);
        let mut found = found.unwrap_or_else(|| panic!("{arch}"));
        let at = |value: usize| value as i64;
        let pair = |k: usize| vec![at(2 * (row * 16 + k)), at(2 * (k * n + col))];
        let mut expected: Vec<_> = (0..k).map(|k| (2, 0.5, pair(k))).collect();
        expected.push((1, -2.0, vec![at(byte)]));
        let key = |sum: &(usize, f64, Vec<i64>)| sum.2.clone();
        found.sort_by_key(key);
        expected.sort_by_key(key);
        assert_eq!(found, expected, "{arch}");
    }
}

#[test]
fn what_is_not_followed_through_tensor_cores_is_unknown() {
    use ptxvm::Number::{F16, F32};
    // Two halves at once.
    let mut device = Device::new(&wmma()[0].1);
    let [a, b] = [0; 2].map(|_| device.input(&[0u16; 256]));
    let out = device.output::<u16>(256);
    let params = pointers(&device, &[a, b, out]);
    let buffers = [(a, F16), (b, F16), (out, F16)];
    let found = followed(device, "wmma_elements", 32, &buffers, params, 0);
    assert!(found.is_none_or(|sum| sum.iter().any(|product| product.2.contains(&-1))));
    // `ldmatrix`.
    let (m, n, k) = (64, 32, 32);
    let mut device = Device::new(&fixture(MMA[0].1));
    let a = device.input(&Element::F16.encode(&integers(m * k, 1)));
    let b = device.input(&Element::F16.encode(&integers(k * n, 2)));
    let out = device.output::<f32>(m * n);
    let mut params = pointers(&device, &[a, b, out]);
    params.extend([m, n, k].map(|dim| (dim as i32).bytes()));
    let buffers = [(a, F16), (b, F16), (out, F32)];
    assert_eq!(followed(device, "mma_gemm", 128, &buffers, params, 0), None);
}
