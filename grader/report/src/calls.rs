//! The calls of host code that store an output.

use super::number::{count, number};
use judge::verdict::{CallArg, StoringCall, StoringCalls};
use puzzle::tensor::Tensor;

/// Calls that are named; of more the last alone.
const MOST: usize = 3;

/// Which calls change an output, and what the last one is given.
pub(super) fn sentence(calls: &StoringCalls, tensor: &Tensor) -> String {
    let name = &tensor.name;
    let texts: Vec<String> = calls.calls.iter().map(text).collect();
    let stored = match &texts[..] {
        [] => return String::new(),
        [call] => format!("{name} is stored by {call}"),
        [first, others @ ..] if texts.len() <= MOST => {
            format!(
                "{name} is stored by {first}, and changed again by {}",
                others.join(", then by ")
            )
        }
        [.., last] => {
            format!("{name} is changed by {}, the last one is {last}", count(texts.len(), "call"))
        }
    };
    match &calls.instead {
        Some((given, missing)) => {
            format!(
                "{stored}, which is given {}, and not {}.",
                given.join(" and "),
                missing.join(" and ")
            )
        }
        None => format!("{stored}."),
    }
}

fn text(call: &StoringCall) -> String {
    match call {
        StoringCall::Kernel(kernel, args) => {
            let args: Vec<String> = args.iter().map(arg).collect();
            format!("{kernel}({})", args.join(", "))
        }
        StoringCall::Copy => "a copy (cudaMemcpy)".into(),
        StoringCall::Fill => "a fill (cudaMemset)".into(),
    }
}

fn arg(arg: &CallArg) -> String {
    match arg {
        CallArg::Tensor { name, element: None } => name.clone(),
        CallArg::Tensor { element: Some(element), .. } => format!("&{element}"),
        CallArg::Number(value) => number(*value),
        CallArg::Other => "a buffer".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use puzzle::tensor::DType;

    #[test]
    fn launches_have_their_arguments() {
        let tensor = Tensor { name: "c".into(), dtype: DType::F32, shape: vec![2] };
        let of = |name: &str| CallArg::Tensor { name: name.into(), element: None };
        let args = vec![of("a"), of("c"), CallArg::Number(84.0), CallArg::Other];
        let launch = StoringCall::Kernel("fc".into(), args);
        let said =
            |calls: Vec<StoringCall>, instead| sentence(&StoringCalls { calls, instead }, &tensor);
        assert_eq!(
            said(vec![launch.clone()], Some((vec!["a".into()], vec!["b".into()]))),
            "c is stored by fc(a, c, 84, a buffer), which is given a, and not b."
        );
        assert_eq!(
            said(vec![launch.clone(), StoringCall::Fill], None),
            "c is stored by fc(a, c, 84, a buffer), and changed again by a fill (cudaMemset)."
        );
        assert_eq!(
            said(vec![StoringCall::Copy, launch.clone(), launch.clone(), launch], None),
            "c is changed by 4 calls, the last one is fc(a, c, 84, a buffer)."
        );
        let inside = CallArg::Tensor { name: "a".into(), element: Some("a[1]".into()) };
        assert_eq!(arg(&inside), "&a[1]");
    }
}
