//! The calls of host code that store an output.

use super::number::{count, number};
use judge::verdict::{CallArg, HostSteps, StoringCall, StoringCalls, WrongStep};
use puzzle::tensor::Tensor;

/// Calls that are named; of more the last alone.
const MOST: usize = 3;

/// Which calls change an output, and what the last one is given.
pub(super) fn sentence(calls: &StoringCalls, tensor: &Tensor) -> String {
    let name = &tensor.name;
    let texts: Vec<String> = calls.calls.iter().map(text).collect();
    let stored = match &texts[..] {
        [] => return format!("no launch, copy or fill changes {name}."),
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
    if let Some(threads) = calls.threads {
        let elements = tensor.len();
        return format!(
            "{stored}, which starts {threads} threads; {name} has {elements} elements."
        );
    }
    if let Some((workspace, before)) = &calls.before {
        return format!("{stored}. Before that, {workspace} is given to {}.", text(before));
    }
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

/// How far the launches of host code are right.
pub(super) fn of_steps(steps: &HostSteps) -> String {
    let HostSteps { right, missing, part, after, stores_output, next, more, copied, wrong } = steps;
    let verb = if right.len() == 1 { "is" } else { "are" };
    let last = right.join(" and ");
    let right = if last.is_empty() {
        String::new()
    } else {
        format!("{last} {verb} correct in device memory, ")
    };
    let but = if last.is_empty() { "" } else { "but " };
    if let Some(wrong) = wrong {
        return format!("{right}{but}{}", of_wrong_step(wrong, missing));
    }
    if let Some((some, all)) = part {
        return format!(
            "{right}{but}the launches store only {some} of the {all} parts of {missing} along its first axis."
        );
    }
    if *copied {
        let copy = if *verb == *"is" { "in the copy" } else { "in the copies" };
        return format!(
            "{right}also {copy} that the code takes to the host. What is wrong comes after that: in {}.",
            listed(after)
        );
    }
    match next {
        Some(next) if *stores_output => {
            format!("{right}but {missing} is not, which {} stores.", text(next))
        }
        Some(next) => format!(
            "{right}but no launch stores {missing}, the next step of the formula: what is wrong comes after that, in {} or later.",
            text(next)
        ),
        None if *more => {
            format!("{right}but no launch stores {missing}, the next step of the formula.")
        }
        None if steps.misses_output() => format!(
            "{right}and no launch computes anything else from there: the host code makes {missing} of it."
        ),
        None => format!(
            "{right}and no launch computes anything else from there: {missing}, the next step of the formula, is left to the host code."
        ),
    }
}

/// Names, of many the first and the last.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [first, last] => format!("{first} or {last}"),
        [first, second, last] => format!("{first}, {second} or {last}"),
        [first, .., last] => format!("{first}, {last} or between them"),
    }
}

/// A step that is wrong in memory, and what follows from it.
fn of_wrong_step(wrong: &WrongStep, step: &str) -> String {
    let WrongStep { call, stored, element, expected, got, count, of, variant } = wrong;
    let verb = if *stored { "stores" } else { "is given" };
    let formula = variant
        .as_ref()
        .map(|variant| format!(" It is what the formula gives if {}.", variant.says));
    format!(
        "{} {verb} {step} with {count} of {of} elements wrong: {element} is {}, and should be {}.{} With these values the rest of the formula gives your result: what comes after that is right.",
        text(call),
        number(*got),
        number(*expected),
        formula.unwrap_or_default(),
    )
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
        CallArg::Result(call) => format!("the result of {}", text(call)),
        CallArg::Values(values) => {
            let values: Vec<String> = values.iter().map(|value| number(*value)).collect();
            format!("a buffer of {}, ...", values.join(", "))
        }
        CallArg::Other => "a buffer".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::verdict::FormulaVariant;
    use puzzle::tensor::DType;

    #[test]
    fn launches_have_their_arguments() {
        let tensor = Tensor { name: "c".into(), dtype: DType::F32, shape: vec![2] };
        let of = |name: &str| CallArg::Tensor { name: name.into(), element: None };
        let args = vec![of("a"), of("c"), CallArg::Number(84.0), CallArg::Other];
        let launch = StoringCall::Kernel("fc".into(), args);
        let said = |calls: Vec<StoringCall>, instead| {
            sentence(&StoringCalls { calls, threads: None, before: None, instead }, &tensor)
        };
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
        assert_eq!(said(Vec::new(), None), "no launch, copy or fill changes c.");
        let tensor = Tensor { shape: vec![300], ..tensor };
        let calls = vec![StoringCall::Kernel("fc".into(), Vec::new())];
        let few = StoringCalls { calls, threads: Some(256), before: None, instead: None };
        assert_eq!(
            sentence(&few, &tensor),
            "c is stored by fc(), which starts 256 threads; c has 300 elements."
        );
        let before = Some(("work".into(), StoringCall::Kernel("im2col".into(), Vec::new())));
        let filled = StoringCalls { threads: None, before, ..few };
        assert_eq!(
            sentence(&filled, &tensor),
            "c is stored by fc(). Before that, work is given to im2col()."
        );
        let values = CallArg::Values(vec![1.0, 0.5]);
        assert_eq!(arg(&values), "a buffer of 1, 0.5, ...");
        let result = CallArg::Result(Box::new(StoringCall::Kernel("fc".into(), Vec::new())));
        assert_eq!(arg(&result), "the result of fc()");
        let inside = CallArg::Tensor { name: "a".into(), element: Some("a[1]".into()) };
        assert_eq!(arg(&inside), "&a[1]");
    }

    #[test]
    fn the_last_correct_step_is_named_with_the_launch_that_follows() {
        let args = vec![CallArg::Tensor { name: "probs".into(), element: None }, CallArg::Other];
        let steps = HostSteps {
            right: vec!["probs".into()],
            missing: "each".into(),
            part: None,
            after: vec!["each".into(), "losses".into()],
            stores_output: false,
            next: Some(StoringCall::Kernel("loss".into(), args)),
            more: true,
            copied: false,
            wrong: None,
        };
        let part = HostSteps { part: Some((4, 11)), ..steps.clone() };
        let unknown = HostSteps { next: None, ..steps.clone() };
        let on_host = HostSteps { more: false, ..unknown.clone() };
        let output = HostSteps { after: vec!["each".into()], ..on_host.clone() };
        let copied = HostSteps { copied: true, ..on_host.clone() };
        let again = HostSteps { right: Vec::new(), ..part.clone() };
        let stored = HostSteps { stores_output: true, ..steps.clone() };
        let logits = WrongStep {
            call: StoringCall::Kernel("loss".into(), Vec::new()),
            stored: true,
            element: "each[0]".into(),
            expected: 2.0,
            got: 0.5,
            count: 3,
            of: 4,
            variant: Some(FormulaVariant {
                says: "`logits` is read in the place of `probs`".into(),
                confirmed: 1,
                other_sizes: false,
            }),
        };
        let wrong = HostSteps { wrong: Some(logits), ..steps.clone() };
        insta::assert_snapshot!([steps, part, unknown, on_host, output, copied, again, stored, wrong].map(|s| of_steps(&s)).join("\n"), @r"
        probs is correct in device memory, but no launch stores each, the next step of the formula: what is wrong comes after that, in loss(probs, a buffer) or later.
        probs is correct in device memory, but the launches store only 4 of the 11 parts of each along its first axis.
        probs is correct in device memory, but no launch stores each, the next step of the formula.
        probs is correct in device memory, and no launch computes anything else from there: each, the next step of the formula, is left to the host code.
        probs is correct in device memory, and no launch computes anything else from there: the host code makes each of it.
        probs is correct in device memory, also in the copy that the code takes to the host. What is wrong comes after that: in each or losses.
        the launches store only 4 of the 11 parts of each along its first axis.
        probs is correct in device memory, but each is not, which loss(probs, a buffer) stores.
        probs is correct in device memory, but loss() stores each with 3 of 4 elements wrong: each[0] is 0.5, and should be 2. It is what the formula gives if `logits` is read in the place of `probs`. With these values the rest of the formula gives your result: what comes after that is right.
        ");
    }
}
