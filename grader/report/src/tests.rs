//! What a person sees, whole, for typical mistakes. The order of the lines matters as much as their words.

use super::examples::{Conv, SOURCE, line, outside, run_info, verdict};
use super::style::Style;
use super::{Reporter, Summary, TextReporter};
use device::finding::{Element, Finding, ThreadId};
use diagnostic::{Diagnostic, Mark, Severity, Source};
use diagnostic::{Failure, FailureKind};
use insta::assert_snapshot;
use judge::verdict::{Cause, StoringCall, StoringCalls, TestVerdict};

const UNICODE: Style = Style { colour: false, unicode: true };

fn report(style: Style, verdicts: &[TestVerdict]) -> String {
    let mut out = Vec::new();
    let mut reporter = TextReporter::new(&mut out, style);
    reporter.start(&run_info()).unwrap();
    for verdict in verdicts {
        reporter.test_finished(verdict).unwrap();
    }
    let passed = verdicts.iter().filter(|v| v.passed()).count();
    reporter.finish(&Summary { total: verdicts.len(), passed }).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().count() <= 60, "too long for a terminal: {text}");
    text
}

fn correct(test: &str) -> TestVerdict {
    verdict(test, |memory, at| Some(Conv::CORRECT.sum(memory, at)))
}

fn wrong(test: &str, conv: &Conv) -> TestVerdict {
    verdict(test, |memory, at| Some(conv.sum(memory, at)))
}

#[test]
fn every_test_passed() {
    assert_snapshot!(report(UNICODE, &[correct("tiny"), correct("asymmetric"), correct("real_data")]), @r#"
    Puzzle 10: Conv2D backward: input gradient
    puzzles/10_conv_backward_input.cu, compiled in 812 ms; PTX virtual machine, 2 threads; seed 42

      ✔ tiny                               3.2 ms
      ✔ asymmetric                         3.2 ms
      ✔ real_data                          3.2 ms

    3 of 3 tests passed
    "#);
}

#[test]
fn a_filter_that_is_not_flipped() {
    let flipped = Conv { filter: |fh, fw, f| (f - 1 - fh, f - 1 - fw), ..Conv::CORRECT };
    assert_snapshot!(report(UNICODE, &[wrong("tiny", &flipped), wrong("asymmetric", &flipped)]), @r"
    Puzzle 10: Conv2D backward: input gradient
    puzzles/10_conv_backward_input.cu, compiled in 812 ms; PTX virtual machine, 2 threads; seed 42

    ── tiny ──
    One 5x5 image, one 3x3 filter of 1..9, a gradient of ones: small enough to check by hand.
    batch=1 C_in=1 H=5 W=5 C_out=1 F=3 H_out=3 W_out=3

    grad(input) [1, 1, 5, 5]: 24 of 25 elements are wrong
    pattern: each slice is rotated by 180 degrees: it holds the expected values, in reverse along
        both axes.
        grad(input)[0, 0, 0, 0] is stored at line 6: grad_input[idx] = sum;
        element       expected  got  difference
        [0, 0, 0, 0]         1    9          +8
        [0, 0, 0, 1]         3   17         +14
        [0, 0, 0, 2]         6   24         +18
        [0, 0, 0, 3]         5   15         +10
        [0, 0, 0, 4]         3    7          +4
        and 19 more; these values are exact: they must be equal

        grad(input)[0, 0, *, *]:  · right  ▓█ wrong, from small to large errors
          0
        0 ▓▓██████▓▓
        1 ██████▓▓▓▓
        2 ▓▓▓▓· ▓▓▓▓
        3 ▓▓▓▓██████
        4 ▓▓██████▓▓

        grad(input)[0, 0, 0, 0] should be 1, a single product; the kernel made it 9:
          filters[0, 0, 0, 0] · grad(output)[0, 0, 0, 0] = 1   (k=0, fh=0, fw=0)
        block (0,0,0) thread (0,0,0), which stored grad(input)[0, 0, 0, 0] at line 6,
          also read:    filters[0, 0, 2, 2] (line 4)
          never read:   filters[0, 0, 0, 0]

      ✘ tiny                               3.2 ms   grad(input): 24 of 25 wrong
      ✘ asymmetric                         3.2 ms   grad(input): 167 of 168 wrong

    0 of 2 tests passed
    to repeat:  grader puzzle 10 --test tiny --seed 42
    to watch:   grader replay 10 --test tiny --seed 42
    to read:    book/src/10_conv_backward_input.md
    ");
}

#[test]
fn the_batch_left_out() {
    let first = Conv { sample: |_| 0, ..Conv::CORRECT };
    assert_snapshot!(report(Style::PLAIN, &[correct("tiny"), wrong("asymmetric", &first)]), @r"
    Puzzle 10: Conv2D backward: input gradient
    puzzles/10_conv_backward_input.cu, compiled in 812 ms; PTX virtual machine, 2 threads; seed 42

    -- asymmetric --
    Two samples, 2 channels in, 3 out, 7x6 pixels: sizes differ from their neighbours.
    batch=2 C_in=2 H=7 W=6 C_out=3 F=3 H_out=5 W_out=4

    grad(input) [2, 2, 7, 6]: 84 of 168 elements are wrong
    pattern: grad(input)[0, *, *, *] is correct, and every part after it along its first coordinate
        has errors.
        grad(input)[1, 0, 0, 0] is stored at line 6: grad_input[idx] = sum;
        element       expected  got  difference
        [1, 0, 0, 0]        11  -43         -54
        [1, 0, 0, 1]        32   60         +28
        [1, 0, 0, 2]       -93   42        +135
        [1, 0, 0, 3]       -88  369        +457
        [1, 0, 0, 4]      -104  121        +225
        and 79 more; these values are exact: they must be equal

        grad(input)[1, 0, *, *]:  +*# wrong, from small to large errors
          0         5
        0 * + * # * *
        1 * * * # * +
        2 * + * # # #
        3 * # * + * *
        4 + * # * + *
        5 * + * + + +
        6 * + * * * +
        slices: [1, 0] [1, 1] all wrong; [0, 0] [0, 1] right

        grad(input)[1, 0, 0, 0] should be 11, the sum of 3 products; the kernel made it -43:
          filters[0, 0, 0, 0] * grad(output)[1, 0, 0, 0] = -10   (k=0, fh=0, fw=0)
          filters[1, 0, 0, 0] * grad(output)[1, 1, 0, 0] = -24   (k=1, fh=0, fw=0)
          filters[2, 0, 0, 0] * grad(output)[1, 2, 0, 0] =  45   (k=2, fh=0, fw=0)
        block (0,0,0) thread (84,0,0), which stored grad(input)[1, 0, 0, 0] at line 6,
          also read:    grad(output)[0, 0, 0, 0], grad(output)[0, 1, 0, 0] and 1 more (line 4)
          never read:   grad(output)[1, 0, 0, 0], grad(output)[1, 1, 0, 0] and 1 more

      pass tiny                               3.2 ms
      FAIL asymmetric                         3.2 ms   grad(input): 84 of 168 wrong

    1 of 2 tests passed
    to repeat:  grader puzzle 10 --test asymmetric --seed 42
    to watch:   grader replay 10 --test asymmetric --seed 42
    to read:    book/src/10_conv_backward_input.md
    ");
}

#[test]
fn a_bound_off_by_one_on_real_data() {
    let skip = |oh: i64, ow: i64, h_out, w_out| oh < 0 || oh + 1 >= h_out || ow < 0 || ow >= w_out;
    let bound = Conv { skip, ..Conv::CORRECT };
    assert_snapshot!(report(UNICODE, &[wrong("real_data", &bound)]), @r"
    Puzzle 10: Conv2D backward: input gradient
    puzzles/10_conv_backward_input.cu, compiled in 812 ms; PTX virtual machine, 2 threads; seed 42

    ── real_data ──
    batch=2 C_in=2 H=28 W=29 C_out=3 F=3 H_out=26 W_out=27

    grad(input) [2, 2, 28, 29]: 348 of 3248 elements are wrong
    pattern: all errors lie in the last 3 rows, grad(input)[*, *, 25..27, *].
        grad(input)[0, 0, 25, 0] is stored at line 6: grad_input[idx] = sum;
        element        expected       got  difference     allowed
        [0, 0, 25, 0]  -0.96246   1.69147    +2.65393  2.37499e-6
        [0, 0, 25, 1]  0.564332    1.7436    +1.17926  6.84575e-6
        [0, 0, 25, 2]   -3.3151  -1.78257    +1.53253  1.67967e-5
        [0, 0, 25, 3]   1.34811   4.92677    +3.57865  1.68266e-5
        [0, 0, 25, 4]   1.26296   1.04781   -0.215158   1.7014e-5
        and 343 more

        grad(input)[0, 0, *, *]; a cell is the worst of 2x1:  · right  ░▒▓█ wrong, from small to large errors
           0         10        20
         0 ·····························
         2 ·····························
         4 ·····························
         6 ·····························
         8 ·····························
        10 ·····························
        12 ·····························
        14 ·····························
        16 ·····························
        18 ·····························
        20 ·····························
        22 ·····························
        24 ▓▓▓▓▒▓▓▒█▓▒▓▒▓▓▒▒▒░▒▓▓▓▓▓▓▒█▓
        26 ▓▓▓█▓▒▓▓█▓█▓▓▓▓▓▓▓▒▓▓██▓▓▓█▓▓
        slices: [0, 0] [0, 1] and 2 more partly wrong

        grad(input)[0, 0, 25, 0] should be -0.96246, the sum of 9 products; the kernel made it 1.69147:
          filters[0, 0, 0, 0] · grad(output)[0, 0, 25, 0] =  -2.00226   (k=0, fh=0, fw=0)
          filters[1, 0, 0, 0] · grad(output)[0, 1, 25, 0] =  0.015891   (k=1, fh=0, fw=0)
          filters[2, 0, 0, 0] · grad(output)[0, 2, 25, 0] = -0.667564   (k=2, fh=0, fw=0)
          filters[0, 0, 2, 0] · grad(output)[0, 0, 23, 0] =  0.639484   (k=0, fh=2, fw=0)
          and 5 more
        block (0,0,0) thread (725,0,0), which stored grad(input)[0, 0, 25, 0] at line 6,
          never read:   filters[0, 0, 0, 0], grad(output)[0, 0, 25, 0] and 4 more

      ✘ real_data                          3.2 ms   grad(input): 348 of 3248 wrong

    0 of 1 tests passed
    to repeat:  grader puzzle 10 --test real_data --seed 42
    to watch:   grader replay 10 --test real_data --seed 42
    to read:    book/src/10_conv_backward_input.md
    ");
}

#[test]
fn nothing_written() {
    let mut run = run_info();
    run.source.push_str("// TODO 1: find this thread's number");
    let verdict = verdict("tiny", |_, _| None);
    let mut out = Vec::new();
    let mut reporter = TextReporter::new(&mut out, Style::PLAIN);
    reporter.start(&run).unwrap();
    reporter.test_finished(&verdict).unwrap();
    reporter.finish(&Summary { total: 1, passed: 0 }).unwrap();
    assert_snapshot!(String::from_utf8(out).unwrap(), @r"
    Puzzle 10: Conv2D backward: input gradient
    puzzles/10_conv_backward_input.cu, compiled in 812 ms; PTX virtual machine, 2 threads; seed 42

    -- tiny --
    One 5x5 image, one 3x3 filter of 1..9, a gradient of ones: small enough to check by hand.
    batch=1 C_in=1 H=5 W=5 C_out=1 F=3 H_out=3 W_out=3

    grad(input) [1, 1, 5, 5]: all 25 elements are wrong (25 never written)
    pattern: the kernel wrote nothing to grad(input), and its TODOs are still there: start with the
        first.

        grad(input)[0, 0, 0, 0] should be 1, a single product; the kernel never wrote it:
          filters[0, 0, 0, 0] * grad(output)[0, 0, 0, 0] = 1   (k=0, fh=0, fw=0)

      FAIL tiny                               3.2 ms   grad(input): 25 of 25 never written

    0 of 1 tests passed
    to repeat:  grader puzzle 10 --test tiny --seed 42
    to watch:   grader replay 10 --test tiny --seed 42
    to read:    book/src/10_conv_backward_input.md
    ");
}

#[test]
fn nan_and_unwritten_elements() {
    let kernel = |memory: &mut super::examples::Memory, at: [i64; 4]| match at {
        [1, 1, ..] => None,
        [1, 0, 3, _] => Some(f64::NAN),
        _ => Some(Conv::CORRECT.sum(memory, at)),
    };
    assert_snapshot!(report(UNICODE, &[verdict("asymmetric", kernel)]), @r"
    Puzzle 10: Conv2D backward: input gradient
    puzzles/10_conv_backward_input.cu, compiled in 812 ms; PTX virtual machine, 2 threads; seed 42

    ── asymmetric ──
    Two samples, 2 channels in, 3 out, 7x6 pixels: sizes differ from their neighbours.
    batch=2 C_in=2 H=7 W=6 C_out=3 F=3 H_out=5 W_out=4

    grad(input) [2, 2, 7, 6]: 48 of 168 elements are wrong (42 never written, 6 NaN)
    pattern: only the first 126 elements are written: nothing from grad(input)[1, 1, 0, 0] on.
        grad(input)[1, 0, 3, 0] is stored at line 6: grad_input[idx] = sum;
        element       expected  got  difference
        [1, 0, 3, 0]       195  NaN         NaN
        [1, 0, 3, 1]       245  NaN         NaN
        [1, 0, 3, 2]       -83  NaN         NaN
        [1, 0, 3, 3]       -16  NaN         NaN
        [1, 0, 3, 4]       167  NaN         NaN
        and 43 more; these values are exact: they must be equal

        grad(input)[1, 1, *, *]:  ? never written
          0         5
        0 ? ? ? ? ? ?
        1 ? ? ? ? ? ?
        2 ? ? ? ? ? ?
        3 ? ? ? ? ? ?
        4 ? ? ? ? ? ?
        5 ? ? ? ? ? ?
        6 ? ? ? ? ? ?
        slices: [1, 1] all wrong; [1, 0] partly wrong; [0, 0] [0, 1] right

        grad(input)[1, 0, 3, 0] should be 195, the sum of 9 products; the kernel made it NaN:
          filters[0, 0, 2, 0] · grad(output)[1, 0, 1, 0] = -7   (k=0, fh=2, fw=0)
          filters[0, 0, 1, 0] · grad(output)[1, 0, 2, 0] = 64   (k=0, fh=1, fw=0)
          filters[0, 0, 0, 0] · grad(output)[1, 0, 3, 0] = 40   (k=0, fh=0, fw=0)
          filters[1, 0, 2, 0] · grad(output)[1, 1, 1, 0] = -4   (k=1, fh=2, fw=0)
          and 5 more
        block (0,0,0) thread (102,0,0), which stored grad(input)[1, 0, 3, 0] at line 6, read no input at all

      ✘ asymmetric                         3.2 ms   grad(input): 48 of 168 wrong

    0 of 1 tests passed
    to repeat:  grader puzzle 10 --test asymmetric --seed 42
    to watch:   grader replay 10 --test asymmetric --seed 42
    to read:    book/src/10_conv_backward_input.md
    ");
}

#[test]
fn a_read_outside() {
    let mut verdict = wrong("tiny", &Conv { skip: |oh, _, _, _| oh < 0, ..Conv::CORRECT });
    let finding = |flat, thread, column| Finding {
        problem: outside(Element { tensor: "filters".into(), shape: vec![1, 1, 3, 3], flat }),
        kernel: "conv2d_backward_input".into(),
        line: Some(line(4, column)),
        thread: Some(ThreadId { block: [0; 3], thread: [thread, 0, 0] }),
        count: 25,
    };
    verdict.findings = vec![finding(9, 3, 26), finding(-2, 5, 17)];
    assert_snapshot!(report(UNICODE, &[verdict]), @r#"
    Puzzle 10: Conv2D backward: input gradient
    puzzles/10_conv_backward_input.cu, compiled in 812 ms; PTX virtual machine, 2 threads; seed 42

    ── tiny ──
    One 5x5 image, one 3x3 filter of 1..9, a gradient of ones: small enough to check by hand.
    batch=1 C_in=1 H=5 W=5 C_out=1 F=3 H_out=3 W_out=3

    error: out-of-bounds read of filters, 1 past its last element
     --> puzzles/10_conv_backward_input.cu:4:26
      |
    4 |     float sum = g[idx] * filters[idx + 5]; // the mistake
      |                          ^^^^^^^^^^^^^^^^
      |
      = help: filters has 9 elements, shape [1, 1, 3, 3]
      = help: the last is number 8, filters[0, 0, 2, 2]; this is number 9
      = help: first in block (0,0,0) thread (3,0,0) of conv2d_backward_input; 24 more such at this line
    also: out-of-bounds read of filters, 2 before its first element (line 4)

    grad(input) [1, 1, 5, 5]: 16 of 25 elements are wrong
        element       expected  got  difference
        [0, 0, 0, 3]         5    6          +1
        [0, 0, 0, 4]         3    6          +3
        [0, 0, 1, 0]         5   10          +5
        [0, 0, 1, 1]        12   15          +3
        [0, 0, 1, 3]        16   21          +5
        and 11 more; these values are exact: they must be equal

        grad(input)[0, 0, 0, 3] should be 5, the sum of 2 products; the kernel made it 6:
          filters[0, 0, 0, 2] · grad(output)[0, 0, 0, 1] = 3   (k=0, fh=0, fw=2)
          filters[0, 0, 0, 1] · grad(output)[0, 0, 0, 2] = 2   (k=0, fh=0, fw=1)
        block (0,0,0) thread (3,0,0), which stored grad(input)[0, 0, 0, 3] at line 6,
          also read:    grad(output)[0, 0, 1, 0], filters[0, 0, 0, 0] (line 4)

      ✘ tiny                               3.2 ms   out-of-bounds

    0 of 1 tests passed
    to repeat:  grader puzzle 10 --test tiny --seed 42
    to watch:   grader replay 10 --test tiny --seed 42
    to read:    book/src/10_conv_backward_input.md
    "#);
}

#[test]
fn with_a_read_of_what_is_not_written_the_part_that_is_written_is_shown() {
    let mut verdict = wrong("tiny", &Conv { skip: |oh, _, _, _| oh < 0, ..Conv::CORRECT });
    verdict.findings = vec![Finding {
        problem: outside(Element { tensor: "filters".into(), shape: vec![1, 1, 3, 3], flat: 9 }),
        kernel: "conv2d_backward_input".into(),
        line: Some(line(4, 26)),
        thread: None,
        count: 1,
    }];
    let diff = &mut verdict.diffs[0];
    diff.cause = Some(Cause::OnlyStartWritten { count: 16, block: 0 });
    let is_shown = |verdict: &TestVerdict| {
        report(UNICODE, std::slice::from_ref(verdict)).contains("only the first 16")
    };
    assert!(!is_shown(&verdict));
    let calls = vec![StoringCall::Fill];
    let calls = StoringCalls { calls, threads: None, before: None, instead: None };
    verdict.diffs[0].calls = Some(calls);
    assert!(is_shown(&verdict));
}

#[test]
fn in_colour() {
    let style = Style { colour: true, unicode: true };
    let kernel = |memory: &mut super::examples::Memory, at: [i64; 4]| {
        (at[3] < 4).then(|| Conv::CORRECT.sum(memory, at) * if at[2] > 2 { 3.0 } else { 1.0 })
    };
    let text = report(style, &[verdict("tiny", kernel)]);
    assert_snapshot!(text.replace('\u{1b}', "␛"), @r#"
    ␛[1mPuzzle 10: Conv2D backward: input gradient␛[0m
    ␛[2mpuzzles/10_conv_backward_input.cu, compiled in 812 ms; PTX virtual machine, 2 threads; seed 42␛[0m

    ␛[1m── tiny ──␛[0m
    One 5x5 image, one 3x3 filter of 1..9, a gradient of ones: small enough to check by hand.
    ␛[2mbatch=1 C_in=1 H=5 W=5 C_out=1 F=3 H_out=3 W_out=3␛[0m

    ␛[1mgrad(input) [1, 1, 5, 5]: 13 of 25 elements are wrong (5 never written)␛[0m
    ␛[33mpattern:␛[0m grad(input)[*, *, *, 4] is never written, and everything else is.
        ␛[1mgrad(input)[0, 0, 3, 0] is stored at line 6:␛[0m grad_input[idx] = sum;
    ␛[2m    element       expected            got  difference␛[0m
        [0, 0, 0, 4]␛[32m         3␛[0m␛[31m  never written␛[0m
        [0, 0, 1, 4]␛[32m         9␛[0m␛[31m  never written␛[0m
        [0, 0, 2, 4]␛[32m        18␛[0m␛[31m  never written␛[0m
        [0, 0, 3, 0]␛[32m        11␛[0m␛[31m             33␛[0m         +22
        [0, 0, 3, 1]␛[32m        24␛[0m␛[31m             72␛[0m         +48
    ␛[2m    and 8 more; these values are exact: they must be equal␛[0m

        grad(input)[0, 0, *, *]:  ␛[2m·␛[0m right  ␛[31m▓█␛[0m wrong, from small to large errors  ␛[35m?␛[0m never written
    ␛[2m      0␛[0m
        ␛[2m0␛[0m ␛[2m· · · · ␛[0m␛[35m? ␛[0m
        ␛[2m1␛[0m ␛[2m· · · · ␛[0m␛[35m? ␛[0m
        ␛[2m2␛[0m ␛[2m· · · · ␛[0m␛[35m? ␛[0m
        ␛[2m3␛[0m ␛[31m▓▓██████␛[0m␛[35m? ␛[0m
        ␛[2m4␛[0m ␛[31m▓▓▓▓██▓▓␛[0m␛[35m? ␛[0m

        grad(input)[0, 0, 3, 0] should be 11, the sum of 2 products; the kernel made it 33:
          filters[0, 0, 2, 0] · grad(output)[0, 0, 1, 0] = 7␛[2m   (k=0, fh=2, fw=0)␛[0m
          filters[0, 0, 1, 0] · grad(output)[0, 0, 2, 0] = 4␛[2m   (k=0, fh=1, fw=0)␛[0m
        block (0,0,0) thread (15,0,0), which stored grad(input)[0, 0, 3, 0] at line 6,
          read exactly the elements that the formula uses: look at what it does with them

      ␛[31m✘␛[0m tiny                               3.2 ms   grad(input): 13 of 25 wrong

    ␛[31m0 of 1 tests passed␛[0m
    to repeat:  grader puzzle 10 --test tiny --seed 42
    to watch:   grader replay 10 --test tiny --seed 42
    to read:    book/src/10_conv_backward_input.md
    "#);
}

#[test]
fn a_failure_shows_its_diagnostics() {
    let start = SOURCE.find("sum;").unwrap();
    let failure = Failure::at(
        FailureKind::Kernel,
        Diagnostic {
            severity: Severity::Error,
            title: "identifier \"sum\" is undefined".into(),
            source: Some(Source {
                path: "puzzles/10_conv_backward_input.cu".into(),
                text: SOURCE.into(),
                marks: vec![Mark { span: start..start + 3, label: String::new() }],
            }),
            help: vec!["declare it before the loop".into()],
        },
    );
    let mut out = Vec::new();
    TextReporter::new(&mut out, Style::PLAIN).failed(&failure).unwrap();
    assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
    error: identifier "sum" is undefined
     --> puzzles/10_conv_backward_input.cu:6:23
      |
    6 |     grad_input[idx] = sum;
      |                       ^^^
      |
      = help: declare it before the loop
    "#);
}

#[test]
fn no_test_at_all_is_no_pass() {
    assert_eq!(Summary { total: 0, passed: 0 }.exit_code(), 1);
    assert_eq!(Summary { total: 2, passed: 1 }.exit_code(), 1);
    assert_eq!(Summary { total: 2, passed: 2 }.exit_code(), 0);
}

#[test]
fn warnings_prints_and_tests_that_do_not_run() {
    let mut run = run_info();
    run.warnings.push(Diagnostic {
        severity: Severity::Warning,
        title: "expression has no effect".into(),
        source: Some(Source {
            path: run.file.clone(),
            text: SOURCE.into(),
            marks: vec![Mark { span: 167..173, label: "no effect".into() }],
        }),
        help: Vec::new(),
    });
    let mut verdict = correct("tiny");
    let prints: Vec<String> = (0..20).map(|i| format!("x[{i}] is 1\n")).collect();
    verdict.printed = prints.concat();
    let mut out = Vec::new();
    let mut reporter = TextReporter::new(&mut out, Style::PLAIN);
    reporter.start(&run).unwrap();
    reporter.test_finished(&verdict).unwrap();
    reporter.not_run("asymmetric", "the kernel does not terminate").unwrap();
    reporter.finish(&Summary { total: 2, passed: 1 }).unwrap();
    assert_snapshot!(String::from_utf8(out).unwrap(), @r"
    Puzzle 10: Conv2D backward: input gradient
    puzzles/10_conv_backward_input.cu, compiled in 812 ms; PTX virtual machine, 2 threads; seed 42

    warning: expression has no effect
     --> puzzles/10_conv_backward_input.cu:4:18
      |
    4 |     float sum = g[idx] * filters[idx + 5]; // the mistake
      |                  ^^^^^^ no effect

      pass tiny                               3.2 ms
           asymmetric                                  not run: the kernel does not terminate

    printed by the kernel:
      | x[0] is 1
      | x[1] is 1
      | x[2] is 1
      | x[3] is 1
      | x[4] is 1
      | x[5] is 1
      | x[6] is 1
      | x[7] is 1
      | x[8] is 1
      | x[9] is 1
      | x[10] is 1
      | x[11] is 1
      | x[12] is 1
      | x[13] is 1
      | x[14] is 1
      | x[15] is 1
        and 4 more lines

    1 of 2 tests passed
    ");
}

#[test]
fn on_a_narrow_screen_the_failure_comes_first_and_quoted_lines_fit() {
    let mut run = run_info();
    run.warnings.push(Diagnostic {
        severity: Severity::Warning,
        title: "expression has no effect".into(),
        source: Some(Source {
            path: run.file.clone(),
            text: SOURCE.into(),
            marks: vec![Mark { span: 167..173, label: "no effect".into() }],
        }),
        help: Vec::new(),
    });
    let finding = Finding {
        problem: outside(Element { tensor: "filters".into(), shape: vec![1, 1, 3, 3], flat: 9 }),
        kernel: "conv2d_backward_input".into(),
        line: Some(line(4, 26)),
        thread: Some(ThreadId { block: [0; 3], thread: [3, 0, 0] }),
        count: 25,
    };
    let mut verdict = correct("tiny");
    verdict.findings = vec![finding];
    let mut out = Vec::new();
    let mut reporter = TextReporter::new(&mut out, Style::PLAIN).for_screen(40);
    reporter.start(&run).unwrap();
    reporter.test_finished(&verdict).unwrap();
    reporter.finish(&Summary { total: 1, passed: 0 }).unwrap();
    assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn drawn_cases_take_one_line_and_the_smallest_is_shown() {
    let all = TestVerdict { cases: 58, ..correct("tiny") };
    assert!(report(UNICODE, &[all]).contains("58 drawn sizes pass"));
    let smallest = Some(puzzle::draw::Flavour::Ties);
    let failing =
        TestVerdict { smallest, ..wrong("asymmetric", &Conv { sample: |_| 0, ..Conv::CORRECT }) };
    let text = report(UNICODE, &[failing]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("smallest case that fails: "), "{text}");
    assert!(text.contains("its data: few different values, with zeros of both signs"), "{text}");
}
