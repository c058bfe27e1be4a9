//! Values of assigned tensors that are given, and primed names.

use crate::common::{dims, tensors};
use indexmath::{ElementRef, Formula, SizedFormula, Values};

/// y is three times x; z adds the two halves of y.
fn formula() -> SizedFormula {
    let types = tensors(&[("x", "f32[4]"), ("y", "f32[4]"), ("z", "f32[2]")]);
    let text = "y[i] = 3 * x[i]; z[i] = y[i] + y[i+2]";
    Formula::parse(text, &types).unwrap().at(&dims(&[])).unwrap()
}

fn known(given: Option<[f64; 4]>) -> Values {
    let mut known = Values::from([("x".to_owned(), vec![0.1, 0.2, 0.3, 0.4])]);
    known.extend(given.map(|y| ("y".to_owned(), y.to_vec())));
    known
}

#[test]
fn statements_read_given_values_without_error() {
    let formula = formula();
    let results = formula.evaluate(&known(Some([1.0, 2.0, 4.0, 8.0])), &["y", "z"]).unwrap();
    let values = |name: &str| results[name].iter().map(|a| a.value).collect::<Vec<_>>();
    assert_eq!(values("z"), [5.0, 10.0]);
    assert!(results["z"].iter().all(|a| a.bound == 0.0));
    assert_eq!(values("y")[0], 3.0 * 0.1, "asked for itself, it is computed");
    let z1 = ElementRef { tensor: "z".into(), coords: vec![1] };
    assert_eq!(formula.element(&known(Some([1.0, 2.0, 4.0, 8.0])), &z1).unwrap().value, 10.0);
    let without = formula.evaluate(&known(None), &["z"]).unwrap();
    assert!(without["z"][0].bound > 0.0, "0.1 and 0.3 thrice are rounded");
}

#[test]
fn inputs_of_what_is_given_need_no_values() {
    let only = Values::from([("y".to_owned(), vec![1.0, 2.0, 4.0, 8.0])]);
    assert_eq!(formula().evaluate(&only, &["z"]).unwrap()["z"][0].value, 5.0);
    assert!(formula().evaluate(&only, &["y"]).is_err());
    let short = Values::from([("y".to_owned(), vec![1.0])]);
    assert!(formula().evaluate(&short, &["z"]).is_err());
}

#[test]
fn terms_end_at_given_values() {
    let factors = |known: &Values, tensor: &str| {
        let at = ElementRef { tensor: tensor.into(), coords: vec![0] };
        let terms = formula().terms(known, &at, 10).unwrap().unwrap();
        terms
            .iter()
            .map(|t| format!("{}{:?}", t.factors[0].tensor, t.factors[0].coords))
            .collect::<Vec<_>>()
    };
    let given = known(Some([1.0, 2.0, 4.0, 8.0]));
    assert_eq!(factors(&given, "z"), ["y[0]", "y[2]"]);
    assert_eq!(factors(&known(None), "z"), ["x[0]", "x[2]"]);
    assert_eq!(factors(&given, "y"), ["x[0]"]);
}

#[test]
fn a_primed_name_is_a_tensor_of_its_own() {
    let types = tensors(&[("w", "f32[2]"), ("w'", "f32[2]"), ("g", "f32[2]")]);
    let formula = Formula::parse("w'[i] = w[i] - 2 * g[i]", &types).unwrap();
    assert_eq!(
        (formula.inputs(), formula.assigned()),
        (vec!["w".into(), "g".into()], vec!["w'".into()])
    );
    let known = Values::from([("w".into(), vec![5.0, 6.0]), ("g".into(), vec![1.0, 2.0])]);
    let new = &formula.at(&dims(&[])).unwrap().evaluate(&known, &["w'"]).unwrap()["w'"];
    assert_eq!((new[0].value, new[1].value), (3.0, 2.0));
    assert!(Formula::parse("w''[i] = w[i]", &types).is_err());
}
