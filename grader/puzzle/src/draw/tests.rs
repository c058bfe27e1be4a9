use super::permitted::Infinite;
use super::*;
use crate::case::{CaseArg, CaseLaunch};
use crate::fixture::changed;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// What a puzzle draws with a seed, which several tests look at, and which takes some tenths of a second.
fn plans_of(name: &str, seed: u64) -> Arc<Vec<Plan>> {
    type Drawn = BTreeMap<(String, u64), Arc<OnceLock<Arc<Vec<Plan>>>>>;
    static DRAWN: Mutex<Drawn> = Mutex::new(BTreeMap::new());
    let of_seed = Arc::clone(DRAWN.lock().unwrap().entry((name.to_owned(), seed)).or_default());
    Arc::clone(of_seed.get_or_init(|| Arc::new(plans(&puzzle(name), seed))))
}

/// The case of a plan whose data are of this flavour, and not ordinary ones in their place.
fn build_of(spec: &Spec, plan: &Plan, flavour: Flavour, seed: u64) -> Option<Case> {
    let built = (plan.flavour == flavour).then(|| build(spec, plan, seed)).flatten();
    built.filter(|(_, of)| *of == flavour).map(|(case, _)| case)
}

fn puzzle(name: &str) -> Spec {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../puzzles");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    Spec::parse(&text, Path::new("x.toml")).unwrap_or_else(|f| panic!("{}", f.render(false)))
}

#[test]
fn the_same_seed_gives_the_same_cases() {
    let spec = puzzle("02_matmul.toml");
    assert_eq!(plans(&spec, 7), plans(&spec, 7));
    assert_ne!(plans(&spec, 7), plans(&spec, 8));
    let plan = &plans(&spec, 7)[3];
    let values = |seed| {
        let case = build(&spec, plan, seed).unwrap().0;
        case.tensors.iter().map(|t| t.start().map(<[f64]>::to_vec)).collect::<Vec<_>>()
    };
    assert_eq!(values(7), values(7));
    assert_ne!(values(7), values(8));
}

#[test]
fn sizes_keep_the_constraints_and_some_are_long() {
    for seed in 0..3 {
        let plans = plans_of("07_conv_forward.toml", seed);
        assert!(plans.len() > 50);
        let size = |plan: &Plan, name: &str| plan.free[name];
        assert!(plans.iter().all(|p| size(p, "F") <= size(p, "H").min(size(p, "W"))));
        for name in ["batch", "C_in", "H", "W", "C_out"] {
            assert!(plans.iter().any(|p| size(p, name) > 1024), "{name}");
        }
        assert!(plans.iter().any(|p| size(p, "F") > 5));
        assert!(plans.iter().any(|p| p.free.values().any(|&size| size > 9_000)));
        for remainder in [0, 1, 255] {
            let total = |p: &Plan| {
                let (h, w) = (p.free["H"] - p.free["F"] + 1, p.free["W"] - p.free["F"] + 1);
                p.free["batch"] * p.free["C_out"] * h * w
            };
            let around = |p: &&Plan| total(p) > 200 && total(p) % 256 == remainder;
            assert!(plans.iter().any(|p| around(&p)), "{remainder}");
        }
    }
}

#[test]
fn each_pair_of_sizes_is_equal_where_the_third_is_not() {
    for seed in 0..20 {
        let plans = plans_of("02_matmul.toml", seed);
        let small: Vec<_> = plans.iter().filter(|p| p.free["K"] < 19).collect();
        for [a, b, other] in [["M", "K", "N"], ["M", "N", "K"], ["K", "N", "M"]] {
            let shows = |p: &Plan| p.free[a] == p.free[b] && p.free[a] != p.free[other];
            assert!(small.iter().any(|p| shows(p)), "{seed}: {a} = {b}");
        }
    }
}

#[test]
fn no_tensor_is_reached_by_an_index_of_16_bits_in_all_cases() {
    for (name, tensors) in [
        ("01_vector_add.toml", &["A", "B", "C"][..]),
        ("02_matmul.toml", &["A", "B", "C"]),
        // The input costs too much: all its gradients are computed with it.
        ("06_fc_backward.toml", &["grad(output)", "weights"]),
    ] {
        let spec = puzzle(name);
        for seed in 0..3 {
            let mut most: BTreeMap<String, usize> = BTreeMap::new();
            for plan in plans_of(name, seed).iter() {
                let drawn = drawn(&spec).unwrap();
                let Some(test) = test(&spec, drawn, plan) else { continue };
                for buffer in &test.buffers {
                    let most = most.entry(buffer.tensor.name.clone()).or_default();
                    *most = buffer.tensor.len().max(*most);
                }
            }
            assert!(tensors.iter().all(|&name| most[name] > 1 << 16), "{name}, {seed}: {most:?}");
        }
    }
}

/// The inputs of a spec that may hold NaN, and those that may hold the largest numbers.
fn allowed(name: &str) -> (Vec<String>, Vec<String>) {
    let spec = puzzle(name);
    let test = spec.tests.iter().max_by_key(|test| test.calls.len()).unwrap();
    let permitted = Permitted::of(&spec, test);
    let with = |is: fn(&Allowed) -> bool| {
        let inputs = test.inputs.iter().map(|t| t.name.clone());
        inputs.filter(|name| is(&permitted.for_input(&spec, name))).collect::<Vec<_>>()
    };
    (with(|a| a.nan), with(|a| a.extreme))
}

#[test]
fn special_values_follow_from_the_formula() {
    // Products and sums: any order gives NaN.
    assert_eq!(allowed("02_matmul.toml").0, ["A", "B"]);
    // Where the gradient lies outside, a kernel may multiply the filter by 0 or skip it.
    assert_eq!(allowed("10_conv_backward_input.toml").0, ["input", "grad(output)"]);
    // What a maximum makes of NaN is for the spec to say; a gradient is only copied.
    assert_eq!(allowed("08_maxpool.toml").0, ["grad(output)"]);
    // A denominator, an exponential.
    assert_eq!(allowed("05_softmax_ce.toml").1, [""; 0]);
    assert_eq!(allowed("08_maxpool.toml").1, ["input", "grad(output)"]);
}

/// The message for puzzle 07 with this `[draw]`.
fn message(draw: &str) -> String {
    message_of("07_conv_forward.toml", draw)
}

fn message_of(file: &str, draw: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../puzzles");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let tests = text.split("[draw]").next().unwrap();
    match Spec::parse(&format!("{tests}[draw]\n{draw}\n"), Path::new("x.toml")) {
        Ok(_) => String::new(),
        Err(failure) => failure.render(false),
    }
}

#[test]
fn mistakes_in_a_draw_are_named() {
    let dims = "dims = { batch = [1, 2], C_in = [1, 2], H = [1, 9], W = [1, 9], C_out = [1, 2], F = [1, 3] }";
    let with = |more: &str| format!("{dims}\n{more}");
    assert_eq!(message(&with("where = [\"F <= H\", \"F <= W\"]")), "");
    assert_eq!(message("fixed = \"as in the paper\""), "");
    for (draw, title) in [
        ("", "[draw] has no `dims`"),
        ("fixed = \" \"", "the reason is missing"),
        ("dims = { batch = [1, 2] }", "`C_in` has no range"),
        (
            dims.replace("batch = [1, 2]", "batch = [2, 1]").as_str(),
            "`batch` cannot be from 2 to 1",
        ),
        (dims.replace("batch", "bach").as_str(), "`bach` is not a free size"),
        (with("longest = { F = 2 }").as_str(), "`F` cannot be 2 where it is long"),
        (with("where = [\"F\"]").as_str(), "this compares nothing"),
        (with("where = [\"F <= Q\"]").as_str(), "unknown size `Q`"),
        (
            with("where = [\"F > H\", \"F < H\"]").as_str(),
            "no sizes of these ranges keep the constraints",
        ),
        (with("data = { inputs = \"ones\" }").as_str(), "`inputs` is not an input of the formula"),
        (with("data_with.conv = {}").as_str(), "no launch has a kernel `conv`"),
        (with("fixed = \"why\"").as_str(), "nothing is drawn where the shapes are fixed"),
    ] {
        assert!(message(draw).contains(title), "{draw}: {}", message(draw));
    }
    let endless = "dims = { C = [1, 3], H = [1, 9], W = [1, 9], M = [1, 3], K = [1, 3] }\nlongest = { K = 7 }";
    let message = message_of("21_conv_halo.toml", endless);
    assert!(message.contains("`C` has no end, so the constant `c_filters`"), "{message}");
}

/// A histogram, in which data choose the elements.
fn histogram(data: &str) -> Spec {
    let text = format!(
        r#"
title = "histogram"
[dims]
free = ["E", "N"]
[tensors]
k = "i32[E]"
v = "f32[E]"
y = "f32[N]"
[math]
forward = "y[k[e]] += v[e]"
[[launch]]
kernel = "f"
args = ["k", "v", "y", "E", "N"]
block = 64
grid = "ceil_div(E, 64)"
[[test]]
name = "t"
dims = {{ E = 75, N = 5 }}
data = {{ k = {{ kind = "integers", min = 0, max = "N - 1" }} }}
[draw]
dims = {{ E = [1, 70], N = [1, 30] }}
{data}
"#
    );
    Spec::parse(&text, Path::new("x.toml")).unwrap()
}

/// A kernel that computes each element by itself looks at all terms for it.
#[test]
fn two_sizes_are_long_only_if_a_gathering_kernel_can_take_it() {
    let spec = histogram("");
    let mut longest = 0;
    for seed in 0..20 {
        for plan in plans(&spec, seed) {
            let (terms, elements) = (plan.free["E"], plan.free["N"]);
            assert!(terms * elements < 1 << 23, "{seed}: {terms} terms, {elements} elements");
            longest = longest.max(terms);
        }
    }
    assert!(longest > 1 << 16);
}

/// Sums of which each element has a term more cost too much where a row is past 1,024.
#[test]
fn what_is_carried_from_tile_to_tile_is_carried_twice() {
    let spec = r#"title = "Running sums"
[dims]
free = ["R", "N"]
[tensors]
x = "f32[R, N]"
y = "f32[R, N]"
[math]
forward = "y[r,i] = sum[j <= i] x[r,j]"
[[launch]]
kernel = "scan"
args = ["x", "y", "N"]
block = 256
grid = "R"
[[test]]
name = "a"
dims = { R = 2, N = 7 }
[draw]
dims = { R = [1, 4], N = [1, 40] }
"#;
    let spec = Spec::parse(spec, Path::new("x.toml")).unwrap();
    for seed in 0..3 {
        assert!(plans(&spec, seed).iter().any(|plan| plan.free["N"] > 3 * 256), "{seed}");
    }
}

#[test]
fn a_case_that_is_not_possible_has_a_reason() {
    let faults = |spec: &Spec| {
        let faults = plans(spec, 0).into_iter().filter_map(|plan| fault(spec, &plan, 0));
        faults.map(|failure| failure.render(false)).collect::<Vec<_>>()
    };
    let missing = faults(&histogram(""));
    assert!(missing.len() > 40 && missing[0].contains("on axis 0 of `y`"), "{missing:?}");
    let data = "data = { k = { kind = \"integers\", min = 0, max = \"N - 1\" } }";
    assert_eq!(faults(&histogram(data)), [""; 0]);
}

#[test]
fn an_output_has_fewer_tiles_than_its_image_where_there_are_several() {
    for seed in 0..20 {
        let tells = |p: &Plan| {
            let (rows, columns) = (p.free["H"] - p.free["K"] + 1, p.free["W"] - p.free["K"] + 1);
            rows > 16 && (columns - 1) / 16 < (p.free["W"] - 1) / 16
        };
        let plans = plans_of("16_conv_tiled_grid.toml", seed);
        assert!(plans.iter().any(tells), "{seed}");
    }
}

/// A tile that is not set to 0 past the end of the sum keeps values of the tile before; times the zeros of the other tile they
/// change no finite result.
#[test]
fn what_a_tile_keeps_is_infinite_in_a_finite_row() {
    let spec = puzzle("18_sgemm_tiled.toml");
    for seed in 0..20 {
        let shows = |plan: &Plan| {
            let [rows, columns, terms] = ["M", "N", "K"].map(|name| plan.free[name] as usize);
            if plan.flavour != Flavour::Infinite || terms < 16 || terms % 16 == 0 {
                return false;
            }
            let case = build(&spec, plan, seed).unwrap().0;
            let (left, right) = (start(&case, "A"), start(&case, "B"));
            let kept = terms - 16..terms / 16 * 16;
            let product = |row: usize, column: usize| -> f64 {
                (0..terms).map(|at| left[row * terms + at] * right[at * columns + column]).sum()
            };
            (0..rows).any(|row| {
                kept.clone().any(|at| left[row * terms + at].is_infinite())
                    && (0..columns).any(|column| !product(row, column).is_nan())
            })
        };
        assert!(plans(&spec, seed).iter().any(shows), "{seed}");
    }
}

/// Adam's step: the root of a moment that is never negative, and a constant that only small moments show.
#[test]
fn roots_get_positive_values_and_small_constants_get_values_of_their_size() {
    let text = r#"
title = "adam"
[dims]
free = ["N"]
[tensors]
w = "f32[N]"
g = "f32[N]"
v = "f32[N]"
moment = "f32[N]"
next = "f32[N]"
[math]
forward = """
moment[i] = 0.999 * v[i] + 0.001 * g[i] * g[i]
next[i] = w[i] - g[i] / (sqrt(moment[i]) + 0.00000001)
"""
[[launch]]
kernel = "f"
args = ["w", "g", "v", "next", "N"]
block = 64
grid = "ceil_div(N, 64)"
[[test]]
name = "t"
dims = { N = 75 }
data = { v = "ones" }
[draw]
dims = { N = [1, 70] }
"#;
    let spec = Spec::parse(text, Path::new("x.toml")).unwrap();
    for seed in 0..5 {
        let plans = plans(&spec, seed);
        let cases: Vec<Case> =
            plans.iter().filter_map(|p| Some(build(&spec, p, seed)?.0)).collect();
        assert!(cases.len() > plans.len() / 2, "{seed}: {} of {}", cases.len(), plans.len());
        let signed = |case: &&Case| start(case, "g").iter().any(|g| *g < 0.0);
        assert!(cases.iter().filter(signed).count() > 5, "{seed}");
        // sqrt(moment + 1e-8) would be 1e-4 where sqrt(moment) + 1e-8 is 1e-8.
        let tells = |case: &Case| {
            let (g, v) = (start(case, "g"), start(case, "v"));
            g.iter().zip(&v).any(|(g, v)| *v < 1e-7 && g.abs() < 1e-3 && *g != 0.0)
        };
        assert!(cases.iter().any(tells), "{seed}");
    }
}

/// What a case starts with in the tensor `name`.
fn start(case: &Case, name: &str) -> Vec<f64> {
    let tensor = case.tensors.iter().find(|t| t.tensor.name == name).unwrap();
    tensor.start().unwrap().to_vec()
}

/// A maximum may begin with a number that looks small enough.
#[test]
fn some_rows_lie_far_below_zero_where_a_maximum_is_taken() {
    let spec = puzzle("05_softmax_ce.toml");
    for seed in 0..10 {
        let far = |plan: &Plan| {
            if !plan.kernels.iter().any(|kernel| kernel == "softmax_forward") {
                return false;
            }
            build(&spec, plan, seed).is_some_and(|(case, _)| {
                start(&case, "logits")
                    .chunks(plan.free["num_classes"] as usize)
                    .any(|row| row.iter().all(|&x| x < -1e8))
            })
        };
        assert!(plans_of("05_softmax_ce.toml", seed).iter().any(far), "{seed}");
    }
}

/// exp of such a row is 0 in places where its quotients are not, unless its maximum is subtracted.
#[test]
fn some_rows_have_a_small_maximum_and_much_smaller_elements() {
    let spec = puzzle("05_softmax_ce.toml");
    // One case a seed launches the softmax alone, now and then with a single class.
    let seen = (0..20).filter(|&seed| {
        let shows = |plan: &Plan| {
            let Some(case) = build_of(&spec, plan, Flavour::Exponents, seed) else { return false };
            if !plan.kernels.iter().any(|kernel| kernel == "softmax_forward") {
                return false;
            }
            let mut rows = start(&case, "logits");
            rows.chunks_mut(plan.free["num_classes"] as usize).any(|row| {
                row.sort_by(f64::total_cmp);
                row.first().zip(row.last()).is_some_and(|(least, most)| {
                    *least < -98.0 && *most > -80.0 && most - least < 80.0
                })
            })
        };
        plans_of("05_softmax_ce.toml", seed).iter().any(shows)
    });
    assert!(seen.count() > 15);
}

#[test]
fn a_long_sum_of_products_is_exact() {
    let spec = puzzle("02_matmul.toml");
    for seed in 0..10 {
        let long = |plan: &&Plan| plan.free["K"] > 1024;
        let plans = plans_of("02_matmul.toml", seed);
        let plan = plans.iter().rfind(long).unwrap();
        let (case, flavour) = build(&spec, plan, seed).unwrap();
        assert_eq!(flavour, plan.flavour);
        let product = case.tensors.iter().find(|t| t.tensor.name == "C").unwrap();
        assert!(product.wanted().unwrap().1.iter().all(|value| value.bound == 0.0), "{plan:?}");
    }
}

/// A quotient by a float reciprocal is wrong for few sizes, and all of them are above 40.
#[test]
fn some_rows_and_columns_divide_badly() {
    let spec = puzzle("17_im2col.toml");
    for seed in 0..20 {
        let plans = plans(&spec, seed);
        for size in ["H", "W"] {
            let out =
                |p: &Plan| (p.free[size] + 2 * p.free["pad"] - p.free["K"]) / p.free["stride"] + 1;
            let bad = |p: &Plan| (1.0 / out(p) as f32) * (out(p) as f32) < 1.0;
            assert!(plans.iter().any(bad), "{seed}: {size}");
        }
    }
}

#[test]
fn a_block_is_partly_used_in_its_last_warp() {
    let spec = puzzle("40_layernorm_forward.toml");
    for seed in 0..20 {
        let partly = |plan: &Plan| (97..128).contains(&plan.free["H"]);
        assert!(plans(&spec, seed).iter().any(partly), "{seed}");
    }
}

#[test]
fn a_long_window_lies_in_a_long_image() {
    for seed in 0..20 {
        let plans = plans_of("26_maxpool2d_bwd_gather.toml", seed);
        for (window, image) in [("pool_h", "H"), ("pool_w", "W")] {
            let inside = |p: &Plan| p.free[window] == 36 && p.free[image] >= 36;
            assert!(plans.iter().any(inside), "{seed}: {window}");
        }
    }
}

#[test]
fn many_blocks_share_a_long_sum() {
    for (name, (parts, many), (terms, least)) in [
        ("34_conv_backward_weights_f16.toml", ("parts", 33), (&["N", "H", "W"][..], 256)),
        ("45_ln_linear_backward_two_phase.toml", ("parts", 1100), (&["B", "S"], 1024)),
        ("48_conv_backward_weights_wmma.toml", ("splits", 100), (&["N", "H", "W"], 64 * 16)),
    ] {
        for seed in 0..5 {
            let shows = |plan: &Plan| {
                let all: i64 = terms.iter().map(|&size| plan.free[size]).product();
                plan.free[parts] >= many && all > least
            };
            assert!(plans_of(name, seed).iter().any(shows), "{name}: {seed}");
        }
    }
}

#[test]
fn sizes_reach_whole_blocks_past_1024() {
    let spec = puzzle("01_vector_add.toml");
    for seed in 0..20 {
        let full = |plan: &Plan| plan.free["N"] > 1024 && plan.free["N"] % 256 == 0;
        assert!(plans(&spec, seed).iter().any(full), "{seed}");
    }
}

#[test]
fn a_size_is_as_long_as_the_spec_allows_in_some_case() {
    for seed in 0..10 {
        let longest = |plan: &Plan| plan.free["pool_w"] == 36;
        assert!(plans_of("23_maxpool2d_fwd.toml", seed).iter().any(longest), "{seed}");
    }
}

#[test]
fn kernels_run_on_other_data_and_sizes_before_some_cases() {
    for (name, calls) in [("11_sgd.toml", 2), ("19_conv_gemm.toml", 1)] {
        let spec = puzzle(name);
        let after = |plan: &Plan| plan.flavour == Flavour::AfterOthers;
        let drawn: Vec<Plan> = plans(&spec, 3).into_iter().filter(after).collect();
        let total = |free: &Dims| free.values().sum::<i64>();
        let grows = |plan: &Plan| total(plan.before.as_ref().unwrap()) < total(&plan.free);
        assert!(drawn.iter().any(grows) && !drawn.iter().all(grows), "{name}");
        for plan in drawn {
            let (case, flavour) = build(&spec, &plan, 3).unwrap();
            assert_eq!(flavour, Flavour::AfterOthers);
            let (before, counted) = case.launches.split_at(plan.kernels.len());
            assert_eq!((before.len(), counted.len()), (calls, calls));
            let tensor = |launch: &CaseLaunch| match launch.args[0] {
                CaseArg::Tensor(at) => case.tensors[at].start().map(<[f64]>::to_vec),
                _ => None,
            };
            for (before, counted) in before.iter().zip(counted) {
                assert_eq!(before.kernel, counted.kernel);
                assert_ne!(tensor(before), tensor(counted));
            }
        }
    }
}

/// What a program keeps by the address of memory shows where memory is used again: all tensors of the calls that count have the memory of those
/// before, at the same sizes and with other data.
#[test]
fn kernels_run_on_other_data_in_the_same_memory_before_some_cases() {
    for (name, calls) in [("11_sgd.toml", 2), ("19_conv_gemm.toml", 1)] {
        let spec = puzzle(name);
        let is_it = |plan: &Plan| plan.flavour == Flavour::InSameMemory;
        let drawn: Vec<Plan> = plans(&spec, 3).into_iter().filter(is_it).collect();
        assert!(!drawn.is_empty(), "{name}");
        for plan in drawn {
            let (case, flavour) = build(&spec, &plan, 3).unwrap();
            assert_eq!(flavour, Flavour::InSameMemory);
            let half = case.tensors.len() / 2;
            let pairs: Vec<(usize, usize)> = (0..half).map(|at| (at, at + half)).collect();
            assert_eq!(case.launches.len(), 2 * calls);
            assert_eq!(case.launches[calls].moves_in, pairs);
            assert!(case.launches[..calls].iter().all(|launch| launch.moves_in.is_empty()));
            let starts = |at: usize| case.tensors[at].start();
            assert!(pairs.iter().any(|&(now, before)| starts(now) != starts(before)), "{name}");
        }
    }
}

/// One kernel multiplies by a sum, another one by its terms.
#[test]
fn no_factor_of_a_computed_sum_is_infinite() {
    for (name, expected) in [
        ("18_sgemm_tiled.toml", &["A", "B"][..]),
        // A compensated sum is NaN where a term is infinite, and nothing forbids one here.
        ("02_matmul.toml", &[]),
        ("32_warp_sum.toml", &[]),
        ("11_sgd.toml", &["weights", "lr", "gradients"]),
        ("40_layernorm_forward.toml", &[]),
        ("43_ln_linear_forward.toml", &[]),
    ] {
        let spec = puzzle(name);
        let test = spec.tests.iter().max_by_key(|test| test.calls.len()).unwrap();
        let permitted = Permitted::of(&spec, test);
        let may = |name: &String| permitted.for_input(&spec, name).infinite != Infinite::Nowhere;
        let inputs = test.inputs.iter().map(|t| t.name.clone());
        assert_eq!(inputs.filter(may).collect::<Vec<_>>(), expected, "{name}");
    }
}

/// -0 is not less than 0, so that the first of them is the largest.
#[test]
fn zeros_of_both_signs_are_the_largest_of_some_window() {
    let spec = puzzle("23_maxpool2d_fwd.toml");
    for seed in 0..10 {
        let shows = |plan: &Plan| {
            let Some(case) = build_of(&spec, plan, Flavour::Ties, seed) else { return false };
            let x = start(&case, "X");
            let half = &x[x.len() / 2..];
            half.iter().all(|x| *x <= 0.0)
                && half.iter().any(|x| x.to_bits() == (-0.0_f64).to_bits())
        };
        assert!(plans_of("23_maxpool2d_fwd.toml", seed).iter().any(shows), "{seed}");
    }
}

#[test]
fn halves_are_subnormal_where_they_are_added_and_not_multiplied() {
    for (name, input, expected) in [
        ("33_conv_backward_bias_f16.toml", "grad(output)", true),
        ("46_wmma_gemm.toml", "A", false),
    ] {
        let spec = puzzle(name);
        for seed in 0..10 {
            let shows = |plan: &Plan| {
                let Some(case) = build_of(&spec, plan, Flavour::Tiny, seed) else { return false };
                let subnormal = |x: &f64| *x != 0.0 && x.abs() < 2_f64.powi(-14);
                case.tensors.iter().any(|t| t.tensor.name == input)
                    && start(&case, input).iter().any(subnormal)
            };
            assert_eq!(plans_of(name, seed).iter().any(shows), expected, "{name}: {seed}");
        }
    }
}

#[test]
fn a_size_is_beside_each_power_of_two() {
    let spec = puzzle("32_warp_sum.toml");
    for seed in 0..10 {
        let plans = plans(&spec, seed);
        for power in [16, 32, 64] {
            for n in power - 1..=power + 1 {
                assert!(plans.iter().any(|plan| plan.free["n"] == n), "{seed}: {n}");
            }
        }
    }
}

/// A part that is rounded to half, or cut to the significand of TF32, is wrong only where it has more bits than that.
#[test]
fn the_parts_of_a_shared_sum_are_not_small() {
    let spec = puzzle("48_conv_backward_weights_wmma.toml");
    for seed in 0..5 {
        let shows = |plan: &Plan| {
            if plan.free["splits"] <= 8 {
                return false;
            }
            let Some((case, _)) = build(&spec, plan, seed) else { return false };
            let sums = case.tensors.iter().find(|t| t.tensor.name == "grad(weights)").unwrap();
            let most = sums.wanted().unwrap().1.iter().map(|v| v.value.abs()).fold(0.0, f64::max);
            most / plan.free["splits"] as f64 > 2048.0
        };
        let plans = plans_of("48_conv_backward_weights_wmma.toml", seed);
        assert!(plans.iter().any(shows), "{seed}");
    }
}

/// A thousand equal terms are off in one direction, which the bound of a right kernel does not allow for.
#[test]
fn a_long_sum_of_inexact_terms_has_irregular_ones() {
    let spec = puzzle("44_ln_linear_backward.toml");
    for seed in 0..5 {
        let long = |plan: &Plan| plan.flavour == Flavour::LargestLast && plan.free["B"] > 1024;
        for plan in plans(&spec, seed).into_iter().filter(long) {
            let Some((case, _)) = build(&spec, &plan, seed) else { continue };
            assert!(start(&case, "grad(y)").iter().any(|g| g.fract() != 0.0), "{seed}: {plan:?}");
        }
    }
}

/// A kernel may transpose square images, and show it only where the filter is a single weight.
#[test]
fn each_size_is_least_beside_each_equal_pair() {
    let spec = puzzle("10_conv_backward_input.toml");
    let plans: Vec<_> = (0..4).map(|seed| plans_of("10_conv_backward_input.toml", seed)).collect();
    let drawn = drawn(&spec).unwrap();
    for other in drawn.ranges.iter().filter(|range| !["H", "W"].contains(&range.name.as_str())) {
        let shows = |p: &Plan| {
            p.free["H"] == p.free["W"] && p.free["H"] > 16 && p.free[&other.name] == other.min
        };
        assert!(plans.iter().flat_map(|plans| plans.iter()).any(shows), "{}", other.name);
    }
}

/// A filter of 6 x 6 is just past the small ones; 160 and 224 are odd multiples of a warp.
#[test]
fn filters_just_past_the_small_ones_and_odd_multiples_of_a_warp_are_drawn() {
    for seed in 0..10 {
        let drawn = plans_of("10_conv_backward_input.toml", seed);
        for size in 6..=13 {
            assert!(drawn.iter().any(|p| p.free["F"] == size), "{seed}, {size}");
        }
        let odd = |p: &Plan| [160, 224].contains(&p.free["in_features"]);
        assert!(plans_of("03_fc_forward.toml", seed).iter().any(odd), "{seed}");
    }
}

/// What stands in a row that starts past the reach of 16 bits.
#[test]
fn a_row_of_the_weights_starts_past_what_16_bits_hold() {
    for seed in 0..10 {
        let starts = |p: &Plan| (p.free["out_features"] - 1) * p.free["in_features"] >= 1 << 16;
        assert!(plans_of("06_fc_backward.toml", seed).iter().any(starts), "{seed}");
    }
}

/// A short may number the planes, or a row of tiles come out of a quotient of floats.
#[test]
fn planes_are_more_than_a_short_holds_and_derived_sizes_divide_badly() {
    for seed in 0..10 {
        let many = |p: &Plan| p.free["batch"] * p.free["C"] > 1 << 15;
        assert!(plans_of("08_maxpool.toml", seed).iter().any(many), "{seed}");
        let badly = |p: &Plan| [41, 47, 55, 61].contains(&((p.free["W"] - p.free["K"]) / 16 + 1));
        assert!(plans_of("16_conv_tiled_grid.toml", seed).iter().any(badly), "{seed}");
    }
}

/// A partial sum in half precision loses digits where the sum is large, and the final one tells where it is small.
#[test]
fn some_long_sums_nearly_cancel() {
    let spec = puzzle("29_conv_backward_input_f16.toml");
    let mut seen = 0;
    for seed in 0..40 {
        let shows = |plan: &Plan| {
            let k = plan.free["K"] as usize;
            let long = (k > 500).then(|| build_of(&spec, plan, Flavour::LargestLast, seed));
            let Some(case) = long.flatten() else { return false };
            let row = &start(&case, "grad(output)")[..k];
            let sum = |values: &[f64]| values.iter().sum::<f64>();
            sum(row).abs() < sum(&row[..k / 2]).abs() / 4.0
        };
        seen += usize::from(plans(&spec, seed).iter().any(shows));
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn sizes_are_at_the_literals_of_a_kernel_and_beside_them() {
    let spec = puzzle("07_conv_forward.toml");
    let size = |text: &str, at| size_literal("conv2d_forward", text, at, false);
    // Also a size that needs others, one that is derived, and how far two are apart.
    let sizes = vec![size("1*(F)", 17), size("1*(H) + -1*(F)", 40), size("1*(H) + -1*(W)", 1)];
    let literals = Literals { sizes, values: vec![1e30, 12_345.0], ..Literals::default() };
    for seed in 0..5 {
        let plans = plans_at(&spec, seed, &literals);
        let some = |is: &dyn Fn(&Dims) -> bool| plans.iter().any(|plan| is(&plan.free));
        for beside in -1..=1 {
            assert!(some(&|free| free["F"] == 17 + beside), "{seed}: {beside}");
            assert!(some(&|free| free["H"] - free["F"] == 40 + beside), "{seed}: {beside}");
            assert!(some(&|free| free["H"] - free["W"] == 1 + beside), "{seed}: {beside}");
        }
        assert!(some(&|free| free["F"] == 17 && free["H"] - free["W"] == 1), "{seed}");
        let drawn = drawn(&spec).unwrap();
        assert!(plans.iter().all(|plan| drawn.allows(&spec, &plan.free)), "{seed}");
        let compared = plans.iter().filter(|plan| plan.flavour == Flavour::Compared);
        let cases: Vec<(Case, Flavour)> =
            compared.map(|p| build(&spec, p, seed).unwrap()).collect();
        assert!(cases.iter().all(|(_, flavour)| *flavour == Flavour::Compared), "{seed}");
        assert_eq!(cases.len(), WITH_LITERALS);
        let inputs = || cases.iter().flat_map(|(case, _)| start(case, "input"));
        for literal in [12_345.0, 1e30] {
            let near = |value: f64| (0.4 * literal..=2.1 * literal).contains(&value.abs());
            assert!(inputs().any(near), "{seed}: {literal}");
        }
    }
    assert!(plans_at(&spec, 1, &Literals::default()).is_empty());
}

/// Thousands of literals, and such as no size has, are looked at for a moment only.
#[test]
fn a_kernel_may_name_any_number_of_literals() {
    let spec = puzzle("07_conv_forward.toml");
    let size = |text: &str, at| size_literal("conv2d_forward", text, at, false);
    let many = (5..5_000).flat_map(|at| ["F", "H"].map(|name| size(name, at)));
    let far = [i64::MAX, i64::MIN].map(|at| size("1*(H) + -1*(W)", at));
    let plans = |sizes| plans_at(&spec, 1, &Literals { sizes, ..Literals::default() });
    assert!((1..100).contains(&plans(many.collect()).len()));
    assert!(plans(far.to_vec()).is_empty());
}

/// A condition on three sizes holds in some cases with every seed, although two of the literals are as small as those of loops; where a
/// kernel only asks for equality, the integers beside a literal are none of its own.
#[test]
fn three_literals_are_met_at_once() {
    let spec = puzzle("26_maxpool2d_bwd_gather.toml");
    let size = |text: &str, at| size_literal("maxpool2d_bwd_gather", text, at, true);
    let sizes = vec![size("dil_h", 3), size("stride_h", 2), size("W", 9)];
    for seed in 0..5 {
        let plans =
            plans_at(&spec, seed, &Literals { sizes: sizes.clone(), ..Literals::default() });
        let all =
            |free: &&Plan| (free.free["dil_h"], free.free["stride_h"], free.free["W"]) == (3, 2, 9);
        assert!(plans.iter().filter(all).count() > 2, "{seed}");
    }
}

/// Where a kernel compares the extents of its grid, the grid has as many blocks along both axes at once; if only a case with millions of
/// elements has as many, there is one.
#[test]
fn grids_are_as_large_as_a_kernel_asks() {
    let spec = puzzle("02_matmul.toml");
    let blocks = |size: &str, at, is_equality| {
        size_literal("matmul", &format!("1*(ceil_div({size}, 16))"), at, is_equality)
    };
    let plans = |spec, sizes| plans_at(spec, 3, &Literals { sizes, ..Literals::default() });
    let three = plans(&spec, vec![blocks("N", 3, true), blocks("M", 3, true)]);
    let is_square =
        |plan: &Plan| ["N", "M"].iter().all(|size| (33..=48).contains(&plan.free[*size]));
    assert!(three.iter().any(is_square));
    // One that falls with the height, beside one that the width alone decides.
    let height = size_literal("matmul", "2*(ceil_div(N, 16)) + -1*(ceil_div(M, 16))", -1, false);
    let tall = plans(&spec, vec![blocks("N", 4, true), height]);
    let is_tall = |plan: &Plan| (49..=64).contains(&plan.free["N"]) && plan.free["M"] > 128;
    assert!(tall.iter().any(is_tall));
    // Small cases have two blocks along an axis.
    let past = plans(&spec, vec![blocks("N", 4, false)]);
    assert!(past.iter().any(|plan| plan.free["N"] > 64));
    assert!(plans(&spec, vec![blocks("N", 1, false)]).is_empty());
    let spec = puzzle("01_vector_add.toml");
    let many = size_literal("vector_add", "1*(ceil_div(N, 256))", 8192, false);
    // The block past that is whole.
    let plans = plans(&spec, vec![many]);
    assert!(plans.iter().any(|plan| plan.free["N"] > 8193 * 256), "{plans:?}");
    assert!(plans.len() < 3, "{plans:?}");
}

/// A variance in one pass, for long rows alone, is wrong only far from zero.
#[test]
fn values_far_from_zero_come_at_the_sizes_of_a_kernel() {
    let spec = puzzle("40_layernorm_forward.toml");
    let sizes = vec![size_literal("layernorm_fwd", "H", 300, false)];
    let plans = plans_at(&spec, 1, &Literals { sizes, ..Literals::default() });
    let is_far = |plan: &Plan| plan.flavour == Flavour::Offsets && plan.free["H"] > 300;
    assert!(
        plans
            .iter()
            .any(|plan| is_far(plan) && build_of(&spec, plan, Flavour::Offsets, 1).is_some())
    );
}

/// A kernel with special code for as many channels on both sides, from some number of them on, meets that number on both sides, and more
/// than one pixel.
#[test]
fn two_sizes_are_equal_at_the_literal_of_one() {
    let spec = puzzle("31_relu_conv_backward_input.toml");
    let size =
        |text: &str, at, is_equality| size_literal("relu_conv_bwd_input", text, at, is_equality);
    let sizes = vec![size("1*(C) + -1*(K)", 0, true), size("1*(K)", 6, false)];
    for seed in 0..5 {
        let sizes = sizes.clone();
        let plans = plans_at(&spec, seed, &Literals { sizes, ..Literals::default() });
        let is_it = |plan: &Plan| plan.free["K"] == 7 && plan.free["C"] == 7 && plan.free["W"] > 1;
        assert!(plans.iter().any(is_it), "{seed}");
    }
}

/// Where two inputs are multiplied, one of them has the smallest numbers, so that the product is not 0; each of them in some case.
#[test]
fn one_factor_has_the_smallest_numbers() {
    for (file, inputs) in [("02_matmul.toml", ["A", "B"]), ("46_wmma_gemm.toml", ["P", "Q"])] {
        let spec = puzzle(file);
        let mut seen = BTreeSet::new();
        for seed in 0..16 {
            let plans = plans_of(file, seed);
            let cases = plans.iter().filter_map(|plan| build_of(&spec, plan, Flavour::Tiny, seed));
            for case in cases.filter(|case| case.tensors.iter().any(|t| t.tensor.name == inputs[0]))
            {
                let is_tiny = |name: &&str| start(&case, name).iter().all(|v| v.abs() < 1e-20);
                let tiny: Vec<&str> = inputs.into_iter().filter(|name| is_tiny(name)).collect();
                assert!(tiny.len() < 2, "{file}: {seed}");
                seen.extend(tiny);
            }
        }
        assert_eq!(seen.len(), 2, "{file}");
    }
}

/// The constant that keeps a root from 0 matters at the sizes that a kernel treats in its own way, too.
#[test]
fn rows_at_literals_have_little_variance() {
    let spec = puzzle("40_layernorm_forward.toml");
    let sizes = vec![size_literal("layernorm_fwd", "1*(H)", 300, false)];
    let plans = plans_at(&spec, 1, &Literals { sizes, ..Literals::default() });
    let small = plans.iter().filter(|p| build_of(&spec, p, Flavour::NearConstants, 1).is_some());
    let sizes: BTreeSet<i64> = small.map(|plan| plan.free["H"]).collect();
    assert_eq!(sizes, [299, 300, 301].into());
}

/// A number near the largest of the type, of which the double is none, is among the data as it is.
#[test]
fn data_have_the_largest_numbers_of_a_kernel() {
    let spec = puzzle("04_relu.toml");
    let largest = f64::from(3.3e38_f32);
    let literals = Literals { values: vec![largest], ..Literals::default() };
    for seed in 0..5 {
        let plans = plans_at(&spec, seed, &literals);
        let cases = plans.iter().filter_map(|plan| build_of(&spec, plan, Flavour::Compared, seed));
        let has = |case: &Case, name: &str| {
            case.tensors.iter().any(|t| t.tensor.name == name)
                && start(case, name).iter().any(|value| value.abs() > largest)
        };
        let cases: Vec<Case> = cases.collect();
        for name in ["input", "grad(output)"] {
            assert!(cases.iter().any(|case| has(case, name)), "{seed}: {name}");
        }
    }
}

/// What a kernel does where three indices are past 32 shows where three sizes are.
#[test]
fn sizes_are_past_the_literals_of_indices_at_once() {
    let spec = puzzle("06_fc_backward.toml");
    let indices = vec![("fc_backward_input".to_owned(), 32)];
    let plans = plans_at(&spec, 1, &Literals { indices, ..Literals::default() });
    let names = ["batch", "in_features", "out_features"];
    assert!(plans.iter().any(|plan| names.iter().all(|name| plan.free[*name] > 33)));
}

/// Host code that keeps the variant of the last K meets that K again with another C, at sizes where that decides.
#[test]
fn host_code_runs_after_sizes_that_differ_in_one() {
    let spec = puzzle("36_conv_backward_weights_variants.toml");
    let of = |name: &str| DimExpr::parse(name).unwrap();
    let literal = |name| SizeLiteral { of: of(name), at: 32, is_equality: false };
    let kernel = spec.launches[0].kernel.clone();
    let names = ["N", "H", "W", "C", "K", "layers"];
    let sizes = names.map(|name| (kernel.clone(), literal(name))).into();
    let at = plans_at(&spec, 1, &Literals { sizes, ..Literals::default() });
    let differ = |plan: &Plan| {
        let before = plan.before.as_ref()?;
        let names = plan.free.iter().filter(|(name, size)| before[*name] != **size);
        Some(names.map(|(name, _)| name.clone()).collect::<Vec<String>>())
    };
    let is_wanted = |plan: &Plan| {
        differ(plan).is_some_and(|of| of == ["C"]) && plan.free["C"] >= 32 && plan.free["K"] >= 32
    };
    assert!(at.iter().any(is_wanted));
    let small: Vec<Plan> = plans(&spec, 1).into_iter().filter(|p| p.before.is_some()).collect();
    for name in ["N", "C", "K"] {
        assert!(small.iter().any(|plan| differ(plan).is_some_and(|of| of == [name])), "{name}");
    }
    assert!(small.iter().any(|plan| differ(plan).is_some_and(|of| of.is_empty())));
}

/// A kernel that treats the index 70,000 in its own way meets it along each axis, one with an index of 16 bits all that it cannot hold, and
/// one whose index is a float has more elements than a float counts.
#[test]
fn indices_pass_the_reaches_of_a_kernel() {
    let past = |file: &str, kernel: &str, reach: i64| {
        let spec = puzzle(file);
        let reaches = vec![(kernel.to_owned(), reach)];
        let plans = plans_at(&spec, 1, &Literals { reaches, ..Literals::default() });
        (spec, plans)
    };
    let (_, plans) = past("02_matmul.toml", "matmul", 70_000);
    assert!(["M", "N", "K"].iter().all(|size| plans.iter().any(|p| p.free[*size] > 70_001)));
    // The softmax of a single class is 1 whatever its logit is.
    let (_, plans) = past("05_softmax_ce.toml", "softmax_forward", 65_535);
    assert!(plans.iter().any(|p| p.free["batch"] > 65_535 && p.free["num_classes"] > 1));
    let (_, plans) = past("06_fc_backward.toml", "fc_backward_input", 32_767);
    let tails = |tail| {
        move |plan: &Plan| {
            plan.free["out_features"] > 32_768 && plan.free["out_features"] % 2 == tail
        }
    };
    assert!((0..2).all(|tail| plans.iter().any(tails(tail))));
    // The update is in two sets of kernels.
    let (_, plans) = past("11_sgd.toml", "sgd_update", 1 << 24);
    assert_eq!(plans.len(), 1);
    for (file, kernel, tensor) in
        [("01_vector_add.toml", "vector_add", "C"), ("17_im2col.toml", "im2col", "Xcol")]
    {
        let (spec, plans) = past(file, kernel, 1 << 24);
        let len = |plan: &Plan| {
            let test = test(&spec, drawn(&spec).unwrap(), plan).unwrap();
            test.buffers.iter().find(|b| b.tensor.name == tensor).unwrap().tensor.len()
        };
        assert!(plans.iter().any(|plan| len(plan) > 1 << 24), "{file}: {plans:?}");
        assert!(plans.len() < 8, "{file}: {plans:?}");
    }
}

/// That a kernel compares the size `text` with `at`.
fn size_literal(kernel: &str, text: &str, at: i64, is_equality: bool) -> (String, SizeLiteral) {
    let of = DimExpr::parse(text).unwrap();
    (kernel.to_owned(), SizeLiteral { of, at, is_equality })
}

#[test]
fn the_elements_of_a_case_are_known_before_it_is_built() {
    let spec = puzzle("02_matmul.toml");
    for plan in plans(&spec, 3).iter().filter(|plan| elements(&spec, plan).unwrap() < 2_000) {
        let built = build(&spec, plan, 3).map(|(case, _)| case.elements());
        assert_eq!(built, elements(&spec, plan), "{plan:?}");
    }
}

/// A kernel runs through the filter for each element of the image, also where the formula has few terms.
#[test]
fn no_filter_without_a_limit_is_as_long_as_a_long_image() {
    let tiny = "[[test]]
name   = \"tiny\"
dims   = { B = 1, N = 5, F = 3 }
data   = { x = [1, 2, 3, 4, 5], w = [1, 10, 100] }
expect = { y = [321, 432, 543] }
";
    let text = changed(&[
        ("[\"x\", \"w\", \"y\", ", "[\"grad(y)\", \"w\", \"grad(x)\", "),
        ("ceil_div(B*N_out, 64)", "ceil_div(B*N, 64)"),
        (tiny, "[draw]\ndims = { B = [1, 4], N = [12, 60], F = [1, 4] }\n"),
    ]);
    let spec = Spec::parse(&text, Path::new("x.toml")).unwrap();
    for seed in 0..10 {
        let plans = plans(&spec, seed);
        assert!(plans.iter().any(|plan| plan.free["N"] > 1 << 16), "{seed}");
        assert!(plans.iter().any(|plan| plan.free["F"] > 256), "{seed}");
        let steps =
            |plan: &Plan| ["B", "N", "F"].map(|size| plan.free[size]).iter().product::<i64>();
        let most = plans.iter().map(steps).max();
        assert!(most < Some(1 << 25), "{seed}: {most:?}");
    }
}
