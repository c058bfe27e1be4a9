//! Which calls of host code store the first wrong output, and what the last of them is given in the place of what the formula computes it
//! from.

use crate::call_args;
use crate::trials::Trials;
use crate::verdict::{CallArg, Cause, StoringCall, StoringCalls, TensorDiff, TestVerdict};
use crate::{formula_variant, host_steps, wrong_step};
use device::backend::Run;
use device::finding::{Finding, FindingKind, Problem};
use device::host::{HostBackend, LaunchArg, Stored, TracedArg, TracedLaunch, Writer};
use puzzle::case::{Case, CaseTensor, Role};

/// A run that launches more threads, such as a training, is not repeated for this. A limit in seconds would make the
/// report depend on what else the machine does.
const MOST_THREADS: u64 = 1 << 23;

/// Adds to a failing verdict the calls that change an output that is wrong, and how far the launches are right, if no formula explains it.
pub(crate) fn explain(
    host: &HostBackend,
    trials: &Trials<'_, '_>,
    (case, run): (&Case, &Run),
    mut verdict: TestVerdict,
    at: usize,
) -> TestVerdict {
    let diff = &verdict.diffs[at];
    if diff.variant.is_some() {
        return verdict;
    }
    let Some(stored) = stored(host, (case, run), diff) else { return verdict };
    let name = diff.tensor.name.clone();
    let calls = calls(case, diff, &stored);
    let progress = host_steps::explain(case, &stored, &name);
    let diff = &mut verdict.diffs[at];
    diff.calls = calls;
    if let Some(mut progress) = progress {
        progress.steps.wrong = wrong_step::find(host, trials, (case, run), &name, &progress);
        // A pattern is in the words of the output itself, but zeros say nothing.
        let is_plain = matches!(diff.cause, None | Some(Cause::AllZero));
        if is_plain && progress.steps.wrong.is_none() && !progress.seen.is_empty() {
            let seen = &progress.seen;
            diff.variant = formula_variant::from_steps(trials, (case, run), &name, seen);
        }
        let steps = progress.steps;
        // That launch is known with the steps that it is given.
        if steps.stores_output {
            diff.calls = None;
        }
        let is_known = steps.wrong.is_some() || steps.part.is_some() || !steps.right.is_empty();
        diff.host_steps = is_known.then_some(steps);
    }
    verdict
}

/// Adds to a verdict on reads of what nothing has written which calls store the first output that lacks elements.
pub(crate) fn explain_unwritten(
    host: &HostBackend,
    (case, run): (&Case, &Run),
    mut verdict: TestVerdict,
) -> TestVerdict {
    let is_read = |finding: &Finding| {
        matches!(&finding.problem, Problem::Check(FindingKind::Uninitialised(_)))
    };
    let first = verdict.diffs.first().filter(|diff| diff.unwritten_count > 0);
    let Some(diff) = first.filter(|_| verdict.findings.iter().all(is_read)) else { return verdict };
    let calls = stored(host, (case, run), diff).and_then(|stored| calls(case, diff, &stored));
    verdict.diffs[0].calls = calls;
    verdict
}

/// What the calls of the code store, where a further run takes no time; an output is followed.
fn stored(host: &HostBackend, (case, run): (&Case, &Run), diff: &TensorDiff) -> Option<Stored> {
    let index = case.output(&diff.tensor.name).filter(|_| run.threads <= MOST_THREADS)?;
    // A GPU's own order of things tells nothing more.
    let interpreted = host.interpreted();
    interpreted.as_ref().unwrap_or(host).stored(case, index).ok()
}

/// The calls that change an output, by name. Of one that nothing changes, that is known only if all of it is as it was.
fn calls(case: &Case, diff: &TensorDiff, stored: &Stored) -> Option<StoringCalls> {
    let Stored { writers, launches, .. } = stored;
    let (writers, index) = (writers.as_ref()?, case.output(&diff.tensor.name)?);
    let Some(last) = writers.last() else {
        let is_untouched = diff.unwritten_count == diff.tensor.len();
        let nothing =
            StoringCalls { calls: Vec::new(), threads: None, before: None, instead: None };
        return is_untouched.then_some(nothing);
    };
    let threads = match last {
        Writer::Kernel(_, _, threads) if diff.unwritten_count > 0 => Some(*threads),
        _ => None,
    };
    let threads = threads.filter(|&threads| threads < diff.tensor.len() as u64);
    let instead = instead(&case.tensors, index, last, &diff.correct_sources);
    let mut calls: Vec<StoringCall> =
        writers.iter().map(|writer| call(&case.tensors, writer)).collect();
    if let (Some(last), Some(traced)) =
        (calls.last_mut(), with_results(&case.tensors, last, launches, index))
    {
        *last = traced;
    }
    let before = before(&case.tensors, writers, launches);
    Some(StoringCalls { calls, threads, before, instead })
}

/// The last launch that changes an output, with the launches that stored the buffers which it is given. `None` if it is none that was
/// traced.
fn with_results(
    tensors: &[CaseTensor],
    last: &Writer,
    launches: &[TracedLaunch],
    output: usize,
) -> Option<StoringCall> {
    let Writer::Kernel(kernel, ..) = last else { return None };
    let has = |arg: &TracedArg| matches!(arg, TracedArg::Other(LaunchArg::Tensor(at, _)) if *at == output);
    let is_last = |launch: &TracedLaunch| launch.kernel == *kernel && launch.args.iter().any(has);
    let at = launches.iter().rposition(is_last)?;
    let plain = |arg: &TracedArg| match arg {
        TracedArg::Other(arg) => call_args::arg(tensors, arg),
        TracedArg::Buffer(_) => CallArg::Other,
    };
    let stores = |launch: &&TracedLaunch, address: u64| {
        let mut args = launch.args.iter();
        args.any(
            |arg| matches!(arg, TracedArg::Buffer(b) if b.address == address && b.is_changed()),
        )
    };
    let call = |launch: &TracedLaunch| {
        let args = launch.args.iter().map(plain).collect();
        StoringCall::Kernel(launch.kernel.clone(), args)
    };
    let with_result = |arg: &TracedArg| {
        let TracedArg::Buffer(buffer) = arg else { return plain(arg) };
        let source = launches[..at].iter().rev().find(|launch| stores(launch, buffer.address));
        source.map_or(CallArg::Other, |source| CallArg::Result(Box::new(call(source))))
    };
    let args = launches[at].args.iter().map(with_result).collect();
    Some(StoringCall::Kernel(kernel.clone(), args))
}

/// The last workspace that the calls are given, and the last launch of another kernel that is given it.
fn before(
    tensors: &[CaseTensor],
    writers: &[Writer],
    launches: &[TracedLaunch],
) -> Option<(String, StoringCall)> {
    let is_workspace = |at: usize| matches!(tensors[at].role, Role::Workspace | Role::Result);
    let (workspace, kernel) = writers.iter().rev().find_map(|writer| match writer {
        Writer::Kernel(kernel, args, _) => args.iter().find_map(|arg| match arg {
            LaunchArg::Tensor(at, _) if is_workspace(*at) => Some((*at, kernel)),
            _ => None,
        }),
        Writer::Copy | Writer::Fill => None,
    })?;
    let has = |arg: &TracedArg| matches!(arg, TracedArg::Other(LaunchArg::Tensor(at, _)) if *at == workspace);
    let is_before =
        |launch: &&TracedLaunch| launch.kernel != *kernel && launch.args.iter().any(has);
    let launch = launches.iter().rev().find(is_before)?;
    let args = launch.args.iter().map(|arg| match arg {
        TracedArg::Other(arg) => call_args::arg(tensors, arg),
        TracedArg::Buffer(_) => CallArg::Other,
    });
    let call = StoringCall::Kernel(launch.kernel.clone(), args.collect());
    Some((tensors[workspace].tensor.name.clone(), call))
}

fn call(tensors: &[CaseTensor], writer: &Writer) -> StoringCall {
    match writer {
        Writer::Kernel(kernel, args, _) => {
            let args = args.iter().map(|arg| call_args::arg(tensors, arg)).collect();
            StoringCall::Kernel(kernel.clone(), args)
        }
        Writer::Copy => StoringCall::Copy,
        Writer::Fill => StoringCall::Fill,
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
    let Writer::Kernel(_, args, _) = last else { return None };
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
    use device::host::TracedBuffer;
    use puzzle::tensor::{DType, Tensor};
    use std::rc::Rc;

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
            Writer::Kernel("k".into(), args.to_vec(), 1)
        };
        let sources = ["b".to_owned()];
        let found = instead(&tensors(), 2, &launch(0), &sources);
        assert_eq!(found, Some((vec!["a".into()], vec!["b".into()])));
        assert_eq!(instead(&tensors(), 2, &launch(1), &sources), None);
        assert_eq!(instead(&tensors(), 2, &launch(3), &sources), None, "an input in its place");
        assert_eq!(instead(&tensors(), 2, &Writer::Fill, &sources), None);
    }

    #[test]
    fn a_buffer_is_told_by_the_launch_that_stored_it() {
        let buffer = |address, before: f32, after: f32| {
            let before: Rc<[f32]> = vec![before].into();
            let same = before[0].to_bits() == after.to_bits();
            let after = if same { Rc::clone(&before) } else { vec![after].into() };
            TracedArg::Buffer(TracedBuffer { address, before, after })
        };
        let other = TracedArg::Other;
        let launch = |kernel: &str, args| TracedLaunch { kernel: kernel.into(), args };
        let launches = [
            launch("gradient", vec![buffer(64, 0.0, 1.0), other(LaunchArg::Number(84.0))]),
            launch("gradient", vec![buffer(128, 0.0, 1.0), other(LaunchArg::Number(10.0))]),
            launch("step", vec![other(LaunchArg::Tensor(2, 0)), buffer(64, 1.0, 1.0)]),
        ];
        let last = Writer::Kernel("step".into(), Vec::new(), 1);
        let call = with_results(&tensors(), &last, &launches, 2);
        let source = vec![CallArg::Other, CallArg::Number(84.0)];
        let source = StoringCall::Kernel("gradient".into(), source);
        let args = vec![call_args::named("c"), CallArg::Result(Box::new(source))];
        assert_eq!(call, Some(StoringCall::Kernel("step".into(), args)));
        assert_eq!(with_results(&tensors(), &last, &launches, 1), None);
    }

    #[test]
    fn a_workspace_is_told_by_what_is_given_it_before() {
        // What is left in it may be asked for.
        for role in [Role::Workspace, Role::Result] {
            let mut tensors = tensors();
            tensors[1].role = role;
            assert_is_told(&tensors);
        }
    }

    fn assert_is_told(tensors: &[CaseTensor]) {
        let other = |at| TracedArg::Other(LaunchArg::Tensor(at, 0));
        let launch = |kernel: &str, args| TracedLaunch { kernel: kernel.into(), args };
        let launches = [
            launch("im2col", vec![other(3), other(1)]),
            launch("product", vec![other(1), other(2)]),
        ];
        let product = [1, 2].map(|at| LaunchArg::Tensor(at, 0)).to_vec();
        let writers = [Writer::Kernel("product".into(), product, 1), Writer::Fill];
        let args = ["w", "b"].map(call_args::named).to_vec();
        let expected = ("b".to_owned(), StoringCall::Kernel("im2col".into(), args));
        assert_eq!(before(tensors, &writers, &launches), Some(expected));
        assert_eq!(before(tensors, &[Writer::Fill], &launches), None);
    }
}
