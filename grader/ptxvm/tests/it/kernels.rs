//! Whole kernels, as nvcc compiled them, against the same computation in Rust.

use crate::support::{Device, Plain, integers};

const CONV: &str = "fixtures/conv.ptx";
const TILED: &str = "fixtures/tiled.ptx";
const CONTROL: &str = "fixtures/control.ptx";
const ARITHMETIC: &str = "fixtures/arithmetic.ptx";
const ATOMICS: &str = "fixtures/atomics.ptx";
const WARP: &str = "fixtures/warp.ptx";
const HALF: &str = "fixtures/half.ptx";

#[test]
fn convolution_backward_by_input() {
    for (batch, c_in, h, w, c_out, f) in
        [(1, 1, 5, 5, 1, 3), (2, 3, 7, 6, 2, 3), (2, 6, 12, 12, 16, 5), (3, 2, 4, 9, 3, 1)]
    {
        let (h_out, w_out) = (h - f + 1, w - f + 1);
        let grad = integers(batch * c_out * h_out * w_out, 1);
        let filters = integers(c_out * c_in * f * f, 2);
        let mut device = Device::of(CONV);
        let buffers = [device.input(&grad), device.input(&filters)];
        let count = batch * c_in * h * w;
        let out = device.output::<f32>(count);
        let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
        params.push(device.pointer(out));
        params.extend([batch, c_in, h, w, c_out, f].map(|dim| (dim as i32).bytes()));
        device.run("conv2d_backward_input", count.div_ceil(256) as u32, 256, params);
        let got = device.read::<f32>(out);
        for (index, &got) in got.iter().enumerate() {
            let (x, y) = (index % w, index / w % h);
            let (c, b) = (index / (w * h) % c_in, index / (w * h * c_in));
            let mut sum = 0.0;
            for k in 0..c_out {
                for (fh, fw) in (0..f).flat_map(|fh| (0..f).map(move |fw| (fh, fw))) {
                    if y >= fh && x >= fw && y - fh < h_out && x - fw < w_out {
                        sum += grad[((b * c_out + k) * h_out + y - fh) * w_out + x - fw]
                            * filters[((k * c_in + c) * f + fh) * f + fw];
                    }
                }
            }
            assert_eq!(got, sum, "element {index}");
        }
    }
}

#[test]
fn tiled_matrix_product() {
    for (m, n, k) in [(16, 16, 16), (33, 20, 47), (5, 64, 1)] {
        let (a, b) = (integers(m * k, 3), integers(k * n, 4));
        let mut device = Device::of(TILED);
        let buffers = [device.input(&a), device.input(&b), device.output::<f32>(m * n)];
        let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
        params.extend([m, n, k].map(|dim| (dim as i32).bytes()));
        let grid = [n.div_ceil(16) as u32, m.div_ceil(16) as u32, 1];
        let outcome = device.launch("matmul_tiled", grid, [16, 16, 1], 0, params);
        assert_eq!(outcome.findings, []);
        let got = device.read::<f32>(buffers[2]);
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let sum: f32 = (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
            assert_eq!(got[row * n + column], sum);
        }
    }
}

#[test]
fn transpose_through_padded_shared_memory() {
    let (width, height) = (37, 21);
    let data = integers(width * height, 5);
    let mut device = Device::of(TILED);
    let (from, to) = (device.input(&data), device.output::<f32>(data.len()));
    let params = vec![
        device.pointer(from),
        device.pointer(to),
        (width as i32).bytes(),
        (height as i32).bytes(),
    ];
    assert_eq!(device.launch("transpose", [3, 2, 1], [16, 16, 1], 0, params).findings, []);
    let got = device.read::<f32>(to);
    for (x, y) in (0..width).flat_map(|x| (0..height).map(move |y| (x, y))) {
        assert_eq!(got[x * height + y], data[y * width + x]);
    }
}

#[test]
fn sums_by_shuffles() {
    let data = integers(1000, 6);
    let mut device = Device::of(TILED);
    let (from, to) = (device.input(&data), device.output::<f32>(4));
    let params = vec![device.pointer(from), device.pointer(to), 1000i32.bytes()];
    device.run("block_sum", 4, 256, params);
    let want: Vec<f32> = data.chunks(256).map(|chunk| chunk.iter().sum()).collect();
    assert_eq!(device.read::<f32>(to), want);
}

#[test]
fn sums_in_dynamic_shared_memory() {
    let mut device = Device::of(TILED);
    let data: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.125).collect();
    let (from, to) = (device.input(&data), device.output::<f64>(1));
    let params = vec![device.pointer(from), device.pointer(to), 100i32.bytes()];
    let outcome = device.launch("tree_sum_f64", [1, 1, 1], [128, 1, 1], 1024, params);
    assert_eq!(outcome.findings, []);
    assert_eq!(device.read::<f64>(to), [4950.0 * 0.125]);

    let data: Vec<i64> = (0..100).map(|i| i << 40).collect();
    let (from, to) = (device.input(&data), device.output::<i64>(1));
    let params = vec![device.pointer(from), device.pointer(to), 100i32.bytes()];
    device.launch("tree_sum_i64", [1, 1, 1], [128, 1, 1], 1024, params);
    assert_eq!(device.read::<i64>(to), [4950 << 40]);

    let data = device.in_out(&[1i32, 2, 3, 4, 5]);
    let params = vec![device.pointer(data)];
    assert_eq!(device.launch("reverse", [1, 1, 1], [5, 1, 1], 20, params).findings, []);
    assert_eq!(device.read::<i32>(data), [5, 4, 3, 2, 1]);
}

#[test]
fn barriers_of_every_kind() {
    let mut device = Device::of(TILED);
    let data: Vec<i32> = (0..70).map(|i| i % 7 - 1).collect();
    let (from, to) = (device.input(&data), device.output::<i32>(3));
    let params = vec![device.pointer(from), device.pointer(to)];
    device.run("counts", 1, 70, params);
    assert_eq!(device.read::<i32>(to), [50, 0, 0]);

    let (from, to) = (device.input(&data), device.output::<i32>(50));
    let params = vec![device.pointer(from), device.pointer(to), 50i32.bytes()];
    device.run("early_return_barrier", 1, 128, params);
    let want: Vec<i32> = (0..50).map(|i| data[(i + 1) % 50]).collect();
    assert_eq!(device.read::<i32>(to), want);

    let to = device.output::<i32>(128);
    let params = vec![device.pointer(to)];
    device.run("named_barriers", 1, 128, params);
    let want: Vec<i32> = (0..128)
        .map(|t| match t {
            0..32 => 63 - t,
            32..64 => 63 - t + 1000 + t - 32,
            _ => 191 - t,
        })
        .collect();
    assert_eq!(device.read::<i32>(to), want);

    let to = device.output::<i32>(32);
    let params = vec![device.pointer(to)];
    device.run("flag", 1, 64, params);
    assert_eq!(device.read::<i32>(to), [7; 32]);
}

#[test]
fn nested_divergence() {
    let data: Vec<i32> = (0..300).map(|i| i * 37 % 1013 + 1).collect();
    let mut device = Device::of(CONTROL);
    let (from, to) = (device.input(&data), device.output::<i32>(300));
    let params = vec![device.pointer(from), device.pointer(to), 300i32.bytes()];
    device.run("divergence", 3, 128, params);
    let want: Vec<i32> = data
        .iter()
        .map(|&start| {
            let (mut v, mut steps, mut odd) = (start, 0, 0);
            while v != 1 && steps < 1000 {
                if v % 2 != 0 {
                    odd += 1;
                    if odd > 20 {
                        break;
                    }
                    v = 3 * v + 1;
                } else {
                    v /= 2;
                    if v % 5 == 0 {
                        continue;
                    }
                }
                for k in 0..v % 3 {
                    if k == 1 {
                        steps += 1;
                        break;
                    }
                }
                steps += 1;
            }
            if steps > 60 { -steps } else { steps * 100 + odd }
        })
        .collect();
    assert_eq!(device.read::<i32>(to), want);
}

#[test]
fn switch_loops_and_calls() {
    let mut device = Device::of(CONTROL);
    let to = device.output::<i32>(64);
    let params = vec![device.pointer(to)];
    device.run("lanes_by_switch", 1, 64, params);
    let want: Vec<i32> = (0..64i32)
        .map(|t| match t % 7 {
            0 => 10,
            1 => 53,
            2 => 32,
            3 => t * (t - 1) / 2,
            4 => t.count_ones() as i32,
            5 => -5,
            _ => -1,
        })
        .collect();
    assert_eq!(device.read::<i32>(to), want);

    let (y, x) = (device.in_out(&integers(777, 7)), device.input(&integers(777, 8)));
    let params = vec![device.pointer(y), device.pointer(x), 3f32.bytes(), 777i32.bytes()];
    device.run("saxpy_grid_stride", 2, 64, params);
    let want: Vec<f32> =
        integers(777, 8).iter().zip(integers(777, 7)).map(|(x, y)| 3.0 * x + y).collect();
    assert_eq!(device.read::<f32>(y), want);

    let x = integers(40, 9);
    let (from, to) = (device.input(&x), device.output::<f32>(40));
    let params = vec![device.pointer(from), device.pointer(to), 40i32.bytes()];
    device.run("calls", 1, 64, params);
    let weigh = |i: usize, x: f32| {
        if x < 0.0 {
            return -1.0;
        }
        i as f32 * 0.5 + x * (3 * i + 3) as f32
    };
    let want: Vec<f32> = (0..40).map(|i| weigh(i, x[i]) + weigh(i + 1, 1.0)).collect();
    assert_eq!(device.read::<f32>(to), want);
}

#[test]
fn parameters_and_local_memory() {
    let mut device = Device::of(CONTROL);
    let to = device.output::<i64>(6);
    let pair = [0f32.bytes(), 7i32.bytes(), (-8i32).bytes(), 9i32.bytes()].concat();
    let params = vec![pair, device.pointer(to), (-3i8).bytes(), 500i16.bytes()];
    device.run("by_value", 1, 6, params);
    let row = [7470, -7530, 9470];
    assert_eq!(device.read::<i64>(to), [row, row].concat());

    let data: Vec<i32> = (0..40 * 16).map(|i| i * 7919 % 1009).collect();
    let (from, to) = (device.input(&data), device.output::<i32>(40));
    let params = vec![device.pointer(from), device.pointer(to), 5i32.bytes()];
    device.run("local_array", 1, 40, params);
    let want: Vec<i32> = data
        .chunks(16)
        .enumerate()
        .map(|(t, row)| {
            let mut row = row.to_vec();
            row.sort_unstable();
            row[(5 + t) % 16]
        })
        .collect();
    assert_eq!(device.read::<i32>(to), want);
}

#[test]
fn module_variables_live_from_launch_to_launch() {
    let mut device = Device::of(CONTROL);
    let x = integers(20, 10);
    let (from, to) = (device.input(&x), device.output::<f32>(20));
    let params = vec![device.pointer(from), device.pointer(to), 20i32.bytes()];
    device.run("constants", 1, 20, params.clone());
    let weights = [1.0, -2.0, 0.5, 4.0, 8.0];
    let want: Vec<f32> = (0..20)
        .map(|i| {
            let sum: f32 = (0..5).filter(|k| i + k < 20).map(|k| weights[k] * x[i + k]).sum();
            sum + f32::from(if i % 2 == 0 { b'e' } else { b'o' })
        })
        .collect();
    assert_eq!(device.read::<f32>(to), want);
    device.run("constants", 1, 20, params);
    let to = device.output::<i32>(1);
    let params = vec![device.pointer(to)];
    device.run("read_launches", 1, 1, params);
    assert_eq!(device.read::<i32>(to), [5]);
}

#[test]
fn printf_in_the_order_of_threads() {
    let mut device = Device::of(CONTROL);
    let x = device.input(&[1.5f32, -2.0]);
    let params = vec![device.pointer(x)];
    let outcome = device.run("print", 1, 32, params);
    assert_eq!(outcome.printed, "thread 0 of 32: 1.50 even\nthread 1 of 32: -2.00 odd\n");
}

#[test]
fn three_dimensions_and_vectors() {
    let mut device = Device::of(CONTROL);
    let to = device.output::<i32>(8 * 6 * 6);
    let params = vec![device.pointer(to)];
    let outcome = device.launch("three_dimensions", [2, 3, 2], [4, 2, 3], 0, params);
    assert_eq!(outcome.findings, []);
    let got = device.read::<i32>(to);
    for (x, y, z) in (0..8).flat_map(|x| (0..6).flat_map(move |y| (0..6).map(move |z| (x, y, z)))) {
        assert_eq!(got[(z * 6 + y) * 8 + x], (x * 10_000 + y * 100 + z) as i32);
    }

    let data: Vec<f32> = (0..20u8).map(f32::from).collect();
    let from = device.input(&data);
    let (out, d) = (device.output::<f32>(20), device.output::<f64>(10));
    let (c, s) = (device.output::<u8>(20), device.output::<i16>(10));
    let params = [from, out, d, c, s].iter().map(|&id| device.pointer(id)).collect();
    device.run("vectors", 1, 5, params);
    let reversed: Vec<f32> = data.chunks(4).flat_map(|v| [v[3], v[2], v[1], v[0]]).collect();
    assert_eq!(device.read::<f32>(out), reversed);
    let pairs: Vec<f64> = data.chunks(4).flat_map(|v| [v[0].into(), v[1].into()]).collect();
    assert_eq!(device.read::<f64>(d), pairs);
    assert_eq!(device.read::<u8>(c), (0..20).collect::<Vec<_>>());
    let shorts: Vec<i16> = data.chunks(4).flat_map(|v| [-v[0] as i16, v[1] as i16]).collect();
    assert_eq!(device.read::<i16>(s), shorts);
}

#[test]
fn integers_of_64_bits() {
    let a = [7, -7, i64::MIN, i64::MAX, 0, 123_456_789_012_345, -1, 1 << 40];
    let b = [3, 3, -1, 10, 5, -987_654_321, i64::MIN, 0];
    let mut device = Device::of(ARITHMETIC);
    let buffers = [device.input(&a), device.input(&b), device.output::<i64>(80)];
    let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
    params.push(8i32.bytes());
    device.run("integers", 1, 32, params);
    let got = device.read::<i64>(buffers[2]);
    for (i, (&x, &y)) in a.iter().zip(&b).enumerate() {
        let (ux, uy) = (x as u64, y as u64);
        let by = |condition, value: i64| if condition { value } else { 0 };
        let want = [
            x.wrapping_mul(y),
            by(y != 0, x.wrapping_div(if y == 0 { 1 } else { y })),
            by(y != 0, x.wrapping_rem(if y == 0 { 1 } else { y })),
            ux.checked_div(uy).unwrap_or(0) as i64,
            ((i128::from(x) * i128::from(y)) >> 64) as i64,
            x >> (y & 63),
            (ux >> (y & 63)) as i64,
            i64::from(x.count_ones())
                + 100 * i64::from(y.leading_zeros())
                + 10_000 * if x == 0 { 0 } else { i64::from(x.trailing_zeros()) + 1 },
            x.min(y) ^ ux.max(uy) as i64,
            x.reverse_bits().wrapping_add(i64::from(y as i32 / 7 + x as i32 % 13)),
        ];
        assert_eq!(got[i * 10..i * 10 + 10], want, "{x} and {y}");
    }
}

#[test]
fn doubles() {
    let a = [1.5, -2.25, 1e300, 3.0, 0.1, 1e-310];
    let b = [3.0, 0.7, 1e10, -0.0, 0.3, 2.0];
    let mut device = Device::of(ARITHMETIC);
    let buffers = [device.input(&a), device.input(&b), device.output::<f64>(36)];
    let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
    params.push(6i32.bytes());
    device.run("doubles", 1, 32, params);
    let got = device.read::<f64>(buffers[2]);
    for (i, (&x, &y)) in a.iter().zip(&b).enumerate() {
        let row = &got[i * 6..i * 6 + 6];
        assert_eq!(row[0], x + y);
        assert_eq!(row[1].to_bits(), (x / y).to_bits());
        assert_eq!(row[2], x.abs().sqrt() - x.mul_add(y, 1.0));
        assert_eq!(row[3], x.floor() + f64::from(y as f32));
        // libdevice promises 1 ulp.
        let want = (x * 0.01).exp();
        assert!(row[4] == want || (row[4] / want - 1.0).abs() < 4e-16, "{} {want}", row[4]);
        assert_eq!(row[5], x as i64 as f64 + f64::from(y as i32));
    }
}

#[test]
fn functions_of_libdevice_stay_in_their_bounds() {
    let x: Vec<f32> =
        (0..200).map(|i| (i as f32 - 99.5) * 0.093).chain([1e5, -3e4, 1e-30]).collect();
    let mut device = Device::of(ARITHMETIC);
    let (from, to) = (device.input(&x), device.output::<f32>(x.len() * 10));
    let params = vec![device.pointer(from), device.pointer(to), (x.len() as i32).bytes()];
    device.run("functions", 1, 256, params);
    let got = device.read::<f32>(to);
    // Errors in ulp: CUDA C++ Programming Guide, "Mathematical Functions".
    let within = |got: f32, want: f64, ulps: f64| {
        let unit = f64::from((want as f32).abs().max(f32::MIN_POSITIVE)) * 2f64.powi(-23);
        f64::from(got) == want
            || (f64::from(got) - want).abs() <= ulps * unit
            || !want.is_finite()
            || want as f32 == got
    };
    for (i, &v) in x.iter().enumerate() {
        let w = f64::from(v);
        let row = &got[i * 10..i * 10 + 10];
        let cases = [
            (w.exp(), 2.0),
            (w.abs().ln(), 2.0),
            (w.tanh(), 2.0),
            (w.sin(), 2.0),
            (w.abs().sqrt(), 0.5),
            (1.0 / w, 0.5),
            (w.abs().powf(1.5), 4.0),
            (1.0 / w.abs().sqrt(), 2.0),
        ];
        for (k, (want, ulps)) in cases.into_iter().enumerate() {
            assert!(within(row[k], want, ulps), "function {k} of {v}: {} for {want}", row[k]);
        }
        assert_eq!(row[8], v.max(0.0) + v.min(1.0) + v.round() + v.trunc());
        assert!((-1.0..=1.0).contains(&row[9]));
    }
}

#[test]
fn softmax() {
    let (rows, columns) = (5, 10);
    let data = integers(rows * columns, 11);
    let mut device = Device::of(ARITHMETIC);
    let (from, to) = (device.input(&data), device.output::<f32>(data.len()));
    let params = vec![
        device.pointer(from),
        device.pointer(to),
        (rows as i32).bytes(),
        (columns as i32).bytes(),
    ];
    device.run("softmax", 1, 32, params);
    for (row, got) in data.chunks(columns).zip(device.read::<f32>(to).chunks(columns)) {
        let exps: Vec<f64> = row.iter().map(|&x| f64::from(x).exp()).collect();
        let sum: f64 = exps.iter().sum();
        for (got, want) in got.iter().zip(exps) {
            assert!((f64::from(*got) - want / sum).abs() <= 1e-6);
        }
    }
}

#[test]
fn atomics() {
    let mut device = Device::of(ATOMICS);
    let data: Vec<u8> = (0..1000u32).map(|i| (i * i % 251) as u8).collect();
    let (from, bins) = (device.input(&data), device.in_out(&[0u32; 16]));
    let params = vec![device.pointer(from), device.pointer(bins), 1000i32.bytes()];
    device.run("histogram", 4, 256, params);
    let mut want = [0u32; 16];
    for value in data {
        want[usize::from(value % 16)] += 1;
    }
    assert_eq!(device.read::<u32>(bins), want);

    let m = device.in_out(&[0i32, 0, -1, 0, 0, 1000]);
    let u = device.in_out(&[0u32, 5, 0]);
    let (w, d) = (device.in_out(&[1u64]), device.in_out(&[0.5f64]));
    let params = [m, u, w, d].iter().map(|&id| device.pointer(id)).collect();
    device.run("kinds", 2, 48, params);
    let xor = (0..96).fold(0, |all, t| all ^ t);
    assert_eq!(device.read::<i32>(m), [95, -95, i32::MIN, i32::MAX, xor, 1000 - 192]);
    // 96 steps of a counter modulo 10: up from 0, and down from 5.
    assert_eq!(device.read::<u32>(u), [6, 9, 77]);
    assert_eq!(device.read::<u64>(w), [1 + (96 << 33)]);
    assert_eq!(device.read::<f64>(d), [24.5]);

    let values = integers(500, 12);
    let (from, best) = (device.input(&values), device.in_out(&[f32::MIN]));
    let params = vec![device.pointer(from), device.pointer(best), 500i32.bytes()];
    device.run("cas_max", 2, 256, params);
    assert_eq!(device.read::<f32>(best), [8.0]);
}

#[test]
fn sums_and_tickets_are_the_same_at_every_run() {
    let values: Vec<f32> = (0..5000).map(|i| 1.0 / (i as f32 + 1.0)).collect();
    let run = || {
        let mut device = Device::of(ATOMICS);
        let (from, sum) = (device.input(&values), device.in_out(&[0f32]));
        let params = vec![device.pointer(from), device.pointer(sum), 5000i32.bytes()];
        device.run("float_sum", 20, 256, params);
        let (counter, order) = (device.in_out(&[0i32]), device.output::<i32>(20 * 256));
        let params = vec![device.pointer(counter), device.pointer(order)];
        device.run("tickets", 20, 256, params);
        (device.read::<f32>(sum), device.read::<i32>(order))
    };
    let (sum, order) = run();
    assert!((sum[0] - values.iter().sum::<f32>()).abs() < 1e-3);
    assert_eq!(order, (0..20 * 256).collect::<Vec<_>>());
    assert_eq!(run(), (sum, order));
}

#[test]
fn operations_across_lanes() {
    let data: Vec<i32> = (0..64).map(|i| i * 5 % 9).collect();
    let mut device = Device::of(WARP);
    let (from, to) = (device.input(&data), device.output::<i32>(640));
    let params = vec![device.pointer(from), device.pointer(to)];
    device.run("warp_operations", 1, 64, params);
    let got = device.read::<i32>(to);
    for (t, row) in got.chunks(10).enumerate() {
        let (lane, warp) = (t % 32, &data[t / 32 * 32..t / 32 * 32 + 32]);
        let ballot = |holds: &dyn Fn(usize, i32) -> bool| {
            (0..32).filter(|&i| holds(i, warp[i])).fold(0u32, |all, i| all | 1 << i)
        };
        let below = ballot(&|_, v| v & 1 == 1) & ((1 << lane) - 1);
        let source = lane / 8 * 8 + (t * 3) % 32 % 8;
        let up = if lane % 16 >= 3 { lane - 3 } else { lane };
        let thirds = ballot(&|i, _| (t - lane + i) % 3 == 0);
        let want = [
            ballot(&|_, v| v > 3) as i32,
            i32::from(warp.iter().any(|&v| v > 7)) + 2,
            ballot(&|_, v| v == warp[lane]) as i32,
            warp.iter().sum(),
            *warp.iter().max().unwrap(),
            warp[source],
            warp[up],
            -1,
            if t % 3 == 0 { thirds as i32 } else { 1 },
            below.count_ones() as i32,
        ];
        assert_eq!(row, want, "thread {t}");
    }
}

#[test]
fn halves() {
    use half::{bf16, f16};
    let a = [1.5f32, -0.3, 65504.0, 1e-7, 3.1, 0.1];
    let b = [0.1f32, 7.7, 65504.0, 2e-7, -3.1, 0.7];
    let mut device = Device::of(HALF);
    let bits = |all: &[f32]| all.iter().map(|&x| f16::from_f32(x).to_bits()).collect::<Vec<u16>>();
    let buffers = [device.input(&bits(&a)), device.input(&bits(&b)), device.output::<u16>(30)];
    let mut params: Vec<_> = buffers.iter().map(|&id| device.pointer(id)).collect();
    params.push(6i32.bytes());
    device.run("halves", 1, 32, params);
    let got = device.read::<u16>(buffers[2]);
    for i in 0..6 {
        let (x, y) = (f16::from_f32(a[i]).to_f64(), f16::from_f32(b[i]).to_f64());
        // All sums and products of these are exact in f64.
        let h = |value: f64| f16::from_f32(value as f32).to_bits();
        let picked = if x > y { x } else { y };
        let want =
            [h(x + y), h(x * y), h(x * y + x), h(picked + 1.0), h(f64::from(x as f32 * 0.1))];
        assert_eq!(got[i * 5..i * 5 + 5], want, "{x} {y}");
    }
    let bits = |all: &[f32]| all.iter().map(|&x| bf16::from_f32(x).to_bits()).collect::<Vec<u16>>();
    let (x, y) = (device.input(&bits(&a)), device.input(&bits(&b)));
    let (out, wide) = (device.output::<u16>(12), device.output::<f32>(6));
    let mut params: Vec<_> = [x, y, out, wide].iter().map(|&id| device.pointer(id)).collect();
    params.push(6i32.bytes());
    device.run("bfloats", 1, 32, params);
    let (got, wide) = (device.read::<u16>(out), device.read::<f32>(wide));
    for i in 0..6 {
        let (x, y) = (bf16::from_f32(a[i]).to_f64(), bf16::from_f32(b[i]).to_f64());
        let h = |value: f64| bf16::from_f32(value as f32).to_bits();
        assert_eq!(got[i * 2..i * 2 + 2], [h(x + y), h(x * y + x)], "{x} {y}");
        assert_eq!(wide[i], (x - y) as f32);
    }
}
