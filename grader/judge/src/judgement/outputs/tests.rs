use super::*;
use device::backend::RunTensor;
use device::finding::FindingKind;
use indexmath::{Approx, DType};
use proptest::prelude::*;
use ptxvm::finding::WriteToReadOnly;
use puzzle::case::{CaseArg, LaunchOptions};

fn tensor(name: &str, shape: &[usize]) -> Tensor {
    Tensor { name: name.into(), dtype: DType::F32, shape: shape.into() }
}

fn input(values: &[f64]) -> CaseTensor {
    CaseTensor { tensor: tensor("filters", &[values.len()]), role: Role::Input(values.into()) }
}

fn output(expected: &[(f64, f64)]) -> CaseTensor {
    let approx = |&(value, bound)| Approx { value, bound, magnitude: f64::abs(value), terms: 1 };
    CaseTensor {
        tensor: tensor("grad(input)", &[expected.len()]),
        role: Role::Output(expected.iter().map(approx).collect()),
    }
}

fn launch() -> CaseLaunch {
    CaseLaunch {
        kernel: "scale".into(),
        grid: [1; 3],
        block: [4, 2, 1],
        shared: 0,
        options: LaunchOptions::default(),
        args: vec![CaseArg::Tensor(0), CaseArg::Tensor(1)],
        constants: Vec::new(),
        moves_in: Vec::new(),
    }
}

fn run(tensors: &[(&[f64], &[bool])]) -> Run {
    Run {
        tensors: tensors
            .iter()
            .map(|(values, written)| RunTensor {
                values: values.to_vec(),
                written: written.to_vec(),
            })
            .collect(),
        ..Run::default()
    }
}

fn judged(tensors: &[CaseTensor], run: &Run) -> (Vec<Finding>, Vec<TensorDiff>) {
    judge_tensors(tensors, &[launch()], run)
}

const ALL: &[bool] = &[true; 2];

#[test]
fn a_right_run_passes() {
    let tensors = [input(&[1.0, 2.0]), output(&[(3.0, 0.0), (4.0, 0.5)])];
    let (findings, diffs) = judged(&tensors, &run(&[(&[1.0, 2.0], ALL), (&[3.0, 4.25], ALL)]));
    assert!(findings.is_empty() && diffs.is_empty());
}

#[test]
fn a_diff_counts_and_lists_what_is_wrong() {
    let tensors = [input(&[1.0, 2.0]), output(&[(3.0, 0.0), (4.0, 0.5), (5.0, 0.0), (6.0, 0.0)])];
    let got = (&[9.0, 4.0, f64::NAN, 6.0][..], &[false, true, true, true][..]);
    let (findings, diffs) = judged(&tensors, &run(&[(&[1.0, 2.0], ALL), got]));
    assert!(findings.is_empty());
    let [diff] = &diffs[..] else { panic!("one output is wrong") };
    assert_eq!(diff.wrong, [true, false, true, false]);
    assert_eq!((diff.wrong_count, diff.unwritten_count, diff.nan_count), (2, 1, 1));
    assert_eq!(
        diff.errors[..2],
        [crate::verdict::Deviation::Unwritten, crate::verdict::Deviation::Correct]
    );
    assert_eq!((diff.mismatches[0].flat, diff.mismatches[0].got), (0, None));
    assert_eq!(diff.terms.mismatch.flat, 2, "a written element can be traced");
}

#[test]
fn two_outputs_that_hold_each_others_values_are_told() {
    let mut tensors = [output(&[(3.0, 0.0), (4.0, 0.5)]), output(&[(5.0, 0.0), (6.0, 0.5)])];
    tensors[1].tensor.name = "beta".into();
    let causes = |got: [[f64; 2]; 2]| {
        let run = run(&[(&got[0], ALL), (&got[1], ALL)]);
        let (_, mut diffs) = judged(&tensors, &run);
        name_exchanged(&tensors, &run, &mut diffs);
        diffs.into_iter().map(|diff| diff.cause).collect::<Vec<_>>()
    };
    let with = |name: &str| Some(Cause::ExchangedWith { tensor: name.into() });
    let found = [with("beta"), with("grad(input)")];
    assert_eq!(causes([[5.0, 6.25], [3.0, 4.0]]), found);
    for other in [[[5.0, 6.0], [3.0, 7.0]], [[5.0, 6.0], [5.0, 6.0]]] {
        let all = causes(other);
        assert!(all.iter().all(|cause| !found.contains(cause)), "{all:?}");
    }
}

#[test]
fn a_changed_input_is_found_once() {
    let tensors = [input(&[1.0, 2.0]), output(&[(3.0, 0.0)])];
    let mut changed = run(&[(&[1.0, 7.0], ALL), (&[3.0], &[true])]);
    let (findings, _) = judged(&tensors, &changed);
    let [Finding { problem: Problem::InputChanged { place }, kernel, .. }] = &findings[..] else {
        panic!("{findings:?}")
    };
    assert_eq!((place.tensor.as_str(), place.flat, kernel.as_str()), ("filters", 1, "scale"));

    let write = WriteToReadOnly { place: Some(place.clone()), size: 4, address: 0 };
    let seen = Problem::Check(FindingKind::WriteToReadOnly(write));
    changed.findings = vec![Finding { problem: seen, ..findings[0].clone() }];
    assert_eq!(judged(&tensors, &changed).0, changed.findings);
}

#[test]
fn what_contradicts_the_case_never_passes() {
    let tensors = [input(&[1.0, 2.0]), output(&[(3.0, 0.0), (4.0, 0.0)])];
    let good: (&[f64], &[bool]) = (&[1.0, 2.0], ALL);
    let fails = |run: &Run| {
        let (findings, _) = judged(&tensors, run);
        assert!(findings.iter().any(|f| matches!(f.problem, Problem::Grader { .. })), "{run:?}");
    };
    fails(&run(&[good]));
    fails(&run(&[good, (&[3.0], &[true])]));
    fails(&run(&[good, (&[3.0, 4.0, 5.0], &[true; 3])]));
    fails(&run(&[good, (&[3.0, 4.0], &[true])]));
    fails(&run(&[good, (&[3.0, 4.0], ALL), good]));
    fails(&run(&[(&[1.0], &[true]), (&[3.0, 4.0], ALL)]));
    let (findings, _) = judged(&[input(&[1.0, 2.0])], &run(&[good]));
    assert_eq!(findings.len(), 1, "nothing compared is no pass");
}

/// What a kernel may leave in an element, and whether that is correct for value 2 within 0.5.
fn element() -> impl Strategy<Value = (f64, bool, bool)> {
    prop_oneof![
        6 => (1.5..=2.5).prop_map(|got| (got, true, true)),
        1 => (2.500_001..1e9).prop_map(|got| (got, true, false)),
        1 => (-1e9..1.499_999).prop_map(|got| (got, true, false)),
        1 => Just((f64::NAN, true, false)),
        1 => Just((f64::INFINITY, true, false)),
        1 => Just((2.0, false, false)),
    ]
}

proptest! {
    #[test]
    fn passes_if_and_only_if_every_element_is_right(elements in prop::collection::vec(element(), 1..40)) {
        let expected = vec![(2.0, 0.5); elements.len()];
        let got: Vec<f64> = elements.iter().map(|e| e.0).collect();
        let written: Vec<bool> = elements.iter().map(|e| e.1).collect();
        let (findings, diffs) = judged(&[output(&expected)], &run(&[(&got, &written)]));
        let wrong = elements.iter().filter(|e| !e.2).count();
        prop_assert!(findings.is_empty());
        prop_assert_eq!(diffs.first().map_or(0, |d| d.wrong_count), wrong);
    }
}

#[test]
fn the_largest_difference_of_an_output_is_found_where_all_is_written() {
    let tensors =
        [input(&[1.0]), output(&[(1.0, 0.5), (2.0, 0.25), (f64::INFINITY, 0.0), (4.0, 0.1)])];
    let all = [true; 4];
    let largest_of = |got: &[f64], written: &[bool]| {
        let found = largest(&tensors, &run(&[(&[1.0], &[true]), (got, written)]));
        found.into_iter().map(|l| (l.flat, l.off, l.allowed)).collect::<Vec<_>>()
    };
    assert_eq!(largest_of(&[1.25, 2.5, f64::INFINITY, 4.0], &all), [(1, 0.5, 0.25)]);
    assert_eq!(largest_of(&[1.0, 2.0, f64::INFINITY, 4.0], &all), [(0, 0.0, 0.5)]);
    assert_eq!(largest_of(&[1.0, 2.0, 7.0, 9.0], &all), [(2, f64::INFINITY, 0.0)]);
    let [(3, off, _)] = largest_of(&[9.0, 2.0, 7.0, f64::NAN], &all)[..] else { panic!() };
    assert!(off.is_nan());
    assert_eq!(largest_of(&[1.0, 2.0, 3.0, 4.0], &[true, true, false, true]), []);
}
