//! How much work statements are, and those with so much that they are computed part by part, on all cores.

use crate::common::{Random, dims, inputs, tensors};
use indexmath::{Cost, ElementRef, Formula};

/// Half a million iterations and more: two parts at least.
const N: i64 = 64;
const W: i64 = 3000;

#[test]
fn cost_counts_loops_and_intermediate_results_of_what_is_needed() {
    let types = tensors(&[("x", "f32[N, K]"), ("w", "f32[K]"), ("y", "f32[N]"), ("z", "f32[N]")]);
    let text = "y[i] = sum[k] x[i,k] * w[k]; z[i] = y[i] * (sum[k] x[i,k])";
    let sized = Formula::parse(text, &types).unwrap().at(&dims(&[("N", 5), ("K", 7)])).unwrap();
    assert_eq!(sized.cost(&["y"]), Cost { steps: 35, elements: 5 });
    assert_eq!(sized.cost(&["z"]), Cost { steps: 35 + 35 + 5, elements: 5 + 5 + 5 });
    assert_eq!(sized.cost(&["x", "nothing"]), Cost { steps: 0, elements: 0 });
}

/// The gradient of a convolution has few terms where the filter is as long as the image, and its kernel still runs through the filter
/// for each element of the image.
#[test]
fn a_kernel_that_gathers_runs_through_the_filter() {
    let types = tensors(&[("x", "f32[L]"), ("w", "f32[K]"), ("y", "f32[L-K+1]")]);
    let forward = Formula::parse("y[o] = sum[k] x[o+k] * w[k]", &types).unwrap();
    let formula = forward.differentiate().unwrap();
    let steps = |l, k| {
        let sized = formula.at(&dims(&[("L", l), ("K", k)])).unwrap();
        // A batch of two, beside an output of two.
        let is_size = |range| [l, k, 2].contains(&range);
        (sized.cost(&["grad(x)"]).steps, sized.gather_steps(&["grad(x)"], &is_size))
    };
    assert_eq!(steps(1000, 3), (2994, 3000));
    assert_eq!(steps(1000, 999), (1998, 999_000));
    let sized = formula.at(&dims(&[("L", 1000), ("K", 999)])).unwrap();
    assert_eq!(sized.gather_steps(&["y"], &|_| true), 0);
}

#[test]
fn the_parts_of_a_statement_are_put_together() {
    let types = tensors(&[
        ("x", "f32[N, W]"),
        ("k", "f32[3]"),
        ("y", "f32[N, W]"),
        ("best", "f32[W, N]"),
        ("share", "f32[N, W]"),
        ("place", "i32[N, W]"),
        ("out", "f32[N, W]"),
    ]);
    let text = "
        y[n,w] = sum[p] x?[n,w+p-1] * k[p] + x[n,0]
        best[w,n] = max[p < 3] x?[n,w+p-1]
        share[n,w] = x[n,w] / sum[p] x[n,p]
        out[n,place[n,w]] += x[n,w]
    ";
    let formula = Formula::parse(text, &types).unwrap();
    let concrete = formula.at(&dims(&[("N", N), ("W", W)])).unwrap();
    let mut random = Random::new(7);
    let mut known = inputs(&formula, &concrete, || random.integer(1, 9));
    let places = (0..N * W).map(|_| random.integer(0, W - 1));
    known.insert("place".to_owned(), places.collect());
    for name in ["y", "best", "share", "out"] {
        let all = concrete.evaluate(&known, &[name]).unwrap().remove(name).unwrap();
        let width = if name == "best" { N } else { W } as usize;
        let flats = (0..all.len()).step_by(all.len() / 50 + 7);
        let coords = flats.map(|flat| vec![(flat / width) as i64, (flat % width) as i64]);
        let coords: Vec<Vec<i64>> = coords.collect();
        let some = concrete.elements(&known, name, &coords).unwrap();
        for (coords, found) in coords.into_iter().zip(some) {
            let whole = all[coords[0] as usize * width + coords[1] as usize];
            assert_eq!((found.value, found.bound), (whole.value, whole.bound), "{name}{coords:?}");
            if name != "out" {
                let at = ElementRef { tensor: name.to_owned(), coords };
                assert_eq!(concrete.element(&known, &at).unwrap().value, whole.value);
            }
        }
    }
}

#[test]
fn an_error_in_a_part_is_that_of_the_statement() {
    let types = tensors(&[("i", "i32[N]"), ("x", "f32[N]"), ("y", "f32[N, W]")]);
    let formula = Formula::parse("y[n,w] = x[i[n]+0*w]", &types).unwrap();
    let concrete = formula.at(&dims(&[("N", 300), ("W", 3000)])).unwrap();
    let mut known = inputs(&formula, &concrete, || 1.0);
    known.get_mut("i").unwrap()[299] = 300.0;
    let error = concrete.evaluate(&known, &["y"]).unwrap_err().to_string();
    assert!(error.contains("`i[299]` is 300"), "{error}");
}

#[test]
fn elements_are_computed_where_a_tensor_on_the_way_is_too_large_as_a_whole() {
    let types = tensors(&[
        ("a", "f32[N, N]"),
        ("b", "f32[N, N]"),
        ("c", "f32[N, N]"),
        ("e", "f32[N, N]"),
        ("d", "f32[N, N]"),
    ]);
    let text = "c[i,j] = sum[k] a[i,k] * b[k,j]; d[i,j] = sum[k] c[i,k] * e[k,j]";
    let formula = Formula::parse(text, &types).unwrap();
    let size = 1 << 10;
    let concrete = formula.at(&dims(&[("N", size)])).unwrap();
    let mut random = Random::new(3);
    let known = inputs(&formula, &concrete, || random.integer(-2, 2));
    let refused = concrete.evaluate(&known, &["d"]).unwrap_err().to_string();
    assert!(refused.contains("`c` would take 1073741824 iterations"), "{refused}");
    let at = vec![vec![5, 7], vec![5, 1000], vec![1023, 0]];
    let n = size as usize;
    let product = |row: &[f64], right: &[f64], j: usize| -> f64 {
        row.iter().enumerate().map(|(k, x)| x * right[k * n + j]).sum()
    };
    let found = concrete.elements(&known, "d", &at).unwrap();
    for (coords, found) in at.iter().zip(found) {
        let (i, j) = (coords[0] as usize, coords[1] as usize);
        let row: Vec<f64> =
            (0..n).map(|j| product(&known["a"][i * n..][..n], &known["b"], j)).collect();
        assert_eq!(found.value, product(&row, &known["e"], j), "{coords:?}");
    }
    // Elements of several tensors at once are those of each.
    let wanted = [("c", &at[1..]), ("a", &at[..1]), ("d", &at[..])];
    let together = concrete.elements_of(&known, &wanted).unwrap();
    for ((tensor, at), together) in wanted.into_iter().zip(together) {
        assert_eq!(concrete.elements(&known, tensor, at).unwrap(), together, "{tensor}");
    }
    // Two rows of c, and three sums.
    assert_eq!(concrete.steps_of(&known, "d", &at).unwrap(), 2 * (1 << 20) + 3 * (1 << 10));
    // More than an eighth of its rows is computed as a whole, or not at all.
    let at: Vec<Vec<i64>> = (0..200).map(|i| vec![5 * i, 7]).collect();
    assert_eq!(concrete.steps_of(&known, "d", &at).unwrap(), u64::MAX);
    assert!(concrete.elements(&known, "d", &at).is_err());
}
