use super::*;
use crate::case::{CaseArg, CaseLaunch, Role};
use crate::fixture::{MEAN, changed};
use indexmath::Values;
use spec::{Data, DataKind, Spec};
use tensor::Tensor;

fn spec(replacements: &[(&str, &str)]) -> Spec {
    Spec::parse(&changed(replacements), Path::new("puzzles/01_x.toml"))
        .unwrap_or_else(|failure| panic!("{}", failure.render(false)))
}

fn case(spec: &Spec, test: &str, seed: u64) -> Case {
    build_case(spec, spec.test(test).unwrap(), seed).unwrap()
}

fn values(case: &Case, name: &str) -> Vec<f64> {
    match &case.tensors.iter().find(|t| t.tensor.name == name).unwrap().role {
        Role::Input(values) => values.clone(),
        Role::Result | Role::Workspace => panic!("{name} is a result"),
        Role::Output(values) | Role::InPlace { expected: values, .. } => {
            values.iter().map(|v| v.value).collect()
        }
    }
}

fn bounds(case: &Case, name: &str) -> Vec<f64> {
    match &case.tensors.iter().find(|t| t.tensor.name == name).unwrap().role {
        Role::Input(_) | Role::Result | Role::Workspace => panic!("{name} is not computed"),
        Role::Output(values) | Role::InPlace { expected: values, .. } => {
            values.iter().map(|v| v.bound).collect()
        }
    }
}

/// Replacements that turn `SPEC` into a backward puzzle with a check by numerical gradient.
const BACKWARD: [(&str, &str); 4] = [
    ("\"x\", \"w\", \"y\", \"B\"", "\"grad(y)\", \"w\", \"grad(x)\", \"B\""),
    ("B*N_out", "B*N"),
    ("expect = { y = [321, 432, 543] }", "expect = { \"grad(x)\" = [0, 1, 12, 120, 200] }"),
    ("data   = { x = [1, 2, 3, 4, 5], w", "data = { \"grad(y)\" = \"arange\", w"),
];

#[test]
fn a_case_holds_what_the_launches_take() {
    let spec = spec(&[]);
    verify(&spec).unwrap();
    let case = case(&spec, "tiny", 5);
    assert_eq!(values(&case, "x"), [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(values(&case, "y"), [321.0, 432.0, 543.0]);
    assert_eq!(bounds(&case, "y"), [0.0; 3]);
    let names: Vec<&str> = case.tensors.iter().map(|t| t.tensor.name.as_str()).collect();
    assert_eq!(names, ["x", "w", "y"]);
    let CaseLaunch { kernel, grid, block, shared, args, .. } = &case.launches[0];
    assert_eq!((kernel.as_str(), grid, block, shared), ("correlate", &[1; 3], &[64, 1, 1], &0));
    let [a, b, c, n @ ..] = &args[..] else { panic!() };
    assert_eq!([a, b, c], [&CaseArg::Tensor(0), &CaseArg::Tensor(1), &CaseArg::Tensor(2)]);
    assert_eq!(n, [CaseArg::Int(1), CaseArg::Int(5), CaseArg::Int(3)]);
}

#[test]
fn random_integers_are_exact_and_repeat_with_their_seed() {
    let spec = spec(&[]);
    let (one, again, other) =
        (case(&spec, "batch", 1), case(&spec, "batch", 1), case(&spec, "batch", 2));
    assert_eq!(values(&one, "x"), values(&again, "x"));
    assert_ne!(values(&one, "x"), values(&other, "x"));
    assert!(values(&one, "x").iter().all(|&v| v != 0.0 && v.abs() <= 9.0 && v.fract() == 0.0));
    assert!(values(&one, "x").iter().any(|v| v.abs() > 5.0));
    assert_eq!(bounds(&one, "y"), vec![0.0; 24]);
}

#[test]
fn integers_shrink_until_half_precision_is_exact() {
    // 8,000 products of ±9 add up to some 2,600 either way, beyond the 2,048 up to which f16 counts.
    let half = [("y = \"f32", "y = \"f16"), ("N = 9, F = 2", "N = 8010, F = 8000")];
    let spec = spec(&half);
    let case = case(&spec, "batch", 1);
    let largest = values(&case, "x").iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    assert!(largest < 9.0, "{largest}");
    assert!(bounds(&case, "y").iter().all(|&b| b == 0.0));
}

#[test]
fn normal_values_are_floats_and_have_bounds() {
    let spec = spec(&[("name = \"batch\"", "name = \"batch\"\ndata = \"normal\"")]);
    let case = case(&spec, "batch", 1);
    assert!(values(&case, "x").iter().all(|&v| f64::from(v as f32) == v && v.fract() != 0.0));
    assert!(bounds(&case, "y").iter().all(|&b| b > 0.0 && b < 1e-4));
}

#[test]
fn a_tolerance_replaces_the_bound() {
    let spec = spec(&[(
        "name = \"batch\"",
        "name = \"batch\"\ntolerance = { rtol = 0.01, atol = 0.5, reason = \"a test\" }",
    )]);
    let case = case(&spec, "batch", 1);
    for (value, bound) in values(&case, "y").iter().zip(bounds(&case, "y")) {
        assert_eq!(bound, 0.5 + 0.01 * value.abs());
    }
}

#[test]
fn where_rounding_has_no_bound_a_tolerance_has() {
    // The rounding of x*x alone, up to 0.06, is more than what is under the root.
    let unbounded = [
        ("x[b,i+f] * w[f]", "sqrt(x[b,i+f] * x[b,i+f] - 1001000.2) * w[f]"),
        (
            "name = \"batch\"",
            "name = \"batch\"\ndata = { x = { kind = \"normal\", shift = 1000.5, scale = 1e-9 } }",
        ),
    ];
    let text = |spec: Spec| {
        let test = spec.tests.iter().find(|test| test.name == "batch").unwrap();
        build_case(&spec, test, 1)
            .map(|_| ())
            .map_err(|failure| failure.diagnostics[0].title.clone())
    };
    let title = text(spec(&unbounded)).unwrap_err();
    assert!(title.ends_with("but rounding may change it by any amount"), "{title}");
    let mut with_tolerance = unbounded.to_vec();
    with_tolerance[1].1 = "name = \"batch\"\ndata = { x = { kind = \"normal\", shift = 1000.5, scale = 1e-9 } }\ntolerance = { rtol = 0.01, atol = 0.5, reason = \"a test\" }";
    text(spec(&with_tolerance)).unwrap();
}

#[test]
fn every_kind_of_data_is_made() {
    let spec = spec(&[(
        "name = \"batch\"",
        "name = \"batch\"\ndata = { x = \"shuffled-arange\", w = \"arange\" }",
    )]);
    let case = case(&spec, "batch", 1);
    assert_eq!(values(&case, "w"), [0.0, 1.0]);
    let mut x = values(&case, "x");
    assert_ne!(x[..4], [0.0, 1.0, 2.0, 3.0]);
    x.sort_by(f64::total_cmp);
    assert!(x.iter().enumerate().all(|(i, &v)| v == i as f64));
}

#[test]
fn a_numerical_gradient_of_integers_is_exact() {
    let mut changes = BACKWARD.to_vec();
    changes.push((
        "name = \"batch\"",
        "name = \"batch\"\ncheck = { kind = \"numerical-gradient\", epsilon = 0.5, rtol = 1e-2 }",
    ));
    let numerical = spec(&changes);
    verify(&numerical).unwrap();
    let numerical = case(&numerical, "batch", 3);
    let derived = case(&spec(&BACKWARD), "batch", 3);
    assert_eq!(values(&numerical, "grad(x)"), values(&derived, "grad(x)"));
    assert_eq!(bounds(&numerical, "grad(x)"), vec![0.0; 27]);
}

#[test]
fn a_numerical_gradient_of_normal_values_adds_only_its_own_error() {
    let mut changes = BACKWARD.to_vec();
    changes.push((
        "name = \"batch\"",
        "name = \"batch\"\ndata = \"normal\"\ncheck = { kind = \"numerical-gradient\", epsilon = 0.5, rtol = 0.1 }",
    ));
    let numerical = case(&spec(&changes), "batch", 3);
    changes[4].1 = "name = \"batch\"\ndata = \"normal\"";
    let derived = case(&spec(&changes), "batch", 3);
    for ((n, d), (nb, db)) in values(&numerical, "grad(x)")
        .iter()
        .zip(values(&derived, "grad(x)"))
        .zip(bounds(&numerical, "grad(x)").iter().zip(bounds(&derived, "grad(x)")))
    {
        assert!((n - d).abs() < 1e-12);
        assert!((nb - db).abs() < 1e-12);
    }
}

#[test]
fn a_numerical_gradient_is_for_inputs() {
    let mut changes = BACKWARD.to_vec();
    changes[0].1 = "\"grad(y)\", \"w\", \"grad(h)\", \"B\"";
    changes[2].1 = "";
    changes.extend([
        ("x = \"f32[B, N]\"", "x = \"f32[B, N]\"\nh = \"f32[B, N]\""),
        ("\"y[b,i] = sum[f] x", "\"h[b,i] = 3 * x[b,i]; y[b,i] = sum[f] h"),
        (
            "name = \"batch\"",
            "name = \"batch\"\ncheck = { kind = \"numerical-gradient\", epsilon = 0.5, rtol = 1e-2 }",
        ),
    ]);
    let failure = Spec::parse(&changed(&changes), Path::new("x.toml")).unwrap_err();
    let title = &failure.diagnostics[0].title;
    assert_eq!(title, "`h` is computed, so it cannot be perturbed");
}

#[test]
fn a_numerical_gradient_is_for_small_tests() {
    let mut changes = BACKWARD.to_vec();
    changes.push((
        "name = \"batch\"\ndims = { B = 3, N = 9",
        "name = \"batch\"\ncheck = { kind = \"numerical-gradient\", epsilon = 0.5, rtol = 1e-2 }\n\
         dims = { B = 3, N = 4000",
    ));
    let failure = Spec::parse(&changed(&changes), Path::new("x.toml")).unwrap_err();
    let title = &failure.diagnostics[0].title;
    assert!(title.starts_with("the numerical gradient takes 575"), "{title}");
}

#[test]
fn the_workbooks_specs_hold_and_their_integers_are_exact() {
    let puzzles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../puzzles");
    let mut tests = 0;
    for entry in std::fs::read_dir(puzzles).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let spec = load(&path, &path).unwrap_or_else(|failure| panic!("{}", failure.render(false)));
        for test in &spec.tests {
            let rounds = ["exp(", "log(", "/"].iter().any(|f| spec.text.contains(&format!(" {f}")))
                || test.data.values().any(|data| match data {
                    Data::Kind(kind) => matches!(kind, DataKind::Normal { .. }),
                    Data::Values(values) => values.iter().any(|value| value.fract() != 0.0),
                });
            if rounds {
                continue;
            }
            for tensor in &build_case(&spec, test, 11).unwrap().tensors {
                if let Role::Output(values) = &tensor.role {
                    assert_eq!(values.len(), tensor.tensor.len());
                    assert!(values.iter().all(|v| v.bound == 0.0), "{}", test.name);
                }
            }
            tests += 1;
        }
    }
    assert!(tests >= 29, "{tests}");
}

fn verify_error(replacements: &[(&str, &str)]) -> String {
    match verify(&spec(replacements)) {
        Ok(()) => "no error".into(),
        Err(failure) => failure.render(false),
    }
}

#[test]
fn values_by_hand_are_compared_with_the_formula() {
    insta::assert_snapshot!(verify_error(&[("321, 432, 543", "321, 423, 543")]), @r#"
    error: y[0, 1] is expected to be 423, the formula gives 432
      --> puzzles/01_x.toml:25:22
       |
    13 | forward = "y[b,i] = sum[f] x[b,i+f] * w[f]"
       |           --------------------------------- the formula
    ...
    25 | expect = { y = [321, 423, 543] }
       |                      ^^^
       |
       = help: compute this element again by hand: one of the two is wrong
    "#);
    insta::assert_snapshot!(verify_error(&[("x = [1, 2, 3, 4, 5], ", "")]), @r#"
    error: y[0, 0] is expected to be 321, the formula gives 284
      --> puzzles/01_x.toml:25:17
       |
    13 | forward = "y[b,i] = sum[f] x[b,i+f] * w[f]"
       |           --------------------------------- the formula
    ...
    25 | expect = { y = [321, 432, 543] }
       |                 ^^^
       |
       = help: it depends on data that are drawn again in each run
       = help: give the values of all inputs that it depends on
    "#);
}

#[test]
fn values_by_hand_that_rounding_swallows_are_refused() {
    let cancelling = [
        ("x = [1, 2, 3, 4, 5], w = [1, 10, 100]", "x = [1, 2, 1, 2, 1], w = [1e9, 1, -1e9]"),
        ("321, 432, 543", "2, 1, 2"),
    ];
    insta::assert_snapshot!(verify_error(&cancelling), @r#"
    error: y[0, 0] is expected to be 2, and rounding may change it by 3.6e2
      --> puzzles/01_x.toml:25:17
       |
    25 | expect = { y = [2, 1, 2] }
       |                 ^ a kernel that stores 0 here would pass
       |
       = help: give the test other data, such as "integers", or fewer terms
    "#);
}

#[test]
fn outputs_must_tell_their_elements_apart() {
    insta::assert_snapshot!(verify_error(&[
        ("data   = { x = [1, 2, 3, 4, 5], w = [1, 10, 100] }\nexpect = { y = [321, 432, 543] }", "data = \"ones\""),
        ("name = \"batch\"", "name = \"batch\"\ndata = { w = \"zeros\" }"),
    ]), @r#"
    error: in every test, all elements of `y` are equal
      --> puzzles/01_x.toml:13:11
       |
    13 | forward = "y[b,i] = sum[f] x[b,i+f] * w[f]"
       |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: a kernel that mixes them up would pass: give one test data that distinguish them
    "#);
}

/// Layer normalisation of two rows, around 0 and around `far`, with a spread of 0.1.
fn normalised(centred: bool, far: f64, more: &str) -> Spec {
    let row = [0.31, -1.2, 0.77, 1.6, -0.4, -0.9, 0.2, 0.05];
    let x = [0.0, far].map(|mean| row.map(|v| format!("{}", (mean + 0.1 * v) as f32)).join(", "));
    let (declared, statement, factor) = if centred {
        ("d = \"f32[B, N]\"", "d[b,i] = x[b,i] - mean[b];", "d[b,i]")
    } else {
        ("", "", "(x[b,i] - mean[b])")
    };
    let text = format!(
        r#"title = "Row"
[dims]
free = ["B", "N"]
[tensors]
x = "f32[B, N]"
mean = "f32[B]"
{declared}
rstd = "f32[B]"
[math]
forward = "mean[b] = (sum[i] x[b,i]) / index(N); {statement} rstd[b] = rsqrt((sum[i] {factor} * {factor}) / index(N))"
[[launch]]
kernel = "row"
args = ["x", "rstd", "B", "N"]
block = 32
grid = 1
[[test]]
name = "small"
dims = {{ B = 2, N = 8 }}
data = {{ x = [{}, {}] }}
{more}
"#,
        x[0], x[1]
    );
    Spec::parse(&text, Path::new("x.toml")).unwrap_or_else(|f| panic!("{}", f.render(false)))
}

#[test]
fn a_difference_has_a_finite_bound_far_from_zero() {
    for tensor_of_its_own in [true, false] {
        differences_are_bounded(&case(&normalised(tensor_of_its_own, 1000.0, ""), "small", 1));
    }
}

fn differences_are_bounded(case: &Case) {
    let (values, bounds) = (values(case, "rstd"), bounds(case, "rstd"));
    // A spread of 0.084 around 1000: 7 of the 24 bits of x are left, so two digits.
    assert!((values[0] - values[1]).abs() < 0.1, "{values:?}");
    assert!(bounds[0] < 1e-4 && bounds[1] > 0.01 && bounds[1] < 0.2, "{bounds:?}");
    let Role::Input(x) = &case.tensors[0].role else { panic!("x is given") };
    let x: Vec<f32> = x[8..].iter().map(|&x| x as f32).collect();
    let mean = x.iter().sum::<f32>() / 8.0;
    let right = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 8.0;
    let off = |var: f32| (f64::from(1.0 / var.sqrt()) - values[1]).abs();
    assert!(off(right) <= bounds[1], "{}", off(right));
    // The mean of squares less the square of the mean keeps no digit.
    let wrong = x.iter().map(|x| x * x).sum::<f32>() / 8.0 - mean * mean;
    assert!(off(wrong).is_nan() || off(wrong) > bounds[1], "{}", off(wrong));
}

#[test]
fn what_rounding_may_change_by_any_amount_is_no_test() {
    let refused = |spec: &Spec| build_case(spec, &spec.tests[0], 1).unwrap_err().render(false);
    for tensor_of_its_own in [true, false] {
        let words = refused(&normalised(tensor_of_its_own, 1e6, ""));
        assert!(words.contains("rstd[") && words.contains("by any amount"), "{words}");
    }
    // The author may know better.
    let by_hand = "tolerance = { rtol = 0.1, atol = 0.0, reason = \"two digits are left\" }";
    let case = case(&normalised(false, 1e6, by_hand), "small", 1);
    assert!(bounds(&case, "rstd")[1] < 2.0);
}

/// Puzzle 13 is too large for `check = "numerical-gradient"`, which perturbs every element. A few elements of each
/// parameter show whether a layer's gradient is derived correctly.
#[test]
fn the_gradients_of_lenet_are_those_of_its_loss() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../puzzles/13_lenet_backward.toml");
    let spec = Spec::load(&path, &path).unwrap();
    let test = spec.test("lenet_backward_gradient_shapes").unwrap();
    // Real numbers, so that no ReLU and no maximum is at its kink; of a size that leaves the loss of order 1.
    let mut state = 13_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    let mut known = Values::new();
    for tensor in &test.inputs {
        let fan_in: usize = tensor.shape.iter().skip(1).product();
        let scale = if tensor.name.ends_with("_w") { 1.0 / (fan_in as f64).sqrt() } else { 0.5 };
        let values = match tensor.name.as_str() {
            "labels" => (0..10).map(|class| f64::from(u8::from(class == 3))).collect(),
            "grad(losses)" => vec![1.0],
            _ => (0..tensor.len()).map(|_| scale * uniform()).collect(),
        };
        known.insert(tensor.name.clone(), values);
    }
    let parameters: Vec<&Tensor> = test
        .inputs
        .iter()
        .filter(|tensor| tensor.name.ends_with("_w") || tensor.name.ends_with("_b"))
        .collect();
    assert_eq!(parameters.len(), 10);
    let grad = |tensor: &Tensor| format!("grad({})", tensor.name);
    let names: Vec<String> = parameters.iter().map(|tensor| grad(tensor)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // The backward pass starts from the activations, as in the puzzle.
    let given = test.given(&spec.tensors);
    let mut with_given = known.clone();
    for (name, values) in test.formula.evaluate(&known, &given).unwrap() {
        with_given.insert(name, values.iter().map(|a| a.value).collect());
    }
    let derived = test.formula.evaluate(&with_given, &names).unwrap();
    let epsilon = 1e-5;
    for tensor in parameters {
        let gradient: Vec<f64> = derived[&grad(tensor)].iter().map(|a| a.value).collect();
        let largest = gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
        assert!(largest > 1e-3, "{}: {largest}", tensor.name);
        for part in 1..=3 {
            let at = tensor.len() * part / 4;
            let loss = |step: f64| {
                let mut moved = known.clone();
                moved.entry(tensor.name.clone()).and_modify(|values| values[at] += step);
                test.formula.evaluate(&moved, &["losses"]).unwrap()["losses"][0].value
            };
            let numerical = (loss(epsilon) - loss(-epsilon)) / (2.0 * epsilon);
            let apart = (numerical - gradient[at]).abs();
            assert!(
                apart <= 1e-5 * largest,
                "{}: {numerical}, not {}",
                tensor.element_name(at),
                gradient[at]
            );
        }
    }
}

/// What flows back through the steps is a tensor that no launch has.
#[test]
fn a_tensor_that_steps_compute_may_be_an_output_with_a_gradient() {
    let text = "title = \"Filter\"\n[dims]\nfree = [\"T\", \"N\"]\n\
                [tensors]\nx = \"f32[T, N]\"\na = \"f32[N]\"\ns = \"f32[T + 1, N]\"\n\
                [math]\nforward = \"s[0,i] = 0; s[t+1,i] = a[i] * s[t,i] + sum[j <= i] x[t,j]\"\n\
                [[launch]]\nkernel = \"filter_bwd\"\nargs = [\"a\", \"grad(s)\", \"grad(x)\", \"T\", \"N\"]\nblock = 32\ngrid = 1\n\
                [[test]]\nname = \"tiny\"\nabout = \"By hand.\"\ndims = { T = 2, N = 2 }\n\
                [test.data]\na = [2, 3]\n\"grad(s)\" = [9, 9, 1, 10, 100, 1000]\n";
    let spec =
        Spec::parse(text, Path::new("x.toml")).unwrap_or_else(|f| panic!("{}", f.render(false)));
    verify(&spec).unwrap();
    // The last step has 100 and 1000; the first 1 + 2 * 100 and 10 + 3 * 1000.
    assert_eq!(values(&case(&spec, "tiny", 1), "grad(x)"), [3211.0, 3010.0, 1100.0, 1000.0]);
}

/// A kernel that computes `s` by itself rounds it, though another one is given it.
#[test]
fn what_one_kernel_is_given_is_not_exact_for_the_others() {
    let text = r#"
title = "t"
[dims]
free = ["N"]
[tensors]
x = "f32[N]"
s = "f32[N]"
y = "f32[N]"
z = "f32[N]"
[math]
forward = """
s[i] = exp(x[i])
y[i] = 2 * s[i]
z[i] = 2 * s[i]
"""
[[launch]]
kernel = "a"
args = ["x", "y"]
block = 5
grid = 1
[[launch]]
kernel = "b"
args = ["given(s)", "z"]
block = 5
grid = 1
[[test]]
name = "t"
dims = { N = 5 }
data = "normal"
"#;
    let spec = Spec::parse(text, Path::new("x.toml")).unwrap();
    let case = build_case(&spec, &spec.tests[0], 0).unwrap();
    let (y, z) = (case.expected("y").unwrap(), case.expected("z").unwrap());
    assert!(y.iter().zip(z).all(|(y, z)| y.bound > z.bound), "{y:?} {z:?}");
}

#[test]
fn launches_share_one_undefined_buffer() {
    let spec =
        Spec::parse(MEAN, Path::new("x.toml")).unwrap_or_else(|f| panic!("{}", f.render(false)));
    let case = build_case(&spec, &spec.tests[0], 1).unwrap();
    let [x, partial, mean] = &case.tensors[..] else { panic!("{:?}", case.tensors) };
    assert!(matches!(partial.role, Role::Workspace));
    assert_eq!((&*partial.tensor.shape, partial.start(), partial.wanted()), (&[4][..], None, None));
    assert!(matches!((&x.role, &mean.role), (Role::Input(_), Role::Output(_))));
    assert_eq!(case.launches[0].args[1], case.launches[1].args[0]);
    assert_eq!(case.bit_equal, [2]);
}

#[test]
fn a_gate_counts_the_launch_behind_those_that_run_before() {
    let gate =
        "\n[[gate]]\nbound = \"barriers == 0\"\nabout = \"none\"\n\n[[test]]\nname   = \"tiny\"";
    let spec = spec(&[
        (
            "dims = { B = 3, N = 9, F = 2 }",
            "dims = { B = 3, N = 9, F = 2 }\nbefore = { B = 1, N = 4, F = 2 }",
        ),
        ("\n[[test]]\nname   = \"tiny\"", gate),
    ]);
    let launch = |test: &str| {
        let case = case(&spec, test, 1);
        (case.launches.len(), case.gates[0].launch)
    };
    assert_eq!(launch("tiny"), (1, 0));
    assert_eq!(launch("batch"), (2, 1));
}
