//! Values computed with `NumPy` 2: `einsum` over `sliding_window_view` for the convolution (batch 2, two
//! channels of 4x3, two 2x2 filters, all numbers multiples of 1/8), and `@` for the matrix product.

#![allow(clippy::unreadable_literal, reason = "as `NumPy` printed them")]

use crate::common::{conv, conv_dims, dims, tensors, values};
use approx::assert_relative_eq;
use indexmath::{Formula, Values};

#[rustfmt::skip]
const INPUT: [f64; 48] = [
    1.375, 2.375, -1.25, -1.5, 1.5, 1.625, 0.125, -1.75, 1.75, 0.125, -1.75, -1.875,
    -0.5, 1.0, -0.5, 1.75, -2.5, -0.375, 0.125, 2.375, -1.375, 1.625, -2.25, -0.875,
    1.25, 0.375, 2.25, 1.25, 2.125, 1.625, -1.875, 2.25, 1.75, -1.875, 2.5, 1.25,
    -1.0, -1.875, -0.625, 2.125, 1.5, -1.375, 0.0, 1.75, 0.75, -1.0, -2.0, 2.375,
];
#[rustfmt::skip]
const FILTERS: [f64; 16] = [
    -1.375, 0.125, 1.0, -0.875, 0.125, -1.125, 1.75, 0.5,
    -1.625, -0.875, 1.0, 0.875, -1.0, -1.75, -1.75, -1.25,
];
#[rustfmt::skip]
const GRAD_OUTPUT: [f64; 24] = [
    -0.75, 0.5, 0.0, -1.25, 0.125, -1.75, -0.125, -1.875, -1.25, -1.25, -2.5, -0.625,
    1.125, 0.75, 1.375, 1.75, -2.25, 1.375, -2.0, -0.875, -2.125, -1.75, -0.125, -0.25,
];
#[rustfmt::skip]
const OUTPUT: [f64; 24] = [
    -2.28125, -5.71875, 9.84375, -0.0625, 1.828125, 1.484375,
    -3.8125, 6.75, 1.03125, -1.484375, -2.515625, 4.859375,
    5.671875, 4.375, -4.34375, 4.671875, -4.421875, -2.90625,
    1.3125, 4.90625, -8.859375, -2.3125, 4.453125, -2.25,
];
#[rustfmt::skip]
const GRAD_INPUT: [f64; 48] = [
    1.234375, 2.375, 1.703125, 1.15625, 4.015625, -1.140625,
    2.640625, 2.03125, 0.328125, -2.375, -4.671875, 0.984375,
    0.03125, 3.0, 2.71875, 0.15625, 7.21875, 6.1875,
    4.703125, 6.203125, 4.0, 4.59375, 1.21875, -0.09375,
    1.703125, 2.28125, 0.859375, 0.6875, -0.390625, 0.328125,
    2.546875, -4.71875, -2.671875, -2.375, 2.984375, -1.421875,
    2.140625, 3.203125, 0.6875, 7.765625, 10.046875, 2.5625,
    5.96875, 12.640625, 1.953125, -3.71875, 1.875, 1.0,
];
#[rustfmt::skip]
const GRAD_FILTERS: [f64; 16] = [
    15.796875, -2.5, 19.15625, 6.421875, 5.28125, -3.65625, 4.6875, 16.796875,
    -13.375, -9.375, -4.515625, -11.828125, -6.609375, 2.4375, -9.3125, -1.234375,
];

#[test]
fn convolution() {
    let formula = conv().differentiate().unwrap();
    let concrete = formula.at(&conv_dims([2, 2, 4, 3, 2, 2])).unwrap();
    let known = Values::from([
        ("input".to_owned(), INPUT.to_vec()),
        ("filters".to_owned(), FILTERS.to_vec()),
        ("bias".to_owned(), vec![1.5, 1.875]),
        ("grad(output)".to_owned(), GRAD_OUTPUT.to_vec()),
    ]);
    let want: [(&str, &[f64]); 4] = [
        ("output", &OUTPUT),
        ("grad(input)", &GRAD_INPUT),
        ("grad(filters)", &GRAD_FILTERS),
        ("grad(bias)", &[1.0, -14.75]),
    ];
    let got = concrete.evaluate(&known, &want.map(|(name, _)| name)).unwrap();
    for (name, want) in want {
        assert_eq!(values(&got[name]), want, "{name}");
        assert!(got[name].iter().all(|element| element.bound == 0.0), "eighths are exact");
    }
}

#[test]
fn matrix_product() {
    let tensors = tensors(&[("A", "f64[M, K]"), ("B", "f64[K, N]"), ("C", "f64[M, N]")]);
    let formula = Formula::parse("C[i,j] = sum[k] A[i,k] * B[k,j]", &tensors).unwrap();
    let formula = formula.differentiate().unwrap();
    let concrete = formula.at(&dims(&[("M", 3), ("K", 4), ("N", 2)])).unwrap();
    #[rustfmt::skip]
    let known = Values::from([
        ("A".to_owned(), vec![
            0.5045526940525952, -0.48954647183368644, 1.152695318344823, 0.1843314807437683,
            -1.3402183858497783, 0.6058789654488664, -0.13948567840174828, -1.3288018246050828,
            0.5154848458324957, -0.3448165176946628, -0.3923426027377626, 0.5898959165637815,
        ]),
        ("B".to_owned(), vec![
            -2.192496725059042, -1.2773002232819268, -0.424520173132984, 0.2491635754284672,
            -0.6651072836012581, -0.9967172399235361, -1.05242308652736, -0.11729315387593296,
        ]),
        ("grad(C)".to_owned(), vec![
            0.6750199304550224, -1.4500021129549956, -2.0803790092492207, -0.29737617711179,
            -0.38201813147946434, -0.908980457498656,
        ]),
    ]);
    #[rustfmt::skip]
    let want: [(&str, &[f64]); 3] = [
        ("C", &[
            -1.8590685342632816, -1.9369745349398415, 4.172451236826703, 2.1577113500700826,
            -1.3436874270064412, -0.4224807415029928,
        ]),
        ("grad(A)", &[
            0.3721090357644627, -0.6478472885876798, 0.9962814315861485, -0.5403312377217003,
            4.941062822084106, 0.8090675456522822, 1.6800751941727017, 2.224319087761806,
            1.9986144435038413, -0.06431041746936773, 1.1600795344572283, 0.5086618857126385,
        ]),
        ("grad(B)", &[
            2.931820764571119, -0.8016191033929035, -1.4591853454441615, 0.8431009240180664,
            1.2181573790605067, -1.2732991708555832, 2.6634879108597467, -0.4083308899370914,
        ]),
    ];
    let got = concrete.evaluate(&known, &want.map(|(name, _)| name)).unwrap();
    for (name, want) in want {
        for (got, want) in got[name].iter().zip(want) {
            assert_relative_eq!(got.value, *want, max_relative = 1e-13);
            assert!((got.value - want).abs() <= got.bound, "f64 results differ within the bound");
        }
    }
}
