//! A line that a report names is wrong, or none is named.

use super::mini::Bench;

/// The line that the report on the first wrong element says to look at, and the line of `text` in the source.
fn named_and(spec: &str, kernels: &str, text: &str) -> (Option<u32>, Option<u32>) {
    let judged = Bench::new(kernels).judge(spec, 1..2);
    let compared = judged[0].1.diffs[0].terms.compared.as_ref().unwrap();
    let at = kernels.lines().position(|line| line.contains(text)).unwrap();
    (compared.certain_line().map(|line| line.line), u32::try_from(at + 1).ok())
}

/// Two launches, the second of which is given what the first must compute.
const TWO_LAUNCHES: &str = r#"
    title = "two launches"
    dims = { free = ["n"] }
    tensors = { x = "f32[n]", w = "f32[2]", rectified = "f32[n]", y = "f32[n]" }
    launch = [
        { kernel = "rectify", args = ["x", "rectified", "n"], block = 32, grid = 1 },
        { kernel = "mix", args = ["given(rectified)", "w", "y", "n"], block = 32, grid = 1 },
    ]
    test = [{ name = "t", dims = { n = 5 } }]
    [math]
    forward = "rectified[i] = max(x[i], 0); y[i] = sum[k] rectified?[i + k] * w[k]"
"#;

/// The second kernel swaps the weights.
const SWAPPED: &str = "
    __global__ void rectify(const float* x, float* rectified, int n)
    {
        int i = threadIdx.x;
        if (i < n) rectified[i] = fmaxf(x[i], 0.0f);
    }
    __global__ void mix(const float* rectified, const float* w, float* y, int n)
    {
        int i = threadIdx.x;
        if (i >= n) return;
        float sum = 0;
        for (int k = 0; k < 2; k++) {
            if (i + k < n) sum += rectified[i + k] * w[1 - k];
        }
        y[i] = sum;
    }";

/// What an earlier launch stored is no sum that the later one goes on with.
#[test]
fn reading_the_output_of_another_launch_is_not_adding_to_what_an_element_held() {
    let (named, store) = named_and(TWO_LAUNCHES, SWAPPED, "y[i] = sum;");
    assert_ne!(named, store);
}

#[test]
fn the_first_wrong_output_is_the_one_whose_sources_are_correct() {
    let sources = |kernels: &str| {
        let judged = Bench::new(kernels).judge(TWO_LAUNCHES, 1..2);
        let diffs = judged[0].1.diffs.iter();
        diffs.map(|d| (d.tensor.name.clone(), d.correct_sources.clone())).collect::<Vec<_>>()
    };
    assert_eq!(sources(SWAPPED), [("y".to_owned(), vec!["rectified".to_owned()])]);
    let both = SWAPPED.replace("fmaxf", "fminf");
    assert_eq!(sources(&both), [("rectified".to_owned(), vec![]), ("y".to_owned(), vec![])]);
}

/// The sum is that of another element: its loops are right, and the coordinates of the thread are not.
#[test]
fn a_line_in_the_loops_of_another_elements_sum_is_not_named() {
    let spec = r#"
        title = "decode"
        dims = { free = ["C", "H", "W"] }
        tensors = { x = "f32[H, W, C]", w = "f32[2]", y = "f32[H, W, C]" }
        launch = [
            { kernel = "blur", args = ["x", "w", "y", "C", "H", "W"], block = 64, grid = 1 },
        ]
        test = [{ name = "t", dims = { C = 2, H = 3, W = 5 } }]
        [math]
        forward = "y[h,v,c] = sum[k] x?[h, v + k, c] * w[k]"
    "#;
    let kernels = "
        __global__ void blur(const float* x, const float* w, float* y, int C, int H, int W)
        {
            int i = threadIdx.x;
            if (i >= C * H * W) return;
            int v = i % W;
            int h = i / W % H;
            int c = i / (W * H);
            float sum = 0;
            for (int k = 0; k < 2; k++) {
                int column = v + k;
                if (column < W) sum += x[(h * W + column) * C + c] * w[k];
            }
            y[i] = sum;
        }";
    let (named, inner) = named_and(spec, kernels, "int column");
    assert_ne!(named, inner);
}
