use super::*;
use crate::verdict::SpecialValue;
use indexmath::Approx;
use puzzle::comparison::is_within_bound;
use puzzle::tensor::DType;

/// Values without a pattern among them.
const VALUES: [f64; 24] = [
    3.0, 1.0, 4.0, -2.0, 5.0, 9.0, 2.0, 6.0, -5.0, 7.0, 8.0, -9.0, 11.0, -3.0, 12.0, 10.0, -7.0,
    13.0, -8.0, 17.0, 14.0, -1.0, 15.0, -4.0,
];

struct Example {
    shape: Vec<usize>,
    dtype: DType,
    start: Option<Vec<f64>>,
    expected: Vec<Approx>,
    got: Vec<f64>,
    written: Vec<bool>,
    vector: Vec<f64>,
    alike: Vec<f64>,
    seeds: Vec<f64>,
}

/// An example that is correct in every element.
fn example(shape: &[usize]) -> Example {
    let n: usize = shape.iter().product();
    let value = |i: usize| VALUES[i % 24] + 20.0 * (i / 24) as f64;
    let approx = |v: f64| Approx { value: v, bound: 0.0, magnitude: v.abs(), terms: 1 };
    Example {
        shape: shape.into(),
        dtype: DType::F32,
        start: None,
        expected: (0..n).map(value).map(approx).collect(),
        got: (0..n).map(value).collect(),
        written: vec![true; n],
        vector: Vec::new(),
        alike: vec![1.0; n],
        seeds: vec![1.0; shape[0]],
    }
}

impl Example {
    /// `got` as a function of place and expected values.
    fn with(mut self, got: impl Fn(usize, &[f64]) -> f64) -> Self {
        let expected = self.got.clone();
        self.got = (0..expected.len()).map(|i| got(i, &expected)).collect();
        self
    }

    fn written(mut self, written: impl Fn(usize) -> bool) -> Self {
        self.written = (0..self.got.len()).map(written).collect();
        self
    }

    fn cause(&self) -> Option<Cause> {
        let correct = |i: usize| self.written[i] && is_within_bound(self.got[i], &self.expected[i]);
        let wrong: Vec<bool> = (0..self.got.len()).map(|i| !correct(i)).collect();
        assert!(wrong.contains(&true), "an example without an error");
        likely(&View {
            shape: &self.shape,
            dtype: self.dtype,
            expected: &self.expected,
            got: &self.got,
            written: &self.written,
            wrong: &wrong,
            start: self.start.as_deref(),
            block: 8,
            vectors: &[("bias", &self.vector)],
            alike: &[Alike { name: "z", dtype: DType::F16, values: &self.alike }],
            columns: &[("seed[*]".to_owned(), self.seeds.clone())],
            outputs: &[Alike { name: "ok", dtype: DType::I32, values: &self.alike }],
        })
    }
}

#[test]
fn nothing_written() {
    assert_eq!(example(&[4, 5]).written(|_| false).cause(), Some(Cause::NothingWritten));
}

#[test]
fn the_tail_unwritten() {
    let cause = |n| example(&[4, 5]).written(|i| i < n).cause();
    assert_eq!(cause(16), Some(Cause::OnlyStartWritten { count: 16, block: 8 }));
    assert_eq!(cause(3), Some(Cause::OnlyStartWritten { count: 3, block: 8 }));
    let holes = example(&[4, 5]).written(|i| i % 3 == 0 || i == 7).cause();
    assert_eq!(holes, None);
}

#[test]
fn some_elements_written_between_others() {
    let cause =
        |shape: &[usize], written: fn(usize) -> bool| example(shape).written(written).cause();
    let found = |first, step| Some(Cause::EveryNthWritten { first, step });
    assert_eq!(cause(&[4, 5], |i| i % 2 == 0), found(0, 2));
    assert_eq!(cause(&[8], |i| i % 3 == 1), found(1, 3));
    assert_eq!(cause(&[8], |i| i % 4 == 0), found(0, 4));
    let alone = cause(&[8], |i| i == 3);
    assert!(!matches!(alone, Some(Cause::EveryNthWritten { .. })), "{alone:?}");
    assert_eq!(cause(&[20], |i| i > 4 && i % 4 == 1), None, "not from the start");
    let diagonal = Some(Cause::DiagonalWritten { first: 0, second: 1 });
    assert_eq!(cause(&[4, 5], |i| i / 5 == i % 5), diagonal);
    assert_eq!(cause(&[2, 2], |i| i % 3 == 0), diagonal);
    assert_eq!(cause(&[4, 5], |i| i / 5 == i % 5 && i < 15), None);
}

#[test]
fn a_part_unwritten() {
    let cause = |written: fn(usize) -> bool| example(&[4, 5]).written(written).cause();
    let part = |ranges, written| Some(Cause::PartWritten { ranges, written });
    assert_eq!(cause(|i| i != 0), part(vec![Some((0, 0)), Some((0, 0))], false));
    assert_eq!(cause(|i| i % 5 == 2), part(vec![None, Some((2, 2))], true));
    assert_eq!(cause(|i| i % 5 != 2), part(vec![None, Some((2, 2))], false));
    let two = cause(|i| i > 2 && i != 9);
    assert!(!matches!(two, Some(Cause::PartWritten { .. })), "{two:?}");
}

#[test]
fn the_same_everywhere() {
    assert_eq!(example(&[4, 5]).with(|_, _| 0.0).cause(), Some(Cause::AllZero));
    assert_eq!(example(&[4, 5]).with(|_, _| f64::NAN).cause(), Some(Cause::AllNan));
    assert_eq!(example(&[4, 5]).with(|i, _| if i == 7 { 1.0 } else { 0.0 }).cause(), None);
}

#[test]
fn a_common_factor() {
    let factor = |f: f64| example(&[4, 5]).with(move |i, expected| expected[i] * f).cause();
    // That a size is 8, too, may be chance.
    let found = |factor| Some(Cause::Factor { factor, size: None });
    assert_eq!(factor(0.125), found(0.125));
    assert_eq!(factor(8.0), found(8.0));
    assert_eq!(factor(-1.0), found(-1.0));
    // A third is rounded in f32.
    let third = example(&[4, 5]).with(|i, r| f64::from(r[i] as f32 / 3.0)).cause();
    assert!(
        matches!(third, Some(Cause::Factor { factor, .. }) if (factor - 1.0 / 3.0).abs() < 1e-6)
    );
}

#[test]
fn no_factor_where_one_element_does_not_follow_it() {
    let but_one = example(&[4, 5]).with(|i, r| if i == 11 { r[i] } else { 2.0 * r[i] });
    assert_eq!(but_one.cause(), Some(Cause::FactorWhereWrong { factor: 2.0 }));
    // Ones that come out as threes may be anything.
    let mut ones = example(&[4, 5]).with(|_, _| 3.0);
    ones.expected.iter_mut().for_each(|e| e.value = 1.0);
    assert_eq!(ones.cause(), None);
}

#[test]
fn a_common_offset() {
    let off = example(&[4, 5]).with(|i, r| r[i] + 1.5).cause();
    assert_eq!(off, Some(Cause::Offset { by: 1.5 }));
    let biased = example(&[2, 3, 4, 2]).with(|i, r| r[i] - VALUES[i / 8 % 3]).cause();
    assert_eq!(biased, Some(Cause::OffsetAlong { axis: 1 }));
    let empty = example(&[2, 3, 4, 2]).with(|i, _| VALUES[i % 5]);
    let mut empty = empty;
    empty.expected.iter_mut().for_each(|e| e.value = f64::NEG_INFINITY);
    assert_eq!(empty.cause(), None, "infinitely far is no amount");
    let one_more = example(&[2, 3, 4, 2]).with(|i, r| r[i] - VALUES[i / 8 % 3] + f64::from(i == 9));
    assert_ne!(one_more.cause(), Some(Cause::OffsetAlong { axis: 1 }));
}

#[test]
fn a_factor_of_each_row_however_near_to_one() {
    let factors = [0.999_93, 1.000_2, 0.999_5, 1.000_4];
    let mut e = example(&[4, 6]).with(|i, r| r[i] * factors[i / 6]);
    e.expected.iter_mut().for_each(|e| e.bound = 1e-6 * e.value.abs());
    assert!(
        matches!(e.cause(), Some(Cause::FactorAlong { axis: 0, first }) if (first - 0.999_93).abs() < 1e-9)
    );
    let mut e = example(&[4, 6]).with(|i, r| r[i] * 1.000_2);
    e.expected.iter_mut().for_each(|e| e.bound = 1e-6 * e.value.abs());
    assert!(
        matches!(e.cause(), Some(Cause::Factor { factor, .. }) if (factor - 1.000_2).abs() < 1e-9)
    );
}

#[test]
fn a_bias_left_out_or_added_too_often() {
    let cause = |times: f64, bias: &[f64], axis_of: fn(usize) -> usize| {
        let shape = [2, bias.len(), 4, 2];
        let mut e = example(&shape).with(|i, r| r[i] + times * bias[axis_of(i) % bias.len()]);
        e.vector = bias.into();
        e.cause()
    };
    let found = |times| Some(Cause::Addend { vector: "bias".into(), times });
    assert_eq!(cause(-1.0, &[3.0, -1.0, 0.0], |i| i / 8), found(-1));
    assert_eq!(cause(5.0, &[3.0, -1.0, 0.0], |i| i / 8), found(5));
    assert_eq!(cause(-1.0, &[100.0], |_| 0), found(-1));
    // Each of these is a multiple of the only element by chance.
    assert_eq!(cause(3.0, &[100.0], |_| 0), Some(Cause::Offset { by: 300.0 }));
    assert_eq!(cause(1.0, &[1.0], |_| 0), Some(Cause::Offset { by: 1.0 }));
    // The bias of another channel.
    assert_eq!(cause(-1.0, &[3.0, -1.0, 0.0], |i| i / 8 + 1), Some(Cause::OffsetAlong { axis: 1 }));
}

#[test]
fn no_offset_where_values_rise_evenly() {
    // Neighbours of such values are off by a constant: the kernel may have mistaken the place.
    let plane = |i: usize| (10 * (i / 4) + 3 * (i % 4)) as f64;
    let mut e = example(&[5, 4]).with(|i, _| plane(i) + 3.0);
    for (i, expected) in e.expected.iter_mut().enumerate() {
        expected.value = plane(i);
    }
    assert_eq!(e.cause(), None);
    e.expected[7].value += 1.0;
    e.got[7] += 1.0;
    assert_eq!(e.cause(), Some(Cause::Offset { by: 3.0 }));
}

#[test]
fn small_errors_everywhere() {
    let rounded = |bound: f64, shape: &[usize], error: fn(usize) -> f64| {
        let mut e = example(shape).with(|i, r| r[i] + r[i].abs() * error(i));
        for expected in &mut e.expected {
            expected.bound = bound;
        }
        e.cause()
    };
    let small = |i: usize| f64::from((i as i32 * 37) % 11 - 5) * 2e-4;
    let found = rounded(1e-6, &[8, 8], small);
    assert!(matches!(found, Some(Cause::Rounding { largest }) if (largest - 1e-3).abs() < 1e-6));
    // Exact values are not rounded, a few small errors may be small terms, and one large error is no rounding.
    assert_eq!(rounded(0.0, &[8, 8], small), None);
    assert_eq!(rounded(1e-6, &[4, 4], small), None);
    assert_eq!(rounded(1e-6, &[8, 8], |i| if i == 9 { 0.5 } else { (i % 3) as f64 * 2e-4 }), None);
}

#[test]
fn transposed_slices_square_or_not() {
    for shape in [[2, 3, 3], [2, 2, 5]] {
        let (h, w) = (shape[1], shape[2]);
        let by_columns = |i: usize| i - i % (h * w) + i % (h * w) % h * w + i % (h * w) / h;
        let cause = example(&shape).with(|i, expected| expected[by_columns(i)]).cause();
        assert_eq!(cause, Some(Cause::Transposed));
    }
}

#[test]
fn axes_in_another_order_in_memory() {
    // Channels last: place (n, p, c) in the place of (n, c, p).
    let (c, h, w) = (3, 2, 4);
    let last = |i: usize, r: &[f64]| {
        let (n, rest) = (i / (c * h * w), i % (c * h * w));
        r[(n * c + rest % c) * h * w + rest / c]
    };
    let cause = example(&[2, c, h, w]).with(last).cause();
    assert_eq!(cause, Some(Cause::Layout { order: vec![0, 2, 3, 1] }));
    let first = |i: usize, r: &[f64]| r[(i / 4 % 2 * 3 + i / 8) * 4 + i % 4];
    let cause = example(&[2, 3, 4]).with(first).cause();
    assert_eq!(cause, Some(Cause::Layout { order: vec![1, 0, 2] }));
    let near = |i: usize, r: &[f64]| if i == 20 { 99.0 } else { first(i, r) };
    let cause = example(&[2, 3, 4]).with(near).cause();
    assert!(!matches!(cause, Some(Cause::Layout { .. })), "{cause:?}");
}

#[test]
fn mirrored_slices() {
    let rotated = example(&[2, 3, 4]).with(|i, r| r[i - i % 12 + 11 - i % 12]).cause();
    assert_eq!(rotated, Some(Cause::Mirrored { axes: vec![1, 2] }));
    let reversed = example(&[2, 3, 4]).with(|i, r| r[i - i % 4 + 3 - i % 4]).cause();
    assert_eq!(reversed, Some(Cause::Mirrored { axes: vec![2] }));
    let vector = example(&[10]).with(|i, r| r[9 - i]).cause();
    assert_eq!(vector, Some(Cause::Mirrored { axes: vec![0] }));
}

#[test]
fn shifted_slices() {
    let left = |i: usize, r: &[f64]| if i % 6 == 5 { 99.0 } else { r[i + 1] };
    let cause = example(&[2, 4, 6]).with(left).cause();
    assert_eq!(cause, Some(Cause::Shifted { rows: 0, columns: -1 }));
    let down = |i: usize, r: &[f64]| if i % 24 < 6 { 99.0 } else { r[i - 6] };
    assert_eq!(
        example(&[2, 4, 6]).with(down).cause(),
        Some(Cause::Shifted { rows: 1, columns: 0 })
    );
}

#[test]
fn only_the_first_sample_right() {
    let noise = |i: usize| ((i * i * 7 + 13) % 101) as f64;
    let cause = example(&[3, 2, 4, 5]).with(|i, r| if i < 40 { r[i] } else { r[i] + noise(i) });
    assert_eq!(cause.cause(), Some(Cause::OnlyFirstRight { axis: 0 }));
    let planes = |right: usize| {
        let e = example(&[2, 3, 4, 5]);
        e.with(|i, r| if i / 20 == right { r[i] } else { r[i] + noise(i) }).cause()
    };
    assert_eq!(planes(0), Some(Cause::OnlyFirstSliceRight));
    assert_ne!(planes(1), Some(Cause::OnlyFirstSliceRight));
}

#[test]
fn errors_in_one_channel_or_the_last_column() {
    let noise = |i: usize| 1.0 + ((i * i * 7 + 13) % 101) as f64;
    let add_where = |test: &dyn Fn(usize) -> bool| {
        example(&[2, 3, 4, 5]).with(|i, r| r[i] + if test(i) { noise(i) } else { 0.0 }).cause()
    };
    assert_eq!(
        add_where(&|i| i / 20 % 3 == 1),
        Some(Cause::Region { ranges: vec![None, Some((1, 1)), None, None], value: None })
    );
    assert_eq!(
        add_where(&|i| i % 5 == 4),
        Some(Cause::Region { ranges: vec![None, None, None, Some((4, 4))], value: None })
    );
    // A single wrong element is a place, not a pattern, and so are two that lie apart.
    assert_eq!(add_where(&|i| i == 37), None);
    assert_eq!(add_where(&|i| i == 37 || i == 30), None);
}

#[test]
fn errors_along_the_border() {
    let noise = |i: usize| 1.0 + ((i * i * 7 + 13) % 101) as f64;
    let cause = example(&[8, 8]).with(|i, r| {
        let inside = (1..7).contains(&(i / 8)) && (1..7).contains(&(i % 8));
        r[i] + if inside { 0.0 } else { noise(i) }
    });
    assert_eq!(cause.cause(), Some(Cause::Border { width: 1 }));
}

#[test]
fn errors_without_a_pattern_have_no_cause() {
    let scattered = [3, 8, 9, 14, 22, 27, 35, 41];
    let cause = example(&[2, 4, 6])
        .with(|i, r| r[i] + if scattered.contains(&i) { r[i] * r[i] + 1.0 } else { 0.0 });
    assert_eq!(cause.cause(), None);
}

#[test]
fn differences_that_vary_are_no_common_offset() {
    // What rounding may hide is larger than the differences themselves, and these are not equal.
    let mut e = example(&[4, 5]).with(|i, r| r[i] + 4e-4 + 1e-4 * (i % 3) as f64);
    e.expected.iter_mut().for_each(|e| e.bound = 3e-4);
    assert_eq!(e.cause(), None);
    let mut e = example(&[4, 5]).with(|i, r| r[i] + 1.5 + 1e-4 * (i % 3) as f64);
    e.expected.iter_mut().for_each(|e| e.bound = 3e-4);
    assert_eq!(e.cause(), Some(Cause::Offset { by: 1.5 }));
}

#[test]
fn half_of_very_few_elements_is_no_part_of_a_tensor() {
    let cause =
        |columns| example(&[1, columns]).with(|i, r| r[i] + [3.0, 5.0, 0.0][i.min(2)]).cause();
    assert_eq!(cause(4), None);
    assert!(matches!(cause(6), Some(Cause::Region { .. })));
}

#[test]
fn wrong_where_another_tensor_has_special_values() {
    let nan = f64::NAN.copysign(-1.0);
    let values = [0.0, -0.0, nan, 1e-5, 3.0, f64::INFINITY, f64::NAN, -2.0];
    let cause = |wrong: &[usize]| {
        let mut example =
            example(&[8]).with(|i, all| all[i] + if wrong.contains(&i) { 7.0 } else { 0.0 });
        example.alike = values.to_vec();
        example.cause()
    };
    let special =
        |kinds: &[SpecialValue]| Some(Cause::Special { tensor: "z".into(), kinds: kinds.to_vec() });
    let zero = SpecialValue::Zero { negative: false };
    assert_eq!(cause(&[2]), special(&[SpecialValue::Nan { negative: true }]));
    assert_eq!(cause(&[2, 0]), special(&[zero, SpecialValue::Nan { negative: true }]));
    assert_eq!(cause(&[3]), special(&[SpecialValue::Subnormal { negative: false }]));
    let is_special = |wrong: &[usize]| matches!(cause(wrong), Some(Cause::Special { .. }));
    assert!(!is_special(&[4]), "an ordinary number");
    assert!(!is_special(&[0, 4]), "one of them is ordinary");
    assert!(!is_special(&[0, 1, 2]), "three kinds");
    let mut twice = example(&[8]).with(|i, all| all[i] + if i == 0 { 7.0 } else { 0.0 });
    twice.alike = vec![0.0; 8];
    assert!(!matches!(twice.cause(), Some(Cause::Special { .. })), "zeros that did not matter");
}

#[test]
fn a_value_that_all_wrong_elements_have_is_told() {
    let zero = example(&[4, 5]).with(|i, r| if i % 5 == 4 { 0.0 } else { r[i] }).cause();
    let ranges = vec![None, Some((4, 4))];
    assert_eq!(zero, Some(Cause::Region { ranges, value: Some(0.0) }));
    let scattered = |value: f64| {
        example(&[4, 5])
            .with(move |i, r| if [1, 8, 15].contains(&i) { value } else { r[i] })
            .cause()
    };
    assert_eq!(scattered(0.0), Some(Cause::SameWhereWrong { value: 0.0 }));
    // Two elements that should be the same are no different mistakes, but for what a search starts from.
    let alike = |value: f64| {
        let mut e = example(&[4, 5]).with(move |i, r| if i % 17 == 1 { value } else { r[i] });
        for i in [1, 18] {
            e.expected[i].value = f64::NEG_INFINITY;
        }
        e.cause()
    };
    assert_eq!(alike(0.0), None);
    let value = f32::MIN.into();
    assert_eq!(alike(value), Some(Cause::SameWhereWrong { value }));
}

#[test]
fn whole_numbers_counted_from_another_start() {
    let steps = |shape: &[usize], dtype, by: fn(usize) -> f64| {
        let mut e = example(shape).with(move |i, r| r[i] + by(i));
        e.dtype = dtype;
        e.cause()
    };
    let planes = |i: usize| 54.0 * (i / 8) as f64;
    let found = steps(&[2, 3, 2, 4], DType::I32, planes);
    assert_eq!(found, Some(Cause::OffsetInSteps { by: 0.0, steps: vec![162.0, 54.0, 0.0, 0.0] }));
    assert!(!matches!(steps(&[2, 3, 2, 4], DType::F32, planes), Some(Cause::OffsetInSteps { .. })));
    // One coordinate alone says it more simply.
    assert_eq!(steps(&[6, 2, 4], DType::I32, planes), Some(Cause::OffsetAlong { axis: 0 }));
}

#[test]
fn the_expected_values_in_another_order() {
    let order = [2, 0, 3, 1];
    let cause = example(&[6, 4]).with(|i, r| r[i / 4 * 4 + order[i % 4]]).cause();
    assert_eq!(cause, Some(Cause::Permuted { axis: 1, order: order.to_vec() }));
    let rows = [1, 0, 3, 2, 5, 4];
    let cause = example(&[6, 4]).with(|i, r| r[rows[i / 4] * 4 + i % 4]).cause();
    assert_eq!(cause, Some(Cause::Permuted { axis: 0, order: rows.to_vec() }));
    // Each row in an order of its own.
    let cause = example(&[3, 8]).with(|i, r| r[i / 8 * 8 + (3 * i + i / 8) % 8]).cause();
    assert_eq!(cause, Some(Cause::Reordered { axis: 1, ranges: Vec::new() }));
    // One column of each slice, in an order of its own.
    let one = |i: usize, r: &[f64]| if i % 8 == 5 { r[(i + 8) % 32] } else { r[i] };
    let cause = example(&[4, 8]).with(one).cause();
    let column = vec![None, Some((5, 5))];
    assert!(
        matches!(cause, Some(Cause::Reordered { axis: 0, ref ranges }) if *ranges == column),
        "{cause:?}"
    );
    let swap = |i: usize| if [9, 14].contains(&i) { 23 - i } else { i };
    let cause = example(&[3, 8]).with(|i, r| r[swap(i)]).cause();
    assert_eq!(cause, Some(Cause::Exchanged { first: 9, second: 14 }));
    let copied = example(&[3, 8]).with(|i, r| r[i / 8 * 8 + (3 * i % 8).min(5)]).cause();
    assert!(!matches!(copied, Some(Cause::Reordered { .. })));
}

#[test]
fn values_that_begin_too_early_in_memory() {
    let late = example(&[2, 2, 20]).with(|i, r| if i % 40 < 9 { 99.0 } else { r[i - 9] });
    assert_eq!(late.cause(), Some(Cause::Late { by: 9 }));
    let early = example(&[2, 2, 20]).with(|i, r| if i % 40 > 30 { 99.0 } else { r[i + 9] });
    assert_eq!(early.cause(), Some(Cause::Late { by: -9 }));
    // Of one value nobody can tell where it comes from.
    let same = example(&[2, 2, 20]).with(|i, r| if i % 7 == 0 { r[5] } else { r[i] }).cause();
    assert!(!matches!(same, Some(Cause::Late { .. })), "{same:?}");
}

#[test]
fn an_offset_of_those_that_are_wrong() {
    let some = |by: fn(usize) -> f64| {
        example(&[4, 5])
            .with(move |i, r| if [1, 3, 8, 12, 17].contains(&i) { r[i] + by(i) } else { r[i] })
    };
    assert_eq!(some(|_| -48.0).cause(), Some(Cause::OffsetWhereWrong { by: -48.0 }));
    assert_eq!(some(|i| (i * i) as f64 - 50.0).cause(), None);
}

#[test]
fn wrong_elements_that_hold_what_they_held_before() {
    let start: Vec<f64> = (0..20).map(|i| f64::from(i * i % 7) + 0.5).collect();
    let cause = |wrong: fn(usize) -> bool| {
        let before = start.clone();
        let mut e = example(&[4, 5]).with(|i, r| if wrong(i) { before[i] } else { r[i] });
        e.start = Some(start.clone());
        e.cause()
    };
    assert_eq!(cause(|_| true), Some(Cause::Unchanged));
    assert_eq!(cause(|i| i % 3 == 0), Some(Cause::UnchangedWhereWrong { ranges: Vec::new() }));
    let ranges = vec![Some((2, 3)), None];
    assert_eq!(cause(|i| i >= 10), Some(Cause::UnchangedWhereWrong { ranges }));
}

#[test]
fn an_addend_of_another_place() {
    let mut moved = example(&[4, 5]).with(|i, r| {
        r[i] + [7.0, -2.0, 11.0, 3.0, 0.5][(i + 1) % 5] - [7.0, -2.0, 11.0, 3.0, 0.5][i % 5]
    });
    moved.vector = vec![7.0, -2.0, 11.0, 3.0, 0.5];
    let vector = "bias".to_owned();
    let found = Cause::OtherAddend { vector, flat: 0, expected: 0, got: 1 };
    assert_eq!(moved.cause(), Some(found));
    moved.got[11] += 1.0;
    assert!(!matches!(moved.cause(), Some(Cause::OtherAddend { .. })));
}

#[test]
fn whole_numbers_that_stand_for_others() {
    let names = |name: fn(f64) -> f64| {
        let mut places = example(&[3, 4]);
        places.dtype = DType::I32;
        for (i, expected) in places.expected.iter_mut().enumerate() {
            expected.value = [0.0, 1.0, 2.0, 3.0, 1.0, 2.0][i % 6];
            places.got[i] = name(expected.value);
        }
        places.cause()
    };
    let swapped = |v: f64| [0.0, 2.0, 1.0, 3.0][v as usize];
    assert_eq!(names(swapped), Some(Cause::Renamed { pairs: vec![(1.0, 2.0), (2.0, 1.0)] }));
    let later = |v: f64| if v > 1.0 { v + 3.0 } else { v };
    assert_eq!(names(later), Some(Cause::Renamed { pairs: vec![(2.0, 5.0), (3.0, 6.0)] }));
    assert!(!matches!(names(|v| v.min(1.0)), Some(Cause::Renamed { .. })), "one number");
}

/// Each pattern is looked for in a time that grows with the elements, however long an axis is and however many numbers there are: a kernel
/// that stores 16 bits of a place is told so in a plane of 70,000 elements.
#[test]
fn patterns_are_looked_for_in_long_axes() {
    let mut places = example(&[1, 70_000]);
    places.dtype = DType::I32;
    for (i, expected) in places.expected.iter_mut().enumerate() {
        expected.value = i as f64;
        places.got[i] = (i & 0xffff) as f64;
    }
    assert!(!matches!(places.cause(), Some(Cause::Renamed { .. })));
    let factor = |column: usize| 2.0 + (column % 7) as f64;
    let columns = example(&[8, 70_000]).with(|i, r| factor(i % 70_000) * r[i]);
    assert_eq!(columns.cause(), Some(Cause::FactorAlong { axis: 1, first: 2.0 }));
}

#[test]
fn multiples_and_lines_and_steps() {
    let where_wrong = example(&[4, 5]).with(|i, r| if i % 2 == 0 { 3.0 * r[i] } else { r[i] });
    assert_eq!(where_wrong.cause(), Some(Cause::FactorWhereWrong { factor: 3.0 }));
    let line = example(&[4, 5]).with(|i, r| 2.0 * r[i] - 1.0);
    assert_eq!(line.cause(), Some(Cause::Line { factor: 2.0, by: -1.0 }));
    let part = example(&[4, 5]).with(|i, r| if i % 5 == 0 { r[i] } else { 2.0 * r[i] - 1.0 });
    assert_eq!(part.cause(), Some(Cause::LineWhereWrong { factor: 2.0, by: -1.0 }));
    let bent = example(&[4, 5]).with(|i, r| 2.0 * r[i].abs() - 1.0);
    assert!(!matches!(bent.cause(), Some(Cause::Line { .. })));
    let steps = example(&[4, 5]).with(|i, r| if r[i] < 4.5 { 0.0 } else { 1.0 });
    let found = Cause::TwoSteps { low: 0.0, high: 1.0, below: 4.0, above: 5.0 };
    assert_eq!(steps.cause(), Some(found));
    let mixed = example(&[4, 5]).with(|i, r| if r[i].abs() < 4.5 { 0.0 } else { 1.0 });
    assert!(!matches!(mixed.cause(), Some(Cause::TwoSteps { .. })));
}

#[test]
fn infinities_in_all_wrong_elements_and_in_others() {
    let mut infinite = example(&[4, 5]).with(|i, r| if i == 3 { r[i] + 1.5 } else { r[i] });
    infinite.alike[3] = f64::NEG_INFINITY;
    infinite.alike[4] = f64::NEG_INFINITY;
    let kind = SpecialValue::Infinite { negative: true };
    let found = Cause::SpecialInWrong { tensor: "z".into(), kind, correct: 1 };
    assert_eq!(infinite.cause(), Some(found));
    infinite.alike[3] = 1.0;
    assert!(!matches!(infinite.cause(), Some(Cause::SpecialInWrong { .. })));
}

#[test]
fn multiples_of_an_input_and_digits_that_are_cut_off() {
    let mut leaky = example(&[4, 5]);
    leaky.alike = leaky.got.iter().rev().copied().collect();
    let alike = leaky.alike.clone();
    let leaky = leaky.with(|i, r| if i % 3 == 0 { 0.25 * alike[i] } else { r[i] });
    let found = Cause::MultipleOf { tensor: "z".into(), factor: 0.25 };
    assert_eq!(leaky.cause(), Some(found));
    let halves = |round: fn(f64) -> f64| {
        let mut halves = example(&[8, 8]);
        halves.dtype = DType::F16;
        for (i, expected) in halves.expected.iter_mut().enumerate() {
            expected.value = 1.0 + (37 * i % 64) as f64 / 65536.0;
            halves.got[i] = round(expected.value * 1024.0) / 1024.0;
            expected.bound = if i % 64 < 8 { 1e-3 } else { 1e-5 };
        }
        halves.got[63] = 1.0;
        halves.cause()
    };
    assert_eq!(halves(f64::floor), Some(Cause::CutOff));
    assert!(!matches!(halves(f64::ceil), Some(Cause::CutOff)));
}

#[test]
fn a_factor_within_the_rounding_of_short_floats_is_none() {
    let mut sums = example(&[4, 5]).with(|i, r| if i == 7 { 1.004 * r[i] } else { r[i] });
    sums.dtype = DType::BF16;
    sums.expected.iter_mut().for_each(|e| e.bound = 3.9e-3 * e.value.abs());
    assert!(!matches!(sums.cause(), Some(Cause::Factor { .. })), "{:?}", sums.cause());
}

#[test]
fn a_step_of_another_length_is_told() {
    let cause = |factor: f64| {
        let mut e = example(&[4, 5]).with(|i, r| 7.0 + factor * (r[i] - 7.0));
        e.start = Some(vec![7.0; 20]);
        e.cause()
    };
    assert_eq!(cause(-1.0), Some(Cause::StepFactor { factor: -1.0 }));
    assert_eq!(cause(0.375), Some(Cause::StepFactor { factor: 0.375 }));
    assert_eq!(cause(0.0), Some(Cause::Unchanged));
    // Beside what rounding may hide in large steps, small ones are no part of them that is known.
    let mut tiny = example(&[4, 5]).with(|i, _| 7.0 + 1e-9 * (i * i % 7) as f64);
    tiny.start = Some(vec![7.0; 20]);
    tiny.expected.iter_mut().for_each(|e| (e.value, e.bound) = (1e6 * e.value, 1.0));
    assert!(!matches!(tiny.cause(), Some(Cause::StepFactor { .. })), "{:?}", tiny.cause());
    let mut one = example(&[4, 5]).with(|i, r| if i == 3 { 2.0 } else { 14.0 - r[i] });
    one.start = Some(vec![7.0; 20]);
    assert!(!matches!(one.cause(), Some(Cause::StepFactor { .. })), "one is off the line");
}

#[test]
fn a_few_elements_are_fractions_of_what_they_should_be() {
    let cause = |expected: [f64; 3], factors: [f64; 3]| {
        let mut e = example(&[3]);
        for i in 0..3 {
            e.expected[i] = Approx { value: expected[i], bound: 1e-6, magnitude: 1.0, terms: 4 };
            e.got[i] = factors[i] * expected[i];
        }
        e.cause()
    };
    let real = [2.318_031, 2.681_243, 2.517_317];
    let fourths = (vec![(0, 4, 11), (1, 4, 11), (2, 3, 11)], [4.0 / 11.0, 4.0 / 11.0, 3.0 / 11.0]);
    assert_eq!(cause(real, fourths.1), Some(Cause::Fractions { of: fourths.0 }));
    assert_eq!(cause(real, [1.0, 1.0, 0.75]), Some(Cause::Fractions { of: vec![(2, 3, 4)] }));
    let is_told =
        |expected, factors| matches!(cause(expected, factors), Some(Cause::Fractions { .. }));
    assert!(!is_told(real, [1.0, 0.414_213_5, 0.75]), "one is no fraction");
    assert!(
        !is_told([2.0, 3.0, 8.0], [1.0, 1.0, 0.75]),
        "whole numbers are all fractions of each other"
    );
}

#[test]
fn one_minus_a_share_is_told() {
    let share = 16.0 / 203.0;
    let mut e = example(&[1]);
    e.expected[0] = Approx { value: share, bound: 1e-8, magnitude: 1.0, terms: 1 };
    e.got[0] = 1.0 - share;
    assert_eq!(e.cause(), Some(Cause::Line { factor: -1.0, by: 1.0 }));
    e.got[0] = 1.01 - share;
    assert_eq!(e.cause(), None);
}

#[test]
fn a_one_among_zeros_is_exchanged_with_none_of_them() {
    let mut e = example(&[2, 5]).with(|i, _| if i == 3 { 1.0 } else { 0.0 });
    for (i, expected) in e.expected.iter_mut().enumerate() {
        expected.value = if i == 1 { 1.0 } else { 0.0 };
    }
    assert!(!matches!(e.cause(), Some(Cause::Exchanged { .. })));
}

#[test]
fn places_that_are_overwritten_before_they_are_read() {
    let copied = example(&[4, 6]).with(|i, e| e[6 * [0, 0, 3, 3][i / 6] + i % 6]);
    let expected = Cause::Repeated { axis: 0, order: vec![0, 0, 3, 3] };
    assert_eq!(copied.cause(), Some(expected));
    let other = example(&[4, 6]).with(|i, e| if i == 8 { e[i + 6] } else { e[i] });
    assert!(!matches!(other.cause(), Some(Cause::Repeated { .. })), "one element alone");
    // The only number of its row is lost: all zeros, as in the other rows.
    let mut zeros = example(&[4, 6]).with(|i, e| if i < 18 { 0.0 } else { e[i] });
    for (i, expected) in zeros.expected.iter_mut().enumerate() {
        let value = if i == 8 || i >= 18 { expected.value } else { 0.0 };
        *expected = Approx { value, ..*expected };
    }
    assert!(!matches!(zeros.cause(), Some(Cause::Repeated { .. })), "{:?}", zeros.cause());
}

#[test]
fn the_two_of_each_pair_exchanged() {
    let cause = |shape: &[usize], from: fn(usize) -> usize| {
        example(shape).with(move |i, e| e[from(i)]).cause()
    };
    let found = |axis, by| Some(Cause::Paired { axis, by });
    assert_eq!(cause(&[8], |i| i ^ 1), found(0, 1));
    assert_eq!(cause(&[9], |i| if i < 8 { i ^ 1 } else { i }), found(0, 1));
    assert_eq!(cause(&[20], |i| if i < 16 { i ^ 2 } else { i }), found(0, 2));
    let other = cause(&[8], |i| if i < 6 { i ^ 1 } else { 7 * (i % 6) });
    assert!(!matches!(other, Some(Cause::Paired { .. })), "{other:?}");
}

#[test]
fn bits_in_reverse() {
    let bytes = |got: fn(u8) -> u8| {
        let mut example = example(&[9]);
        example.dtype = DType::I32;
        for (i, approx) in example.expected.iter_mut().enumerate() {
            approx.value = f64::from(i as u8 + 1);
            example.got[i] = f64::from(got(i as u8 + 1));
        }
        example.cause()
    };
    assert_eq!(bytes(u8::reverse_bits), Some(Cause::BitsReversed { bits: 8 }));
    let other = bytes(|x| x.reverse_bits() ^ u8::from(x == 4));
    assert!(!matches!(other, Some(Cause::BitsReversed { .. })), "one bit more");
}

#[test]
fn wrong_where_another_output_has_one_value() {
    let ok = |i: usize| f64::from(1 + u8::from(!i.is_multiple_of(3)));
    let mut counts =
        example(&[12]).with(|i, e| if ok(i) == 2.0 { e[i] * e[i] + 1.0 } else { e[i] });
    counts.dtype = DType::I32;
    counts.alike = (0..12).map(ok).collect();
    let found = Cause::WrongWhere { tensor: "ok".into(), value: 2.0, is_output: true, got: None };
    assert_eq!(counts.cause(), Some(found));
    counts.alike[0] = 2.0;
    assert!(!matches!(counts.cause(), Some(Cause::WrongWhere { .. })), "a correct one too");
}

#[test]
fn without_its_fraction() {
    let mut halves = example(&[6]);
    for (i, approx) in halves.expected.iter_mut().enumerate() {
        approx.value = i as f64 / 3.0 - 0.5;
        halves.got[i] = approx.value.trunc();
    }
    assert_eq!(halves.cause(), Some(Cause::Truncated));
    halves.got[5] = 2.0;
    assert_ne!(halves.cause(), Some(Cause::Truncated));
}

#[test]
fn a_share_of_a_count_is_no_fraction_of_another() {
    let one = |expected: f64, got: f64| {
        let mut example = example(&[1]);
        example.expected[0] =
            Approx { value: expected, bound: 1e-7, magnitude: expected, terms: 9 };
        example.got[0] = f64::from(got as f32);
        example.cause()
    };
    assert_eq!(one(16.0 / 203.0, 15.0 / 203.0), None);
    assert!(matches!(one(0.123_456_7, 0.123_456_7 * 0.75), Some(Cause::Fractions { .. })));
}

#[test]
fn errors_where_a_seed_is_0() {
    let mut rows =
        example(&[6, 3]).with(|i, e| if matches!(i / 3, 2 | 5) { e[17 - i] } else { e[i] });
    rows.seeds = vec![7.0, 1.0, 0.0, 9.0, 1.0, 0.0];
    let expected = Cause::WrongRows { elements: "seed[*]".into(), value: 0.0 };
    assert_eq!(rows.cause(), Some(expected));
    rows.seeds[1] = 0.0;
    assert!(!matches!(rows.cause(), Some(Cause::WrongRows { .. })), "a correct row too");
}
