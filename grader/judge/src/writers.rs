//! Which calls of host code store the first wrong output, and what the last of them is given in the place of what the formula computes it
//! from.

use crate::verdict::{CallArg, StoringCall, StoringCalls, TestVerdict};
use device::backend::Run;
use device::host::{HostBackend, LaunchArg, Writer};
use puzzle::case::{Case, CaseTensor};
use puzzle::tensor::size_of;
use std::time::Duration;

/// A run that takes longer is not repeated for this.
const LONG: Duration = Duration::from_secs(4);

/// Adds to a failing verdict the calls that change an output that is wrong, if no formula explains it.
pub(crate) fn explain(
    host: &HostBackend,
    (case, run): (&Case, &Run),
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let diff = &verdict.diffs[at];
    let index = case.output(&diff.tensor.name).filter(|_| diff.variant.is_none());
    let Some(index) = index.filter(|_| run.time <= LONG) else { return verdict };
    // A GPU's own order of things tells nothing more.
    let interpreted = host.interpreted();
    let writers = interpreted.as_ref().unwrap_or(host).writers(case, index);
    let writers = writers.unwrap_or_default();
    let Some(last) = writers.last() else { return verdict };
    let instead = instead(&case.tensors, index, last, &diff.correct_sources);
    let calls = writers.iter().map(|writer| call(&case.tensors, writer)).collect();
    verdict.diffs[at].calls = Some(StoringCalls { calls, instead });
    verdict
}

fn call(tensors: &[CaseTensor], writer: &Writer) -> StoringCall {
    match writer {
        Writer::Kernel(kernel, args) => {
            let args = args.iter().map(|arg| self::arg(tensors, arg)).collect();
            StoringCall::Kernel(kernel.clone(), args)
        }
        Writer::Copy => StoringCall::Copy,
        Writer::Fill => StoringCall::Fill,
    }
}

fn arg(tensors: &[CaseTensor], arg: &LaunchArg) -> CallArg {
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

/// Outputs that a launch is given, and those that the formula computes the output from and that it is not given. `None` if it has all, or
/// nothing in their place.
fn instead(
    tensors: &[CaseTensor],
    output: usize,
    last: &Writer,
    sources: &[String],
) -> Option<(Vec<String>, Vec<String>)> {
    let Writer::Kernel(_, args) = last else { return None };
    let given = args.iter().filter_map(|arg| match arg {
        LaunchArg::Tensor(i, _) => Some(&tensors[*i]),
        _ => None,
    });
    let given: Vec<&CaseTensor> = given.collect();
    let has = |name: &String| given.iter().any(|other| other.tensor.name == *name);
    let missing: Vec<String> = sources.iter().filter(|name| !has(name)).cloned().collect();
    let name = &tensors[output].tensor.name;
    let others = given.iter().filter(|other| {
        other
            .wanted()
            .is_some_and(|(tensor, _)| tensor.name != *name && !sources.contains(&tensor.name))
    });
    let others: Vec<String> = others.map(|other| other.tensor.name.clone()).collect();
    (!missing.is_empty() && !others.is_empty()).then_some((others, missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::case::Role;
    use puzzle::tensor::{DType, Tensor};

    fn tensors() -> Vec<CaseTensor> {
        let of = |name: &str, role| CaseTensor {
            tensor: Tensor { name: name.into(), dtype: DType::F32, shape: vec![2] },
            role,
        };
        let output = |name: &str| of(name, Role::Output(Vec::new()));
        vec![output("a"), output("b"), output("c"), of("w", Role::Input(vec![1.0; 2]))]
    }

    #[test]
    fn another_output_is_named_with_what_is_missing() {
        let launch = |from| {
            let args = [from, 3, 2].map(|i| LaunchArg::Tensor(i, 0));
            Writer::Kernel("k".into(), args.to_vec())
        };
        let sources = ["b".to_owned()];
        let found = instead(&tensors(), 2, &launch(0), &sources);
        assert_eq!(found, Some((vec!["a".into()], vec!["b".into()])));
        assert_eq!(instead(&tensors(), 2, &launch(1), &sources), None);
        assert_eq!(instead(&tensors(), 2, &launch(3), &sources), None, "an input in its place");
        assert_eq!(instead(&tensors(), 2, &Writer::Fill, &sources), None);
    }

    #[test]
    fn an_address_inside_names_its_element() {
        let found = arg(&tensors(), &LaunchArg::Tensor(1, 4));
        assert_eq!(found, CallArg::Tensor { name: "b".into(), element: Some("b[1]".into()) });
    }
}
