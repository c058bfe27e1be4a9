//! The element and the value at a position that a kernel chose.

use indexmath::{Candidate, Formula, TensorType, Values, candidate};
use std::collections::BTreeMap;

#[test]
fn positions_lead_to_values_and_elements() {
    let of = |ty| TensorType::parse(ty).unwrap();
    let tensors =
        BTreeMap::from([("x".to_owned(), of("f32[2, N]")), ("y".to_owned(), of("i32[N / 2]"))]);
    let text = "y[i] = argmax[p < 2, q < 2] x[p,2*i+q]";
    let formula = Formula::parse(text, &tensors).unwrap();
    let formula = formula.at(&BTreeMap::from([("N".to_owned(), 4)])).unwrap();
    let x = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let known = Values::from([("x".to_owned(), x)]);
    let at = |flat, at| candidate(&formula, &known, ("y", flat), at);
    let found = |value, flat| Some(Candidate { value, element: Some(("x".to_owned(), flat)) });
    assert_eq!(at(1, 0), found(3.0, 2));
    assert_eq!(at(1, 2), found(7.0, 6));
    assert_eq!(at(1, 4), None);
    assert_eq!(at(1, -1), None);
}
