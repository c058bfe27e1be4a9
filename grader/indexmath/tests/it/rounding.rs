//! The bound against simulated kernels: right ones are never rejected, wrong ones are noticed.

use crate::common::{Random, dims, tensors, values};
use indexmath::{Approx, Formula, Values};

/// `y[r] = sum[k] a[r,k] * b[r,k]`, stored as `dtype`.
fn dots(dtype: &str, rows: usize, a: &[f64], b: &[f64]) -> Vec<Approx> {
    let terms = a.len() / rows;
    let (input, output) = (format!("{dtype}[R, K]"), format!("{dtype}[R]"));
    let tensors = tensors(&[("a", &input), ("b", &input), ("y", &output)]);
    let formula = Formula::parse("y[r] = sum[k] a[r,k] * b[r,k]", &tensors).unwrap();
    let concrete = formula.at(&dims(&[("R", rows as i64), ("K", terms as i64)])).unwrap();
    let known = Values::from([("a".to_owned(), a.to_vec()), ("b".to_owned(), b.to_vec())]);
    concrete.evaluate(&known, &["y"]).unwrap().remove("y").unwrap()
}

type Pairs = [(f32, f32)];
/// Draws the two factors of a term, from its row and place.
type Draw = fn(&mut Random, usize, usize) -> (f64, f64);

fn sequential(pairs: impl Iterator<Item = (f32, f32)>, fma: bool) -> f32 {
    pairs.fold(0.0, |sum, (a, b)| if fma { a.mul_add(b, sum) } else { sum + a * b })
}

fn pairwise(pairs: &Pairs) -> f32 {
    match pairs {
        [] => 0.0,
        [(a, b)] => a * b,
        _ => {
            let (left, right) = pairs.split_at(pairs.len() / 2);
            pairwise(left) + pairwise(right)
        }
    }
}

/// Each of `lanes` threads strides through the terms; then their sums are added.
fn blocked(pairs: &Pairs, lanes: usize, fma: bool) -> f32 {
    (0..lanes).map(|lane| sequential(pairs.iter().copied().skip(lane).step_by(lanes), fma)).sum()
}

/// What right f32 kernels may give for a dot product.
fn right_results(pairs: &Pairs, random: &mut Random) -> Vec<f32> {
    let mut shuffled = pairs.to_vec();
    for place in (1..shuffled.len()).rev() {
        shuffled.swap(place, (random.bits() % (place as u64 + 1)) as usize);
    }
    vec![
        sequential(pairs.iter().copied(), false),
        sequential(pairs.iter().copied(), true),
        sequential(pairs.iter().rev().copied(), false),
        sequential(pairs.iter().rev().copied(), true),
        pairwise(pairs),
        blocked(pairs, 4, true),
        blocked(pairs, 32, false),
        sequential(shuffled.iter().copied(), false),
        sequential(shuffled.iter().copied(), true),
    ]
}

/// The greatest error of right results as a part of the bound, and how many results there were.
fn worst_part(random: &mut Random, rows: usize, terms: usize, draw: Draw) -> (f64, usize) {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for row in 0..rows {
        for term in 0..terms {
            let (x, y) = draw(random, row, term);
            a.push(f64::from(x as f32));
            b.push(f64::from(y as f32));
        }
    }
    let elements = dots("f32", rows, &a, &b);
    let (mut worst, mut count) = (0.0_f64, 0);
    for (row, element) in elements.iter().enumerate() {
        let of = row * terms..(row + 1) * terms;
        let pairs = a[of.clone()].iter().zip(&b[of]);
        let pairs: Vec<(f32, f32)> = pairs.map(|(a, b)| (*a as f32, *b as f32)).collect();
        for got in right_results(&pairs, random) {
            let error = (f64::from(got) - element.value).abs();
            assert!(error <= element.bound, "{terms} terms: {got} for {element:?}");
            worst = worst.max(error / element.bound.max(f64::MIN_POSITIVE));
            count += 1;
        }
    }
    (worst, count)
}

#[test]
fn a_million_right_results_give_no_false_alarm() {
    let mut random = Random::new(20);
    let mut count = 0;
    for (rows, terms) in [
        (9000, 1),
        (9000, 2),
        (6000, 3),
        (5000, 5),
        (4000, 9),
        (3000, 17),
        (2000, 25),
        (700, 64),
        (300, 150),
        (60, 400),
        (12, 4096),
    ] {
        // Normal, positive, far apart, one factor constant.
        let draws: [Draw; 4] = [
            |random, _, _| (random.normal(), random.normal()),
            |random, _, _| (random.unit(), random.unit()),
            |random, _, _| {
                ((2.0 * random.normal()).exp(), random.normal() * (2.0 * random.normal()).exp())
            },
            |random, _, _| (0.1, random.normal()),
        ];
        for draw in draws {
            let (worst, results) = worst_part(&mut random, rows, terms, draw);
            count += results;
            // Sums of one or two terms do reach the bound; longer ones keep away from it.
            assert!(worst <= 1.0 && (terms < 17 || worst <= 0.5), "{terms} terms: {worst}");
        }
    }
    assert!(count >= 1_000_000, "only {count}");
}

#[test]
fn regular_data_give_no_false_alarm() {
    let mut random = Random::new(21);
    for terms in [17, 100, 1000, 4096, 30_000] {
        let rows = if terms > 1000 { 2 } else { 20 };
        let draws: [Draw; 5] = [
            |_, row, _| (0.1 * (row + 1) as f64, 0.3),
            |_, row, term| (0.1 * (row + 1) as f64, [0.1, 0.7, 0.3][term % 3]),
            |_, row, term| (0.013 * (row + 1) as f64, term as f64 * 0.1),
            |random, row, _| (0.1 * (row + 1) as f64, 1.0 + 1e-4 * random.unit()),
            |_, row, term| (0.7 * (row + 1) as f64, (term as f64 * 0.01).sin()),
        ];
        for draw in draws {
            worst_part(&mut random, rows, terms, draw);
        }
    }
}

#[test]
fn one_dropped_median_term_is_noticed() {
    let mut random = Random::new(22);
    let (rows, terms) = (50, 400);
    let a: Vec<f64> = (0..rows * terms).map(|_| random.normal()).collect();
    let b: Vec<f64> = (0..rows * terms).map(|_| random.normal()).collect();
    for (row, element) in dots("f32", rows, &a, &b).iter().enumerate() {
        let of = row * terms..(row + 1) * terms;
        let mut products: Vec<f64> = a[of.clone()].iter().zip(&b[of]).map(|(a, b)| a * b).collect();
        products.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let median = products[terms / 2].abs();
        assert!(median > 100.0 * element.bound, "{median} for {element:?}");
    }
}

/// Rounds to a significand of 11 bits: binary16 without its range.
fn half(value: f64) -> f64 {
    let scaled = value * (f64::from(1 << 13) * f64::from(1 << 16) + 1.0);
    // Veltkamp's splitting keeps the upper 53 - 29 = 24 bits; once more for 11.
    let upper = scaled - (scaled - value);
    let scaled = upper * (2_f64.powi(42) + 1.0);
    scaled - (scaled - upper)
}

#[test]
fn half_rounds_to_eleven_bits() {
    assert_eq!(half(2049.0), 2048.0);
    assert_eq!(half(2051.0), 2052.0);
    assert_eq!(half(1.0 + 2_f64.powi(-10)), 1.0 + 2_f64.powi(-10));
    assert_eq!(half(1.0 + 2_f64.powi(-12)), 1.0);
}

/// Half-precision products and sums of normal data: single elements may be lucky, not all of them.
#[test]
fn half_precision_accumulation_is_noticed() {
    let mut random = Random::new(23);
    for (rows, terms) in [(16, 9), (16, 25), (16, 150), (16, 400), (16, 4096)] {
        let draw = |random: &mut Random| half(random.normal());
        let a: Vec<f64> = (0..rows * terms).map(|_| draw(&mut random)).collect();
        let b: Vec<f64> = (0..rows * terms).map(|_| draw(&mut random)).collect();
        let mut worst = 0.0_f64;
        for (row, element) in dots("f32", rows, &a, &b).iter().enumerate() {
            let mut sum = 0.0;
            for place in row * terms..(row + 1) * terms {
                sum = half(sum + half(a[place] * b[place]));
            }
            worst = worst.max((sum - element.value).abs() / element.bound);
        }
        assert!(worst > 20.0, "{terms} terms: {worst}");
    }
}

/// Stored as f16: an f32 accumulator passes, an f16 accumulator does not once sums are long.
#[test]
fn half_precision_storage() {
    let mut random = Random::new(24);
    let (rows, terms) = (64, 2000);
    let a: Vec<f64> = (0..rows * terms).map(|_| half(random.unit())).collect();
    let b: Vec<f64> = (0..rows * terms).map(|_| half(random.unit())).collect();
    let mut noticed = 0;
    for (row, element) in dots("f16", rows, &a, &b).iter().enumerate() {
        let (mut right, mut wrong) = (0.0_f32, 0.0);
        for place in row * terms..(row + 1) * terms {
            right += (a[place] * b[place]) as f32;
            wrong = half(wrong + half(a[place] * b[place]));
        }
        assert!((half(f64::from(right)) - element.value).abs() <= element.bound);
        noticed += usize::from((wrong - element.value).abs() > element.bound);
    }
    assert!(noticed >= 60, "{noticed} of 64");
}

/// Whatever the order of the additions, and with one rounding at the end.
#[test]
fn float_sums_of_halves_give_no_false_alarm() {
    let mut random = Random::new(27);
    let mut count = 0;
    for (rows, terms) in [(6000, 1), (4000, 2), (2000, 9), (700, 36), (300, 150), (60, 576)] {
        let draws: [fn(&mut Random) -> f64; 3] =
            [Random::normal, |random| random.unit(), |random| 1.0 + 0.01 * random.normal()];
        for draw in draws {
            let draw = |random: &mut Random| half(draw(random));
            let a: Vec<f64> = (0..rows * terms).map(|_| draw(&mut random)).collect();
            let b: Vec<f64> = (0..rows * terms).map(|_| draw(&mut random)).collect();
            for (row, element) in dots("f16", rows, &a, &b).iter().enumerate() {
                let of = row * terms..(row + 1) * terms;
                let pairs = a[of.clone()].iter().zip(&b[of]);
                let pairs: Vec<(f32, f32)> = pairs.map(|(a, b)| (*a as f32, *b as f32)).collect();
                for sum in right_results(&pairs, &mut random) {
                    let error = (half(f64::from(sum)) - element.value).abs();
                    assert!(error <= element.bound, "{terms} terms: {sum} for {element:?}");
                    count += 1;
                }
            }
        }
    }
    assert!(count >= 300_000, "only {count}");
}

#[test]
fn integers_are_exact_up_to_the_accumulators_precision() {
    // 2^12 · 2^11 + 2^23 = 2^24 is exact, one more is not.
    let exact = dots("f32", 1, &[4096.0, 8192.0], &[2048.0, 1024.0]);
    assert_eq!((exact[0].value, exact[0].bound), (16_777_216.0, 0.0));
    let inexact = dots("f32", 1, &[4096.0, 8192.0, 1.0], &[2048.0, 1024.0, 1.0]);
    assert!(inexact[0].bound >= 1.0);
    // The magnitude counts, not the value.
    let cancelled = dots("f32", 1, &[8192.0, 8192.0], &[2048.0, -2048.0]);
    assert_eq!(cancelled[0].value, 0.0);
    assert!(cancelled[0].bound > 0.0);
    // Halves and quarters are as good as integers.
    assert_eq!(dots("f32", 1, &[0.5, 0.25], &[3.5, -1.0])[0].bound, 0.0);
    // f64 has 53 bits.
    assert_eq!(dots("f64", 1, &[4096.0, 8192.0, 1.0], &[2048.0, 1024.0, 1.0])[0].bound, 0.0);
}

#[test]
fn storage_in_sixteen_bits() {
    // 2048 fits 11 bits; 2049 is rounded once, however exact the sum is.
    assert_eq!(dots("f16", 1, &[2048.0, 0.0], &[1.0, 1.0])[0].bound, 0.0);
    let rounded = dots("f16", 1, &[2048.0, 1.0], &[1.0, 1.0])[0];
    assert!(rounded.bound >= 1.0 && rounded.bound < 1.01, "{rounded:?}");
    assert_eq!(dots("bf16", 1, &[255.0, 1.0], &[1.0, 1.0])[0].bound, 0.0);
    assert!(dots("bf16", 1, &[256.0, 1.0], &[1.0, 1.0])[0].bound >= 1.0);
    // The partial sums are those of f32: 4000 terms of 1 may be stored, and may not be counted in f16.
    let long = dots("f16", 1, &vec![1.0; 4000], &vec![1.0; 4000])[0];
    assert_eq!((long.value, long.bound), (4000.0, 0.0));
    // Only the result has to fit: 90,000 - 89,700 is exact in f32, and 300 is a half.
    let difference = dots("f16", 1, &[300.0, -299.0], &[300.0, 300.0])[0];
    assert_eq!((difference.value, difference.bound), (300.0, 0.0));
    // Beyond the greatest number a right kernel stores infinity.
    assert_eq!(dots("f16", 1, &[60_000.0, 6000.0], &[1.0, 1.0])[0].bound, f64::INFINITY);
}

#[test]
fn integer_tensors() {
    assert_eq!(dots("i32", 1, &[65_536.0, 1.0], &[32_767.0, 65_535.0])[0].bound, 0.0);
    assert_eq!(dots("i32", 1, &[65_536.0, 1.0], &[32_767.0, 65_536.0])[0].bound, f64::INFINITY);
}

/// Two roundings at most, and both can be met; also next to the smallest numbers.
#[test]
fn small_sums_and_subnormal_numbers() {
    let mut random = Random::new(25);
    for scale in [1.0, 2_f64.powi(-60), 2_f64.powi(-70), 2_f64.powi(60)] {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..2000 {
            a.push(f64::from((random.normal() * scale) as f32));
            b.push(f64::from((random.normal() * scale) as f32));
        }
        for (row, element) in dots("f32", 1000, &a, &b).iter().enumerate() {
            let at = |list: &[f64], place: usize| list[2 * row + place] as f32;
            let products = [at(&a, 0) * at(&b, 0), at(&a, 1) * at(&b, 1)];
            let fused = at(&a, 0).mul_add(at(&b, 0), products[1]);
            let flush = |x: f32| if x.is_subnormal() { 0.0 } else { x };
            let flushed = flush(flush(products[0]) + flush(products[1]));
            for got in [products[0] + products[1], fused, flushed] {
                let error = (f64::from(got) - element.value).abs();
                assert!(error <= element.bound, "{got} for {element:?}");
            }
        }
    }
}

/// An addition that the formula writes out keeps subnormal numbers; one that a sum of several terms asks for may be an atomic one,
/// which does not.
#[test]
fn only_sums_may_flush_subnormal_numbers() {
    let tensors = tensors(&[("a", "f32[N]"), ("b", "f32[N]"), ("c", "f32[N]"), ("s", "f32[]")]);
    let tiny = f64::from(f32::from_bits(12_345));
    for (text, target, flushes) in [
        ("c[i] = a[i] + b[i]", "c", false),
        ("c[i] = a[i] - 0.5 * b[i]", "c", false),
        ("s = sum[i] a[i]", "s", true),
    ] {
        let formula = Formula::parse(text, &tensors).unwrap().at(&dims(&[("N", 2)])).unwrap();
        let known =
            Values::from([("a".to_owned(), vec![tiny; 2]), ("b".to_owned(), vec![3.0 * tiny; 2])]);
        let got = formula.evaluate(&known, &[target]).unwrap().remove(target).unwrap();
        assert_eq!(got[0].bound > tiny / 2.0, flushes, "{text}: {:?}", got[0]);
    }
}

/// Bounds of intermediate tensors reach what is computed from them.
#[test]
fn errors_of_intermediate_tensors_propagate() {
    let tensors =
        tensors(&[("x", "f32[R, K]"), ("s", "f32[R]"), ("q", "f32[R]"), ("y", "f32[R, K]")]);
    let text =
        "s[r] = sum[k] x[r,k]; q[r] = sum[k] x[r,k] * x[r,k]; y[r,k] = x[r,k] * s[r] / q[r] - s[r]";
    let formula = Formula::parse(text, &tensors).unwrap();
    let (rows, terms) = (200, 50);
    let concrete = formula.at(&dims(&[("R", rows as i64), ("K", terms as i64)])).unwrap();
    let mut random = Random::new(26);
    let x: Vec<f64> = (0..rows * terms).map(|_| random.normal()).collect();
    let known = Values::from([("x".to_owned(), x.clone())]);
    let got = concrete.evaluate(&known, &["y"]).unwrap().remove("y").unwrap();
    let mut worst = 0.0_f64;
    for row in 0..rows {
        let line: Vec<f32> = x[row * terms..(row + 1) * terms].iter().map(|x| *x as f32).collect();
        let s: f32 = line.iter().sum();
        let q: f32 = line.iter().rev().map(|x| x * x).sum();
        for (term, x) in line.iter().enumerate() {
            let element = got[row * terms + term];
            for y in [x * s / q - s, x * (s / q) - s, x * s * (1.0 / q) - s] {
                let error = (f64::from(y) - element.value).abs();
                assert!(error <= element.bound, "{y} for {element:?}");
                worst = worst.max(error / element.bound);
            }
        }
    }
    assert!(worst > 0.01, "the bound is too wide to notice anything: {worst}");
}

#[test]
fn values_are_not_rounded() {
    let element = dots("f32", 1, &[0.1, 0.2], &[0.3, 0.4]);
    assert_eq!(values(&element), [0.1 * 0.3 + 0.2 * 0.4]);
    assert_eq!((element[0].terms, element[0].magnitude), (2, 0.1 * 0.3 + 0.2 * 0.4));
}

/// The normalisation of rows of `width` elements, with its gradient.
fn normalisation(width: usize, x: &[f64], g: &[f64]) -> [Vec<Approx>; 2] {
    let types = ["x", "norm"].map(|name| (name, "f32[R, H]"));
    let small = ["mean", "var", "rstd"].map(|name| (name, "f32[R]"));
    let text = "mean[r] = (sum[h] x[r,h]) / index(H); \
        var[r] = (sum[h] (x[r,h] - mean[r]) * (x[r,h] - mean[r])) / index(H); \
        rstd[r] = rsqrt(var[r] + 0.00001); norm[r,h] = (x[r,h] - mean[r]) * rstd[r]";
    let tensors = tensors(&[&types[..], &small[..]].concat());
    let formula = Formula::parse(text, &tensors).unwrap().differentiate().unwrap();
    let rows = (x.len() / width) as i64;
    let sized = formula.at(&dims(&[("R", rows), ("H", width as i64)])).unwrap();
    let known = Values::from([("x".to_owned(), x.to_vec()), ("grad(norm)".to_owned(), g.to_vec())]);
    let mut results = sized.evaluate_sharply(&known, &["norm", "grad(x)"]).unwrap();
    ["norm", "grad(x)"].map(|name| results.remove(name).unwrap())
}

/// The mean and the variance of a row, as right kernels compute them: in two passes, and in one as Welford does.
fn moments(row: &[f32]) -> [(f32, f32); 3] {
    let n = row.len() as f32;
    let mean = row.iter().sum::<f32>() / n;
    let two = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / n;
    let scaled = row.iter().rev().sum::<f32>() * (1.0 / n);
    let fused =
        row.iter().fold(0.0, |sum: f32, x| (x - scaled).mul_add(x - scaled, sum)) * (1.0 / n);
    let (mut welford, mut squares) = (0.0, 0.0);
    for (i, x) in row.iter().enumerate() {
        let before = x - welford;
        welford += before / (i + 1) as f32;
        squares += before * (x - welford);
    }
    [(mean, two), (scaled, fused), (welford, squares / n)]
}

#[test]
fn a_normalisation_far_from_zero_has_narrow_bounds_that_right_kernels_keep() {
    let mut random = Random::new(11);
    for (offset, width, wide) in
        [(3.0, 8, 5e-5), (100.0, 8, 2e-3), (100.0, 40, 5e-3), (1000.0, 16, 5e-2)]
    {
        let rows = 200;
        let mut draw = |shift: f64| -> Vec<f64> {
            (0..rows * width).map(|_| f64::from((shift + random.normal()) as f32)).collect()
        };
        let (x, g) = (draw(offset), draw(0.0));
        let [norm, gradient] = normalisation(width, &x, &g);
        let mut bounds: Vec<f64> = gradient.iter().map(|element| element.bound).collect();
        bounds.sort_by(f64::total_cmp);
        let typical = bounds[bounds.len() / 2];
        assert!(typical < wide, "{offset} {width}: {typical}");
        for row in 0..rows {
            let of = row * width..(row + 1) * width;
            let (x, g): (Vec<f32>, Vec<f32>) = x[of.clone()]
                .iter()
                .zip(&g[of.clone()])
                .map(|(x, g)| (*x as f32, *g as f32))
                .unzip();
            for (way, (mean, var)) in moments(&x).into_iter().enumerate() {
                let rstd = 1.0 / (var + 1e-5).sqrt();
                // A scale and a shift, instead of the difference.
                let shifted = |x: f32| x.mul_add(rstd, -mean * rstd);
                let plain = |x: f32| (x - mean) * rstd;
                let each = |x: &f32| if way == 1 { shifted(*x) } else { plain(*x) };
                let own: Vec<f32> = x.iter().map(each).collect();
                let n = width as f32;
                let (sum, along): (f32, f32) =
                    (g.iter().sum(), g.iter().zip(&own).map(|(g, y)| g * y).sum());
                for h in 0..width {
                    let dx = if way == 0 {
                        rstd * (g[h] - sum / n - own[h] * (along / n))
                    } else {
                        rstd / n * (n * g[h] - sum - own[h] * along)
                    };
                    for (got, element) in
                        [(own[h], &norm[of.start + h]), (dx, &gradient[of.start + h])]
                    {
                        let error = (f64::from(got) - element.value).abs();
                        assert!(
                            error <= element.bound,
                            "{offset} {width} way {way}: {got} for {element:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn errors_of_many_neurons_cancel() {
    let mut random = Random::new(12);
    let types = [
        ("x", "f32[B, N]"),
        ("w", "f32[L, N, N]"),
        ("a", "f32[B, N]"),
        ("b", "f32[B, N]"),
        ("c", "f32[B, N]"),
    ];
    let text = "a[r,i] = max(sum[j] w[0,i,j] * x[r,j], 0); b[r,i] = max(sum[j] w[1,i,j] * a[r,j], 0); c[r,i] = sum[j] w[2,i,j] * b[r,j]";
    let (rows, width) = (4, 100);
    let formula = Formula::parse(text, &tensors(&types)).unwrap();
    let sized = formula.at(&dims(&[("B", rows as i64), ("N", width as i64), ("L", 3)])).unwrap();
    let mut draw = |count: usize, scale: f64| -> Vec<f64> {
        (0..count).map(|_| f64::from((scale * random.normal()) as f32)).collect()
    };
    let (x, w) = (draw(rows * width, 1.0), draw(3 * width * width, 0.1));
    let known = Values::from([("x".to_owned(), x.clone()), ("w".to_owned(), w.clone())]);
    let wide = sized.evaluate(&known, &["c"]).unwrap().remove("c").unwrap();
    let narrow = sized.evaluate_sharply(&known, &["c"]).unwrap().remove("c").unwrap();
    let layer = |layer: usize, row: &[f32], fma: bool| -> Vec<f32> {
        let weights = &w[layer * width * width..];
        let sum = |i: usize| {
            let pairs = weights[i * width..].iter().zip(row).map(|(w, x)| (*w as f32, *x));
            sequential(pairs, fma)
        };
        (0..width).map(|i| if layer < 2 { sum(i).max(0.0) } else { sum(i) }).collect()
    };
    for row in 0..rows {
        for fma in [false, true] {
            let mut values: Vec<f32> =
                x[row * width..(row + 1) * width].iter().map(|x| *x as f32).collect();
            for at in 0..3 {
                values = layer(at, &values, fma);
            }
            for (i, got) in values.iter().enumerate() {
                let (wide, narrow) = (wide[row * width + i], narrow[row * width + i]);
                assert!(narrow.bound < 0.7 * wide.bound, "{narrow:?} {wide:?}");
                assert!(
                    (f64::from(*got) - narrow.value).abs() <= 0.3 * narrow.bound,
                    "{got} {narrow:?}"
                );
            }
        }
    }
}

/// `1 - b` is exact, and `(1 - b) * x` is not: multiplied out it has terms that are ten times as large.
#[test]
fn an_exact_factor_may_be_multiplied_out() {
    let mut random = Random::new(3);
    let mut draw =
        || -> Vec<f64> { (0..3000).map(|_| f64::from(random.normal() as f32)).collect() };
    let (s, x) = (draw(), draw());
    let b = 0.75_f32;
    let types = tensors(&[("x", "f32[N]"), ("s", "f32[N]"), ("b", "f32[]"), ("y", "f32[N]")]);
    let formula = Formula::parse("y[i] = b * s[i] + (1 - b) * x[i]", &types).unwrap();
    let known = Values::from([
        ("x".to_owned(), x.clone()),
        ("s".to_owned(), s.clone()),
        ("b".to_owned(), vec![f64::from(b)]),
    ]);
    let y = formula.at(&dims(&[("N", 3000)])).unwrap().evaluate(&known, &["y"]).unwrap();
    for (i, y) in y["y"].iter().enumerate() {
        let (s, x) = (s[i] as f32, x[i] as f32);
        for right in [b.mul_add(s - x, x), b * s + (x - b * x), s + (1.0 - b) * (x - s)] {
            assert!((f64::from(right) - y.value).abs() <= y.bound, "{i}: {right}, {y:?}");
        }
    }
}
