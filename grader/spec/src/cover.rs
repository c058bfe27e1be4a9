//! Checks that the tests cover every tensor that the formula computes, and every kernel.

use super::arg::{Arg, Purpose};
use super::fault::{Checked, Fault};
use super::launch::Launch;
use super::tensors::{Tensors, grad_of, prime};
use super::test::Test;

/// Checks that a forward puzzle computes all tensors of its formula, except those of requirements and pictures
/// (`seen`); a backward puzzle chooses its gradients.
pub(crate) fn outputs<'a>(
    tensors: &Tensors,
    launches: &[Launch],
    seen: impl Iterator<Item = &'a String>,
) -> Checked<()> {
    let names = || launches.iter().flat_map(|l| l.buffers(tensors));
    for launch in launches {
        for (i, arg) in launch.args.iter().enumerate() {
            let Arg::Tensor(name) = arg else { continue };
            let changed = |x: &str, purpose| purpose == Purpose::InPlace && prime(x) == *name;
            if names().any(|(x, purpose)| changed(x, purpose)) {
                let title =
                    format!("`{name}` is in the buffer that another argument changes in place");
                let x = name.trim_end_matches('\'');
                return Err(Fault::at(launch.arg_place(i).clone(), title)
                    .help(format!("to continue with the kernel's values, write \"inplace({x})\""))
                    .help(format!("to read the expected values, write \"given({name})\"")));
            }
        }
    }
    if names().any(|(name, _)| grad_of(name).is_some()) {
        return Ok(());
    }
    let computed: Vec<String> =
        launches.iter().flat_map(|l| l.computes(tensors)).chain(seen.cloned()).collect();
    match tensors.outputs.iter().find(|output| !computed.contains(output)) {
        None => Ok(()),
        Some(missing) => {
            let arg = match missing.strip_suffix('\'') {
                Some(changed) => format!("inplace({changed})"),
                None => missing.clone(),
            };
            let title = format!("missing output: no launch computes `{missing}`");
            let fault = Fault::at(tensors.place.clone(), title).label("computed here");
            let sources = tensors.formula.sources(missing);
            let mut results = launches.iter().flat_map(Launch::results);
            Err(if results.any(|result| sources.contains(result)) {
                fault.help(format!(
                    "bound it with a [[require]], because it depends on results of functions: \
                     holds = \"{missing} >= 0\""
                ))
            } else {
                fault.help(format!("add \"{arg}\" to the args of the kernel that computes it"))
            })
        }
    }
}

/// Checks that each launch runs in at least one test. A test compares everything that its launches compute, so this
/// covers each computed tensor too.
pub(crate) fn launches(launches: &[Launch], tests: &[Test]) -> Checked<()> {
    let runs = |i: usize| tests.iter().any(|test| test.calls.iter().any(|call| call.launch == i));
    match launches.iter().enumerate().find(|(i, _)| !runs(*i)) {
        None => Ok(()),
        Some((_, launch)) => {
            let title = format!("no test launches `{}`", launch.kernel);
            Err(Fault::at(launch.place().clone(), title)
                .help("name it in the `kernels` of a test, or leave `kernels` out of one"))
        }
    }
}
