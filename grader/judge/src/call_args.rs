//! The arguments of a launch of host code, by the names that a report has for them.

use crate::verdict::CallArg;
use device::host::LaunchArg;
use puzzle::case::CaseTensor;
use puzzle::tensor::size_of;

/// An argument that holds a whole step of the formula.
pub(crate) fn named(name: &str) -> CallArg {
    CallArg::Tensor { name: name.to_owned(), element: None }
}

/// Values of a buffer that are shown.
const SHOWN: usize = 6;

/// Memory that is no tensor, by its first values; of zeros and of what nothing has set they tell nothing.
pub(crate) fn begins(words: &[f32]) -> CallArg {
    let first: Vec<f64> = words.iter().take(SHOWN).map(|&word| word.into()).collect();
    let is_telling = first.iter().all(|value| value.is_finite()) && first.iter().any(|v| *v != 0.0);
    if is_telling { CallArg::Values(first) } else { CallArg::Other }
}

/// An argument with the name of its tensor.
pub(crate) fn arg(tensors: &[CaseTensor], arg: &LaunchArg) -> CallArg {
    match *arg {
        LaunchArg::Tensor(i, offset) => {
            let tensor = &tensors[i].tensor;
            let flat = offset as usize / size_of(tensor.dtype);
            CallArg::Tensor {
                name: tensor.name.clone(),
                element: (flat > 0).then(|| tensor.element_name(flat)),
            }
        }
        LaunchArg::Number(value) => CallArg::Number(value),
        LaunchArg::Other => CallArg::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::case::Role;
    use puzzle::tensor::{DType, Tensor};

    #[test]
    fn an_address_inside_names_its_element() {
        let tensor = Tensor { name: "b".into(), dtype: DType::F32, shape: vec![2] };
        let tensors = [CaseTensor { tensor, role: Role::Output(Vec::new()) }];
        let found = arg(&tensors, &LaunchArg::Tensor(0, 4));
        assert_eq!(found, CallArg::Tensor { name: "b".into(), element: Some("b[1]".into()) });
    }

    #[test]
    fn zeros_and_memory_that_nothing_has_set_have_no_values_to_show() {
        assert_eq!(begins(&[0.0, 1.0]), CallArg::Values(vec![0.0, 1.0]));
        assert_eq!(begins(&[0.0; 8]), CallArg::Other);
        assert_eq!(begins(&[1.0, f32::NAN]), CallArg::Other);
    }
}
