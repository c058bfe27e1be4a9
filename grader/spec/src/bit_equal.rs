//! Checks whether launches that must give the same bits in every run can do so, and whether a test would show it.

use super::arg::Arg;
use super::data::Data;
use super::fault::{Checked, Fault};
use super::kind::DataKind;
use super::launch::Launch;
use super::tensors::{Tensors, prime};
use super::test::Test;
use std::ops::Range;

/// Checks for each test that none of its bit-equal launches reads or writes a tensor of one of its launches whose results may
/// differ between runs.
pub(crate) fn sources(tensors: &Tensors, launches: &[Launch], tests: &[Test]) -> Checked<()> {
    for test in tests {
        let of_test: Vec<&Launch> = test.calls.iter().map(|call| &launches[call.launch]).collect();
        for (at, launch) in of_test.iter().enumerate().filter(|(_, l)| l.is_bit_equal()) {
            check_launch(tensors, launch, &of_test, at)?;
        }
    }
    Ok(())
}

/// Checks the bit-equal `launch`, which is the one at `at` of a test.
fn check_launch(tensors: &Tensors, launch: &Launch, of_test: &[&Launch], at: usize) -> Checked<()> {
    let loose = |name: &str| {
        let mut others = of_test.iter().filter(|l| !l.is_bit_equal());
        others.find(|launch| launch.computes(tensors).any(|computed| computed == *name))
    };
    for (i, arg) in launch.args.iter().enumerate() {
        let name = match arg {
            Arg::Tensor(name) => name.clone(),
            Arg::InPlace(name) => prime(name),
            Arg::Workspace(name) => {
                check_workspace(name, launch.arg_place(i), &of_test[..at])?;
                continue;
            }
            Arg::Given(_) | Arg::Result(_) | Arg::Scalar(_) | Arg::Size(_) => continue,
        };
        let Some(other) = loose(&name) else { continue };
        return Err(differs(&name, launch.arg_place(i), other)
            .help(format!("write \"given({name})\", or repeat = \"bit-equal\" there too")));
    }
    Ok(())
}

/// Checks that all launches before which take this workspace are bit-equal, too.
fn check_workspace(name: &str, place: &Range<usize>, before: &[&Launch]) -> Checked<()> {
    let takes = |launch: &&&Launch| launch.workspaces().any(|taken| taken == name);
    match before.iter().filter(takes).find(|launch| !launch.is_bit_equal()) {
        None => Ok(()),
        Some(other) => {
            Err(differs(name, place, other).help("write repeat = \"bit-equal\" there too"))
        }
    }
}

fn differs(name: &str, place: &Range<usize>, other: &Launch) -> Fault {
    let title = format!("`{name}` may differ from run to run: `{}` computes it", other.kernel);
    Fault::at(place.clone(), title).also(other.place().clone(), "this launch is not bit-equal")
}

/// Checks that each bit-equal launch has a test with inexact data: with exact data, any order of additions gives the
/// same bits.
pub(crate) fn tested(launches: &[Launch], tests: &[Test]) -> Checked<()> {
    let rounds = |test: &Test| {
        let kinds = test.data.values().filter_map(|data| match data {
            Data::Kind(kind) => Some(kind),
            Data::Values(_) => None,
        });
        kinds.into_iter().any(|kind| matches!(kind, DataKind::Normal { .. }))
    };
    for (index, launch) in launches.iter().enumerate() {
        let mut runs = tests.iter().filter(|t| t.calls.iter().any(|call| call.launch == index));
        if launch.is_bit_equal() && !runs.any(rounds) {
            let fault = "no test shows whether this launch is bit-equal";
            let mut inputs = tests.iter().flat_map(|test| &test.inputs);
            return Err(Fault::at(launch.place().clone(), fault).help(
                if inputs.any(|tensor| tensor.dtype.is_float()) {
                    "sums of integers are the same in any order: give a test data = \"normal\""
                } else {
                    "integers are the same in any order, and compared exactly: leave `repeat` out"
                },
            ));
        }
    }
    Ok(())
}
