//! The branches of `select`, taken and not taken.

use indexmath::{Branch, Formula, TensorType, Values, branches};
use std::cmp::Ordering;
use std::collections::BTreeMap;

fn branches_of(text: &str, x: [f64; 3]) -> Vec<Vec<Branch>> {
    let of = |ty| TensorType::parse(ty).unwrap();
    let tensors = BTreeMap::from([("x".to_owned(), of("f32[N]")), ("y".to_owned(), of("f32[N]"))]);
    let formula = Formula::parse(text, &tensors).unwrap();
    let formula = formula.at(&BTreeMap::from([("N".to_owned(), 3)])).unwrap();
    branches(&formula, &Values::from([("x".to_owned(), x.to_vec())]), "y", &[0, 1, 2])
}

#[test]
fn both_branches_and_the_comparisons_are_known() {
    let found = branches_of("y[i] = select(x[i] > 0 and x[i] < 2, 3 * x[i], -1)", [1.0, 2.0, -1.0]);
    let [inside, at_the_end, before] = &found[..] else { panic!("{found:?}") };
    let [branch] = &inside[..] else { panic!("{inside:?}") };
    assert!(branch.holds && branch.needs_all && branch.other == -1.0);
    let texts: Vec<&str> = branch.comparisons.iter().map(|c| c.text.as_str()).collect();
    assert_eq!(texts, ["`x[i] > 0`", "`x[i] < 2`"]);
    let [branch] = &at_the_end[..] else { panic!("{at_the_end:?}") };
    assert!(!branch.holds && branch.other == 6.0);
    let holds: Vec<bool> = branch.comparisons.iter().map(|c| c.holds).collect();
    assert_eq!(holds, [true, false]);
    assert_eq!(branch.comparisons[1].ordering, Some(Ordering::Equal));
    assert_eq!(before[0].other, -3.0);
}

#[test]
fn a_branch_may_have_branches() {
    let found = branches_of(
        "y[i] = select(x[i] == 0, 5, select(x[i] < 0 or x[i] > 9, 6, 7))",
        [0.0, -1.0, 3.0],
    );
    let others: Vec<Vec<f64>> =
        found.iter().map(|all| all.iter().map(|branch| branch.other).collect()).collect();
    assert_eq!(others, [vec![7.0], vec![5.0, 7.0], vec![5.0, 6.0]]);
    assert!(!found[1][1].needs_all && found[1][1].holds);
}

#[test]
fn mixed_conditions_are_left_out() {
    let found = branches_of("y[i] = select(x[i] > 0 and x[i] < 2 or x[i] == 7, 1, 0)", [1.0; 3]);
    assert_eq!(found, [vec![], vec![], vec![]]);
}
